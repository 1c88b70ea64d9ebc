//! The shape of a configuration's memory: OpenVM subtracts and shifts by its numbers unasked.

use openvm_circuit::arch::MemoryConfig;

use crate::error::SdkError;

/// log2 of the cells of a leaf of the memory tree.
const LOG_CHUNK: usize = 3;

/// Checks that the memory's heights and bits are in the range of OpenVM's circuits.
///
/// # Errors
/// [`SdkError::Config`], which names the first number that is not.
pub(crate) fn check(config: &MemoryConfig) -> Result<(), SdkError> {
    let height = config.addr_space_height;
    let numbers = [
        ("addr_space_height", height, 1..=8),
        ("pointer_max_bits", config.pointer_max_bits, LOG_CHUNK..=32),
        ("timestamp_max_bits", config.timestamp_max_bits, 1..=29),
        ("decomp", config.decomp, 1..=29),
    ];
    for (name, number, range) in numbers {
        if !range.contains(&number) {
            return Err(SdkError::Config(format!(
                "memory_config.{name} is {number}, it has to be from {} to {}",
                range.start(),
                range.end()
            )));
        }
    }
    let spaces = config.addr_spaces.len();
    match spaces == (1 << height) + 1 {
        true => Ok(()),
        false => Err(SdkError::Config(format!(
            "memory_config has {spaces} address spaces, with an addr_space_height of {height} it \
             has to have {}",
            (1 << height) + 1
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_other_shapes_is_refused() {
        check(&MemoryConfig::default()).expect("OpenVM's own");
        type Change = fn(&mut MemoryConfig);
        let changes: [(Change, &str); 6] = [
            (
                |memory| memory.pointer_max_bits = 2,
                "pointer_max_bits is 2",
            ),
            (|memory| memory.pointer_max_bits = 33, "pointer_max_bits"),
            (
                |memory| memory.addr_space_height = 64,
                "addr_space_height is 64",
            ),
            (
                |memory| memory.timestamp_max_bits = 30,
                "timestamp_max_bits",
            ),
            (|memory| memory.decomp = 0, "decomp"),
            (|memory| memory.addr_spaces.truncate(3), "3 address spaces"),
        ];
        for (change, text) in changes {
            let mut memory = MemoryConfig::default();
            change(&mut memory);
            let error = check(&memory).expect_err(text).to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
