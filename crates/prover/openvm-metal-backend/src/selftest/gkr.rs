//! The fractional sumcheck against the reference's, whose every message and challenge is compared.

use openvm_stark_backend::prover::fractional_sumcheck_gkr::FracSumcheckProof;
use openvm_stark_backend::prover::fractional_sumcheck_gkr::{self as reference, Frac};
use openvm_stark_backend::FiatShamirTranscript;
use openvm_stark_sdk::config::baby_bear_poseidon2::{default_duplex_sponge, DuplexSponge};
use p3_field::PrimeCharacteristicRing;

use super::{compare, Check, CheckEnv, CheckFailure};
use crate::config::MetalProverConfig;
use crate::error::MetalProverError;
use crate::gkr::{fractional_sumcheck, layer_messages, FracLayer};
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
    Check {
        group: "gkr",
        name: "padding",
        run: padding,
    },
    Check {
        group: "gkr",
        name: "special_points",
        run: special_points,
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

fn check<TS: FiatShamirTranscript<SC> + 'static>(
    env: &CheckEnv,
    transcript: &TS,
    gate: usize,
    p: &[F],
    q: &[EF],
) -> Result<(), CheckFailure> {
    let evals: Vec<_> = p
        .iter()
        .zip(q)
        .map(|(&p, &q)| Frac::new(p.into(), q))
        .collect();
    let leaves = || FracLayer::from_host(env.s, p, q);
    check_leaves(env, transcript, gate, &evals, leaves)
}

/// Compares what the device's and the host's transcript see of `leaves`, which are `evals`.
fn check_leaves<TS: FiatShamirTranscript<SC> + 'static>(
    env: &CheckEnv,
    transcript: &TS,
    gate: usize,
    evals: &[Frac<EF>],
    leaves: impl Fn() -> Result<FracLayer, MetalProverError>,
) -> Result<(), CheckFailure> {
    let mut theirs = transcript.clone();
    let expected = reference::fractional_sumcheck::<SC, _>(&mut theirs, evals, false)
        .map_err(|error| MetalProverError::internal("selftest of gkr", error.to_string()))?;
    let (expected, next) = (flatten(expected), theirs.sample());
    for on_device in [false, true] {
        let mut ours = transcript.clone();
        let config = config(gate, on_device);
        let leaves = leaves()?;
        let actual = fractional_sumcheck(env.s, &config, &mut ours, Some(leaves), false)?;
        let what = || {
            let place = if on_device { "device" } else { "host" };
            format!(
                "{} leaves, gate 2^{gate}, transcript on the {place}",
                evals.len()
            )
        };
        compare(what, &flatten(actual), &expected)?;
        compare(what, &[ours.sample()], &[next])?;
    }
    Ok(())
}

fn config(gate: usize, transcript_on_device: bool) -> MetalProverConfig {
    MetalProverConfig {
        gkr_host_log_layer: gate,
        transcript_on_device: Some(transcript_on_device),
        ..MetalProverConfig::default()
    }
}

/// Random leaves, host gates from 1 (everything on the device) up.
fn sizes<TS: FiatShamirTranscript<SC> + 'static>(
    env: &mut CheckEnv,
    transcript: TS,
    logs: &[usize],
    gates: &[usize],
) -> Result<(), CheckFailure> {
    for log_len in env.sizes(logs, 8) {
        for &gate in gates {
            let (p, q) = (env.rng.fs(1 << log_len), env.rng.efs(1 << log_len));
            check(env, &transcript, gate, &p, &q)?;
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

/// Leaves that end with padding, which is not written in large layers: there anything stands.
fn padding(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let sizes: &[usize] = if env.conformance() {
        &[15]
    } else {
        &[14, 15, 16, 18]
    };
    for &log_len in sizes {
        let len = 1usize << log_len;
        let part = len >> 6;
        let somewhere = env.rng.below(len);
        for (used, gate) in [
            (1, 9),
            (part, 9),
            (5 * part + 1, 6),
            (somewhere, 9),
            (len, 9),
            (part, 14),
        ] {
            if env.conformance() && used != 5 * part + 1 {
                continue;
            }
            let denominator = env.rng.ef();
            let (mut p, mut q) = (env.rng.fs(len), env.rng.efs(len));
            p[used..].fill(F::ZERO);
            q[used..].fill(denominator);
            let evals = p.iter().zip(&q).map(|(&p, &q)| Frac::new(p.into(), q));
            let evals: Vec<_> = evals.collect();
            let mut layer = FracLayer::uninit(env.s.context(), log_len)?;
            let written = layer.pad(used, denominator, gate);
            let left_out = log_len >= 15 && gate <= 12 && used <= len - part;
            compare(
                || format!("{used} of 2^{log_len} leaves, gate 2^{gate}: are some left out"),
                &[written < len],
                &[left_out],
            )?;
            p[written..].fill(F::TWO);
            q[written..].fill(EF::TWO);
            let leaves = || {
                let mut layer = FracLayer::from_host(env.s, &p, &q)?;
                layer.pad(used, denominator, gate);
                Ok(layer)
            };
            let sponge = default_duplex_sponge();
            match gate {
                6 => check_leaves(env, &SpecialSponge(sponge), gate, &evals, leaves)?,
                _ => check_leaves(env, &sponge, gate, &evals, leaves)?,
            }
        }
    }
    Ok(())
}

/// Layers that begin at a point with coordinates 0 and 1, where the claim of a round does not determine its polynomial: the
/// device's transcript against the host's.
fn special_points(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for log_len in env.sizes(&[3, 4, 6, 9, 12, 13], 9) {
        for gate in [2, 3].into_iter().filter(|&gate| gate < log_len) {
            let (p, q) = (env.rng.fs(1 << log_len), env.rng.efs(1 << log_len));
            let claims = [env.rng.ef(), env.rng.ef(), env.rng.ef(), env.rng.ef()];
            // The point of layer log_len - 1 or of the first one on the device.
            for first in [gate + 1, log_len] {
                let mut xi = env.rng.efs(first - 1);
                for (i, x) in xi.iter_mut().enumerate() {
                    match (i + log_len) % 3 {
                        0 => *x = EF::ZERO,
                        1 => *x = EF::ONE,
                        _ => {}
                    }
                }
                let mut messages = Vec::new();
                for on_device in [false, true] {
                    let mut transcript = default_duplex_sponge();
                    let leaves = FracLayer::from_host(env.s, &p, &q)?;
                    let config = config(gate, on_device);
                    messages.push(layer_messages::<SC, _>(
                        env.s,
                        &config,
                        &mut transcript,
                        leaves,
                        claims,
                        xi.clone(),
                    )?);
                }
                let what = || format!("2^{log_len} leaves from layer {first}");
                compare(what, &messages[1], &messages[0])?;
            }
        }
    }
    Ok(())
}
