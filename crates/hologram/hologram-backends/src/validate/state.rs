//! Knowledge about every register at one place.

use crate::isa::{Predicate, Register, Ty, PREDICATES, REGISTERS};

/// Registers and predicates of a lane.
const SLOTS: usize = REGISTERS + PREDICATES;

const NEVER: u8 = 0;
const UNINITIALIZED: u8 = 1;
const FIRST_TYPE: u8 = 2;
const AMBIGUOUS: u8 = 14;
const VALUE: u8 = 15;
/// On some path the slot is as it was on entry of the routine.
const KEPT: u8 = 16;

/// Contents of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Not written on some path.
    Uninitialized,
    /// A value of one type on all paths.
    Typed(Ty),
    /// Values of different types.
    Ambiguous,
}

/// A value for every slot: a set of possible contents folded to one code.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State([u8; SLOTS]);

fn meet_slot(a: u8, b: u8) -> u8 {
    let (x, y) = (a & VALUE, b & VALUE);
    let value = if x == y || y == NEVER {
        x
    } else if x == NEVER {
        y
    } else if x == UNINITIALIZED || y == UNINITIALIZED {
        UNINITIALIZED
    } else {
        AMBIGUOUS
    };
    value | ((a | b) & KEPT)
}

impl State {
    /// Nothing is initialised: a lane before its special registers are set.
    pub fn uninitialized() -> Self {
        Self([UNINITIALIZED; SLOTS])
    }

    /// Every slot as it was on entry.
    pub fn identity() -> Self {
        Self([KEPT | NEVER; SLOTS])
    }

    pub fn set(&mut self, register: Register, ty: Ty) {
        self.0[register.index() as usize] = FIRST_TYPE + ty.code();
    }

    pub fn set_predicate(&mut self, predicate: Predicate) {
        self.0[REGISTERS + predicate.index() as usize] = FIRST_TYPE;
    }

    pub fn register(&self, register: Register) -> Held {
        match self.0[register.index() as usize] & VALUE {
            NEVER | UNINITIALIZED => Held::Uninitialized,
            AMBIGUOUS => Held::Ambiguous,
            code => Ty::from_code(code - FIRST_TYPE).map_or(Held::Uninitialized, Held::Typed),
        }
    }

    pub fn has_predicate(&self, predicate: Predicate) -> bool {
        self.0[REGISTERS + predicate.index() as usize] & VALUE > UNINITIALIZED
    }

    /// Joins another path's state; says whether anything changed.
    pub fn meet(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (slot, &from) in self.0.iter_mut().zip(&other.0) {
            let met = meet_slot(*slot, from);
            changed |= met != *slot;
            *slot = met;
        }
        changed
    }

    /// The state after a routine that does `summary`, called in this state.
    pub fn after(&self, summary: &Self) -> Self {
        let mut out = summary.clone();
        for (slot, &before) in out.0.iter_mut().zip(&self.0) {
            if *slot & KEPT != 0 {
                *slot = meet_slot(*slot & VALUE, before);
            }
        }
        out
    }
}
