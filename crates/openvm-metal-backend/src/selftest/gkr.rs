//! The fractional sumcheck against the reference's: proof, point and transcript.

use openvm_stark_backend::prover::fractional_sumcheck_gkr::{self as reference, Frac};
use openvm_stark_backend::FiatShamirTranscript;
use openvm_stark_sdk::config::baby_bear_poseidon2::default_duplex_sponge;

use super::{compare, Check, CheckEnv, CheckFailure};
use crate::config::MetalProverConfig;
use crate::gkr::{fractional_sumcheck, FracLayer};
use crate::prelude::{EF, F, SC};

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "gkr",
        name: "all_on_device",
        run: all_on_device,
    },
    Check {
        group: "gkr",
        name: "small_layers_on_host",
        run: small_layers_on_host,
    },
];

fn all_on_device(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for log_len in env.sizes(&[1, 2, 3, 5, 8, 10, 12, 15], 8) {
        prove_both(env, log_len, 1)?;
    }
    Ok(())
}

fn small_layers_on_host(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let gate = MetalProverConfig::default().gkr_host_log_layer;
    for log_len in env.sizes(&[4, 12, 14], 12) {
        prove_both(env, log_len, gate)?;
    }
    Ok(())
}

/// Proves `2^log_len` fractions both ways; layers of up to `2^gate` stay on the host.
fn prove_both(env: &mut CheckEnv, log_len: usize, gate: usize) -> Result<(), CheckFailure> {
    let (p, q) = (env.rng.fs(1 << log_len), env.rng.efs(1 << log_len));
    let evals: Vec<Frac<EF>> = p
        .iter()
        .zip(&q)
        .map(|(&p, &q)| Frac::new(EF::from(p), q))
        .collect();
    let mut theirs = default_duplex_sponge();
    let expected = reference::fractional_sumcheck::<SC, _>(&mut theirs, &evals, false);
    let Ok((expected, expected_xi)) = expected else {
        return Err(CheckFailure::Oracle {
            what: format!("fractional sumcheck of 2^{log_len}"),
        });
    };

    let config = MetalProverConfig {
        gkr_host_log_layer: gate,
        ..MetalProverConfig::default()
    };
    let leaves = FracLayer::from_host(env.s, &p, &q)?;
    let mut ours = default_duplex_sponge();
    let (proof, xi) = fractional_sumcheck(env.s, &config, &mut ours, Some(leaves), false)?;
    let what = |part: &'static str| move || format!("{part}, 2^{log_len} leaves, gate 2^{gate}");
    compare(
        what("polynomials"),
        &proof.sumcheck_polys,
        &expected.sumcheck_polys,
    )?;
    compare(
        what("claims"),
        &proof.claims_per_layer,
        &expected.claims_per_layer,
    )?;
    compare(what("point"), &xi, &expected_xi)?;
    compare(
        what("sum"),
        &[proof.fractional_sum],
        &[expected.fractional_sum],
    )?;
    let next: F = FiatShamirTranscript::<SC>::sample(&mut ours);
    let expected_next: F = FiatShamirTranscript::<SC>::sample(&mut theirs);
    compare(what("transcript"), &[next], &[expected_next])
}
