//! `MetalDevice`: the prover phases behind the traits of `openvm-stark-backend`.

use std::sync::Arc;

use openvm_metal_common::{CommandStream, Device, MetalContext};
use openvm_stark_backend::{
    proof::{BatchConstraintProof, GkrProof, StackingProof, WhirProof},
    prover::{
        DeviceMultiStarkProvingKey, MultiRapProver, OpeningProver, ProverDevice, ProvingContext,
        TraceCommitter,
    },
    FiatShamirTranscript, StarkProtocolConfig, SystemParams,
};

use crate::{
    backend::{MetalBackend, Transported},
    commit::{stacked_commit, CommitParams},
    config::MetalProverConfig,
    error::MetalProverError,
    kernels,
    matrix::MetalMatrix,
    prelude::{Digest, EF, F, SC},
    prove::{prove_openings, prove_zerocheck_and_logup},
    stacked::StackedPcsDataMetal,
    validate::check_input,
};

/// The device that proves: a context, the protocol's configuration and the prover's own.
///
/// Cloning is O(1) and shares the counters of the [stream](Self::stream). All devices of a process
/// that name the same device share one context.
#[derive(Clone)]
pub struct MetalDevice {
    config: Arc<SC>,
    prover: MetalProverConfig,
    stream: Result<CommandStream, Arc<MetalProverError>>,
}

impl MetalDevice {
    /// On the device that `OPENVM_METAL_DEVICE` names. If it cannot be used, every proof returns why.
    pub fn new(config: SC) -> Self {
        let stream = MetalContext::shared(&[&kernels::LIBRARY])
            .map(|context| context.stream())
            .map_err(|error| Arc::new(MetalProverError::from(error)));
        Self {
            config: Arc::new(config),
            prover: MetalProverConfig::default(),
            stream,
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
        }
    }

    /// The counted handle onto the context's queue.
    ///
    /// # Errors
    /// If the device could not be opened.
    pub fn stream(&self) -> Result<&CommandStream, MetalProverError> {
        self.stream
            .as_ref()
            .map_err(|error| MetalProverError::Transport(error.clone()))
    }
}

impl MetalDevice {
    /// Bytes of codewords to drop: what the constraint phase needs beside traces and codewords, so that
    /// the peak of a proof is that of its commitment.
    pub(crate) fn spare_bytes(
        &self,
        s: &CommandStream,
        params: CommitParams,
        traces: &[&MetalMatrix<F>],
    ) -> u64 {
        let most = s.context().device_profile().max_kept_codewords;
        let cells: u64 = traces.iter().map(|trace| trace.num_cells() as u64).sum();
        let code = cells.saturating_mul(4) << params.log_blowup;
        if self.prover.keep_codewords.unwrap_or(code <= most) {
            return 0;
        }
        // The folded columns, and an eighth for those that rules read one row ahead.
        let folded = ((cells * 16) >> params.l_skip) / 8 * 9;
        folded.max(self.prover.constraint_scratch_bytes)
    }
}

impl<TS: FiatShamirTranscript<SC>> ProverDevice<MetalBackend, TS> for MetalDevice {
    type Error = MetalProverError;
    /// The queue, or why there is none.
    type DeviceCtx = Result<CommandStream, Arc<MetalProverError>>;

    fn device_ctx(&self) -> &Self::DeviceCtx {
        &self.stream
    }
}

impl TraceCommitter<MetalBackend> for MetalDevice {
    type Error = MetalProverError;

    fn commit(
        &self,
        traces: &[&MetalMatrix<F>],
    ) -> Result<(Digest, Transported<StackedPcsDataMetal>), MetalProverError> {
        let s = self.stream()?;
        let mut params = CommitParams::from(self.params());
        params.spare_bytes = self.spare_bytes(s, params, traces);
        let (root, data) = stacked_commit(s, params, traces)?;
        Ok((root, Transported::ok(data)))
    }
}

impl<TS: FiatShamirTranscript<SC>> MultiRapProver<MetalBackend, TS> for MetalDevice {
    type PartialProof = (GkrProof<SC>, BatchConstraintProof<SC>);
    /// The point `r` at which the columns and their rotations are to be opened.
    type Artifacts = Vec<EF>;
    type Error = MetalProverError;

    fn prove_rap_constraints(
        &self,
        transcript: &mut TS,
        mpk: &DeviceMultiStarkProvingKey<MetalBackend>,
        ctx: &ProvingContext<MetalBackend>,
        common_main_pcs_data: &Transported<StackedPcsDataMetal>,
    ) -> Result<(Self::PartialProof, Vec<EF>), MetalProverError> {
        check_input(self, mpk, ctx)?;
        common_main_pcs_data.checked()?;
        let (gkr, batch, r) = prove_zerocheck_and_logup(self, transcript, mpk, ctx)?;
        Ok(((gkr, batch), r))
    }
}

impl<TS: FiatShamirTranscript<SC>> OpeningProver<MetalBackend, TS> for MetalDevice {
    type OpeningProof = (StackingProof<SC>, WhirProof<SC>);
    type OpeningPoints = Vec<EF>;
    type Error = MetalProverError;

    fn prove_openings(
        &self,
        transcript: &mut TS,
        mpk: &DeviceMultiStarkProvingKey<MetalBackend>,
        ctx: ProvingContext<MetalBackend>,
        common_main_pcs_data: Transported<StackedPcsDataMetal>,
        r: Vec<EF>,
    ) -> Result<(StackingProof<SC>, WhirProof<SC>), MetalProverError> {
        prove_openings(
            self,
            transcript,
            mpk,
            ctx,
            common_main_pcs_data.checked()?,
            &r,
        )
    }
}
