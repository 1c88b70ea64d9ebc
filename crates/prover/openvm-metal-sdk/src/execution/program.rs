//! `DecodedProgram`: the steps of an executable, and the rows that each block of them adds.

use openvm_circuit::arch::{
    instructions::{exe::VmExe, instruction::Instruction},
    ExecuteFunc, ExecutorInventory, InterpreterMeteredExecutor, StaticProgramError,
};

use super::{
    rows::Rows,
    step::{Op, Step},
};
use crate::{prelude::F, vm::CheckedExecutor};

/// Kinds of traces that steps add rows to: RV32IM has 13.
pub(super) const LANES: usize = 16;

/// Most steps of a block: its rows fit a byte.
const BLOCK_STEPS: usize = 120;

/// Steps up to the next step that may jump.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// Rows for each lane.
    pub rows: [u8; LANES],
    pub steps: u8,
}

/// An instruction of one of OpenVM's executors.
pub(super) struct ExecutorStep {
    pub handler: ExecuteFunc<F, Rows>,
    /// The data of the handler.
    data: Box<[u128]>,
}

impl ExecutorStep {
    pub fn data(&self) -> *const u8 {
        self.data.as_ptr().cast()
    }
}

/// An executable, ready to be executed.
pub(crate) struct DecodedProgram<'a> {
    pub(super) exe: &'a VmExe<F>,
    executors: &'a ExecutorInventory<CheckedExecutor>,
    /// Index of the AIR of each executor; empty if rows are not counted.
    airs: Vec<usize>,
    /// The steps of all places, and a gap behind the last one.
    pub(super) steps: Vec<Step>,
    /// The block that begins at each place.
    pub(super) blocks: Vec<Block>,
    /// AIR of each lane.
    pub(super) lanes: Vec<usize>,
    pub(super) executor_steps: Vec<ExecutorStep>,
}

impl<'a> DecodedProgram<'a> {
    /// Decodes a program. `airs` has the AIR of each executor, or nothing if rows are not counted.
    ///
    /// # Errors
    /// [`StaticProgramError`] for an instruction that no executor takes.
    pub fn new(
        executors: &'a ExecutorInventory<CheckedExecutor>,
        exe: &'a VmExe<F>,
        airs: Vec<usize>,
    ) -> Result<Self, StaticProgramError> {
        let slots = &exe.program.instructions_and_debug_infos;
        let base = exe.program.pc_base;
        let mut this = Self {
            exe,
            executors,
            airs,
            steps: Vec::with_capacity(slots.len() + 1),
            blocks: vec![Block::default(); slots.len() + 1],
            lanes: Vec::new(),
            executor_steps: Vec::new(),
        };
        let mut lanes = Vec::with_capacity(slots.len() + 1);
        let mut in_block = 0;
        for (index, slot) in slots.iter().enumerate() {
            let (step, lane) = match slot {
                None => (Step::of(Op::Gap, 0), None),
                Some((instruction, _)) => {
                    let decoded = Step::decode(instruction, base, index, slots.len())
                        .filter(|step| step.op == Op::End || in_block + 1 < BLOCK_STEPS);
                    let lane = decoded.and_then(|_| this.lane(instruction));
                    match decoded {
                        Some(step) if step.op == Op::End => (step, None),
                        Some(step) if lane.is_some() => (step, lane),
                        _ => {
                            let number = this.executor_steps.len() as u32;
                            let step = this.executor_step(index, instruction)?;
                            this.executor_steps.push(step);
                            (Step::of(Op::Executor, number), None)
                        }
                    }
                }
            };
            in_block = if step.op.ends_block() {
                0
            } else {
                in_block + 1
            };
            this.steps.push(step);
            lanes.push(lane);
        }
        this.steps.push(Step::of(Op::Gap, 0));
        lanes.push(None);
        for place in (0..this.steps.len()).rev() {
            let mut block = match this.steps[place].op.ends_block() {
                true => Block::default(),
                false => this.blocks[place + 1],
            };
            block.steps += 1;
            if let Some(lane) = lanes[place] {
                block.rows[lane] += 1;
            }
            this.blocks[place] = block;
        }
        Ok(this)
    }

    /// The lane of an instruction's rows; nothing if no executor takes it or there are too many lanes.
    fn lane(&mut self, instruction: &Instruction<F>) -> Option<usize> {
        let executor = *self.executors.instruction_lookup.get(&instruction.opcode)?;
        let air = self.airs.get(executor as usize).copied().unwrap_or(0);
        if let Some(lane) = self.lanes.iter().position(|&known| known == air) {
            return Some(lane);
        }
        if self.lanes.len() == LANES {
            return None;
        }
        self.lanes.push(air);
        Some(self.lanes.len() - 1)
    }

    /// The step of the executor of the instruction at a place.
    pub(super) fn executor_step(
        &self,
        place: usize,
        instruction: &Instruction<F>,
    ) -> Result<ExecutorStep, StaticProgramError> {
        let pc = self.address(place);
        let opcode = instruction.opcode;
        let Some(&number) = self.executors.instruction_lookup.get(&opcode) else {
            return Err(StaticProgramError::DisabledOperation { pc, opcode });
        };
        let executor = &self.executors.executors[number as usize];
        let air = self.airs.get(number as usize).copied().unwrap_or(0);
        let units = executor
            .metered_pre_compute_size()
            .div_ceil(size_of::<u128>());
        let mut data = vec![0u128; units.max(1)].into_boxed_slice();
        // SAFETY: every byte of a `u128` is a byte and every pattern of bytes is a `u128`; the length is that of the box.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<u8>(), size_of_val(&*data))
        };
        let handler = executor.metered_pre_compute::<Rows>(air, pc, instruction, bytes)?;
        Ok(ExecutorStep { handler, data })
    }

    /// The address of the instruction at a place.
    pub(super) fn address(&self, place: usize) -> u32 {
        let base = self.exe.program.pc_base;
        base.wrapping_add((place as u32).wrapping_mul(4))
    }

    /// Number of places.
    pub(super) fn places(&self) -> usize {
        self.steps.len() - 1
    }
}
