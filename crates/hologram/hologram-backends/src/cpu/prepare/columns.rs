//! Columns of the registers of each type.

use std::collections::BTreeSet;

use crate::cpu::lanes::Column;
use crate::cpu::step::Intrinsic;
use crate::isa::{Instruction, Predicate, Register, Ty, PREDICATES, REGISTERS};
use crate::program::Program;

/// A column and the type of its values.
pub(in crate::cpu) type Preset = Option<(Column, Ty)>;

/// Columns that lanes begin with, where the program reads them.
#[derive(Clone, Debug, Default)]
pub(in crate::cpu) struct Presets {
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

/// Columns given so far.
pub(super) struct Columns {
    registers: Vec<[Option<Column>; Ty::ALL.len()]>,
    predicates: [Option<Column>; PREDICATES],
    class: Option<Column>,
    phase: Option<Column>,
    bytes: u32,
    /// Whole-buffer instructions met so far.
    pub intrinsics: Vec<Intrinsic>,
}

impl Columns {
    /// Columns for the registers that folds read: registers in a row have columns in a row.
    pub fn new(program: &Program) -> Self {
        use Instruction as I;
        let mut columns = Self {
            registers: vec![[None; Ty::ALL.len()]; REGISTERS],
            predicates: [None; PREDICATES],
            class: None,
            phase: None,
            bytes: 0,
            intrinsics: Vec::new(),
        };
        let mut folded = BTreeSet::new();
        for instruction in program.instructions() {
            if let I::ReduceAdd { .. }
            | I::ReduceMin { .. }
            | I::ReduceMax { .. }
            | I::ReduceMul { .. } = instruction
            {
                instruction.for_each_use(|register, ty| {
                    folded.insert((ty, register));
                });
            }
        }
        for (ty, register) in folded {
            columns.register(register, ty);
        }
        columns
    }

    fn add(bytes: &mut u32, size: usize) -> Column {
        let column = Column(*bytes);
        *bytes += size as u32;
        column
    }

    /// The column of a register while it holds `ty`.
    pub fn register(&mut self, register: Register, ty: Ty) -> Column {
        let slot = &mut self.registers[register.index() as usize][ty.code() as usize];
        *slot.get_or_insert_with(|| Self::add(&mut self.bytes, ty.size()))
    }

    /// The column of a predicate.
    pub fn predicate(&mut self, predicate: Predicate) -> Column {
        let slot = &mut self.predicates[predicate.index() as usize];
        *slot.get_or_insert_with(|| Self::add(&mut self.bytes, 1))
    }

    /// The column of the lane's class.
    pub fn class(&mut self) -> Column {
        *self
            .class
            .get_or_insert_with(|| Self::add(&mut self.bytes, 1))
    }

    /// The column of the lane's phase.
    pub fn phase(&mut self) -> Column {
        *self
            .phase
            .get_or_insert_with(|| Self::add(&mut self.bytes, 4))
    }

    /// Bytes per lane of all columns, at most 256 registers of 12 types and some.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The columns that lanes begin with.
    pub fn presets(&self, initial: &[(Register, Ty)]) -> Presets {
        let known = |register: Register, ty: Ty| {
            self.registers[register.index() as usize][ty.code() as usize]
        };
        Presets {
            lane_x: known(Register::LANE_X, Ty::U32),
            block_x: known(Register::BLOCK_X, Ty::U32),
            block_dim_x: known(Register::BLOCK_DIM_X, Ty::U32),
            global_lane: known(Register::GLOBAL_LANE, Ty::U64),
            class: self.class,
            phase: self.phase,
            initial: initial
                .iter()
                .map(|&(register, ty)| known(register, ty).map(|column| (column, ty)))
                .collect(),
        }
    }
}
