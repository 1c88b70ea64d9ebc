//! `MetalEngine`: the `StarkEngine`, for each hash.

use openvm_metal_common::{Device, StreamCounters};
use openvm_stark_backend::{
    memory_metering::ProvingMemoryConfig,
    proof::Proof,
    prover::{
        ColMajorMatrix, Coordinator, DeviceDataTransporter, DeviceMultiStarkProvingKey, Prover,
        ProvingContext,
    },
    AirRef, StarkEngine, SystemParams,
};
use openvm_stark_sdk::config::{
    baby_bear_bn254_poseidon2::BabyBearBn254Poseidon2Config,
    baby_bear_poseidon2::BabyBearPoseidon2Config,
};

use crate::{
    backend::MetalBackend,
    config::MetalProverConfig,
    constraint_check::{AirTraces, ConstraintCheck, Constraints},
    constraints::{AirDataMetal, KernelReport},
    device::MetalDevice,
    error::MetalProverError,
    hash::HashScheme,
    kept_codewords::KeptCodewords,
    matrix::MetalMatrix,
    memory::MemoryEstimate,
    memory_plan,
    prelude::F,
    prove::plan_constraints,
    validate::{check_input, check_shapes},
};

/// The engine of application proofs and their aggregation: BabyBear, hashed with Poseidon2 over BabyBear.
pub type BabyBearPoseidon2MetalEngine = MetalEngine<BabyBearPoseidon2Config>;

/// The engine of root proofs: BabyBear, hashed with Poseidon2 over the scalar field of BN254.
pub type BabyBearBn254Poseidon2MetalEngine = MetalEngine<BabyBearBn254Poseidon2Config>;

/// Proves with BabyBear and a hash on an Apple GPU, an NVIDIA GPU or the processor.
///
/// Proofs are byte-identical to those of OpenVM's reference engine for the hash with the same transcript
/// ([`HashScheme::Transcript`]). Engines are cheap: those of one process that use the same device share its context.
#[derive(Clone)]
pub struct MetalEngine<SC: HashScheme> {
    device: MetalDevice<SC>,
}

impl<SC: HashScheme> MetalEngine<SC> {
    /// An engine on the given device.
    ///
    /// # Errors
    /// If the device cannot be used; another one is never taken in its place.
    pub fn try_new(params: SystemParams, device: Device) -> Result<Self, MetalProverError> {
        let config = SC::with_params(params);
        Ok(Self {
            device: MetalDevice::try_new(config, device)?,
        })
    }

    /// An engine on a device that exists.
    pub fn from_device(device: MetalDevice<SC>) -> Self {
        Self { device }
    }

    /// Checks that [`prove`](StarkEngine::prove) makes before it starts: shapes of traces, key and parameters
    /// against each other, that the device has every kernel, and the estimated memory against the budget.
    ///
    /// # Errors
    /// A variant of [`MetalProverError`] that names the AIR and the number at fault.
    pub fn check_input(
        &self,
        pk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
        ctx: &ProvingContext<MetalBackend<SC>>,
    ) -> Result<(), MetalProverError> {
        check_input(&self.device, pk, ctx, None).map(|_| ())
    }

    /// Does the work of [`prove`](StarkEngine::prove) with the counters of the proof.
    ///
    /// # Errors
    /// As [`prove`](StarkEngine::prove).
    pub fn prove_counted(
        &self,
        pk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
        ctx: ProvingContext<MetalBackend<SC>>,
    ) -> Result<(Proof<SC>, StreamCounters), MetalProverError> {
        let kept = check_input(&self.device, pk, &ctx, None)?;
        let ctx = ctx.into_sorted();
        let mut prover = self.prover();
        // The device makes the commitment meanwhile.
        let planned = plan_constraints(&self.device, pk, &ctx)?;
        prover.device = prover.device.with_checked_input(kept, planned);
        // A proof that takes all memory needs large buffers: segments that nothing lives in go back before it, and before the next traces
        // are brought to the device, so that those do not lie in pieces of its segments.
        let tight = matches!(kept, KeptCodewords::Last(_));
        let context = self.device.stream()?.context().clone();
        if tight {
            context.trim();
        }
        let proof = prover.prove(pk, ctx);
        // If the proof ended early, the plans still hold its traces.
        drop(prover.device.take_planned());
        if tight {
            context.trim_before_upload();
        }
        Ok((proof?, prover.device.stream()?.counters()))
    }

    /// The device memory that a proof is expected to need, for inputs that
    /// [`check_input`](Self::check_input) accepts apart from the memory budget. Of a proof that fits only without all of its
    /// codewords ([`KeptCodewords::Last`](crate::KeptCodewords::Last)): beside what is on the device now.
    ///
    /// # Errors
    /// The others of [`check_input`](Self::check_input).
    pub fn memory_estimate(
        &self,
        pk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
        ctx: &ProvingContext<MetalBackend<SC>>,
    ) -> Result<MemoryEstimate, MetalProverError> {
        check_shapes(&self.device, pk, ctx)?;
        memory_plan::estimate(&self.device, pk, ctx, None)
    }

    /// Checks every row against its constraints and every bus, on the host: why a proof is not valid. A prover does not notice that a trace
    /// breaks its constraints. The check takes host memory for all traces and some microseconds per row and thousand operations.
    ///
    /// # Errors
    /// [`MetalProverError::BrokenConstraint`] for the first row of the first AIR that breaks a constraint, else for the first message that does
    /// not balance; the errors of [`prove`](StarkEngine::prove) for inputs of a wrong shape.
    pub fn check_traces(
        &self,
        pk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
        ctx: &ProvingContext<MetalBackend<SC>>,
    ) -> Result<(), MetalProverError> {
        check_shapes(&self.device, pk, ctx)?;
        let mut airs = Vec::with_capacity(pk.per_air.len());
        for air in &pk.per_air {
            let preprocessed = air.preprocessed_data.as_ref();
            airs.push(Constraints {
                name: &air.air_name,
                dag: &air.vk.symbolic_constraints,
                preprocessed: preprocessed
                    .map(|part| self.on_host(&part.trace))
                    .transpose()?,
                columns: None,
            });
        }
        let mut traces = Vec::with_capacity(ctx.per_trace.len());
        for (air, trace) in &ctx.per_trace {
            let cached = trace.cached_mains.iter().map(|part| &part.trace);
            let parts = cached.chain([&trace.common_main]);
            traces.push(AirTraces {
                air: *air,
                parts: parts
                    .map(|part| self.on_host(part))
                    .collect::<Result<_, _>>()?,
                public_values: trace.public_values.clone(),
            });
        }
        let check = ConstraintCheck::of(airs.into_iter());
        Ok(check.check(None, &traces).map_err(Box::new)?)
    }

    fn on_host(&self, matrix: &MetalMatrix<F>) -> Result<ColMajorMatrix<F>, MetalProverError> {
        let mut cells = self.device.download(matrix)?;
        // In place of no columns, which the host's type refuses, there is one that no constraint reads.
        cells.resize(cells.len().max(matrix.height()), F::default());
        Ok(ColMajorMatrix::new(cells, matrix.width().max(1)))
    }

    /// Status of the kernels that are compiled for the constraints of a key, and the reasons of missing ones: what they
    /// would compute is interpreted. Without any, nothing was to be compiled.
    pub fn constraint_kernels(
        &self,
        pk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ) -> KernelReport {
        let airs = pk.per_air.iter().filter_map(|air| air.other_data.get());
        KernelReport::of(airs.flat_map(AirDataMetal::kernel_units))
    }

    /// The estimate of a proof's memory, for which no device is needed: the stacked matrix is never materialised; codewords stay until
    /// the openings are made; scratch for constraints is bounded and not added to the folded matrices.
    pub fn memory_config_of(config: &SC) -> ProvingMemoryConfig {
        let (cache_stacked_matrix, cache_rs_code_matrix, zerocheck_save_memory) =
            (false, true, true);
        ProvingMemoryConfig::from_protocol_config(
            config,
            cache_stacked_matrix,
            cache_rs_code_matrix,
            zerocheck_save_memory,
        )
    }

    /// The same engine with other decisions of the prover.
    pub fn with_prover_config(self, prover: MetalProverConfig) -> Self {
        Self {
            device: self.device.with_prover_config(prover),
        }
    }
}

impl<SC: HashScheme> StarkEngine for MetalEngine<SC> {
    type SC = SC;
    type PB = MetalBackend<SC>;
    type PD = MetalDevice<SC>;
    type TS = SC::Transcript;

    /// An engine on the device that `OPENVM_METAL_DEVICE` names. If that cannot be used,
    /// [`prove`](StarkEngine::prove) returns why; see [`try_new`](Self::try_new).
    fn new(params: SystemParams) -> Self {
        Self {
            device: MetalDevice::<SC>::new(SC::with_params(params)),
        }
    }

    fn config(&self) -> &SC {
        self.device.config()
    }

    fn proving_memory_config(&self) -> ProvingMemoryConfig {
        Self::memory_config_of(self.config())
    }

    fn device(&self) -> &MetalDevice<SC> {
        &self.device
    }

    fn initial_transcript(&self) -> SC::Transcript {
        let transcript = SC::transcript();
        match self.device.stream() {
            Ok(s) => SC::on_stream(transcript, s.clone()),
            Err(_) => transcript,
        }
    }

    /// The coordinator of one proof. Its `device` has a stream of its own, whose counters are those
    /// of the proof.
    fn prover_from_transcript(
        &self,
        transcript: SC::Transcript,
    ) -> Coordinator<SC, MetalBackend<SC>, MetalDevice<SC>, SC::Transcript> {
        let device = self.device.with_own_stream();
        let transcript = match device.stream() {
            Ok(s) => SC::on_stream(transcript, s.clone()),
            Err(_) => transcript,
        };
        Coordinator::new(MetalBackend::default(), device, transcript)
    }

    fn prove(
        &self,
        pk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
        ctx: ProvingContext<MetalBackend<SC>>,
    ) -> Result<Proof<SC>, MetalProverError> {
        self.prove_counted(pk, ctx).map(|(proof, _)| proof)
    }

    /// [`check_traces`](Self::check_traces) with a key made for `airs`.
    ///
    /// # Panics
    /// With the error, if the traces do not satisfy the AIRs.
    fn debug(&self, airs: &[AirRef<SC>], ctx: &ProvingContext<MetalBackend<SC>>) {
        let (pk, _) = self.keygen(airs);
        let pk = self.device.transport_pk_to_device(&pk);
        if let Err(error) = self.check_traces(&pk, ctx) {
            panic!("{error}");
        }
    }
}
