//! `Verifier`: the traces of OpenVM's verifier circuit, its parts beside each other.
//!
//! OpenVM's library runs the verifier, which records what it does; then its modules make their traces beside each other. Its
//! transcript module takes longest: Merkle paths, then the transcript, then Poseidon2, each on one thread but for the last
//! step. The traces of these three AIRs are made here, cell for cell the same:
//!
//! * rows that a proof opens are hashed while the transcript runs, which does not need them;
//! * paths are hashed beside each other, sixteen in the lanes of a vector;
//! * Poseidon2's inputs are sorted, and its rows filled, on all threads.
//!
//! The other modules are the library's, each with the state that it needs and nothing else: `VerifierSubCircuit` keeps its own
//! modules private, so they are made once more.

mod merkle;
mod opened;
mod permutations;
#[cfg(test)]
mod tests;
mod transcript;
mod zeros;

use std::sync::Arc;

use openvm_cpu_backend::CpuBackend;
use openvm_recursion_circuit::{
    batch_constraint::BatchConstraintModule,
    gkr::GkrModule,
    primitives::{exp_bits_len::ExpBitsLenCpuTraceGenerator, pow::PowerCheckerCpuTraceGenerator},
    proof_shape::ProofShapeModule,
    stacking::StackingModule,
    system::{BusIndexManager, BusInventory, GlobalCtxCpu, Preflight, TraceGenModule},
    whir::WhirModule,
};
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, proof::Proof, prover::AirProvingContext, SystemParams,
    TranscriptHistory,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::default_duplex_sponge_recorder;
use rayon::prelude::*;
use tracing::{info_span, Span};

use self::opened::Opened;
use crate::{poseidon2::State, prelude::SC};

/// Lookups of the AIRs around the verifier in its tables.
pub(super) struct External<'a> {
    pub permuted: &'a [State],
    pub compressed: &'a [State],
    pub ranges: &'a [usize],
    /// Exponents of powers of two.
    pub powers: &'a [usize],
}

/// Makes the traces of a verifier circuit.
pub(super) struct Verifier {
    batch_constraint: BatchConstraintModule,
    proof_shape: ProofShapeModule,
    gkr: GkrModule,
    stacking: StackingModule,
    whir: WhirModule,
    params: SystemParams,
}

/// Powers of two that the circuit has a table of.
type PowerChecker = PowerCheckerCpuTraceGenerator<2, 32>;

/// Traces on the host, in the order of the AIRs.
pub(super) type HostTraces = Vec<AirProvingContext<CpuBackend<SC>>>;

impl Verifier {
    /// For the circuit that verifies up to `most_proofs` proofs of `vk` and has these buses.
    pub fn new(vk: &MultiStarkVerifyingKey<SC>, buses: &BusInventory, most_proofs: usize) -> Self {
        // Traces do not depend on the numbers of buses.
        let numbers = &mut BusIndexManager::new();
        let buses = || buses.clone();
        Self {
            batch_constraint: BatchConstraintModule::new(vk, numbers, buses(), most_proofs, true),
            proof_shape: ProofShapeModule::new(&vk.into(), numbers, buses(), true),
            gkr: GkrModule::new(vk, numbers, buses()),
            stacking: StackingModule::new(vk, numbers, buses()),
            whir: WhirModule::new(vk, numbers, buses()),
            params: vk.inner.params.clone(),
        }
    }

    /// The traces for `proofs` of `vk`, without the cached one of its constraints, in the order of the circuit's AIRs.
    ///
    /// # Panics
    /// If the proofs do not have the form that the key asks for.
    pub fn traces(
        &self,
        vk: &MultiStarkVerifyingKey<SC>,
        proofs: &[Proof<SC>],
        external: &External<'_>,
    ) -> HostTraces {
        let (preflights, opened): (Vec<Preflight>, Vec<Opened>) = info_span!("verifier_run")
            .in_scope(|| {
                let span = Span::current();
                let runs = proofs.par_iter().map(|proof| {
                    let _in = span.enter();
                    self.run(vk, proof)
                });
                runs.unzip()
            });
        let powers = Arc::new(PowerChecker::default());
        for &exponent in external.powers {
            powers.add_pow(exponent);
        }
        let exponents = ExpBitsLenCpuTraceGenerator::default();
        let span = Span::current();
        let (hashing, modules) = rayon::join(
            || {
                let _in = span.enter();
                self.hashing(vk, proofs, &preflights, &opened, external)
            },
            || {
                let _in = span.enter();
                self.library(
                    vk,
                    proofs,
                    &preflights,
                    external.ranges,
                    (&powers, &exponents),
                )
            },
        );
        let mut modules = modules.into_iter();
        let mut traces = modules.next().expect("there are modules");
        traces.extend(hashing);
        traces.extend(modules.flatten());
        let exponents = exponents.generate_trace_row_major(None);
        for trace in [Some(powers.generate_trace_row_major()), exponents] {
            let trace = trace.expect("no heights are required of a node");
            traces.push(AirProvingContext::simple_no_pis(trace));
        }
        traces
    }

    /// Runs the verifier on a proof.
    fn run(&self, vk: &MultiStarkVerifyingKey<SC>, proof: &Proof<SC>) -> (Preflight, Opened) {
        let span = Span::current();
        let (mut preflight, (opened, rows, codewords)) = rayon::join(
            || {
                let _in = span.enter();
                info_span!("verifier_transcript").in_scope(|| self.run_transcript(vk, proof))
            },
            || {
                let _in = span.enter();
                info_span!("opened_rows").in_scope(|| opened::hash(proof, &self.params))
            },
        );
        preflight.initial_row_states = rows;
        preflight.codeword_states = codewords;
        (preflight, opened)
    }

    /// Runs the modules over the proof and its transcript.
    fn run_transcript(&self, vk: &MultiStarkVerifyingKey<SC>, proof: &Proof<SC>) -> Preflight {
        let mut run = Preflight::default();
        let mut sponge = default_duplex_sponge_recorder();
        self.proof_shape
            .run_preflight(vk, proof, &mut run, &mut sponge);
        self.gkr.run_preflight(proof, &mut run, &mut sponge);
        self.batch_constraint
            .run_preflight(vk, proof, &mut run, &mut sponge);
        self.stacking.run_preflight(proof, &mut run, &mut sponge);
        self.whir.run_preflight(proof, &mut run, &mut sponge);
        run.transcript = sponge.into_log();
        run
    }

    /// The traces of the library's modules, in the order of the circuit's AIRs.
    fn library(
        &self,
        vk: &MultiStarkVerifyingKey<SC>,
        proofs: &[Proof<SC>],
        preflights: &[Preflight],
        ranges: &[usize],
        (powers, exponents): (&Arc<PowerChecker>, &ExpBitsLenCpuTraceGenerator),
    ) -> Vec<HostTraces> {
        let span = Span::current();
        let module = |index| {
            let _in = span.enter();
            match index {
                0 => traces(
                    &self.batch_constraint,
                    vk,
                    proofs,
                    preflights,
                    &(None, powers.clone()),
                ),
                1 => traces(
                    &self.proof_shape,
                    vk,
                    proofs,
                    preflights,
                    &(powers.clone(), ranges),
                ),
                2 => traces(&self.gkr, vk, proofs, preflights, exponents),
                3 => traces(&self.stacking, vk, proofs, preflights, &()),
                _ => traces(&self.whir, vk, proofs, preflights, exponents),
            }
        };
        (0..5).into_par_iter().map(module).collect()
    }

    /// The traces of the transcript, Poseidon2 and Merkle paths.
    fn hashing(
        &self,
        vk: &MultiStarkVerifyingKey<SC>,
        proofs: &[Proof<SC>],
        preflights: &[Preflight],
        opened: &[Opened],
        external: &External<'_>,
    ) -> HostTraces {
        let span = Span::current();
        let ((transcript, permuted), paths) = rayon::join(
            || {
                let _in = span.enter();
                info_span!("transcript_rows").in_scope(|| transcript::rows(preflights))
            },
            || {
                let _in = span.enter();
                info_span!("merkle_paths").in_scope(|| {
                    let paths = merkle::paths(vk, proofs, preflights, opened, &self.params);
                    merkle::rows(&paths, self.params.k_whir())
                })
            },
        );
        let permutations = info_span!("poseidon2_rows").in_scope(|| {
            let compressed = merkle::compressed(&paths);
            let opened_permuted = opened.iter().map(|opened| opened.permuted.as_slice());
            let opened_compressed = opened.iter().map(|opened| opened.compressed.as_slice());
            permutations::rows(
                opened_permuted.chain([permuted.as_slice(), external.permuted]),
                opened_compressed.chain([compressed.as_slice(), external.compressed]),
            )
        });
        [transcript, permutations, paths.trace]
            .map(AirProvingContext::simple_no_pis)
            .into()
    }
}

/// The traces of one of the library's modules.
fn traces<M: TraceGenModule<GlobalCtxCpu, CpuBackend<SC>>>(
    module: &M,
    vk: &MultiStarkVerifyingKey<SC>,
    proofs: &[Proof<SC>],
    preflights: &[Preflight],
    own: &M::ModuleSpecificCtx<'_>,
) -> HostTraces {
    let traces = module.generate_proving_ctxs(vk, proofs, preflights, own, None);
    traces.expect("no heights are required of a node")
}
