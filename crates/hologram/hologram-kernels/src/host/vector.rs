//! The same code compiled for several instruction sets, the best of which is chosen at run time.

use std::hint::black_box;
use std::mem::MaybeUninit;

/// Elements that are handled at a time.
pub(super) const BLOCK: usize = 32;
/// The same where an element is much work: code stays small.
pub(super) const SHORT_BLOCK: usize = 16;

/// Work without calls, inlined into one function per instruction set.
pub(super) trait Work {
    type Out;
    /// Worth a version for 512-bit vectors, which x86 has.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "there is one version")
    )]
    const WIDE: bool;
    /// Must be `#[inline(always)]`, as everything it calls.
    fn run(self) -> Self::Out;
}

/// Runs `work` with the best instructions of this processor.
#[inline]
pub(super) fn run<W: Work>(work: W) -> W::Out {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let v3 = has!("avx2") && has!("fma") && has!("bmi2");
        if W::WIDE
            && v3
            && has!("avx512f")
            && has!("avx512bw")
            && has!("avx512dq")
            && has!("avx512vl")
        {
            // SAFETY: the processor has the features.
            return unsafe { x86_v4(work) };
        }
        if v3 {
            // SAFETY: the processor has the features.
            return unsafe { x86_v3(work) };
        }
    }
    work.run()
}

/// # Safety
/// The processor has the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn x86_v4<W: Work>(work: W) -> W::Out {
    work.run()
}

/// # Safety
/// The processor has the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
unsafe fn x86_v3<W: Work>(work: W) -> W::Out {
    work.run()
}

/// Reads `len <= N` elements from `src`, the rest are `fill`.
///
/// # Safety
/// `src` is valid for reads of `len` elements.
#[inline(always)]
pub(super) unsafe fn load<T: Copy, const N: usize>(src: *const T, len: usize, fill: T) -> [T; N] {
    // SAFETY: the caller's promise.
    unsafe {
        if len == N {
            return src.cast::<[T; N]>().read();
        }
        let mut block = [fill; N];
        std::ptr::copy_nonoverlapping(src, block.as_mut_ptr(), len);
        block
    }
}

/// An operand, and the value that stands behind its last elements.
pub(super) type Filled<T> = (*const T, T);

/// No operand.
#[inline(always)]
pub(super) fn none() -> Filled<()> {
    (std::ptr::dangling(), ())
}

/// Work on a block of each of three operands.
pub(super) trait Block<A, B, C, D, const N: usize> {
    /// Computes a block. It must be `#[inline(always)]`, as everything it calls; compilers decide about closures, which are
    /// for little work.
    fn run(&mut self, a: [A; N], b: [B; N], c: [C; N]) -> [D; N];
}

impl<A, B, C, D, const N: usize, F: FnMut([A; N], [B; N], [C; N]) -> [D; N]> Block<A, B, C, D, N>
    for F
{
    #[inline(always)]
    fn run(&mut self, a: [A; N], b: [B; N], c: [C; N]) -> [D; N] {
        self(a, b, c)
    }
}

/// Computes `count` elements of `dst` in blocks: `f` gets a block of each operand, which may be `dst`. The last elements
/// are a block in memory of its own: lengths that are not known would keep blocks out of registers.
///
/// # Safety
/// The operands are valid for reads of `count` elements, `dst` for writes.
#[inline(always)]
pub(super) unsafe fn blocks<A: Copy, B: Copy, C: Copy, D: Copy, const N: usize>(
    dst: *mut D,
    operands: (Filled<A>, Filled<B>, Filled<C>),
    count: usize,
    mut f: impl Block<A, B, C, D, N>,
) {
    let ((first_a, fill_a), (first_b, fill_b), (first_c, fill_c)) = operands;
    let rest = count % N;
    let whole = count - rest;
    let (mut last_a, mut last_b, mut last_c) = ([fill_a; N], [fill_b; N], [fill_c; N]);
    let mut last_dst = MaybeUninit::<[D; N]>::uninit();
    let (mut to, mut a, mut b, mut c, mut len) = (dst, first_a, first_b, first_c, whole);
    let mut is_last = false;
    loop {
        let mut at = 0;
        while at < len {
            // SAFETY: `len` is a multiple of N, at most `count` or the length of the last block's memory.
            unsafe {
                let a = a.add(at).cast::<[A; N]>().read();
                let b = b.add(at).cast::<[B; N]>().read();
                let c = c.add(at).cast::<[C; N]>().read();
                to.add(at).cast::<[D; N]>().write(f.run(a, b, c));
            }
            at += N;
            // Something opaque: LLVM would make vectors across blocks, of strided accesses.
            black_box(());
        }
        if is_last || rest == 0 {
            break;
        }
        // SAFETY: `rest` elements are left, fewer than a block has.
        unsafe {
            let (from_a, from_b, from_c) =
                (first_a.add(whole), first_b.add(whole), first_c.add(whole));
            from_a.copy_to_nonoverlapping(last_a.as_mut_ptr(), rest);
            from_b.copy_to_nonoverlapping(last_b.as_mut_ptr(), rest);
            from_c.copy_to_nonoverlapping(last_c.as_mut_ptr(), rest);
        }
        (a, b, c) = (last_a.as_ptr(), last_b.as_ptr(), last_c.as_ptr());
        (to, len, is_last) = (last_dst.as_mut_ptr().cast(), N, true);
    }
    if rest > 0 {
        // SAFETY: the last block was written, and `rest` elements of `dst` are left.
        unsafe {
            let from = last_dst.as_ptr().cast::<D>();
            from.copy_to_nonoverlapping(dst.add(whole), rest);
        }
    }
}

/// Gives `count` elements of two operands to `f` in blocks, the last one filled up.
///
/// # Safety
/// The operands are valid for reads of `count` elements.
#[inline(always)]
pub(super) unsafe fn each_block<A: Copy, B: Copy, const N: usize>(
    operands: (Filled<A>, Filled<B>),
    count: usize,
    mut f: impl FnMut([A; N], [B; N]),
) {
    let nowhere = std::ptr::dangling_mut::<()>();
    // SAFETY: the caller's promises; units have no bytes.
    unsafe {
        blocks(
            nowhere,
            (operands.0, operands.1, none()),
            count,
            |a, b, _| {
                f(a, b);
                [(); N]
            },
        );
    }
}
