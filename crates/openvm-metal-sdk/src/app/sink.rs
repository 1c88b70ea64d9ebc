//! `ProofSink`: where the proofs of segments go as they are made.

use openvm_stark_backend::proof::Proof;

use crate::{error::SdkError, prelude::SC};

/// Takes the proofs of segments. Called in the order of the segments, by one thread at a time.
pub(crate) trait ProofSink: Sync {
    /// The proof of segment `index`. An error stops the execution; what took the proofs failed and says why.
    fn segment(&self, index: usize, proof: &Proof<SC>) -> Result<(), SdkError>;

    /// There are this many segments.
    fn close(&self, segments: usize);
}

/// Nothing else is done with the proofs.
impl ProofSink for () {
    fn segment(&self, _: usize, _: &Proof<SC>) -> Result<(), SdkError> {
        Ok(())
    }

    fn close(&self, _: usize) {}
}
