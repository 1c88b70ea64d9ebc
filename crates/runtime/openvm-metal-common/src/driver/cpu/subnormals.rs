//! Subnormal floats as Apple GPUs treat them: zero where they are read, zero where they would be written.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::arch::asm;

#[cfg(target_arch = "x86_64")]
type Control = u32;
#[cfg(not(target_arch = "x86_64"))]
type Control = u64;

/// Bits of MXCSR: flush to zero, denormals are zeros.
#[cfg(target_arch = "x86_64")]
const FLUSH: Control = 1 << 15 | 1 << 6;
/// Bit of FPCR: flush to zero, inputs and results. Halves have a bit of their own, which stays.
#[cfg(not(target_arch = "x86_64"))]
const FLUSH: Control = 1 << 24;

/// This thread flushes subnormal `f32` and `f64` while the value lives. Only kernels and what schedules them run meanwhile, and the
/// latter computes no floats.
pub(super) struct Flushing(Control);

impl Flushing {
    /// Begins to flush if that is asked for.
    pub fn begin(flush: bool) -> Option<Self> {
        flush.then(|| {
            let before = control();
            set_control(before | FLUSH);
            Self(before)
        })
    }
}

impl Drop for Flushing {
    fn drop(&mut self) {
        set_control(self.0);
    }
}

#[cfg(target_arch = "x86_64")]
fn control() -> Control {
    let mut word: Control = 0;
    // SAFETY: the instruction writes the 4 bytes of `word`.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
    word
}

#[cfg(target_arch = "x86_64")]
fn set_control(word: Control) {
    // SAFETY: the instruction reads the 4 bytes of `word`, which the processor gave but for two bits that all of its kind have; no
    // exception is unmasked.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
fn control() -> Control {
    let word: Control;
    // SAFETY: the instruction reads a register that every program may read.
    unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack, preserves_flags)) };
    word
}

#[cfg(target_arch = "aarch64")]
fn set_control(word: Control) {
    // SAFETY: the word is what the processor gave but for one bit that all of its kind have; no exception is unmasked.
    unsafe { asm!("msr fpcr, {}", in(reg) word, options(nomem, nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn control() -> Control {
    0
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set_control(_: Control) {}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;
    use crate::device_profile::CAN_FLUSH;

    #[test]
    fn subnormals_are_flushed_until_the_end() {
        // The quotients are made by the processor, not by the compiler.
        let quotient = || black_box(black_box(f32::MIN_POSITIVE) / black_box(4.0f32));
        assert!(quotient() > 0.0);
        {
            let _flushing = Flushing::begin(true);
            let flushed = quotient().to_bits();
            assert_eq!(flushed == 0, CAN_FLUSH);
        }
        assert!(quotient() > 0.0);
        assert!(Flushing::begin(false).is_none());
    }
}
