//! Proofs of the built-in circuits: valid, the same bytes each time, and short submissions to the device.

use std::time::Duration;

use openvm_metal_backend::BabyBearPoseidon2MetalEngine;
use openvm_stark_backend::{codec::Encode, prover::DeviceDataTransporter, StarkEngine};
use openvm_stark_sdk::config::app_params_with_100_bits_security;

use super::machine::diagnostics;
use super::{problem, Job, Problem, Worker};
use crate::circuit::catalogue::{Circuit, CircuitName};
use crate::circuit::metal;
use crate::error::{CliError, Result};
use crate::table;

/// log2 of the stacked height of the small proofs.
const SMALL_LOG_STACKED: usize = 16;
/// Proofs of each circuit: the first is cold, and all must be equal.
const RUNS: usize = 3;

/// The proof by which both places of the transcript are timed.
const TRANSCRIPT_OF: (CircuitName, usize) = (CircuitName::Interactions, 300);

/// Small proofs of every circuit.
pub fn small(job: &Job, worker: &mut Worker) -> Result<()> {
    let prover = Prover::new(job, SMALL_LOG_STACKED)?;
    let context = prover.engine.device().stream()?.context().clone();
    worker.watch(&context);
    for (circuit, size) in [
        (CircuitName::Fibonacci, 1000),
        (CircuitName::Interactions, 300),
        (CircuitName::Mixed, 500),
        (CircuitName::Keccakf, 16),
    ] {
        worker.item(&format!("{circuit} of size {size}"), || {
            let (times, proof) = prover.prove(circuit, size, RUNS)?;
            let bytes = proof.len();
            let times: Vec<_> = times.into_iter().map(table::duration).collect();
            Ok(format!("{bytes} bytes, valid, equal; {}", times.join(", ")))
        });
    }
    worker.item("transcript on the device and on the host", || {
        let (circuit, size) = TRANSCRIPT_OF;
        let [device, host] = [true, false].map(|on_device| {
            let prover = Prover::new(job, SMALL_LOG_STACKED).map_err(problem)?;
            prover.with_transcript(on_device).prove(circuit, size, RUNS)
        });
        let ((device, proof), (host, other)) = (device?, host?);
        if proof != other {
            return Err(Problem::Failed("the two proofs differ".into()));
        }
        // The first proof compiles and allocates.
        let best = |times: Vec<Duration>| table::duration(times.into_iter().min().unwrap_or_default());
        Ok(format!(
            "{circuit} of size {size}, best of {RUNS}: {} on the device, {} on the host; the same bytes",
            best(device),
            best(host)
        ))
    });
    diagnostics(worker, &context);
    Ok(())
}

/// The prover on the device under test.
struct Prover {
    engine: BabyBearPoseidon2MetalEngine,
}

impl Prover {
    /// Opens the device.
    fn new(job: &Job, log_stacked: usize) -> Result<Self> {
        let params = app_params_with_100_bits_security(log_stacked);
        let engine = BabyBearPoseidon2MetalEngine::try_new(params, job.device.device()?)?;
        Ok(Self { engine })
    }

    /// The same prover with its transcript on the device or on the host.
    fn with_transcript(self, on_device: bool) -> Self {
        let mut config = self.engine.device().prover_config().clone();
        config.transcript_on_device = Some(on_device);
        let engine = self.engine.with_prover_config(config);
        Self { engine }
    }

    /// Proves a circuit several times and verifies each proof. Returns the times, and the proof.
    fn prove(
        &self,
        circuit: CircuitName,
        size: usize,
        runs: usize,
    ) -> Result<(Vec<Duration>, Vec<u8>), Problem> {
        let circuit = Circuit::new(circuit, size, self.engine.config());
        let (pk, vk) = self.engine.keygen(&circuit.airs);
        let pk = self.engine.device().transport_pk_to_device(&pk);
        let (mut times, mut first) = (Vec::new(), None);
        for number in 0..runs {
            let run = metal(&self.engine, &pk, &circuit).map_err(problem)?;
            let verdict = self.engine.verify(&vk, &run.proof);
            verdict.map_err(|error| problem(CliError::Rejected(error.to_string())))?;
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
        Ok((times, first.unwrap_or_default()))
    }
}

/// Keccak-f permutations of the proofs.
const SIZES: [usize; 4] = [16, 64, 256, 1024];
/// log2 of the stacked height of the proofs of growing size.
const LARGE_LOG_STACKED: usize = 21;
/// The same for a CPU, which has no watchdog: the section shows where the time goes.
const CPU_SIZES: [usize; 2] = [8, 32];
/// Kernels that are shown, those with the longest single call first.
const SHOWN: usize = 6;

/// Proofs of growing size, and the longest submission of each: Macs with a display end long ones. The proof after them is timed
/// operation by operation.
pub fn submissions(job: &Job, worker: &mut Worker) -> Result<()> {
    let prover = Prover::new(job, LARGE_LOG_STACKED)?;
    let context = prover.engine.device().stream()?.context().clone();
    worker.watch(&context);
    let sizes = match context.device_profile().many_core() {
        true => &SIZES[..],
        false => &CPU_SIZES[..],
    };
    for &size in sizes {
        worker.item(&format!("keccakf {size}"), || {
            let (times, _) = prover.prove(CircuitName::Keccakf, size, 2)?;
            let times: Vec<_> = times.into_iter().map(table::duration).collect();
            let planned = context.submissions();
            Ok(format!(
                "first {}; {} submissions so far, the longest expected to take {}: {}; {} dispatches cut into {} slices",
                times.join(", then "),
                planned.submissions,
                table::duration(Duration::from_nanos(planned.longest_ns)),
                planned.longest_held,
                planned.dispatches_cut,
                planned.slices,
            ))
        });
        diagnostics(worker, &context);
        worker.data("submissions", &context.submissions());
        worker.item(&format!("keccakf {size}, longest calls"), || {
            context.reset_profile();
            context.set_profiling(true);
            let proved = prover.prove(CircuitName::Keccakf, size, 1);
            context.set_profiling(false);
            proved?;
            let profile = context.profile()?.by_kernel();
            let mut rows: Vec<_> = profile.rows.iter().collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row.max_ns));
            let longest = rows.iter().take(SHOWN).map(|row| {
                let time = table::duration(Duration::from_nanos(row.max_ns));
                format!("{} {time}", row.name)
            });
            Ok(longest.collect::<Vec<_>>().join(", "))
        });
    }
    Ok(())
}
