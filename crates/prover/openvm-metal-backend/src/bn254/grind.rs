//! Proof-of-work grinding: the smallest witness that a transcript over the scalar field of BN254 accepts.
//!
//! `check_witness` of the reference adds the witness to the cells that wait for a word of their own, absorbs the word and accepts if the low
//! bits of the next sample are zero. Whether the word fills the rate and is permuted by that, or `sample` permutes because something was
//! absorbed, exactly one permutation lies between them, and the sample is the lowest digit of word 1.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError};
use openvm_stark_sdk::config::baby_bear_bn254_poseidon2::Transcript;
use p3_field::{PrimeCharacteristicRing, PrimeField32};

use super::Bn254Node;
use crate::{kernels, params::Bn254GrindParams, prelude::F};

/// Fewest candidates of a dispatch: fewer would not fill a GPU.
const FEWEST: u32 = 1 << 12;
/// Bits of a cell in a word.
const CELL_BITS: usize = 31;

/// The smallest canonical `w` such that `transcript` accepts `w` with `bits` bits; zero for `bits = 0`.
///
/// Candidates are tested in ascending order, at first four times `2^bits`, which hold a witness with probability 98%, then twice as many
/// at a time. Threads beyond a hit already found do nothing, so a dispatch costs what its candidates up to the witness cost. One upload of
/// a word, one dispatch and one wait each time.
///
/// # Errors
/// `bits` over 30, or the device.
pub fn grind_smallest(
    s: &CommandStream,
    transcript: &Transcript,
    bits: usize,
) -> Result<F, MetalError> {
    if bits >= CELL_BITS {
        return Err(MetalError::argument_mismatch(
            "bn254_grind_slice",
            "bits",
            "at most 30",
            bits.to_string(),
        ));
    }
    if bits == 0 {
        return Ok(F::ZERO);
    }
    let mut params = first_slice(transcript, bits);
    let mut count = (1u32 << bits).saturating_mul(4).max(FEWEST);
    while params.start < F::ORDER_U32 {
        params.threads = count.min(F::ORDER_U32 - params.start);
        let mut best = MetalBuffer::from_host(s, &[u32::MAX])?;
        let grid = Grid::threads(params.threads as usize);
        kernels::bn254_grind_slice(s, grid, &mut best, &params)?;
        let index = best.to_host(s)?[0];
        if index != u32::MAX {
            return Ok(F::from_u32(params.start + index));
        }
        params.start += params.threads;
        count = count.saturating_mul(2);
    }
    // Each of the 2^31 candidates fails with probability 1 - 2^-bits: this never happens by chance.
    Err(MetalError::argument_mismatch(
        "bn254_grind_slice",
        "state",
        "a state with a witness",
        format!("none for {bits} bits"),
    ))
}

/// The parameters of a search from candidate 0 on, but for the number of candidates.
fn first_slice(transcript: &Transcript, bits: usize) -> Bn254GrindParams {
    let waiting = transcript.observe_buf();
    let mut state = [0; 24];
    for (words, &x) in state.chunks_exact_mut(8).zip(transcript.sponge_state()) {
        words.copy_from_slice(&Bn254Node::from(x).0);
    }
    let mut base = [0u32; 8];
    for (i, cell) in waiting.iter().enumerate() {
        let (word, low) = (CELL_BITS * i / 32, CELL_BITS * i % 32);
        let bits = u64::from(cell.as_canonical_u32()) << low;
        base[word] |= bits as u32;
        if let Some(next) = base.get_mut(word + 1) {
            *next |= (bits >> 32) as u32;
        }
    }
    Bn254GrindParams {
        state,
        base,
        position: transcript.absorb_idx() as u32,
        shift: (CELL_BITS * waiting.len()) as u32,
        mask: (1 << bits) - 1,
        start: 0,
        threads: 0,
    }
}
