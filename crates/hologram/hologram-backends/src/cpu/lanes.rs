//! Registers of many lanes, a column for each register and type, and which lanes are active.

use std::array::from_fn;
use std::cell::Cell;
use std::mem::size_of;

use crate::error::FaultKind;
use crate::semantics::Scalar;

/// Lanes are counted in multiples of this, so that all columns are aligned.
pub(super) const LANE_MULTIPLE: usize = 8;
/// Lanes computed before any of them is written, so that columns which are read and written do not
/// keep the compiler from using vectors.
const CHUNK: usize = 16;

/// A register of one type: the bytes per lane of all columns before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Column(pub u32);

/// Columns of `width` lanes.
pub(super) struct Lanes {
    columns: Box<[Cell<u64>]>,
    width: usize,
    /// Active lanes are `low..high`, or `list` where these are not all active.
    low: usize,
    high: usize,
    list: Vec<u32>,
    dense: bool,
    /// Subnormals are zero for what computes.
    flush: bool,
    /// A subnormal was taken for zero.
    met_subnormal: Cell<bool>,
    failed: Cell<Option<(u32, FaultKind)>>,
}

impl Lanes {
    /// Columns of `bytes` per lane in all, for at least `lanes` lanes; with `flush` subnormals are zero for what computes.
    pub fn new(bytes: u32, lanes: usize, flush: bool) -> Self {
        let width = lanes.next_multiple_of(LANE_MULTIPLE);
        let words = width / LANE_MULTIPLE * bytes as usize;
        Self {
            columns: vec![0u64; words].into_iter().map(Cell::new).collect(),
            width,
            low: 0,
            high: 0,
            list: Vec::new(),
            dense: true,
            flush,
            met_subnormal: Cell::new(false),
            failed: Cell::new(None),
        }
    }

    /// The column, an element for each lane.
    #[inline(always)]
    pub fn column<T: Scalar>(&self, column: Column) -> &[Cell<T>] {
        let start = column.0 as usize * self.width;
        assert!(start + self.width * size_of::<T>() <= self.columns.len() * 8);
        // SAFETY: within the columns as asserted; aligned, since the width is a multiple of 8; any bits
        // are a value of the number types that `T` is; cells of one thread may overlap.
        unsafe {
            let first = self.columns.as_ptr().cast::<u8>().add(start);
            std::slice::from_raw_parts(first.cast(), self.width)
        }
    }

    /// Makes lanes `low..high` active.
    pub fn activate_range(&mut self, low: usize, high: usize) {
        (self.low, self.high, self.dense) = (low, high, true);
    }

    /// Makes the lanes of `0..count` active that `select` names; at least one.
    pub fn activate(&mut self, count: usize, select: impl Fn(usize) -> bool) {
        self.list.clear();
        self.list
            .extend((0..count).filter(|&i| select(i)).map(|i| i as u32));
        if let (Some(&first), Some(&last)) = (self.list.first(), self.list.last()) {
            (self.low, self.high) = (first as usize, last as usize + 1);
            self.dense = self.list.len() == self.high - self.low;
        } else {
            self.activate_range(0, 0);
        }
    }

    /// Number of active lanes.
    #[inline(always)]
    pub fn active(&self) -> usize {
        if self.dense {
            self.high - self.low
        } else {
            self.list.len()
        }
    }

    /// Calls `f` with each active lane in ascending order while it returns true.
    #[inline(always)]
    pub fn each_while(&self, mut f: impl FnMut(usize) -> bool) {
        if self.dense {
            for i in self.low..self.high {
                if !f(i) {
                    return;
                }
            }
        } else {
            for &i in &self.list {
                if !f(i as usize) {
                    return;
                }
            }
        }
    }

    /// Calls `f` with each active lane in ascending order.
    #[inline(always)]
    pub fn each(&self, mut f: impl FnMut(usize)) {
        self.each_while(|i| {
            f(i);
            true
        });
    }

    /// The smallest active lane.
    pub fn first(&self) -> usize {
        self.low
    }

    /// The common value of the active lanes, if they have one.
    #[inline(always)]
    pub fn uniform(&self, column: Column) -> Option<u64> {
        let values = self.column::<u64>(column);
        let first = values.get(self.low)?.get();
        let equal = if self.dense {
            values[self.low..self.high]
                .iter()
                .fold(true, |all, v| all & (v.get() == first))
        } else {
            self.list
                .iter()
                .fold(true, |all, &i| all & (values[i as usize].get() == first))
        };
        equal.then_some(first)
    }

    /// Notes the fault of a lane: the handler ends after the first.
    #[cold]
    pub fn fail(&self, lane: usize, kind: FaultKind) {
        self.failed.set(Some((lane as u32, kind)));
    }

    /// The fault noted since the last call.
    #[inline(always)]
    pub fn take_failed(&self) -> Option<(u32, FaultKind)> {
        self.failed.take()
    }

    /// `d` = `f` of nothing.
    #[inline(always)]
    pub fn map0<D: Scalar>(&self, d: Column, value: D) {
        let d = self.column::<D>(d);
        if self.dense {
            d[self.low..self.high].iter().for_each(|d| d.set(value));
        } else {
            self.each(|i| d[i].set(value));
        }
    }

    /// `d` = `f(a)`.
    #[inline(always)]
    pub fn map1<A: Scalar, D: Scalar>(&self, d: Column, a: Column, f: impl Fn(A) -> D) {
        let (d, a) = (self.column::<D>(d), self.column::<A>(a));
        if self.dense {
            let range = self.low..self.high;
            let (d, d_rest) = d[range.clone()].as_chunks::<CHUNK>();
            let (a, a_rest) = a[range].as_chunks::<CHUNK>();
            for (d, a) in d.iter().zip(a) {
                let values: [D; CHUNK] = from_fn(|i| f(a[i].get()));
                (0..CHUNK).for_each(|i| d[i].set(values[i]));
            }
            for (d, a) in d_rest.iter().zip(a_rest) {
                d.set(f(a.get()));
            }
        } else {
            self.each(|i| d[i].set(f(a[i].get())));
        }
    }

    /// `d` = `f(a, b)`.
    #[inline(always)]
    pub fn map2<A: Scalar, B: Scalar, D: Scalar>(
        &self,
        [d, a, b]: [Column; 3],
        f: impl Fn(A, B) -> D,
    ) {
        let (d, a, b) = (
            self.column::<D>(d),
            self.column::<A>(a),
            self.column::<B>(b),
        );
        if self.dense {
            let range = self.low..self.high;
            let (d, d_rest) = d[range.clone()].as_chunks::<CHUNK>();
            let (a, a_rest) = a[range.clone()].as_chunks::<CHUNK>();
            let (b, b_rest) = b[range].as_chunks::<CHUNK>();
            for ((d, a), b) in d.iter().zip(a).zip(b) {
                let values: [D; CHUNK] = from_fn(|i| f(a[i].get(), b[i].get()));
                (0..CHUNK).for_each(|i| d[i].set(values[i]));
            }
            for ((d, a), b) in d_rest.iter().zip(a_rest).zip(b_rest) {
                d.set(f(a.get(), b.get()));
            }
        } else {
            self.each(|i| d[i].set(f(a[i].get(), b[i].get())));
        }
    }

    /// `d` = `f(a, b, c)`.
    #[inline(always)]
    pub fn map3<A: Scalar, B: Scalar, C: Scalar, D: Scalar>(
        &self,
        [d, a, b, c]: [Column; 4],
        f: impl Fn(A, B, C) -> D,
    ) {
        let (d, a) = (self.column::<D>(d), self.column::<A>(a));
        let (b, c) = (self.column::<B>(b), self.column::<C>(c));
        if self.dense {
            let range = self.low..self.high;
            let operands = a[range.clone()].iter().zip(&b[range.clone()]);
            let operands = operands.zip(&c[range.clone()]);
            for (d, ((a, b), c)) in d[range].iter().zip(operands) {
                d.set(f(a.get(), b.get(), c.get()));
            }
        } else {
            self.each(|i| d[i].set(f(a[i].get(), b[i].get(), c[i].get())));
        }
    }

    /// True if a subnormal was taken for zero.
    pub fn met_subnormal(&self) -> bool {
        self.met_subnormal.get()
    }

    /// True if values of a type may be flushed here.
    #[inline(always)]
    pub fn flushes<T: Scalar>(&self) -> bool {
        T::FLUSHES && self.flush
    }

    /// The value as a device that flushes sees it.
    pub fn flushed<T: Scalar>(&self, value: T) -> T {
        let flushed = value.flushed();
        if flushed.to_bits() != value.to_bits() {
            self.met_subnormal.set(true);
        }
        flushed
    }

    /// One of two values that `f` chooses from what a device that flushes sees of them.
    pub fn chosen<T: Scalar>(&self, a: T, b: T, f: impl Fn(T, T) -> T) -> T {
        let (x, y) = (self.flushed(a), self.flushed(b));
        if f(x, y).to_bits() == x.to_bits() {
            a
        } else {
            b
        }
    }

    /// `d` = `f(a)`, computed.
    #[inline(always)]
    pub fn compute1<A: Scalar, D: Scalar>(&self, d: Column, a: Column, f: impl Fn(A) -> D) {
        if !self.flushes::<A>() {
            return self.map1(d, a, f);
        }
        let (d, a) = (self.column::<D>(d), self.column::<A>(a));
        self.each(|i| d[i].set(self.flushed(f(self.flushed(a[i].get())))));
    }

    /// `d` = `f(a, b)`, computed.
    #[inline(always)]
    pub fn compute2<A: Scalar, D: Scalar>(&self, [d, a, b]: [Column; 3], f: impl Fn(A, A) -> D) {
        if !self.flushes::<A>() {
            return self.map2([d, a, b], f);
        }
        let (d, a, b) = (
            self.column::<D>(d),
            self.column::<A>(a),
            self.column::<A>(b),
        );
        let see = |x: &Cell<A>| self.flushed(x.get());
        self.each(|i| d[i].set(self.flushed(f(see(&a[i]), see(&b[i])))));
    }

    /// `d` = `f(a, b, c)`, computed.
    #[inline(always)]
    pub fn compute3<A: Scalar>(&self, [d, a, b, c]: [Column; 4], f: impl Fn(A, A, A) -> A) {
        if !self.flushes::<A>() {
            return self.map3([d, a, b, c], f);
        }
        let [d, a, b, c] = [d, a, b, c].map(|column| self.column::<A>(column));
        let see = |x: &Cell<A>| self.flushed(x.get());
        self.each(|i| d[i].set(self.flushed(f(see(&a[i]), see(&b[i]), see(&c[i])))));
    }

    /// `d` = `a` or `b`, as `f` chooses.
    #[inline(always)]
    pub fn choose<T: Scalar>(&self, [d, a, b]: [Column; 3], f: impl Fn(T, T) -> T) {
        if !self.flushes::<T>() {
            return self.map2([d, a, b], f);
        }
        let [d, a, b] = [d, a, b].map(|column| self.column::<T>(column));
        self.each(|i| d[i].set(self.chosen(a[i].get(), b[i].get(), &f)));
    }
}
