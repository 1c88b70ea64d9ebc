//! Proof-of-work grinding: the smallest witness that a duplex sponge accepts.
//!
//! `check_witness` of the reference absorbs the witness at the sponge's absorb position and accepts if
//! the low bits of the next sample are zero. Whether `observe` fills the rate and permutes, or
//! `sample` permutes because something was absorbed, exactly one permutation lies between them and the
//! sample is `state[7]`: one kernel serves all eight positions.

use openvm_metal_common::{CommandStream, DeviceProfile, Grid, MetalBuffer, MetalError};
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use p3_symmetric::Permutation;

use crate::host_poseidon2::HostPoseidon2;
use crate::kernels;
use crate::params::{GrindParams, GrindSpongeParams, TranscriptState};
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

/// Most bits of work whose witness is searched on the device's transcript.
pub(crate) const MOST_BITS: usize = 23;
/// Up to so many bits candidates cost nothing.
const FEW_BITS: usize = 10;
// Kernels that make the word `u32::MAX`, which stands for no witness, a field element must not make a candidate of it.
const _: () = assert!(candidates(MOST_BITS) <= u32::MAX % F::ORDER_U32);

/// Candidates that hold no witness with probability `e^-16`, or `e^-128` for few bits.
pub(crate) const fn candidates(bits: usize) -> u32 {
    let times = if bits <= FEW_BITS { 7 } else { 4 };
    1 << (bits + times)
}

/// Threads of a dispatch that searches there, a power of two: each tests candidates until it is past a witness, so that all have to run at once.
fn threads(profile: &DeviceProfile) -> u32 {
    1 << (profile.threads_in_flight() / 2).max(1).ilog2()
}

/// Candidates of a dispatch that searches there: what the device tests in some 12 ms, as modelled. A part of the threads would take as long for
/// them as all, so the run time must have no reason to cut it.
pub(crate) fn at_a_time(profile: &DeviceProfile) -> u32 {
    const PER_SECOND: u64 = 80;
    const PRODUCTS: u64 = 564;
    let tested = profile.products_per_second / (PER_SECOND * PRODUCTS);
    u32::try_from(tested).unwrap_or(u32::MAX)
}

/// Encodes the search for the smallest witness of the sponge in `state` among that many candidates, a power of two, which goes to element
/// `slot` of `best`, `u32::MAX` before. A dispatch takes `at_a_time` of them, rounded down to a power of two, but no fewer than there are
/// threads; behind a witness dispatches end at once.
///
/// # Errors
/// If the device fails.
pub(crate) fn grind_sponge(
    s: &CommandStream,
    state: &MetalBuffer<TranscriptState>,
    best: &mut MetalBuffer<u32>,
    slot: usize,
    bits: usize,
    candidates: u32,
    at_a_time: u32,
) -> Result<(), MetalError> {
    let threads = candidates.min(threads(s.context().device_profile()));
    let step = (1 << at_a_time.max(1).ilog2()).clamp(threads, candidates);
    for first in (0..candidates).step_by(step as usize) {
        let params = GrindSpongeParams {
            mask: (1 << bits) - 1,
            slot: slot as u32,
            first,
            end: first + step,
            threads,
            unused: [0; 3],
        };
        let grid = Grid::threads(threads as usize);
        kernels::grind_sponge(s, grid, state, &mut *best, &params)?;
    }
    Ok(())
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
