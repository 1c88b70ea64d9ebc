//! Checks of every kernel against an oracle on the host, on whatever device a stream belongs to.
//!
//! `openvm-metal selftest` runs them all; the unit tests run them on the device of the environment and
//! in conformance mode. A check makes random inputs of awkward sizes, runs a kernel through the
//! functions the prover calls and compares every word with the reference implementation.

mod airs;
mod bench;
mod bn254;
mod commit;
mod coverage;
mod env;
mod gkr;
mod grind;
mod hash;
mod ntt;
mod openings;
pub(crate) mod prover;
pub(crate) mod random;
#[cfg(test)]
mod tests;
mod transcript;

pub use coverage::Coverage;
pub use env::{compare, refused, CheckEnv, CheckFailure};
pub use random::CheckRng;

use openvm_metal_common::CommandStream;

/// A named comparison of kernels with their oracle.
#[derive(Clone, Copy)]
pub struct Check {
    /// Phase the kernels belong to, the name of their folder.
    pub group: &'static str,
    /// Name of the check.
    pub name: &'static str,
    run: fn(&mut CheckEnv) -> Result<(), CheckFailure>,
}

impl Check {
    /// `group/name`, what filters match.
    pub fn path(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }

    /// Runs the check on the device of `stream` with inputs from `seed`.
    ///
    /// # Errors
    /// The first difference found, or what kept the kernels from running.
    pub fn run(&self, stream: &CommandStream, seed: u64) -> Result<(), CheckFailure> {
        let _stage = stream.stage(self.group);
        (self.run)(&mut CheckEnv::new(stream, seed))
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path())
    }
}

/// All checks, in the order of the phases they belong to.
pub fn checks() -> Vec<Check> {
    [
        hash::CHECKS,
        ntt::CHECKS,
        grind::CHECKS,
        commit::CHECKS,
        transcript::CHECKS,
        gkr::CHECKS,
        openings::CHECKS,
        prover::CHECKS,
        bn254::CHECKS,
        bench::CHECKS,
    ]
    .concat()
}

/// Runs the checks of a group on the device of the environment and in conformance mode.
#[cfg(test)]
pub(crate) fn test_group(group: &str) {
    use openvm_metal_common::{Device, MetalContext};

    use crate::kernels::LIBRARY;

    for device in [Device::from_env().expect("device"), Device::CpuConformance] {
        let context = MetalContext::shared_on(device, &[&LIBRARY]).expect("context");
        run_group(group, "", &context);
    }
}

/// Runs the checks of a group whose path contains `filter` on the CPU, planning as another device, and in conformance mode.
#[cfg(test)]
pub(crate) fn test_group_as(profile: &str, group: &str, filter: &str) {
    use openvm_metal_common::{Device, DeviceProfile, MetalContext};

    for device in [Device::Cpu, Device::CpuConformance] {
        let profile = DeviceProfile::named(profile).expect("a profile");
        let libraries = [&crate::kernels::LIBRARY];
        let builder = MetalContext::builder(device).libraries(&libraries);
        run_group(
            group,
            filter,
            &builder.profile(profile).open().expect("CPU"),
        );
    }
}

#[cfg(test)]
fn run_group(group: &str, filter: &str, context: &openvm_metal_common::MetalContext) {
    use openvm_metal_common::DeviceKind;

    let device = context.info();
    // `every_kernel_is_run_by_a_check` has seed 0 of processors. Fibers of conformance mode take longest, so they have one seed.
    let seeds = match (device.kind, device.conformance) {
        (DeviceKind::Cpu, true) => 0..1,
        (DeviceKind::Cpu, false) => 1..2,
        _ => 0..2,
    };
    let wanted = |check: &Check| check.group == group && check.path().contains(filter);
    for check in checks().into_iter().filter(wanted) {
        for seed in seeds.clone() {
            if let Err(failure) = check.run(&context.stream(), seed) {
                panic!("{} on {device}, seed {seed}: {failure}", check.path());
            }
        }
    }
}
