//! Quotients and remainders of 64-bit integers, which no vector unit divides.

use std::marker::PhantomData;

use super::super::vector::{self, Work, BLOCK};
use super::kernels::{pairs, Places};
use super::ordered::Wide;

/// Quotients, or remainders, of 64-bit integers.
struct Divide<T> {
    places: Places,
    remainder: bool,
    types: PhantomData<T>,
}

impl<T: Wide> Work for Divide<T> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        // SAFETY: every place has `count` elements.
        unsafe {
            pairs(&self.places, T::ONE, |a: [T; BLOCK], b| {
                let mut small = true;
                for i in 0..BLOCK {
                    small &= a[i].is_small() & b[i].is_small();
                }
                let mut out = [T::NONE; BLOCK];
                if small {
                    for i in 0..BLOCK {
                        out[i] = a[i].floor_div_small(b[i]);
                    }
                } else {
                    for i in 0..BLOCK {
                        out[i] = a[i].floor_div(b[i]);
                    }
                }
                if self.remainder {
                    for i in 0..BLOCK {
                        let rest = a[i].minus(out[i].times(b[i]));
                        out[i] = if b[i] == T::ZERO { T::ZERO } else { rest };
                    }
                }
                out
            });
        }
    }
}

pub(super) fn divide<T: Wide>(places: Places, remainder: bool) {
    vector::run(Divide::<T> {
        places,
        remainder,
        types: PhantomData,
    });
}
