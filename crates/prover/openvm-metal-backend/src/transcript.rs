//! `DuplexSpongeMetal`: the Fiat-Shamir transcript, grinding on the device.

use std::{any::Any, fmt};

use openvm_metal_common::{CommandStream, MetalContext, MetalError};
use openvm_stark_backend::{
    duplex_sponge::DuplexSponge as Sponge, FiatShamirTranscript, StarkProtocolConfig,
};
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
}

/// The smallest witness of `bits` bits of work for a transcript: by `search` on the device of `stream`, or on that of the process
/// if there is none; where the device refuses and still works, one after another on the host. Zero, which is no witness, if the device of `stream` is lost: [`CommandStream::alive`] has the error.
///
/// # Panics
/// If `2^bits` is not below the field's order, as every transcript does, or the device returned a wrong witness.
pub(crate) fn grind<SC: StarkProtocolConfig<F = F>, TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    stream: Option<&CommandStream>,
    bits: usize,
    search: impl FnOnce(&CommandStream) -> Result<F, MetalError>,
) -> F {
    assert!(
        bits < 31 && (1 << bits) < F::ORDER_U32,
        "{bits} bits of work in a field of 31 bits"
    );
    if bits == 0 {
        return F::ZERO;
    }
    let _span = tracing::info_span!("grind_pow", bits).entered();
    let own = match stream {
        Some(stream) => Ok(stream.clone()),
        None => MetalContext::shared(&[&crate::kernels::LIBRARY]).map(|context| context.stream()),
    };
    let found = own.and_then(|s| {
        let _stage = s.stage("grind_pow");
        search(&s)
    });
    let witness = match found {
        Ok(witness) => witness,
        // The trait cannot return an error. Every later request to the context does, and the prover asks
        // after each witness: no search on the host for a proof that will not be made.
        Err(error) if error.is_fatal() && stream.is_some() => {
            tracing::error!(%error, bits, "no witness: the device is lost");
            return F::ZERO;
        }
        // The device refused, and still works: the proof stays right.
        Err(error) => {
            tracing::error!(%error, bits, "grinding on the host: the device failed");
            if let Some(stream) = stream {
                stream.count_host_fallback("grind_pow", 1 << bits);
            }
            (0..F::ORDER_U32)
                .map(F::from_u32)
                .find(|&witness| transcript.clone().check_witness(bits, witness))
                .expect("a field of 2^31 elements holds a witness of at most 26 bits")
        }
    };
    assert!(
        transcript.check_witness(bits, witness),
        "the device returned a witness that is none"
    );
    witness
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
        let stream = self.stream.clone();
        let (state, at) = (*self.inner.state(), self.inner.absorb_idx());
        grind::<SC, _>(self, stream.as_ref(), bits, |s| {
            grind_smallest(s, &state, at, bits)
        })
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
