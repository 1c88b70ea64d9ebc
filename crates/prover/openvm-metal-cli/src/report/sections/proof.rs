//! Small proofs of every circuit: valid, and the same bytes each time.

use std::time::{Duration, Instant};

use openvm_metal_backend::BabyBearPoseidon2MetalEngine;
use openvm_stark_backend::{codec::Encode, prover::DeviceDataTransporter, StarkEngine};
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security,
    baby_bear_poseidon2::{BabyBearPoseidon2RefEngine, DuplexSponge},
};

use super::device::diagnostics;
use super::{problem, Job, Problem, Worker};
use crate::circuit::catalogue::{Circuit, CircuitName};
use crate::circuit::metal;
use crate::error::{CliError, Result};
use crate::table;

/// log2 of the stacked height of the small proofs.
const LOG_STACKED: usize = 16;
/// Proofs of each circuit: the first is cold, and all must be equal.
const RUNS: usize = 3;

/// Proves every circuit.
pub fn run(job: &Job, worker: &mut Worker) -> Result<()> {
    let prover = Prover::new(job, LOG_STACKED)?;
    let context = prover.engine.device().stream()?.context().clone();
    worker.watch(&context);
    for (circuit, size) in [
        (CircuitName::Fibonacci, 1000),
        (CircuitName::Interactions, 300),
        (CircuitName::Mixed, 500),
        (CircuitName::Keccakf, 16),
    ] {
        worker.item(&format!("{circuit} of size {size}"), || {
            let (times, bytes) = prover.prove(circuit, size, RUNS)?;
            let times: Vec<_> = times.into_iter().map(table::duration).collect();
            Ok(format!("{bytes} bytes, valid, equal; {}", times.join(", ")))
        });
    }
    diagnostics(worker, &context);
    Ok(())
}

/// The prover with the reference that makes its keys and checks its proofs.
pub struct Prover {
    /// Ours, on the device.
    pub engine: BabyBearPoseidon2MetalEngine,
    reference: BabyBearPoseidon2RefEngine<DuplexSponge>,
}

impl Prover {
    /// Opens the device.
    pub fn new(job: &Job, log_stacked: usize) -> Result<Self> {
        let params = app_params_with_100_bits_security(log_stacked);
        Ok(Self {
            engine: BabyBearPoseidon2MetalEngine::try_new(params.clone(), job.device.device()?)?,
            reference: BabyBearPoseidon2RefEngine::new(params),
        })
    }

    /// Proves a circuit several times and verifies; gives the times and the size of a proof in bytes.
    pub fn prove(
        &self,
        circuit: CircuitName,
        size: usize,
        runs: usize,
    ) -> Result<(Vec<Duration>, usize), Problem> {
        let circuit = Circuit::new(circuit, size, self.reference.config());
        let (pk, vk) = self.reference.keygen(&circuit.airs);
        let pk = self.engine.device().transport_pk_to_device(&pk);
        let (mut times, mut first) = (Vec::new(), None);
        for number in 0..runs {
            let run = metal(&self.engine, &pk, &circuit).map_err(problem)?;
            let start = Instant::now();
            let verdict = self.reference.verify(&vk, &run.proof);
            verdict.map_err(|error| problem(CliError::Rejected(error.to_string())))?;
            tracing::debug!(number, verified = ?start.elapsed());
            times.push(run.time);
            let bytes = run.proof.encode_to_vec()?;
            let before = first.get_or_insert_with(|| bytes.clone());
            if *before != bytes {
                let at = before.iter().zip(&bytes).position(|(a, b)| a != b);
                return Err(Problem::Failed(format!(
                    "proof {number} of the same input has other bytes than the first, from byte {} on",
                    at.unwrap_or(before.len().min(bytes.len()))
                )));
            }
        }
        Ok((times, first.map_or(0, |proof| proof.len())))
    }
}
