//! Properties of floats that differ between devices.

use openvm_metal_common::DeviceProfile;

/// Properties that a device promises of floats, as its profile says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// `f64` is computed.
    pub doubles: bool,
    /// Subnormal `f32` are kept.
    pub subnormals: bool,
    /// Functions of `f32` are within 2 units in the last place.
    pub close_functions: bool,
}

impl Promise {
    /// All of them: those of the interpreter.
    pub const ALL: Self = Self {
        doubles: true,
        subnormals: true,
        close_functions: true,
    };

    /// Promises of a device.
    pub fn of(profile: &DeviceProfile) -> Self {
        Self {
            doubles: profile.double_precision,
            subnormals: profile.subnormals,
            close_functions: profile.close_functions,
        }
    }
}
