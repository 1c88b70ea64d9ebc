//! `MultiFieldTranscriptMetal`: the Fiat-Shamir transcript over the scalar field of BN254, grinding on the device.

use std::fmt;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::FiatShamirTranscript;
use openvm_stark_sdk::config::{
    baby_bear_bn254_poseidon2::{BabyBearBn254Poseidon2Config, Digest, Transcript},
    bn254_poseidon2::{default_bn254_poseidon2_width3, Poseidon2Bn254Width3},
};

use super::grind_smallest;
use crate::{prelude::F, transcript::grind};

/// The transcript of root proofs, bit-identical to OpenVM's `MultiFieldTranscript`, whose
/// [`grind`](FiatShamirTranscript::grind) searches on the device and returns the smallest witness.
///
/// Absorbing and squeezing is host work: eight cells to a permutation of some ten microseconds.
#[derive(Clone)]
pub struct MultiFieldTranscriptMetal {
    inner: Transcript,
    /// Stream for grinding; without one, the process-wide context of `OPENVM_METAL_DEVICE`.
    stream: Option<CommandStream>,
}

impl fmt::Debug for MultiFieldTranscriptMetal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiFieldTranscriptMetal")
            .field("transcript", &self.inner)
            .finish_non_exhaustive()
    }
}

impl Default for MultiFieldTranscriptMetal {
    fn default() -> Self {
        Self::from(default_bn254_poseidon2_width3())
    }
}

impl From<Poseidon2Bn254Width3> for MultiFieldTranscriptMetal {
    fn from(permutation: Poseidon2Bn254Width3) -> Self {
        Self {
            inner: Transcript::from(permutation),
            stream: None,
        }
    }
}

impl MultiFieldTranscriptMetal {
    /// The same transcript, grinding through this handle.
    pub fn with_stream(mut self, stream: CommandStream) -> Self {
        self.stream = Some(stream);
        self
    }
}

impl FiatShamirTranscript<BabyBearBn254Poseidon2Config> for MultiFieldTranscriptMetal {
    fn observe(&mut self, value: F) {
        self.inner.observe(value);
    }

    fn sample(&mut self) -> F {
        self.inner.sample()
    }

    fn observe_commit(&mut self, digest: Digest) {
        FiatShamirTranscript::<BabyBearBn254Poseidon2Config>::observe_commit(
            &mut self.inner,
            digest,
        );
    }

    /// The smallest field element (as an integer) that is a witness of `bits` bits of work. Zero, which is none,
    /// if the device of [`with_stream`](Self::with_stream) is lost: [`CommandStream::alive`] has the error.
    ///
    /// # Panics
    /// If `2^bits` is not below the field's order, as every transcript does.
    fn grind(&mut self, bits: usize) -> F {
        let (stream, inner) = (self.stream.clone(), self.inner.clone());
        grind(self, stream.as_ref(), bits, |s| {
            grind_smallest(s, &inner, bits)
        })
    }
}
