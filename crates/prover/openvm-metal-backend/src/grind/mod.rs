//! Proof-of-work grinding: the smallest witness that a duplex sponge accepts.
//!
//! `check_witness` of the reference absorbs the witness at the sponge's absorb position and accepts if
//! the low bits of the next sample are zero. Whether `observe` fills the rate and permutes, or
//! `sample` permutes because something was absorbed, exactly one permutation lies between them and the
//! sample is `state[7]`: one kernel serves all eight positions.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError};
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use p3_symmetric::Permutation;

use crate::host_poseidon2::HostPoseidon2;
use crate::kernels;
use crate::params::GrindParams;
use crate::prelude::{F, RATE};

#[cfg(test)]
mod tests;

/// Up to this many bits the host tests the candidates: 128 permutations take less than a round trip.
const HOST_BITS: usize = 7;
/// Fewest candidates of a dispatch: fewer would not fill a GPU.
const FEWEST: u32 = 1 << 12;

/// The smallest canonical `w` such that a sponge with this `state`, about to absorb at
/// `absorb_position`, accepts `w` with `bits` bits; zero for `bits = 0`.
///
/// Candidates are tested in ascending order, at first four times `2^bits`, which hold a witness with probability
/// 98%, then twice as many at a time. Threads beyond a hit already found do nothing, so a dispatch costs what
/// its candidates up to the witness cost. One upload of a word, one dispatch and one wait each time.
///
/// # Errors
/// `absorb_position` not below 8, `bits` over 30, or the device.
pub fn grind_smallest(
    s: &CommandStream,
    state: &[F; 16],
    absorb_position: usize,
    bits: usize,
) -> Result<F, MetalError> {
    if absorb_position >= RATE {
        return Err(MetalError::argument_mismatch(
            "grind_slice",
            "position",
            "below 8",
            absorb_position.to_string(),
        ));
    }
    if bits >= 31 {
        return Err(MetalError::argument_mismatch(
            "grind_slice",
            "bits",
            "at most 30",
            bits.to_string(),
        ));
    }
    if bits == 0 {
        return Ok(F::ZERO);
    }
    let mut params = GrindParams {
        state: *state,
        position: absorb_position as u32,
        mask: (1 << bits) - 1,
        start: 0,
        threads: 0,
    };
    let witness = if bits <= HOST_BITS {
        grind_on_host(s, &params)
    } else {
        grind_on_device(s, &mut params, bits)?
    };
    witness.map(F::from_u32).ok_or_else(|| {
        // Each of the 2^31 candidates fails with probability 1 - 2^-bits: this never happens by chance.
        MetalError::argument_mismatch(
            "grind_slice",
            "state",
            "a state with a witness",
            format!("none for {bits} bits"),
        )
    })
}

/// True if the sponge of `params` accepts the candidate.
fn accepts(permutation: &HostPoseidon2, params: &GrindParams, candidate: u32) -> bool {
    let mut state = params.state;
    state[params.position as usize] = F::from_u32(candidate);
    permutation.permute_mut(&mut state);
    state[RATE - 1].as_canonical_u32() & params.mask == 0
}

fn grind_on_host(s: &CommandStream, params: &GrindParams) -> Option<u32> {
    let permutation = HostPoseidon2::new();
    let witness = (0..F::ORDER_U32).find(|&candidate| accepts(&permutation, params, candidate));
    s.count_host_work(
        "grind_pow",
        witness.map_or(F::ORDER_U32, |w| w + 1) as usize,
    );
    witness
}

fn grind_on_device(
    s: &CommandStream,
    params: &mut GrindParams,
    bits: usize,
) -> Result<Option<u32>, MetalError> {
    let mut count = (1u32 << bits).saturating_mul(4).max(FEWEST);
    while params.start < F::ORDER_U32 {
        params.threads = count.min(F::ORDER_U32 - params.start);
        let mut best = MetalBuffer::from_host(s, &[u32::MAX])?;
        kernels::grind_slice(s, Grid::threads(params.threads as usize), &mut best, params)?;
        let index = best.to_host(s)?[0];
        if index != u32::MAX {
            return Ok(Some(params.start + index));
        }
        params.start += params.threads;
        count = count.saturating_mul(2);
    }
    Ok(None)
}
