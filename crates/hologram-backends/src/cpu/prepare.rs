//! Programs decoded for the interpreter.

mod columns;
mod decode;

use crate::backend::error::{BackendError, Result};
use crate::isa::{Instruction, Register, Ty};
use crate::program::Program;
use crate::validate::validate;

use super::intrinsic::Intrinsic;
use super::lanes::Column;
use super::step::Step;
use columns::Columns;

/// A column and the type of its values.
pub(super) type Preset = Option<(Column, Ty)>;

/// Columns that lanes begin with, where the program reads them.
#[derive(Clone, Debug, Default)]
pub(super) struct Presets {
    /// `u32` x index of the lane in its block.
    pub lane_x: Option<Column>,
    /// `u32` x index of the block.
    pub block_x: Option<Column>,
    /// `u32` lanes of a block along x.
    pub block_dim_x: Option<Column>,
    /// `u64` global lane.
    pub global_lane: Option<Column>,
    /// `u8` class.
    pub class: Option<Column>,
    /// `u32` phase.
    pub phase: Option<Column>,
    /// Initial registers in their order.
    pub initial: Vec<Preset>,
}

/// A valid program, decoded.
pub(super) struct Prepared {
    pub program: Program,
    /// Types of the initial registers that the program was validated for.
    pub types: Vec<(Register, Ty)>,
    pub steps: Vec<Step>,
    /// Bytes per lane of all columns.
    pub bytes: u32,
    pub presets: Presets,
    /// Barriers or shared memory: the lanes of a block run together.
    pub by_block: bool,
    /// Pools are made or freed: blocks run in order.
    pub in_order: bool,
    pub calls: bool,
    pub jumps_back: bool,
    /// Whole-buffer instructions: if there are any, launches have one lane.
    pub intrinsics: Vec<Intrinsic>,
}

impl Prepared {
    /// Validates and decodes; cost linear in the program, with the validator's.
    pub fn new(program: &Program, types: Vec<(Register, Ty)>) -> Result<Self> {
        use Instruction as I;
        validate(program, &types)?;
        let mut columns = Columns::new(program);
        let steps = decode::decode(program, &mut columns)?;
        let any = |f: fn(&I) -> bool| program.instructions().iter().any(f);
        let presets = columns.presets(&types);
        Ok(Self {
            presets,
            bytes: columns.bytes(),
            by_block: any(|i| matches!(i, I::BarSync { .. } | I::Lds { .. } | I::Sts { .. })),
            in_order: any(|i| matches!(i, I::PoolAlloc { .. } | I::PoolFree { .. })),
            calls: any(|i| matches!(i, I::Call { .. })),
            intrinsics: columns.intrinsics,
            jumps_back: steps.iter().zip(0u32..).any(|(s, pc)| s.goes_back(pc)),
            program: program.clone(),
            types,
            steps,
        })
    }

    /// The error of an instruction that the interpreter has no step for.
    fn unsupported(program: &Program, pc: usize, reason: &str) -> BackendError {
        BackendError::UnsupportedInstruction {
            pc,
            instruction: program.instructions()[pc].to_string(),
            reason: reason.into(),
        }
    }
}
