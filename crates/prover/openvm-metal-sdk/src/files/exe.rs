//! Executables: decoded into the form of the file, checked, and then made.
//!
//! OpenVM's own decoder makes a list of as many slots as a number of the file says, and indexes it by others.

use std::{collections::BTreeMap, fmt};

use openvm_circuit::arch::instructions::{
    exe::{FnBounds, VmExe},
    instruction::Instruction,
    program::Program,
};
use serde::{
    de::{MapAccess, Visitor},
    Deserialize, Deserializer,
};

use crate::prelude::F;

/// Most slots without an instruction. Transpilers leave some between the words of long instructions.
const MAX_EMPTY_SLOTS: usize = 1 << 20;

/// The form of [`VmExe`] in a file.
#[derive(Deserialize)]
struct ExeFile {
    program: ProgramFile,
    pc_start: u32,
    init_memory: Memory,
    fn_bounds: FnBounds,
}

/// Bytes of the initial memory. Millions in order make a map at once faster than one after another.
struct Memory(BTreeMap<(u32, u32), u8>);

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl<'de> Visitor<'de> for Bytes {
            type Value = Memory;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of addresses to bytes")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Memory, A::Error> {
                // The file says how many there are: not more than what is there is reserved.
                let mut bytes = Vec::new();
                while let Some(byte) = map.next_entry()? {
                    bytes.push(byte);
                }
                Ok(Memory(bytes.into_iter().collect()))
            }
        }

        deserializer.deserialize_map(Bytes)
    }
}

/// The form of [`Program`] in a file.
#[derive(Deserialize)]
struct ProgramFile {
    slots: Slots,
    pc_base: u32,
}

/// Instructions with the indices of their slots, and the number of slots.
#[derive(Deserialize)]
struct Slots(Vec<(Instruction<F>, u32)>, u32);

/// Decodes an executable.
///
/// # Errors
/// What is wrong with the bytes.
pub(super) fn decode(bytes: &[u8]) -> Result<VmExe<F>, String> {
    let file: ExeFile = super::bitcode(bytes)?;
    let Slots(instructions, count) = file.program.slots;
    let (defined, count) = (instructions.len(), count as usize);
    if count > defined.saturating_add(MAX_EMPTY_SLOTS) {
        return Err(format!(
            "it has {count} slots for {defined} instructions, at most {MAX_EMPTY_SLOTS} may be empty"
        ));
    }
    let mut slots = Vec::with_capacity(count);
    for (instruction, index) in instructions {
        let index = index as usize;
        if index < slots.len() || index >= count {
            return Err(format!(
                "an instruction is in slot {index} of {count}, out of order"
            ));
        }
        slots.resize_with(index, || None);
        slots.push(Some((instruction, None)));
    }
    slots.resize_with(count, || None);
    Ok(VmExe {
        program: Program {
            instructions_and_debug_infos: slots,
            pc_base: file.program.pc_base,
        },
        pc_start: file.pc_start,
        init_memory: file.init_memory.0,
        fn_bounds: file.fn_bounds,
    })
}

#[cfg(test)]
mod tests {
    use openvm_circuit::arch::instructions::{exe::FnBound, VmOpcode};
    use openvm_stark_backend::p3_field::PrimeCharacteristicRing as _;

    use super::*;
    use crate::executable::digest;

    /// Instructions in these slots, of so many, and memory.
    fn exe(slots: &[u32], count: usize) -> VmExe<F> {
        let mut program = Program {
            instructions_and_debug_infos: vec![None; count],
            pc_base: 0x20_0800,
        };
        for &slot in slots {
            let instruction = Instruction {
                opcode: VmOpcode::from_usize(0x200 + slot as usize),
                a: F::from_u32(slot),
                g: F::NEG_ONE,
                ..Instruction::default()
            };
            program.instructions_and_debug_infos[slot as usize] = Some((instruction, None));
        }
        let bound = FnBound {
            start: 4,
            end: 8,
            name: "main".into(),
        };
        VmExe {
            program,
            pc_start: 0x20_0804,
            init_memory: (0..1000).map(|i| ((2, 3 * i), i as u8)).collect(),
            fn_bounds: [(4, bound)].into(),
        }
    }

    #[test]
    fn the_form_is_that_of_openvm() {
        for exe in [exe(&[0, 1, 5, 6, 9], 12), exe(&[], 0), exe(&[3], 4)] {
            let bytes = bitcode::serialize(&exe).expect("encoded");
            let ours = decode(&bytes).expect("decoded");
            let theirs: VmExe<F> = bitcode::deserialize(&bytes).expect("decoded");
            assert_eq!(digest(&ours), digest(&theirs));
            assert_eq!(bitcode::serialize(&ours).expect("encoded"), bytes);
            assert_eq!(ours.fn_bounds[&4].name, "main");
        }
    }

    #[test]
    fn numbers_of_slots_are_bounded() {
        let bytes = |slots: &[(u32, u32)], count: u32| {
            let slots: Vec<_> = slots
                .iter()
                .map(|&(a, slot)| {
                    let a = F::from_u32(a);
                    (
                        Instruction {
                            a,
                            ..Instruction::default()
                        },
                        slot,
                    )
                })
                .collect();
            let rest = (0u32, BTreeMap::<(u32, u32), u8>::new(), FnBounds::new());
            let file = (((slots, count), 0u32), rest.0, rest.1, rest.2);
            bitcode::serialize(&file).expect("encoded")
        };
        assert_eq!(
            decode(&bytes(&[(7, 1)], 3))
                .expect("an executable")
                .program
                .len(),
            3
        );
        let empty = MAX_EMPTY_SLOTS as u32;
        decode(&bytes(&[(7, 1)], empty + 1)).expect("as many as may be");
        for (slots, count) in [
            (&[(7, 1)][..], empty + 2),
            (&[], u32::MAX),
            (&[(7, 3)], 3),
            (&[(7, 1), (8, 1)], 3),
            (&[(7, 2), (8, 1)], 3),
            (&[(7, u32::MAX)], u32::MAX),
        ] {
            decode(&bytes(slots, count)).expect_err("no such slots");
        }
        // Of the audit: 6 bytes that took 11.7 GB, or ended the process.
        for count in [100_000_000u32, u32::MAX] {
            let bomb: Vec<u8> = [0, 0].into_iter().chain(count.to_le_bytes()).collect();
            decode(&bomb).expect_err("no executable");
        }
    }
}
