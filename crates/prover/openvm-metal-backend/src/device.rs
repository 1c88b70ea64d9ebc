//! `MetalDevice`: where a proof is made, and how.

use std::sync::{Arc, Mutex, PoisonError};

use openvm_metal_common::{CommandStream, Device, MetalContext};
use openvm_stark_backend::SystemParams;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;

use crate::{
    config::MetalProverConfig, constraints::PlannedConstraints, error::MetalProverError,
    hash::HashScheme, kept_codewords::KeptCodewords, kernels,
};

/// The device that proves: a context, the protocol's configuration and the prover's own.
///
/// Cloning is O(1) and shares the counters of the [stream](Self::stream). All devices of a process
/// that name the same device share one context.
#[derive(Clone)]
pub struct MetalDevice<SC = BabyBearPoseidon2Config> {
    config: Arc<SC>,
    prover: MetalProverConfig,
    stream: Result<CommandStream, Arc<MetalProverError>>,
    /// Facts about the one proof that is made with this value, once its input was checked.
    checked_input: Option<CheckedInput>,
}

/// Facts about a proof before it begins.
#[derive(Clone)]
struct CheckedInput {
    kept: KeptCodewords,
    /// Until they are taken.
    constraints: Arc<Mutex<Option<PlannedConstraints>>>,
}

impl<SC: HashScheme> MetalDevice<SC> {
    /// On the device that `OPENVM_METAL_DEVICE` names. If it cannot be used, every proof returns why.
    pub fn new(config: SC) -> Self {
        let stream = MetalContext::shared(&[&kernels::LIBRARY])
            .map(|context| context.stream())
            .map_err(|error| Arc::new(MetalProverError::from(error)));
        Self {
            config: Arc::new(config),
            prover: MetalProverConfig::default(),
            stream,
            checked_input: None,
        }
    }

    /// On a given device.
    ///
    /// # Errors
    /// If the device cannot be used.
    pub fn try_new(config: SC, device: Device) -> Result<Self, MetalProverError> {
        Ok(Self::on_context(
            config,
            MetalContext::shared_on(device, &[&kernels::LIBRARY])?,
        ))
    }

    /// On a context that was opened with this crate's [`kernels::LIBRARY`].
    pub fn on_context(config: SC, context: MetalContext) -> Self {
        let stream = Ok(context.stream());
        Self {
            config: Arc::new(config),
            prover: MetalProverConfig::default(),
            stream,
            checked_input: None,
        }
    }

    /// The same device with other decisions of the prover.
    pub fn with_prover_config(mut self, prover: MetalProverConfig) -> Self {
        self.prover = prover;
        self
    }

    /// The protocol configuration.
    pub fn config(&self) -> &SC {
        &self.config
    }

    /// The system parameters.
    pub fn params(&self) -> &SystemParams {
        self.config.params()
    }

    /// Size gates and limits.
    pub fn prover_config(&self) -> &MetalProverConfig {
        &self.prover
    }

    /// The same device with counters of its own; one proof, or one thread, uses one.
    pub fn with_own_stream(&self) -> Self {
        let stream = self
            .stream
            .as_ref()
            .map(|s| s.context().stream())
            .map_err(Arc::clone);
        Self {
            config: self.config.clone(),
            prover: self.prover.clone(),
            stream,
            checked_input: None,
        }
    }

    /// The counted handle onto the context's queue.
    ///
    /// # Errors
    /// If the device could not be opened.
    pub fn stream(&self) -> Result<&CommandStream, MetalProverError> {
        self.queue()
            .as_ref()
            .map_err(|error| MetalProverError::Transport(error.clone()))
    }

    /// For the proof of an input that was checked: its phases do not check it again, so much is kept of its codewords, and its constraints
    /// are being planned.
    pub(crate) fn with_checked_input(
        mut self,
        kept: KeptCodewords,
        constraints: PlannedConstraints,
    ) -> Self {
        self.checked_input = Some(CheckedInput {
            kept,
            constraints: Arc::new(Mutex::new(Some(constraints))),
        });
        self
    }

    /// The codewords that are kept, if the input was checked.
    pub(crate) fn checked_input(&self) -> Option<KeptCodewords> {
        self.checked_input.as_ref().map(|input| input.kept)
    }

    /// The plans of its constraints, for the first who asks.
    pub(crate) fn take_planned(&self) -> Option<PlannedConstraints> {
        let planned = &self.checked_input.as_ref()?.constraints;
        let mut planned = planned.lock().unwrap_or_else(PoisonError::into_inner);
        planned.take()
    }

    /// Uploads the tables of its constraints, if they are being planned and nobody has asked for them.
    pub(crate) fn upload_planned(&self) -> Result<(), MetalProverError> {
        let Some(mut planned) = self.take_planned() else {
            return Ok(());
        };
        planned.upload(self.stream()?)?;
        if let Some(input) = &self.checked_input {
            let mut kept = input
                .constraints
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *kept = Some(planned);
        }
        Ok(())
    }

    /// The counted handle, or why there is none.
    pub(crate) fn queue(&self) -> &Result<CommandStream, Arc<MetalProverError>> {
        &self.stream
    }
}
