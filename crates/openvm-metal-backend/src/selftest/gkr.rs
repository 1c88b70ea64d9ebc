//! The fractional sumcheck against the reference's, whose every message and challenge is compared.

use openvm_stark_backend::prover::fractional_sumcheck_gkr::FracSumcheckProof;
use openvm_stark_backend::prover::fractional_sumcheck_gkr::{self as reference, Frac};
use openvm_stark_backend::FiatShamirTranscript;
use openvm_stark_sdk::config::baby_bear_poseidon2::{default_duplex_sponge, DuplexSponge};
use p3_field::PrimeCharacteristicRing;

use super::{compare, Check, CheckEnv, CheckFailure};
use crate::config::MetalProverConfig;
use crate::error::MetalProverError;
use crate::gkr::{fractional_sumcheck, FracLayer};
use crate::prelude::{Digest, EF, F, SC};

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "gkr",
        name: "fractional_sumcheck",
        run: random_challenges,
    },
    Check {
        group: "gkr",
        name: "special_challenges",
        run: special_challenges,
    },
    Check {
        group: "gkr",
        name: "large_layer",
        run: large_layer,
    },
];

/// A sponge that samples an extension element of 0 or 1 half of the time, where the claim of a round
/// does not determine its polynomial.
#[derive(Clone)]
struct SpecialSponge(DuplexSponge);

impl FiatShamirTranscript<SC> for SpecialSponge {
    fn observe(&mut self, value: F) {
        FiatShamirTranscript::<SC>::observe(&mut self.0, value);
    }

    fn sample(&mut self) -> F {
        FiatShamirTranscript::<SC>::sample(&mut self.0)
    }

    fn observe_commit(&mut self, digest: Digest) {
        FiatShamirTranscript::<SC>::observe_commit(&mut self.0, digest);
    }

    fn sample_ext(&mut self) -> EF {
        let sampled = FiatShamirTranscript::<SC>::sample_ext(&mut self.0);
        match FiatShamirTranscript::<SC>::sample_bits(&mut self.0, 2) {
            0 => EF::ZERO,
            1 => EF::ONE,
            _ => sampled,
        }
    }
}

/// All messages, then the point.
fn flatten((proof, xi): (FracSumcheckProof<SC>, Vec<EF>)) -> Vec<EF> {
    let mut all = vec![proof.fractional_sum.0, proof.fractional_sum.1];
    for claims in proof.claims_per_layer {
        all.extend([claims.p_xi_0, claims.q_xi_0, claims.p_xi_1, claims.q_xi_1]);
    }
    all.extend(proof.sumcheck_polys.concat().concat());
    all.extend(xi);
    all
}

fn check<TS: FiatShamirTranscript<SC>>(
    env: &CheckEnv,
    transcript: &TS,
    gate: usize,
    leaves: FracLayer,
    evals: &[Frac<EF>],
) -> Result<(), CheckFailure> {
    let mut theirs = transcript.clone();
    let expected = reference::fractional_sumcheck::<SC, _>(&mut theirs, evals, false)
        .map_err(|error| MetalProverError::internal("selftest of gkr", error.to_string()))?;
    let mut ours = transcript.clone();
    let config = MetalProverConfig {
        gkr_host_log_layer: gate,
        ..MetalProverConfig::default()
    };
    let actual = fractional_sumcheck(env.s, &config, &mut ours, Some(leaves), false)?;
    let what = || format!("{} leaves, gate 2^{gate}", evals.len());
    compare(what, &flatten(actual), &flatten(expected))?;
    compare(what, &[ours.sample()], &[theirs.sample()])
}

/// Random leaves, host gates from 1 (everything on the device) up.
fn sizes<TS: FiatShamirTranscript<SC>>(
    env: &mut CheckEnv,
    transcript: TS,
    logs: &[usize],
    gates: &[usize],
) -> Result<(), CheckFailure> {
    for log_len in env.sizes(logs, 8) {
        for &gate in gates {
            let (p, q) = (env.rng.fs(1 << log_len), env.rng.efs(1 << log_len));
            let evals: Vec<_> = p
                .iter()
                .zip(&q)
                .map(|(&p, &q)| Frac::new(p.into(), q))
                .collect();
            let leaves = FracLayer::from_host(env.s, &p, &q)?;
            check(env, &transcript, gate, leaves, &evals)?;
        }
    }
    Ok(())
}

fn random_challenges(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let logs = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11];
    sizes(env, default_duplex_sponge(), &logs, &[1, 2, 6])
}

fn special_challenges(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let mut sponge = default_duplex_sponge();
    FiatShamirTranscript::<SC>::observe(&mut sponge, env.rng.f());
    sizes(env, SpecialSponge(sponge), &[2, 3, 4, 6, 7, 9, 10], &[1, 3])
}

/// Pairs of more variables than one eq table has.
fn large_layer(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    sizes(env, default_duplex_sponge(), &[16], &[9])
}
