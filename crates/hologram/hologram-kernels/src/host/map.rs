//! Elementwise operations of one operand.

use super::parallel::{ranges, Shared};
use super::unary::Unary;
use super::vector::{self, blocks, none, Block, Work, BLOCK, SHORT_BLOCK};

/// `dst[i]` = `op` of `src[i]`; `src` may be `dst`.
pub(super) fn map<T, U>(dst: *mut T, src: *const T, count: usize, op: U)
where
    T: super::element::Element,
    U: Unary<T>,
{
    let (dst, src) = (Shared(dst), Shared(src.cast_mut()));
    ranges(count, 2 * size_of::<T>() * U::COST, |range| {
        // SAFETY: `run` was promised `count` elements; the ranges are disjoint.
        let (dst, src) = unsafe { (dst.at(range.start), src.at(range.start)) };
        let count = range.len();
        if U::COST < 8 {
            vector::run(Map::<_, _, BLOCK> {
                dst,
                src,
                count,
                op,
            });
        } else {
            vector::run(Map::<_, _, SHORT_BLOCK> {
                dst,
                src,
                count,
                op,
            });
        }
        true
    });
}

struct Map<T, U, const N: usize> {
    dst: *mut T,
    src: *const T,
    count: usize,
    op: U,
}

impl<T: super::element::Element, U: Unary<T>, const N: usize> Work for Map<T, U, N> {
    type Out = ();
    const WIDE: bool = !T::INTEGER;

    #[inline(always)]
    fn run(self) {
        let operands = ((self.src, T::ONE), none(), none());
        // SAFETY: `count` elements of both.
        unsafe { blocks(self.dst, operands, self.count, MapBlock::<_, N>(self.op)) };
    }
}

/// Block of a map; a closure of this size may stay out of line, without its caller's instructions.
struct MapBlock<U, const N: usize>(U);

impl<T: super::element::Element, U: Unary<T>, const N: usize> Block<T, (), (), T, N>
    for MapBlock<U, N>
{
    #[inline(always)]
    fn run(&mut self, block: [T; N], _: [(); N], _: [(); N]) -> [T; N] {
        let op = self.0;
        let mut out = block;
        for x in &mut out {
            *x = op.apply(*x);
        }
        if U::HAS_RARE && block.iter().fold(false, |any, &x| any | op.is_rare(x)) {
            for (y, &x) in out.iter_mut().zip(&block) {
                if op.is_rare(x) {
                    *y = op.apply_rare(x);
                }
            }
        }
        out
    }
}

/// `dst[i]` = `value`.
pub(super) fn fill<T: Copy + Send + Sync>(dst: *mut T, value: T, count: usize) {
    let dst = Shared(dst);
    ranges(count, size_of::<T>(), |range| {
        for index in range {
            // SAFETY: `run` was promised `count` elements; the ranges are disjoint.
            unsafe { dst.at(index).write(value) };
        }
        true
    });
}
