//! OpenVM's verification of an application proof, with the segments' proofs verified on all threads.
//!
//! OpenVM's function verifies one segment after another and compares each with the one before. The comparisons take
//! microseconds, a segment some 50 ms. So all segments are verified first, side by side, and OpenVM's function then runs with
//! an engine that accepts those proofs and verifies any other proof itself.

use std::{cell::RefCell, collections::HashSet, ptr};

use openvm_circuit::arch::ContinuationVmProof;
use openvm_sdk::{keygen::AppVerifyingKey, SdkError};
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, proof::Proof, prover::Coordinator,
    verifier::VerifierError, StarkEngine, SystemParams,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::EF;
use rayon::prelude::*;

use crate::{
    engine::CpuEngine,
    error::{guard, Stage},
    prelude::{Digest, SC},
};

thread_local! {
    /// Addresses of keys and of the proofs that were accepted under them, while this thread is in [`verify_app_proof`].
    static ACCEPTED: RefCell<HashSet<[usize; 2]>> = RefCell::default();
}

/// Empties [`ACCEPTED`] when a verification ends, also by a panic: the addresses may be those of other proofs then.
struct Forget;

impl Drop for Forget {
    fn drop(&mut self) {
        ACCEPTED.take();
    }
}

/// Verifies a proof with OpenVM's verifier under a key that this process made. Its public values are not looked at.
///
/// # Errors
/// The verifier's reason, in words.
pub(crate) fn accepts(vk: &MultiStarkVerifyingKey<SC>, proof: &Proof<SC>) -> Result<(), String> {
    guard(Stage::Verify, || {
        CpuEngine::new(vk.inner.params.clone()).verify(vk, proof)
    })
    .map_err(|error| error.to_string())?
    .map_err(|error| error.to_string())
}

/// Verifies an application proof as OpenVM's SDK does, on all of rayon's threads. Gives the commitment to the executable.
///
/// # Errors
/// The error of OpenVM's SDK.
pub(crate) fn verify_app_proof(
    vk: &AppVerifyingKey,
    proof: &ContinuationVmProof<SC>,
) -> Result<Digest, SdkError> {
    let segments = proof.per_segment.par_iter();
    let accepted = segments.filter(|segment| accepts(&vk.vk, segment).is_ok());
    let accepted = accepted.map(|segment| addresses(&vk.vk, segment)).collect();
    let _forget = Forget;
    ACCEPTED.set(accepted);
    openvm_sdk::prover::verify_app_proof::<AcceptedOrVerified>(vk, proof)
}

/// The addresses of a key and a proof: the key's, since the same proof may be refused under another.
fn addresses(vk: &MultiStarkVerifyingKey<SC>, proof: &Proof<SC>) -> [usize; 2] {
    [ptr::from_ref(vk).addr(), ptr::from_ref(proof).addr()]
}

/// OpenVM's CPU engine, which takes proofs of [`ACCEPTED`] as verified under their keys.
struct AcceptedOrVerified(CpuEngine);

impl StarkEngine for AcceptedOrVerified {
    type SC = SC;
    type PB = <CpuEngine as StarkEngine>::PB;
    type PD = <CpuEngine as StarkEngine>::PD;
    type TS = <CpuEngine as StarkEngine>::TS;

    fn new(params: SystemParams) -> Self {
        Self(CpuEngine::new(params))
    }

    fn config(&self) -> &SC {
        self.0.config()
    }

    fn device(&self) -> &Self::PD {
        self.0.device()
    }

    fn initial_transcript(&self) -> Self::TS {
        self.0.initial_transcript()
    }

    fn prover_from_transcript(
        &self,
        transcript: Self::TS,
    ) -> Coordinator<SC, Self::PB, Self::PD, Self::TS> {
        self.0.prover_from_transcript(transcript)
    }

    fn verify(
        &self,
        vk: &MultiStarkVerifyingKey<SC>,
        proof: &Proof<SC>,
    ) -> Result<(), VerifierError<EF>> {
        if ACCEPTED.with_borrow(|accepted| accepted.contains(&addresses(vk, proof))) {
            return Ok(());
        }
        self.0.verify(vk, proof)
    }
}
