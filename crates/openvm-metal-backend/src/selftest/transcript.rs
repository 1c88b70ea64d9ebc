//! The device's transcript against the SDK's sponge.

use openvm_metal_common::{Grid, MetalBuffer};
use openvm_stark_backend::FiatShamirTranscript;
use openvm_stark_sdk::config::baby_bear_poseidon2::{default_duplex_sponge, DuplexSponge};

use super::{compare, Check, CheckEnv, CheckFailure};
use crate::kernels;
use crate::params::{TranscriptState, TranscriptStepParams};
use crate::prelude::{F, SC};

pub(super) const CHECKS: &[Check] = &[Check {
    group: "transcript",
    name: "steps",
    run: steps,
}];

/// The words of a sponge that a later operation depends on.
fn state_of(sponge: &DuplexSponge) -> TranscriptState {
    TranscriptState {
        cells: *sponge.state(),
        absorb_idx: sponge.absorb_idx() as u32,
        sample_idx: sponge.sample_idx() as u32,
        pad: [0; 2],
    }
}

/// Words observed and sampled in turn, numbers that meet every position of the rate, by one SIMD-group and by several.
fn steps(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let rounds = if env.conformance() { 12 } else { 60 };
    for threads in [32, 64, 256] {
        let mut sponge = default_duplex_sponge();
        let mut state = MetalBuffer::from_host(env.s, &[state_of(&sponge)])?;
        for round in 0..rounds {
            let observed = [0, 1, 7, 8, 9, 12, 16, 65][env.rng.below(8)];
            let sampled = [0, 1, 4, 4, 8, 9, 17, 130][env.rng.below(8)];
            let mut words = env.rng.fs(observed);
            words.resize(observed + sampled + 1, F::default());
            let mut device = MetalBuffer::from_host(env.s, &words)?;
            let params = TranscriptStepParams {
                observed: observed as u32,
                sampled: sampled as u32,
            };
            let grid = Grid::groups(1, threads);
            kernels::transcript_step(env.s, grid, &mut state, &mut device, &params)?;
            for &word in &words[..observed] {
                FiatShamirTranscript::<SC>::observe(&mut sponge, word);
            }
            for word in &mut words[observed..observed + sampled] {
                *word = FiatShamirTranscript::<SC>::sample(&mut sponge);
            }
            let what = || format!("{threads} threads, step {round}: {observed}, then {sampled}");
            compare(what, &device.to_host(env.s)?, &words)?;
            compare(what, &state.to_host(env.s)?, &[state_of(&sponge)])?;
        }
    }
    Ok(())
}
