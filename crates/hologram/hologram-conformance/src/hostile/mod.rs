//! Random programs of every kind, most of them wrong, and damaged ones: what must never do harm.
//!
//! Everything is drawn from one seed, so that a finding is repeated by its number.

mod attempt;
mod damage;
mod instruction;

pub use attempt::{attempt, Outcome};
pub use damage::{damage_bytes, damage_text};
pub use instruction::decoded;

use hologram_backends::isa::legality;
use hologram_backends::{
    Dim3, ExecutionParams, Instruction, Label, LaunchConfig, Predicate, Program, Register, Ty,
};

use crate::Numbers;

/// Registers preset with buffer handles by [`launch`]: `r1` to `r3`.
pub const HANDLES: std::ops::RangeInclusive<u8> = 1..=3;
/// Labels that programs use: `@l0` to `@l3`.
const LABELS: usize = 4;

/// Registers that a straight line of instructions has initialised.
struct Known {
    types: [Option<Ty>; 256],
    predicates: [bool; 16],
}

impl Known {
    fn at_launch() -> Self {
        let mut types = [None; 256];
        for (register, ty, _) in launch(&mut Numbers::new(0)).initial_registers {
            types[register.index() as usize] = Some(ty);
        }
        for register in [Register::LANE_X, Register::BLOCK_X, Register::BLOCK_DIM_X] {
            types[register.index() as usize] = Some(Ty::U32);
        }
        types[Register::GLOBAL_LANE.index() as usize] = Some(Ty::U64);
        Self {
            types,
            predicates: [false; 16],
        }
    }

    fn allows(&self, instruction: &Instruction) -> bool {
        let mut ok = legality::check_types(instruction).is_ok();
        instruction
            .for_each_use(|register, ty| ok &= self.types[register.index() as usize] == Some(ty));
        ok && instruction
            .predicate_use()
            .is_none_or(|predicate| self.predicates[predicate.index() as usize])
    }

    fn apply(&mut self, instruction: &Instruction) {
        if let Some((register, ty)) = instruction.def() {
            self.types[register.index() as usize] = Some(ty);
        }
        if let Some(predicate) = instruction.predicate_def() {
            self.predicates[predicate.index() as usize] = true;
        }
    }
}

/// A program of up to 40 random instructions: about half are valid, few run to their end.
pub fn program(numbers: &mut Numbers) -> Program {
    let len = numbers.below(40) as usize;
    // How often an instruction is taken as it comes, without regard to what it reads.
    let careless = [0, 0, 2, 50][numbers.below(4) as usize];
    let mut known = Known::at_launch();
    let mut program = Program::with_capacity(len);
    for _ in 0..len {
        let instruction = if numbers.below(100) < careless {
            instruction::any(numbers)
        } else {
            (0..400)
                .map(|_| instruction::any(numbers))
                .find(|found| known.allows(found))
                .unwrap_or(Instruction::PhaseAdv { delta: 1 })
        };
        known.apply(&instruction);
        program.push(instruction);
    }
    for label in 0..LABELS {
        if let Ok(label) = Label::new(&format!("l{label}")) {
            let index = numbers.below(len as u64 + 1) as usize;
            // Each label is bound once, within the program.
            let _: Result<(), _> = program.bind_label(label, index);
        }
    }
    program
}

/// A launch of up to 64 lanes with a small step budget, for programs of this module.
pub fn launch(numbers: &mut Numbers) -> ExecutionParams {
    let grid = Dim3::new(1 + numbers.below(3) as u32, 1 + numbers.below(2) as u32, 1);
    let block = Dim3::new(1 + numbers.below(5) as u32, 1, 1 + numbers.below(2) as u32);
    let launch = match numbers.below(4) {
        0 => LaunchConfig::default(),
        _ => LaunchConfig::new(grid, block).with_shared_memory(numbers.below(64) as usize),
    };
    let mut params = ExecutionParams::new(launch).with_step_budget(500);
    params.class_from_block = numbers.below(2) == 1;
    for (index, handle) in HANDLES.zip([1, 2, 0]) {
        params = params.with_u64(Register::new(index), handle);
    }
    params
}

fn label(numbers: &mut Numbers) -> Option<Label> {
    Label::new(&format!("l{}", numbers.below(LABELS as u64))).ok()
}

fn predicate(numbers: &mut Numbers) -> Option<Predicate> {
    Predicate::new(numbers.below(3) as u8).ok()
}
