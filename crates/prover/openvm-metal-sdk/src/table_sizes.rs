//! Sizes of lookup tables in a configuration: OpenVM's chips panic at those that they do not take.

use openvm_sdk_config::SdkVmConfig;

use crate::error::SdkError;

/// The first size: the values of a byte.
const FIRST: u32 = 1 << 8;

/// The largest second size: a table has at most 2^24 rows.
const MOST: u32 = 1 << 16;

/// Checks the tables of byte and carry that multiplications look up.
///
/// # Errors
/// [`SdkError::Config`], which names the setting.
pub(crate) fn check(config: &SdkVmConfig) -> Result<(), SdkError> {
    let rv32m = config.rv32m.as_ref().map(|x| x.range_tuple_checker_sizes);
    let bigint = config.bigint.as_ref().map(|x| x.range_tuple_checker_sizes);
    // A carry of a product of 4 limbs, of 32 limbs.
    for (name, sizes, least) in [("rv32m", rv32m, 1 << 11), ("bigint", bigint, 1 << 13)] {
        let Some([first, second]) = sizes else {
            continue;
        };
        if first != FIRST || !second.is_power_of_two() || !(least..=MOST).contains(&second) {
            return Err(SdkError::Config(format!(
                "{name}.range_tuple_checker_sizes is [{first}, {second}], it has to be [{FIRST}, a power of two from {least} to {MOST}]"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_chips_do_not_take() {
        check(&SdkVmConfig::standard()).expect("OpenVM's own");
        for sizes in [
            [0, 0],
            [256, 0],
            [256, 1 << 10],
            [512, 1 << 13],
            [7, 9],
            [256, 1 << 17],
            [256, 6000],
        ] {
            let mut config = SdkVmConfig::standard();
            config
                .rv32m
                .as_mut()
                .expect("the extension")
                .range_tuple_checker_sizes = sizes;
            let error = check(&config).expect_err("no such table").to_string();
            assert!(error.contains("rv32m.range_tuple_checker_sizes"), "{error}");
        }
        let mut config = SdkVmConfig::standard();
        config
            .bigint
            .as_mut()
            .expect("the extension")
            .range_tuple_checker_sizes = [256, 1 << 12];
        let error = check(&config).expect_err("no such table").to_string();
        assert!(
            error.contains("bigint.range_tuple_checker_sizes is [256, 4096]"),
            "{error}"
        );
    }
}
