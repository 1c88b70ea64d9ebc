//! The shape of a configuration's memory: OpenVM subtracts and shifts by its numbers unasked.

use std::ops::RangeInclusive;

use openvm_circuit::arch::SystemConfig;

use crate::error::SdkError;

/// log2 of the cells of a leaf of the memory tree.
const LOG_CHUNK: usize = 3;

/// A number of a configuration: the range in which machines of every extension have keys and proofs, and the reason for its ends.
struct Range {
    name: &'static str,
    of: fn(&SystemConfig) -> usize,
    range: RangeInclusive<usize>,
    reason: &'static str,
}

const RANGES: [Range; 5] = [
    Range {
        name: "memory_config.addr_space_height",
        of: |system| system.memory_config.addr_space_height,
        range: 2..=8,
        reason: "registers, memory, public values and deferrals are address spaces 1 to 4",
    },
    Range {
        name: "memory_config.pointer_max_bits",
        of: |system| system.memory_config.pointer_max_bits,
        range: 24..=30,
        reason: "circuits check the last of a pointer's four bytes, and pointers of more bits wrap around the field",
    },
    Range {
        name: "memory_config.timestamp_max_bits",
        of: |system| system.memory_config.timestamp_max_bits,
        range: 28..=29,
        reason: "segments are not cut by their number of memory accesses, and differences of more bits wrap around the field",
    },
    Range {
        name: "memory_config.decomp",
        of: |system| system.memory_config.decomp,
        range: 16..=20,
        reason: "circuits look up limbs of 16 bits, and the table has two rows for each value of so many bits",
    },
    Range {
        name: "max_constraint_degree",
        of: |system| system.max_constraint_degree,
        range: 3..=6,
        reason: "the hash of the memory has degree 7 from 7 on, for which keys have no parameters",
    },
];

/// Most public values.
const MAX_PUBLIC_VALUES: usize = 1 << 20;

/// Checks that the memory's heights and bits are in the range of OpenVM's circuits, and that the public
/// values fill whole subtrees of the memory tree.
///
/// # Errors
/// [`SdkError::Config`], which names the first number that is not.
pub(crate) fn check(system: &SystemConfig) -> Result<(), SdkError> {
    let config = &system.memory_config;
    let height = config.addr_space_height;
    for Range {
        name,
        of,
        range,
        reason,
    } in RANGES
    {
        let number = of(system);
        if !range.contains(&number) {
            return Err(SdkError::Config(format!(
                "{name} is {number}, it has to be from {} to {}: {reason}",
                range.start(),
                range.end()
            )));
        }
    }
    let refuse = |reason: String| Err(SdkError::Config(reason));
    let (spaces, expected) = (config.addr_spaces.len(), (1 << height) + 1);
    if spaces != expected {
        return refuse(format!(
            "memory_config has {spaces} address spaces, with an addr_space_height of {height} it \
             has to have {expected}"
        ));
    }
    let most = 1_u64 << config.pointer_max_bits;
    for (index, space) in config.addr_spaces.iter().enumerate() {
        if space.num_cells as u64 > most {
            return refuse(format!(
                "address space {index} has {} cells, pointers of {} bits reach {most}",
                space.num_cells, config.pointer_max_bits
            ));
        }
    }
    let values = system.num_public_values;
    let leaves = values >> LOG_CHUNK;
    if values > MAX_PUBLIC_VALUES
        || !values.is_multiple_of(1 << LOG_CHUNK)
        || !leaves.is_power_of_two()
    {
        return refuse(format!(
            "num_public_values is {values}, it has to be 8, 16, 32 or another power of two up to \
             {MAX_PUBLIC_VALUES}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_other_shapes_is_refused() {
        check(&SystemConfig::default()).expect("OpenVM's own");
        check(&SystemConfig::default().with_public_values(64)).expect("64 values");
        type Change = fn(&mut SystemConfig);
        let changes: [(Change, &str); 17] = [
            (
                |s| s.max_constraint_degree = 0,
                "max_constraint_degree is 0",
            ),
            (
                |s| s.max_constraint_degree = 2,
                "max_constraint_degree is 2",
            ),
            (
                |s| s.max_constraint_degree = 7,
                "max_constraint_degree is 7",
            ),
            (
                |s| s.memory_config.pointer_max_bits = 23,
                "pointer_max_bits is 23",
            ),
            (
                |s| s.memory_config.pointer_max_bits = 31,
                "pointer_max_bits is 31",
            ),
            (
                |s| s.memory_config.addr_space_height = 1,
                "addr_space_height is 1",
            ),
            (
                |s| s.memory_config.timestamp_max_bits = 27,
                "timestamp_max_bits is 27",
            ),
            (|s| s.memory_config.decomp = 15, "decomp is 15"),
            (|s| s.memory_config.decomp = 21, "decomp is 21"),
            (
                |s| s.memory_config.addr_space_height = 64,
                "addr_space_height is 64",
            ),
            (
                |s| s.memory_config.timestamp_max_bits = 30,
                "timestamp_max_bits",
            ),
            (|s| s.memory_config.decomp = 29, "decomp is 29"),
            (
                |s| s.memory_config.addr_spaces.truncate(3),
                "3 address spaces",
            ),
            (
                |s| s.memory_config.addr_spaces[2].num_cells = 1 << 40,
                "address space 2",
            ),
            (|s| s.num_public_values = 0, "num_public_values is 0"),
            (|s| s.num_public_values = 36, "num_public_values is 36"),
            (|s| s.num_public_values = 1 << 40, "num_public_values"),
        ];
        for (change, text) in changes {
            let mut system = SystemConfig::default();
            change(&mut system);
            let error = check(&system).expect_err(text).to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
