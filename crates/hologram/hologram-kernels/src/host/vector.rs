//! The same code compiled for several instruction sets, the best of which is chosen at run time.

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

/// Writes the first `len <= N` elements to `dst`.
///
/// # Safety
/// `dst` is valid for writes of `len` elements.
#[inline(always)]
pub(super) unsafe fn store<T: Copy, const N: usize>(dst: *mut T, len: usize, block: [T; N]) {
    // SAFETY: the caller's promise.
    unsafe {
        if len == N {
            dst.cast::<[T; N]>().write(block);
        } else {
            std::ptr::copy_nonoverlapping(block.as_ptr(), dst, len);
        }
    }
}
