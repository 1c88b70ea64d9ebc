//! `DuplexSpongeMetal`: the Fiat-Shamir transcript, grinding on the device.

use std::{any::Any, fmt};

use openvm_metal_common::{CommandStream, MetalContext, MetalError};
use openvm_stark_backend::{duplex_sponge::DuplexSponge as Sponge, FiatShamirTranscript};
use openvm_stark_sdk::config::baby_bear_poseidon2::DuplexSponge;
use p3_baby_bear::Poseidon2BabyBear;
use p3_field::{PrimeCharacteristicRing, PrimeField32};

use crate::{
    config::MetalProverConfig,
    error::MetalProverError,
    grind::grind_smallest,
    host_poseidon2::HostPoseidon2,
    params::TranscriptState,
    prelude::{Digest, EF, F, RATE, SC, WIDTH},
    prover_profile::ProverProfile,
};

/// OpenVM's sponge over our permutation on the host.
type HostSponge = Sponge<F, HostPoseidon2, WIDTH, RATE>;

/// A duplex sponge over Poseidon2 of width 16, bit-identical to OpenVM's `DuplexSponge`, whose
/// [`grind`](FiatShamirTranscript::grind) searches on the device and returns the smallest witness.
///
/// Absorbing and squeezing is host work: a permutation costs less than a dispatch.
#[derive(Clone)]
pub struct DuplexSpongeMetal {
    inner: HostSponge,
    /// Stream for grinding; without one, the process-wide context of `OPENVM_METAL_DEVICE`.
    stream: Option<CommandStream>,
}

impl From<Poseidon2BabyBear<16>> for DuplexSpongeMetal {
    fn from(permutation: Poseidon2BabyBear<16>) -> Self {
        Self {
            inner: Sponge::from(HostPoseidon2::from(permutation)),
            stream: None,
        }
    }
}

impl fmt::Debug for DuplexSpongeMetal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DuplexSpongeMetal")
            .field("sponge", &self.inner)
            .finish_non_exhaustive()
    }
}

impl DuplexSpongeMetal {
    /// The same transcript, grinding through this handle.
    pub fn with_stream(mut self, stream: CommandStream) -> Self {
        self.stream = Some(stream);
        self
    }

    fn stream(&self) -> Result<CommandStream, MetalError> {
        match &self.stream {
            Some(stream) => Ok(stream.clone()),
            None => Ok(MetalContext::shared(&[&crate::kernels::LIBRARY])?.stream()),
        }
    }

    fn accepts(&self, bits: usize, witness: F) -> bool {
        let mut sponge = self.inner.clone();
        FiatShamirTranscript::<SC>::check_witness(&mut sponge, bits, witness)
    }

    /// The smallest witness by search on the host, one after the other.
    fn grind_on_host(&self, bits: usize) -> F {
        (0..F::ORDER_U32)
            .map(F::from_u32)
            .find(|&witness| self.accepts(bits, witness))
            .expect("a field of 2^31 elements holds a witness of at most 26 bits")
    }

    /// None if the device of the stream is lost.
    fn smallest_witness(&self, bits: usize) -> Option<F> {
        let found = self.stream().and_then(|s| {
            let _stage = s.stage("grind_pow");
            grind_smallest(&s, self.inner.state(), self.inner.absorb_idx(), bits)
        });
        match found {
            Ok(witness) => Some(witness),
            // The trait cannot return an error. Every later request to the context does, and the prover asks
            // after each witness: no search on the host for a proof that will not be made.
            Err(error) if error.is_fatal() && self.stream.is_some() => {
                tracing::error!(%error, bits, "no witness: the device is lost");
                None
            }
            // The device refused, and still works: the proof stays right.
            Err(error) => {
                tracing::error!(%error, bits, "grinding on the host: the device failed");
                if let Some(stream) = &self.stream {
                    stream.count_host_fallback("grind_pow", 1 << bits);
                }
                Some(self.grind_on_host(bits))
            }
        }
    }
}

impl FiatShamirTranscript<SC> for DuplexSpongeMetal {
    fn observe(&mut self, value: F) {
        FiatShamirTranscript::<SC>::observe(&mut self.inner, value);
    }

    fn sample(&mut self) -> F {
        FiatShamirTranscript::<SC>::sample(&mut self.inner)
    }

    fn observe_commit(&mut self, digest: Digest) {
        FiatShamirTranscript::<SC>::observe_commit(&mut self.inner, digest);
    }

    /// The smallest field element (as an integer) that is a witness of `bits` bits of work. Zero, which is none,
    /// if the device of [`DuplexSpongeMetal::with_stream`] is lost: [`CommandStream::alive`] has the error.
    ///
    /// # Panics
    /// If `2^bits` is not below the field's order, as every transcript does.
    fn grind(&mut self, bits: usize) -> F {
        assert!(
            bits < 31 && (1 << bits) < F::ORDER_U32,
            "{bits} bits of work in a field of 31 bits"
        );
        if bits == 0 {
            return F::ZERO;
        }
        let _span = tracing::info_span!("grind_pow", bits).entered();
        let Some(witness) = self.smallest_witness(bits) else {
            return F::ZERO;
        };
        assert!(
            self.check_witness(bits, witness),
            "the device returned a witness that is none"
        );
        witness
    }
}

/// The sponge of a transcript that is one: kernels can go on in its place. Of others nothing is known but what they sample.
fn sponge_of<TS: 'static>(transcript: &TS) -> Option<TranscriptState> {
    fn state<P>(sponge: &Sponge<F, P, WIDTH, RATE>) -> TranscriptState {
        TranscriptState {
            cells: *sponge.state(),
            absorb_idx: sponge.absorb_idx() as u32,
            sample_idx: sponge.sample_idx() as u32,
            pad: [0; 2],
        }
    }
    let transcript: &dyn Any = transcript;
    match transcript.downcast_ref::<DuplexSpongeMetal>() {
        Some(transcript) => Some(state(&transcript.inner)),
        None => transcript.downcast_ref::<DuplexSponge>().map(state),
    }
}

/// The sponge to go on with on the device, if phases of this prover run on the device's transcript and this transcript can.
pub(crate) fn sponge_for_device<TS: 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &TS,
) -> Option<TranscriptState> {
    let of_profile = ProverProfile::new(s.context().device_profile(), 0);
    let sponge = sponge_of(transcript)?;
    config
        .transcript_on_device
        .unwrap_or(of_profile.transcript_on_device)
        .then_some(sponge)
}

/// Compares the host's sample, after the device's observations were shown to it, with the device's sample.
///
/// # Errors
/// [`MetalProverError::TranscriptsDiffer`] if they are not the same: a kernel or the device is wrong.
pub(crate) fn replayed(phase: &'static str, host: EF, device: EF) -> Result<(), MetalProverError> {
    match host == device {
        true => Ok(()),
        false => Err(MetalProverError::TranscriptsDiffer { phase }),
    }
}
