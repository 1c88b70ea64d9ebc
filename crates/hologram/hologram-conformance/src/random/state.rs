//! The text of a random program as it grows, and which registers are initialised.
//!
//! r0, r4, r5, r8: addresses. r1, r3: handles of output and input. r2: the lane's offset in the output.
//! r6: the lane in its block. r7: pool. r9 to r15: counters. r16 on: eight registers of each type.
//! r120 to r127: of any type, used at once. r130 to r137: of subroutines.

use hologram_backends::Ty;

use super::rng::Rng;
use super::Features;

/// Registers of each type.
pub const OF_TYPE: usize = 8;

/// A program being written.
pub struct State {
    pub rng: Rng,
    pub features: Features,
    pub lines: Vec<String>,
    /// Bit `8 t + i`: register `i` of type `t` holds a value.
    pub live: u128,
    /// Predicates that hold a value.
    pub predicates: u16,
    /// The launch has one lane.
    pub single: bool,
    /// Bytes from lane to lane in the output.
    pub stride: usize,
    /// Statements still to be written.
    pub left: usize,
    /// Labels behind the open loops and branches.
    pub ends: Vec<String>,
    /// Open loops.
    pub depth: usize,
    /// Lanes may end anywhere: there are no barriers.
    pub may_exit: bool,
    /// Some statements may fault.
    pub faults: bool,
    /// Subroutines to be written.
    pub routines: usize,
    labels: usize,
}

impl State {
    pub fn new(rng: Rng, features: Features) -> Self {
        Self {
            rng,
            features,
            lines: Vec::new(),
            live: 0,
            predicates: 0,
            single: false,
            stride: 0,
            left: 0,
            ends: Vec::new(),
            depth: 0,
            may_exit: true,
            faults: false,
            routines: 0,
            labels: 0,
        }
    }

    pub fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("@l{}", self.labels)
    }

    /// Any type.
    pub fn any(&mut self) -> Ty {
        let ty = self.rng.pick(&Ty::ALL);
        self.allowed(ty)
    }

    /// One of some types.
    pub fn one_of(&mut self, types: &[Ty]) -> Ty {
        let ty = self.rng.pick(types);
        self.allowed(ty)
    }

    fn allowed(&self, ty: Ty) -> Ty {
        if ty == Ty::F64 && !self.features.doubles {
            Ty::F32
        } else {
            ty
        }
    }

    /// Any type that computes.
    pub fn computable(&mut self) -> Ty {
        const TYPES: [Ty; 12] = [
            Ty::I8,
            Ty::I16,
            Ty::I32,
            Ty::I64,
            Ty::U8,
            Ty::U16,
            Ty::U32,
            Ty::U64,
            Ty::F32,
            Ty::F64,
            Ty::F32,
            Ty::F64,
        ];
        self.one_of(&TYPES)
    }

    pub fn int(&mut self) -> Ty {
        const TYPES: [Ty; 8] = [
            Ty::I8,
            Ty::I16,
            Ty::I32,
            Ty::I64,
            Ty::U8,
            Ty::U16,
            Ty::U32,
            Ty::U64,
        ];
        self.one_of(&TYPES)
    }

    pub fn signed(&mut self) -> Ty {
        self.one_of(&[Ty::I8, Ty::I16, Ty::I32, Ty::I64, Ty::F32, Ty::F64])
    }

    pub fn float(&mut self) -> Ty {
        self.one_of(&[Ty::F32, Ty::F64])
    }

    fn number(ty: Ty, i: usize) -> usize {
        16 + OF_TYPE * usize::from(ty.code()) + i
    }

    fn bit(ty: Ty, i: usize) -> u128 {
        1 << (OF_TYPE * usize::from(ty.code()) + i)
    }

    /// A register that holds a value of a type; it is given one if there is none.
    pub fn source(&mut self, ty: Ty) -> String {
        let start = self.rng.below(OF_TYPE);
        for k in 0..OF_TYPE {
            let i = (start + k) % OF_TYPE;
            if self.live & Self::bit(ty, i) != 0 && (k == 0 || self.rng.chance(70)) {
                return format!("r{}", Self::number(ty, i));
            }
        }
        self.initialise(ty, start);
        format!("r{}", Self::number(ty, start))
    }

    /// Writes a constant or an input to a register.
    pub fn initialise(&mut self, ty: Ty, i: usize) {
        let number = Self::number(ty, i);
        if self.rng.chance(50) {
            let value = self.rng.value(ty);
            self.line(format!("mov_imm.{ty} r{number}, {value:#x}"));
        } else {
            let at = super::layout::input(ty) + ty.size() * self.rng.below(super::layout::ELEMENTS);
            self.line(format!(
                "ldg.{ty} r{number}, [buf{} + {at}]",
                super::layout::INPUT
            ));
        }
        self.live |= Self::bit(ty, i);
    }

    /// A register to write a value of a type to, marked as holding it: ask for sources first.
    pub fn target(&mut self, ty: Ty) -> String {
        let i = self.rng.below(OF_TYPE);
        self.live |= Self::bit(ty, i);
        format!("r{}", Self::number(ty, i))
    }

    /// The first of `count` registers of a type that all hold values.
    pub fn row(&mut self, ty: Ty, count: usize) -> String {
        let first = self.rng.below(OF_TYPE - count + 1);
        for i in first..first + count {
            if self.live & Self::bit(ty, i) == 0 {
                self.initialise(ty, i);
            }
        }
        format!("r{}", Self::number(ty, first))
    }

    /// A predicate that holds a value.
    pub fn predicate(&mut self) -> String {
        let i = self.rng.below(8);
        if self.predicates & (1 << i) == 0 || self.rng.chance(60) {
            let ty = self.computable();
            self.compare(ty, i);
        }
        format!("p{i}")
    }

    /// Sets predicate `i` from a comparison.
    pub fn compare(&mut self, ty: Ty, i: usize) {
        const ALL: [&str; 10] = [
            "eq", "ne", "lt", "le", "gt", "ge", "ltu", "leu", "gtu", "geu",
        ];
        let conditions = if ty.is_int() { &ALL[..] } else { &ALL[..6] };
        let condition = self.rng.pick(conditions);
        let (a, b) = if self.rng.chance(30) && !self.single {
            // What differs from lane to lane.
            let lane = self
                .rng
                .pick(&[("u32", "r252"), ("u32", "r253"), ("u64", "r255")]);
            let bound = self.rng.below(40);
            self.line(format!("mov_imm.{} r0, {bound}", lane.0));
            self.line(format!("set.{condition}.{} p{i}, {}, r0", lane.0, lane.1));
            self.predicates |= 1 << i;
            return;
        } else {
            (self.source(ty), self.source(ty))
        };
        self.line(format!("set.{condition}.{ty} p{i}, {a}, {b}"));
        self.predicates |= 1 << i;
    }
}
