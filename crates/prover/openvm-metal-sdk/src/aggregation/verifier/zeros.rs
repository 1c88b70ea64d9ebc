//! Memory for large traces.

use p3_field::PrimeCharacteristicRing;

use crate::prelude::F;

/// Zeros that nothing was written to yet: the pages of a large trace exist when threads fill them. On Linux they are huge ones, if the
/// system has them: Poseidon2's trace of a leaf has tens of thousands of small ones.
pub(super) fn zeros(cells: usize) -> Vec<F> {
    let zeros = F::zero_vec(cells);
    #[cfg(target_os = "linux")]
    advise(&zeros);
    zeros
}

/// Asks for huge pages where whole ones lie in a range.
#[cfg(target_os = "linux")]
fn advise(cells: &[F]) {
    const HUGE: usize = 2 << 20;
    let start = (cells.as_ptr() as usize).next_multiple_of(HUGE);
    let end = (cells.as_ptr() as usize + size_of_val(cells)) / HUGE * HUGE;
    if end > start {
        // SAFETY: the range lies within the allocation, and the advice changes no byte of it. A refusal is no error: pages are
        // small then.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_of_every_size_can_be_written() {
        for cells in [0, 1, 1000, (1 << 20) + 3, 5 << 20] {
            let mut zeros = zeros(cells);
            assert!(zeros.len() == cells && zeros.iter().all(|&x| x == F::ZERO));
            zeros.fill(F::ONE);
            assert!(zeros.iter().all(|&x| x == F::ONE));
        }
    }
}
