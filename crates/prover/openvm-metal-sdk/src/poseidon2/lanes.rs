//! `Lanes`: the same word of several states, which are permuted at the same time.

use p3_field::{Field, PackedValue};

use super::State;
use crate::prelude::F;

/// A word of each of [`COUNT`](Self::COUNT) states. Values are made from a permission or from other values, so that whoever has one may
/// use the instructions that it needs.
pub(super) trait Lanes: Copy {
    /// Says that this processor has the instructions.
    type Permission: Copy;

    /// Number of states.
    const COUNT: usize;

    /// Word `i` of each of the states, of which there are as many as lanes.
    fn gather(permission: Self::Permission, states: &[State], i: usize) -> Self;

    /// Gives every lane's number and word.
    fn scatter(self, to: impl FnMut(usize, F));

    /// The same word in every lane, whatever is in this value.
    fn splat(self, word: F) -> Self;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;

    #[inline(always)]
    fn twice(self) -> Self {
        self.plus(self)
    }
}

/// One state.
#[derive(Clone, Copy)]
pub(super) struct One(pub F);

impl Lanes for One {
    type Permission = ();

    const COUNT: usize = 1;

    #[inline(always)]
    fn gather((): (), states: &[State], i: usize) -> Self {
        Self(states[0][i])
    }

    #[inline(always)]
    fn scatter(self, mut to: impl FnMut(usize, F)) {
        to(0, self.0);
    }

    #[inline(always)]
    fn splat(self, word: F) -> Self {
        Self(word)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }
}

/// The vectors that p3 was compiled for.
#[derive(Clone, Copy)]
pub(super) struct Packed(<F as Field>::Packing);

impl Lanes for Packed {
    type Permission = ();

    const COUNT: usize = <F as Field>::Packing::WIDTH;

    #[inline(always)]
    fn gather((): (), states: &[State], i: usize) -> Self {
        Self(<F as Field>::Packing::from_fn(|lane| states[lane][i]))
    }

    #[inline(always)]
    fn scatter(self, mut to: impl FnMut(usize, F)) {
        for (lane, &word) in self.0.as_slice().iter().enumerate() {
            to(lane, word);
        }
    }

    #[inline(always)]
    fn splat(self, word: F) -> Self {
        Self(<F as Field>::Packing::from(word))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }
}
