//! Transcripts whose grinding is deterministic: the smallest witness.

use openvm_metal_backend::{
    prelude::{Digest, EF, F, SC},
    DuplexSpongeMetal, MetalProverConfig,
};
use openvm_metal_common::CommandStream;
use openvm_stark_backend::FiatShamirTranscript;
use openvm_stark_sdk::config::baby_bear_poseidon2::{
    default_duplex_sponge, poseidon2_perm, DuplexSponge,
};
use p3_field::PrimeCharacteristicRing;

#[derive(Clone)]
pub struct SmallestWitness(DuplexSponge);

impl SmallestWitness {
    /// A sponge that has absorbed `seed`.
    pub fn new(seed: u64) -> Self {
        let mut sponge = Self(default_duplex_sponge());
        sponge.observe(F::from_u64(seed));
        sponge
    }
}

impl FiatShamirTranscript<SC> for SmallestWitness {
    fn observe(&mut self, value: F) {
        FiatShamirTranscript::<SC>::observe(&mut self.0, value);
    }

    fn sample(&mut self) -> F {
        FiatShamirTranscript::<SC>::sample(&mut self.0)
    }

    fn observe_commit(&mut self, digest: Digest) {
        FiatShamirTranscript::<SC>::observe_commit(&mut self.0, digest);
    }

    fn observe_ext(&mut self, value: EF) {
        FiatShamirTranscript::<SC>::observe_ext(&mut self.0, value);
    }

    fn grind(&mut self, bits: usize) -> F {
        if bits == 0 {
            return F::ZERO;
        }
        let witness = (0..)
            .map(F::from_u32)
            .find(|&w| self.clone().check_witness(bits, w))
            .expect("some witness");
        assert!(self.check_witness(bits, witness));
        witness
    }
}

/// The same, which can go on on the device.
pub fn on_device(s: &CommandStream, seed: u64) -> DuplexSpongeMetal {
    let sponge = DuplexSpongeMetal::from(poseidon2_perm().clone());
    let mut sponge = sponge.with_stream(s.clone());
    FiatShamirTranscript::<SC>::observe(&mut sponge, F::from_u64(seed));
    sponge
}

/// With this host gate on the host's transcript, or on the device's.
pub fn prover_config(gate: Option<usize>) -> MetalProverConfig {
    let mut config = MetalProverConfig::default();
    config.transcript_on_device = Some(gate.is_none());
    config.mle_host_log_rows = gate.unwrap_or(0);
    config
}
