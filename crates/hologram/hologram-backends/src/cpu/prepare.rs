//! Programs decoded for the interpreter.

mod columns;
mod decode;

use crate::error::Result;
use crate::isa::{Instruction, Register, Ty};
use crate::program::Program;
use crate::validate::validate;

use super::step::{Intrinsic, Step};
use columns::Columns;
use columns::Presets;

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
}
