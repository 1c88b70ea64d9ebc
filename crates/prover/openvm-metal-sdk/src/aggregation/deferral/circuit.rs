//! `DeferralCircuit`: a circuit that proves what guests defer to it.

use std::sync::Arc;

use openvm_continuations::prover::{DeferralCircuitProver, DeferralCircuitProverKey};
use openvm_sdk_config::deferral::SupportedDeferral;
use openvm_stark_backend::keygen::types::MultiStarkVerifyingKey;

use super::VerifyStark;
use crate::{
    error::{guard, SdkError, Stage},
    prelude::SC,
};

/// A circuit that proves what guests defer to it.
#[non_exhaustive]
pub enum DeferralCircuit {
    /// Verifies aggregated proofs. Proved on the SDK's first device.
    VerifyStark(Box<VerifyStark>),
    /// Any other circuit, which proves its calls itself, wherever that is.
    Other {
        /// The name in the configuration of the virtual machine.
        name: String,
        prover: Box<dyn DeferralCircuitProver<SC> + Send + Sync>,
    },
}

impl From<VerifyStark> for DeferralCircuit {
    fn from(circuit: VerifyStark) -> Self {
        Self::VerifyStark(Box::new(circuit))
    }
}

impl DeferralCircuit {
    /// Verifying key of the proofs of single calls.
    pub(super) fn vk(&self) -> Result<Arc<MultiStarkVerifyingKey<SC>>, SdkError> {
        match self {
            Self::VerifyStark(circuit) => Ok(circuit.vk()),
            Self::Other { prover, .. } => guard(Stage::AggregationKeygen, || prover.get_vk()),
        }
    }

    /// The reason why a call with this input cannot be proved, as far as it is known before.
    pub(crate) fn check(&self, input: &[u8]) -> Result<(), String> {
        match self {
            Self::VerifyStark(circuit) => circuit.check(input),
            Self::Other { .. } => Ok(()),
        }
    }

    /// The number of the circuit, which its constraints have.
    pub(super) fn index(&self) -> Result<usize, SdkError> {
        match self {
            Self::VerifyStark(circuit) => Ok(circuit.index()),
            Self::Other { prover, .. } => guard(Stage::AggregationKeygen, || prover.get_def_idx()),
        }
    }

    /// The proving key in OpenVM's form.
    pub(super) fn key(&self) -> Result<Arc<DeferralCircuitProverKey<SC>>, SdkError> {
        match self {
            Self::VerifyStark(circuit) => circuit.key(),
            Self::Other { prover, .. } => guard(Stage::AggregationKeygen, || prover.get_pk()),
        }
    }

    /// The kind of the circuit in the configuration of the virtual machine.
    pub(super) fn kind(&self) -> SupportedDeferral {
        match self {
            Self::VerifyStark(_) => SupportedDeferral::VerifyStark,
            Self::Other { name, .. } => SupportedDeferral::Other(name.clone()),
        }
    }
}
