//! The clauses of a kernel (`docs/reference/kernel-clauses.md`), evaluated for one launch.
//!
//! `openvm-metal-builder` turns the clauses of a doc comment into a [`ClauseFn`]. It computes what the launch
//! costs, how long each buffer must be and what its parameters must fulfil, from the launch's values and
//! grid. Nothing here touches the device.

use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::ops::{Add, Div, Mul, Rem, Shl, Shr, Sub};

use crate::cost::Cost;
use crate::error::MetalError;
use crate::grid::Shape;
use crate::limits::MAX_BUFFERS;

/// The clauses of one kernel as code.
pub type ClauseFn = fn(&mut Clauses<'_>);

/// Bytes of a value argument: those between the fields of a struct may be undefined.
pub(crate) type ValueBytes = [MaybeUninit<u8>];

/// Bytes of each value argument by its index.
pub(crate) type Values<'a> = [Option<&'a ValueBytes>; MAX_BUFFERS];

/// Bytes that are all defined.
pub(crate) fn defined(bytes: &[u8]) -> &ValueBytes {
    // SAFETY: the same bytes, as many, with the same lifetime; what may be undefined may be defined, and nobody writes to
    // them through the shared reference.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// A number of a clause; none where the calculation leaves 64 bits or divides by zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(Option<u64>);

impl Amount {
    /// A number.
    pub const fn of(number: u64) -> Self {
        Self(Some(number))
    }

    /// The number, or more than any.
    pub fn saturated(self) -> u64 {
        self.0.unwrap_or(u64::MAX)
    }

    fn with(self, other: Self, f: impl FnOnce(u64, u64) -> Option<u64>) -> Self {
        Self(self.0.zip(other.0).and_then(|(a, b)| f(a, b)))
    }

    /// The larger.
    pub fn max(self, other: Self) -> Self {
        self.with(other, |a, b| Some(a.max(b)))
    }

    /// The smaller.
    pub fn min(self, other: Self) -> Self {
        self.with(other, |a, b| Some(a.min(b)))
    }

    /// The quotient, rounded up.
    pub fn ceil_div(self, other: Self) -> Self {
        self.with(other, |a, b| (b != 0).then(|| a.div_ceil(b)))
    }

    /// `yes` if the comparison holds, else `no`.
    pub fn choose(self, other: Self, holds: fn(Ordering) -> bool, yes: Self, no: Self) -> Self {
        match self.compare(other) {
            Some(order) if holds(order) => yes,
            Some(_) => no,
            None => Self(None),
        }
    }

    /// The order of two amounts; `None` if either has no value.
    pub fn compare(self, other: Self) -> Option<Ordering> {
        Some(self.0?.cmp(&other.0?))
    }
}

macro_rules! operators {
    ($($trait:ident, $method:ident, $calculation:expr;)*) => {$(
        impl $trait for Amount {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                self.with(other, $calculation)
            }
        }
    )*};
}
operators! {
    Add, add, u64::checked_add;
    // Zero where the second is larger, so that counts stay counts.
    Sub, sub, |a, b| Some(a.saturating_sub(b));
    Mul, mul, u64::checked_mul;
    Div, div, u64::checked_div;
    Rem, rem, u64::checked_rem;
    Shl, shl, |a, b| if a == 0 { Some(0) } else { a.checked_mul(1u64.checked_shl(u32::try_from(b).ok()?)?) };
    Shr, shr, |a, b| Some(u32::try_from(b).ok().and_then(|b| a.checked_shr(b)).unwrap_or(0));
}

/// An integer field of a parameter struct.
pub trait Field: Copy {
    /// The size in bytes.
    const BYTES: usize;
}
impl Field for u8 {
    const BYTES: usize = 1;
}
impl Field for u16 {
    const BYTES: usize = 2;
}
impl Field for u32 {
    const BYTES: usize = 4;
}
impl Field for u64 {
    const BYTES: usize = 8;
}

/// Left side, order, right side.
pub type Comparison = (Amount, fn(Ordering) -> bool, Amount);

/// The unit that a `Cost:` clause counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Every thread of the grid.
    Thread,
    /// Every threadgroup of the grid.
    Threadgroup,
    /// The launch.
    Launch,
}

/// A condition of a `Requires:` clause that a launch does not fulfil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unmet {
    pub requirement: &'static str,
    pub left: u64,
    pub right: u64,
}

/// A launch while its clauses are evaluated.
pub struct Clauses<'a> {
    shape: &'a Shape,
    values: &'a Values<'a>,
    /// Values that only the caller knows, by `Given:` clause.
    given: &'a [u64],
    pub(crate) cost: Option<Cost>,
    /// Least number of elements of each buffer.
    pub(crate) lengths: [u64; MAX_BUFFERS],
    /// Buffers that may be one and the same range, a bit for each index.
    pub(crate) in_place: u32,
    pub(crate) unmet: Option<Unmet>,
    /// Index, offset and size of every field that was read, if someone wants to know.
    pub(crate) fields: Option<Vec<(u8, usize, usize)>>,
}

impl<'a> Clauses<'a> {
    /// Evaluates the clauses; the values have the sizes that the kernel declares.
    pub(crate) fn of(
        clauses: ClauseFn,
        shape: &'a Shape,
        values: &'a Values<'a>,
        given: &'a [u64],
    ) -> Self {
        let mut launch = Self {
            shape,
            values,
            given,
            cost: None,
            lengths: [0; MAX_BUFFERS],
            in_place: 0,
            unmet: None,
            fields: None,
        };
        clauses(&mut launch);
        launch
    }

    /// Does the work of [`Clauses::of`] and remembers which fields were read.
    pub(crate) fn recorded(
        clauses: ClauseFn,
        shape: &'a Shape,
        values: &'a Values<'a>,
        given: &'a [u64],
    ) -> Self {
        let mut launch = Self::of(|_| {}, shape, values, given);
        launch.fields = Some(Vec::new());
        clauses(&mut launch);
        launch
    }

    /// The unmet condition as an error of `kernel`.
    pub(crate) fn requirement(&self, kernel: &'static str) -> Result<(), MetalError> {
        match self.unmet {
            None => Ok(()),
            Some(Unmet {
                requirement,
                left,
                right,
            }) => Err(MetalError::UnmetRequirement {
                kernel,
                requirement,
                left,
                right,
            }),
        }
    }

    /// A field of the struct `P` at `[[buffer(index)]]`, `offset` bytes from its start.
    pub fn field<P, T: Field>(&mut self, index: u8, offset: usize, _: fn(&P) -> T) -> Amount {
        self.read(index, offset, T::BYTES)
    }

    /// Entry `at` of a field that is an array.
    pub fn entry<P, T: Field>(
        &mut self,
        index: u8,
        offset: usize,
        at: usize,
        _: fn(&P) -> T,
    ) -> Amount {
        self.read(index, offset + at * T::BYTES, T::BYTES)
    }

    /// The integer at `[[buffer(index)]]`.
    pub fn scalar<T: Field>(&mut self, index: u8) -> Amount {
        self.read(index, 0, T::BYTES)
    }

    fn read(&mut self, index: u8, offset: usize, bytes: usize) -> Amount {
        if let Some(fields) = &mut self.fields {
            fields.push((index, offset, bytes));
        }
        let value = self.values.get(index as usize).copied().flatten();
        let field = value.and_then(|value| value.get(offset..offset + bytes));
        Amount(field.map(|field| {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(field) {
                // SAFETY: the byte lies in the slice, in a field of the struct; the builder asserts that the struct
                // has the layout of the kernel's. Only bytes between fields are undefined.
                *to = unsafe { from.assume_init() };
            }
            u64::from_le_bytes(word)
        }))
    }

    /// Number `index` of the `Given:` clause.
    pub fn given(&self, index: usize) -> Amount {
        Amount(self.given.get(index).copied())
    }

    /// Threads of the grid, or of one of its axes.
    pub fn threads(&self, axis: Option<usize>) -> Amount {
        along(self.shape.threads, axis)
    }

    /// Threadgroups of the grid, or of one of its axes.
    pub fn groups(&self, axis: Option<usize>) -> Amount {
        along(self.shape.groups, axis)
    }

    /// Threads of a threadgroup, or of one of its axes.
    pub fn threads_per_group(&self, axis: Option<usize>) -> Amount {
        along(self.shape.threads_per_group, axis)
    }

    /// The cost clause.
    pub fn cost(&mut self, products: Amount, bytes: Amount, per: Per) {
        let times = match per {
            Per::Thread => self.threads(None),
            Per::Threadgroup => self.groups(None),
            Per::Launch => Amount::of(1),
        };
        self.cost = Some(Cost {
            products: (products * times).saturated(),
            bytes: (bytes * times).saturated(),
        });
    }

    /// One of the lengths: the buffer at `index` holds at least so many elements.
    pub fn length(&mut self, index: u8, elements: Amount) {
        if let Some(length) = self.lengths.get_mut(index as usize) {
            *length = elements.saturated();
        }
    }

    /// The `InPlace:` clause: the buffers at these indices may be one and the same range.
    pub fn in_place(&mut self, indices: &[u8]) {
        self.in_place = indices
            .iter()
            .filter(|&&index| (index as usize) < MAX_BUFFERS)
            .fold(0, |all, index| all | 1 << index);
    }

    /// One of the requirements: one of these comparisons of a left and a right side holds.
    pub fn require(&mut self, requirement: &'static str, one_of: &[Comparison]) {
        let holds = |&(left, holds, right): &Comparison| left.compare(right).is_some_and(holds);
        if one_of.iter().any(holds) || self.unmet.is_some() {
            return;
        }
        self.unmet = one_of.first().map(|&(left, _, right)| Unmet {
            requirement,
            left: left.saturated(),
            right: right.saturated(),
        });
    }
}

fn along(extent: [u32; 3], axis: Option<usize>) -> Amount {
    match axis {
        Some(axis) => Amount::of(extent[axis].into()),
        None => extent
            .iter()
            .fold(Amount::of(1), |all, &n| all * Amount::of(n.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        threads: [64, 3, 1],
        threads_per_group: [32, 1, 1],
        groups: [2, 3, 1],
        by_threads: false,
        any_size: false,
    };

    #[test]
    fn what_leaves_64_bits_is_more_than_any_buffer() {
        let of = Amount::of;
        for none in [
            of(u64::MAX) + of(1),
            of(1 << 40) * of(1 << 40),
            of(1) << of(64),
            of(3) << of(63),
            of(1) << of(u64::MAX),
            of(5) / of(0),
            of(5) % of(0),
            of(5).ceil_div(of(0)),
            (of(5) / of(0)).min(of(1)),
            (of(u64::MAX) + of(1)) - of(u64::MAX),
        ] {
            assert_eq!(none.saturated(), u64::MAX);
            assert_eq!(none.compare(none), None, "nothing holds for it");
        }
    }

    #[test]
    fn numbers_are_those_of_counts() {
        let of = Amount::of;
        assert_eq!(of(3) - of(5), of(0));
        assert_eq!(of(0) << of(200), of(0));
        assert_eq!(of(7) >> of(200), of(0));
        assert_eq!((of(7) << of(2)) >> of(1), of(14));
        assert_eq!(of(7).ceil_div(of(2)), of(4));
        assert_eq!(of(7).max(of(9)).min(of(8)), of(8));
    }

    #[test]
    fn fields_are_read_where_the_struct_has_them() {
        #[repr(C)]
        struct P {
            n: u32,
            wide: [u64; 2],
        }
        let mut bytes = [0u8; 24];
        bytes[0] = 7;
        bytes[16] = 9;
        let mut values: Values<'_> = [None; MAX_BUFFERS];
        values[3] = Some(defined(&bytes));
        let launch = Clauses::recorded(
            |c| {
                let n = c.field(3, std::mem::offset_of!(P, n), |p: &P| p.n);
                let wide = c.entry(3, std::mem::offset_of!(P, wide), 1, |p: &P| p.wide[1]);
                c.length(0, n);
                c.length(1, wide);
                let missing = c.scalar::<u32>(4);
                c.length(2, missing);
                let (groups, along) = (c.groups(None), c.groups(Some(1)));
                c.cost(n, wide, Per::Threadgroup);
                let double = along * Amount::of(2);
                c.require(
                    "groups == groups.y * 2",
                    &[(groups, Ordering::is_eq, double)],
                );
                let seven = (n, Ordering::is_gt as fn(Ordering) -> bool, Amount::of(7));
                let six = (n, Ordering::is_gt as fn(Ordering) -> bool, Amount::of(6));
                c.require("n > 7 or n > 6", &[seven, six]);
                c.require("n > 7", &[seven]);
                c.require("n > 8", &[(n, Ordering::is_gt, Amount::of(8))]);
                let given = c.given(1);
                c.length(4, given);
            },
            &SHAPE,
            &values,
            &[5, 6],
        );
        assert_eq!(launch.lengths[..3], [7, 9, u64::MAX]);
        let (products, bytes) = (42, 54);
        assert_eq!(launch.cost, Some(Cost { products, bytes }));
        assert_eq!(launch.lengths[4], 6);
        assert_eq!(launch.unmet.map(|u| u.requirement), Some("n > 7"));
        assert_eq!(
            launch.fields.as_deref(),
            Some(&[(3, 0, 4), (3, 16, 8), (4, 0, 4)][..])
        );
    }
}
