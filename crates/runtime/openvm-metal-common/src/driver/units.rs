//! The units of a context's libraries that its device prepares.

use crate::device_profile::DeviceProfile;
use crate::kernel::KernelUnit;

/// Environment variable with units that no context prepares, `LIBRARY/UNIT`, separated by commas.
pub(crate) const LEAVE_OUT_VARIABLE: &str = "OPENVM_METAL_LEAVE_OUT";
/// Environment variable of tests, `UNIT=hang` or `UNIT=abort` separated by commas: how the compilation of a unit goes wrong.
const TROUBLE_VARIABLE: &str = "OPENVM_METAL_TEST_COMPILE";

/// Units that are prepared; all of them by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitChoice {
    only: Option<&'static KernelUnit>,
    left_out: Vec<String>,
}

impl UnitChoice {
    /// All units, or only one, but for those that [`LEAVE_OUT_VARIABLE`] names.
    pub fn from_env(only: Option<&'static KernelUnit>) -> Self {
        Self::new(only, std::env::var(LEAVE_OUT_VARIABLE).ok().as_deref())
    }

    fn new(only: Option<&'static KernelUnit>, left_out: Option<&str>) -> Self {
        let names = left_out.unwrap_or_default().split(',').map(str::trim);
        let left_out = names.filter(|name| !name.is_empty()).map(str::to_owned);
        Self {
            only,
            left_out: left_out.collect(),
        }
    }

    /// True if this unit is the only one.
    pub fn is_only(&self, unit: &'static KernelUnit) -> bool {
        self.only.is_some_and(|only| std::ptr::eq(only, unit))
    }

    /// The reason for which a device with this profile leaves a unit out, if it does.
    pub fn leaves_out(
        &self,
        library: &str,
        unit: &'static KernelUnit,
        profile: &DeviceProfile,
    ) -> Option<String> {
        if let Some(only) = self.only.filter(|_| !self.is_only(unit)) {
            return Some(format!("only '{}' was asked for", only.name));
        }
        let named = |name: &String| name.split_once('/') == Some((library, unit.name));
        if self.left_out.iter().any(named) {
            return Some(format!("{LEAVE_OUT_VARIABLE} names it"));
        }
        unit.prepared.leaves_out(profile)
    }
}

/// The compilation of a unit goes wrong as a test asked for.
pub(crate) fn trouble(unit: &KernelUnit) {
    match kind_of_trouble(std::env::var(TROUBLE_VARIABLE).ok().as_deref(), unit.name) {
        Some("hang") => loop {
            std::thread::park();
        },
        Some("abort") => std::process::abort(),
        _ => {}
    }
}

fn kind_of_trouble<'a>(value: Option<&'a str>, unit: &str) -> Option<&'a str> {
    let pairs = value?.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .filter(|(name, _)| *name == unit)
        .map(|pair| pair.1)
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Prepare;

    const fn unit(name: &'static str, prepared: Prepare) -> KernelUnit {
        KernelUnit {
            name,
            msl: "",
            metallib: None,
            ptx: None,
            kernels: &[],
            prepared,
        }
    }

    static MERKLE: KernelUnit = unit("hash/merkle", Prepare::AtStart);
    static TALL: KernelUnit = unit("ntt/tall", Prepare::AboveThreadgroupMemory(32 << 10));

    fn left_out(choice: &UnitChoice, profile: &str) -> [Option<String>; 2] {
        let profile = DeviceProfile::named(profile).expect("a profile");
        [&MERKLE, &TALL].map(|unit| choice.leaves_out("backend", unit, &profile))
    }

    #[test]
    fn a_condition_decides_by_the_profile() {
        let all = UnitChoice::new(None, None);
        assert_eq!(left_out(&all, "h100-80gb"), [None, None]);
        let [merkle, tall] = left_out(&all, "m1-8gb");
        assert_eq!(merkle, None);
        assert_eq!(
            tall.as_deref(),
            Some("it is for devices with more than 32768 bytes of threadgroup memory, this one has 32768")
        );
    }

    #[test]
    fn units_are_chosen_by_name() {
        let named = UnitChoice::new(None, Some("backend/hash/merkle, other/ntt/tall,"));
        let [merkle, tall] = left_out(&named, "h100-80gb");
        assert_eq!(merkle.as_deref(), Some("OPENVM_METAL_LEAVE_OUT names it"));
        assert_eq!(tall, None);
        let only = UnitChoice::new(Some(&TALL), None);
        let [merkle, tall] = left_out(&only, "h100-80gb");
        assert_eq!(merkle.as_deref(), Some("only 'ntt/tall' was asked for"));
        assert_eq!(tall, None);
        assert!(only.is_only(&TALL) && !only.is_only(&MERKLE));
    }

    #[test]
    fn trouble_is_of_one_unit() {
        let value = Some("hash/merkle=hang,gkr/gkr=abort");
        assert_eq!(kind_of_trouble(value, "gkr/gkr"), Some("abort"));
        assert_eq!(kind_of_trouble(value, "ntt/ntt"), None);
        assert_eq!(kind_of_trouble(None, "gkr/gkr"), None);
    }
}
