//! `ProofSink`: where the proofs of segments go as they are made.

use openvm_stark_backend::proof::Proof;

use crate::{error::SdkError, prelude::SC};

/// Takes the proofs of segments. Called by several threads, in the order in which proofs end.
pub(crate) trait ProofSink: Sync {
    /// Takes the proof of segment `index`. An error stops the job; the sink itself says why.
    fn segment(&self, index: usize, proof: &Proof<SC>) -> Result<(), SdkError>;

    /// There are this many segments; told as soon as it is known.
    fn close(&self, segments: usize);
}

/// Ignores the proofs, which the job returns in any case.
impl ProofSink for () {
    fn segment(&self, _: usize, _: &Proof<SC>) -> Result<(), SdkError> {
        Ok(())
    }

    fn close(&self, _: usize) {}
}
