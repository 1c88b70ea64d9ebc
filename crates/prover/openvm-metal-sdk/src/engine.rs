//! `SdkEngine`: what the SDK asks of an engine beyond `StarkEngine`: a chosen device, and traces that are
//! brought to it.
//!
//! The Metal engine is the product. OpenVM's CPU and reference engines implement the trait too, so that the
//! same driver gives the proofs that tests compare with.

use std::{error::Error, fmt, sync::Arc};

use openvm_metal_backend::{
    compiled_airs, kernels, BabyBearPoseidon2MetalEngine, KeptCodewords, MetalBackend, MetalDevice,
    MetalMatrix, MetalProverError,
};
use openvm_metal_common::{kernel::KernelLibrary, Device, DeviceKind, MetalContext};
use openvm_metal_tracegen::{DeviceChips, Permutations, RowChip, SegmentTraces, Table, TraceError};
use openvm_stark_backend::{
    keygen::types::MultiStarkProvingKey,
    memory_metering::ProvingMemoryConfig,
    p3_matrix::dense::RowMajorMatrix,
    prover::{
        ColMajorMatrix, DeviceDataTransporter, DeviceMultiStarkProvingKey, ProverBackend,
        ProvingContext, TraceCommitter,
    },
    ProverError, StarkEngine, SystemParams,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{
    BabyBearPoseidon2CpuEngine, BabyBearPoseidon2RefEngine,
};

use crate::prelude::{Digest, F, SC};

/// The kernels of [`MetalEngine`] and of traces: a context of its device is opened with both.
pub static LIBRARIES: [&KernelLibrary; 2] =
    [&kernels::LIBRARY, &openvm_metal_tracegen::kernels::LIBRARY];

/// OpenVM's CPU engine, which also verifies.
pub type CpuEngine = BabyBearPoseidon2CpuEngine;
/// OpenVM's reference engine.
pub type ReferenceEngine = BabyBearPoseidon2RefEngine;
/// The engine of this project.
pub type MetalEngine = BabyBearPoseidon2MetalEngine;

/// An error of an engine.
///
/// For the Metal engine the source is a
/// [`MetalProverError`]; see [`downcast_ref`](Self::downcast_ref).
#[derive(Debug)]
pub struct EngineError(Box<dyn Error + Send + Sync>);

impl EngineError {
    pub(crate) fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }

    /// The engine's own error, if it is of type `T`.
    pub fn downcast_ref<T: Error + 'static>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for EngineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Traces of one segment that a device makes.
pub trait MakeTraces<Matrix> {
    /// The trace of a chip from its records. If the device refuses it, the result says so when it is used in a proof.
    fn rows(&mut self, chip: &RowChip, records: &[u8]) -> Matrix;

    /// The trace of a chip from the records of the one that was added after it, whose trace was made before.
    fn periphery(&mut self, chip: &RowChip) -> Matrix;

    /// The trace of a lookup table, when those of all chips are made that count in it.
    fn table(&mut self, table: &Table) -> Matrix;

    /// The trace of the Poseidon2 chip.
    fn permutations(&mut self, permutations: &Permutations) -> Matrix;
}

/// Traces of one segment on a device of `E`.
pub type DeviceTraces<E> =
    Box<dyn MakeTraces<<<E as StarkEngine>::PB as ProverBackend>::Matrix> + Send>;

/// Data of an AIR that engines of `E` keep beside its key.
pub type OtherAirData<E> = <<E as StarkEngine>::PB as ProverBackend>::OtherAirData;

/// A `StarkEngine` that the SDK can drive.
pub trait SdkEngine:
    StarkEngine<
        SC = SC,
        PB: ProverBackend<
            Matrix: Clone + 'static,
            OtherAirData: Clone + 'static,
            PcsData: 'static,
        > + 'static,
        PD: Clone + Send + Sync + 'static,
    > + Send
    + Sync
    + Sized
    + 'static
{
    /// Names a device.
    type Device: Clone + PartialEq + fmt::Debug + Send + Sync + 'static;

    /// A device that was opened. Engines on its clones share its memory.
    type Context: Clone + Send + Sync + 'static;

    /// Opens exactly this device. `copy` counts the devices before it in a list that are the same one: each
    /// copy has memory of its own.
    ///
    /// # Errors
    /// If the device cannot be used.
    fn connect(device: &Self::Device, copy: usize) -> Result<Self::Context, EngineError>;

    /// An engine on a device that was opened.
    ///
    /// # Errors
    /// If the device is gone, or cannot prove with the parameters.
    fn open(params: SystemParams, context: &Self::Context) -> Result<Self, EngineError>;

    /// A device's name in messages; `auto` has the name of the kind that was opened.
    fn label(device: &Self::Device, context: &Self::Context) -> String;

    /// The device that was opened: another than the named one where that leaves a choice.
    fn chosen(device: &Self::Device, _context: &Self::Context) -> Self::Device {
        device.clone()
    }

    /// Reason why these devices cannot prove together, if they cannot.
    fn refusal(_devices: &[Self::Device]) -> Option<String> {
        None
    }

    /// The estimate of a proof's memory by which segments are cut, for which no device is needed.
    fn memory_config(params: &SystemParams) -> ProvingMemoryConfig;

    /// Parts of a key for each AIR that follow from it alone, and that [`transport`](Self::transport) takes: they are made while a device is opened,
    /// and once for several devices.
    fn air_data(key: &MultiStarkProvingKey<SC>) -> Vec<OtherAirData<Self>>;

    /// Brings a key to the device, with its [`air_data`](Self::air_data).
    fn transport(
        &self,
        key: &MultiStarkProvingKey<SC>,
        _air_data: &[OtherAirData<Self>],
    ) -> DeviceMultiStarkProvingKey<Self::PB> {
        self.device().transport_pk_to_device(key)
    }

    /// Brings a row-major trace of any height, 0 included, to the device. If the device refuses it, the
    /// result says so when it is used in a proof.
    fn upload(device: &Self::PD, trace: RowMajorMatrix<F>) -> <Self::PB as ProverBackend>::Matrix;

    /// True if the engine has kernels that make traces.
    const MAKES_TRACES: bool = false;

    /// True if traces are made on the device unless something else is asked for.
    fn makes_traces(_device: &Self::PD) -> bool {
        false
    }

    /// Begins the traces of a segment on a device, if the engine makes any.
    fn traces(_device: &Self::PD, _chips: &DeviceChips) -> Option<DeviceTraces<Self>> {
        None
    }

    /// Number of proofs that a device makes at once in less time than one after another, if its memory holds them.
    fn proofs_at_once(_context: &Self::Context) -> usize {
        1
    }

    /// Bytes of device memory that a proof needs at its peak, its traces included; `None` if it may take all, or the engine cannot say.
    /// Asked for where several are made at once.
    fn memory_needed(
        &self,
        _key: &DeviceMultiStarkProvingKey<Self::PB>,
        _ctx: &ProvingContext<Self::PB>,
    ) -> Option<u64> {
        None
    }

    /// Bytes of device memory that proofs may take; `None` if the engine has no bound of its own.
    fn memory_budget(&self) -> Option<u64> {
        None
    }

    /// True if what is on the device is in the host's memory.
    fn is_in_host_memory(&self) -> bool {
        true
    }

    /// Most bytes of device memory that were live at once so far, if the engine counts them.
    fn memory_peak(&self) -> Option<u64> {
        None
    }

    /// The device that was opened, for people: its kind and its name.
    fn device_name(&self) -> Option<String> {
        None
    }

    /// The GPU that kernels of this project run on for the engine, if there is one.
    fn gpu(&self) -> Option<MetalContext> {
        None
    }

    /// Returns unused device memory to the system.
    fn trim(&self) {}

    /// True if hashing a commitment's rows takes longer than reading their digests from a disk.
    fn hashes_slowly(&self) -> bool {
        false
    }

    /// The digests of the leaves of a commitment, if [`commit_from_leaves`](Self::commit_from_leaves) takes them.
    ///
    /// # Errors
    /// Failures of the device.
    fn leaves(
        &self,
        _data: &<Self::PB as ProverBackend>::PcsData,
    ) -> Result<Option<Vec<Digest>>, EngineError> {
        Ok(None)
    }

    /// Commits one trace that is on the device, without hashing its rows: `leaves` are those of an earlier commitment to the same trace.
    /// Nothing if they are not, as far as a sample of them shows, or if the engine always hashes.
    ///
    /// # Errors
    /// Failures of the device.
    #[allow(clippy::type_complexity)]
    fn commit_from_leaves(
        &self,
        _trace: &<Self::PB as ProverBackend>::Matrix,
        _leaves: &[Digest],
    ) -> Result<Option<(Digest, <Self::PB as ProverBackend>::PcsData)>, EngineError> {
        Ok(None)
    }

    /// Commits one trace that is on the device.
    ///
    /// # Errors
    /// What the device refuses.
    fn commit(
        &self,
        trace: &<Self::PB as ProverBackend>::Matrix,
    ) -> Result<(Digest, <Self::PB as ProverBackend>::PcsData), EngineError> {
        self.device()
            .commit(&[trace])
            .map_err(|error| EngineError::new(ProverError::<Self>::from(error)))
    }
}

impl SdkEngine for MetalEngine {
    type Device = Device;
    type Context = MetalContext;

    const MAKES_TRACES: bool = true;

    /// Shares the context of the process; a copy has its own.
    fn connect(device: &Device, copy: usize) -> Result<MetalContext, EngineError> {
        let context = match copy {
            0 => MetalContext::shared_on(*device, &LIBRARIES),
            _ => MetalContext::new(*device, &LIBRARIES),
        };
        context.map_err(|error| EngineError::new(MetalProverError::from(error)))
    }

    fn open(params: SystemParams, context: &MetalContext) -> Result<Self, EngineError> {
        let config = SC::default_from_params(params);
        Ok(Self::from_device(MetalDevice::on_context(
            config,
            context.clone(),
        )))
    }

    fn label(device: &Device, context: &MetalContext) -> String {
        match device {
            Device::Auto => context.info().kind.name().to_owned(),
            named => named.to_string(),
        }
    }

    fn chosen(device: &Device, context: &MetalContext) -> Device {
        let info = context.info();
        match (device, info.kind) {
            (Device::Auto, DeviceKind::Metal) => Device::Metal,
            (Device::Auto, DeviceKind::Cuda) => Device::Cuda(0),
            (Device::Auto, DeviceKind::Cpu) => Device::Cpu,
            (named, _) => *named,
        }
    }

    /// A GPU is named once: several proofs are made at once there in any case, and each is planned with all of its
    /// memory. The processor may be named several times.
    fn refusal(devices: &[Device]) -> Option<String> {
        if devices.len() > 1 && devices.contains(&Device::Auto) {
            return Some("auto stands alone: name every device, or none".into());
        }
        devices.iter().enumerate().find_map(|(index, device)| {
            let is_gpu = matches!(device, Device::Metal | Device::Cuda(_));
            (is_gpu && devices[..index].contains(device)).then(|| {
                format!(
                    "{device} is named twice: a GPU makes as many proofs at once as gain time and fit its memory; \
                     name it once (the processor can be named several times)"
                )
            })
        })
    }

    fn memory_config(params: &SystemParams) -> ProvingMemoryConfig {
        Self::memory_config_of(&SC::default_from_params(params.clone()))
    }

    fn air_data(key: &MultiStarkProvingKey<SC>) -> Vec<OtherAirData<Self>> {
        compiled_airs(key)
    }

    fn transport(
        &self,
        key: &MultiStarkProvingKey<SC>,
        air_data: &[OtherAirData<Self>],
    ) -> DeviceMultiStarkProvingKey<MetalBackend> {
        self.device().transport_compiled(key, air_data)
    }

    /// The device's columns are written by the host where they share memory, else transposed on the device; if the trace does not fit
    /// twice there, the host transposes.
    fn upload(device: &MetalDevice, trace: RowMajorMatrix<F>) -> MetalMatrix<F> {
        device.upload_row_major(&trace).unwrap_or_else(|_| {
            device.transport_matrix_to_device(&ColMajorMatrix::from_row_major(&trace))
        })
    }

    /// The processor makes the rows as fast from OpenVM's records in place.
    fn makes_traces(device: &MetalDevice) -> bool {
        let stream = device.stream();
        stream.is_ok_and(|stream| stream.context().info().kind != DeviceKind::Cpu)
    }

    fn traces(device: &MetalDevice, chips: &DeviceChips) -> Option<DeviceTraces<Self>> {
        let segment = SegmentTraces::new(device, chips).map_err(traces_error);
        Some(Box::new(MetalTraces(segment)))
    }

    /// On a GPU the host's part of one proof runs beside the kernels of the other. On the processor both are the same
    /// threads.
    fn proofs_at_once(context: &MetalContext) -> usize {
        match context.info().kind {
            DeviceKind::Cpu => 1,
            DeviceKind::Cuda | DeviceKind::Metal => 2,
        }
    }

    /// A proof that does not fit with all of its codewords keeps as many as fit when it begins.
    fn memory_needed(
        &self,
        key: &DeviceMultiStarkProvingKey<MetalBackend>,
        ctx: &ProvingContext<MetalBackend>,
    ) -> Option<u64> {
        let estimate = self.memory_estimate(key, ctx).ok()?;
        let takes_all = matches!(estimate.kept, KeptCodewords::Last(_));
        (!takes_all).then(|| estimate.peak())
    }

    fn memory_budget(&self) -> Option<u64> {
        let stream = self.device().stream().ok()?;
        Some(stream.context().memory().budget)
    }

    /// Apple GPUs share the host's memory; of others only the processor does.
    fn is_in_host_memory(&self) -> bool {
        let stream = self.device().stream();
        stream.map_or(true, |stream| {
            stream.context().info().kind != DeviceKind::Cuda
        })
    }

    fn hashes_slowly(&self) -> bool {
        self.device().hashes_slowly()
    }

    fn leaves(
        &self,
        data: &<MetalBackend as ProverBackend>::PcsData,
    ) -> Result<Option<Vec<Digest>>, EngineError> {
        self.device()
            .leaves(data)
            .map(Some)
            .map_err(EngineError::new)
    }

    fn commit_from_leaves(
        &self,
        trace: &MetalMatrix<F>,
        leaves: &[Digest],
    ) -> Result<Option<(Digest, <MetalBackend as ProverBackend>::PcsData)>, EngineError> {
        self.device()
            .commit_from_leaves(&[trace], leaves)
            .map_err(EngineError::new)
    }

    fn memory_peak(&self) -> Option<u64> {
        let stream = self.device().stream().ok()?;
        Some(stream.context().memory().peak)
    }

    fn device_name(&self) -> Option<String> {
        let info = self.device().stream().ok()?.context().info();
        Some(format!("{} ({})", info.kind, info.name))
    }

    fn gpu(&self) -> Option<MetalContext> {
        let context = self.device().stream().ok()?.context();
        (context.info().kind != DeviceKind::Cpu).then(|| context.clone())
    }

    fn trim(&self) {
        if let Ok(stream) = self.device().stream() {
            stream.context().trim();
        }
    }
}

/// The traces of a segment, or why the device makes none.
struct MetalTraces(Result<SegmentTraces, Arc<MetalProverError>>);

impl MetalTraces {
    fn make(
        &mut self,
        columns: usize,
        make: impl FnOnce(&mut SegmentTraces) -> Result<MetalMatrix<F>, TraceError>,
    ) -> MetalMatrix<F> {
        let made = match &mut self.0 {
            Ok(segment) => make(segment).map_err(traces_error),
            Err(error) => Err(error.clone()),
        };
        made.unwrap_or_else(|error| MetalMatrix::failed(error, 1, columns))
    }
}

fn traces_error(error: TraceError) -> Arc<MetalProverError> {
    Arc::new(match error {
        TraceError::Device(error) => error,
        error => MetalProverError::Traces(Box::new(error)),
    })
}

impl MakeTraces<MetalMatrix<F>> for MetalTraces {
    fn rows(&mut self, chip: &RowChip, records: &[u8]) -> MetalMatrix<F> {
        self.make(chip.columns, |segment| segment.rows(chip, records))
    }

    fn periphery(&mut self, chip: &RowChip) -> MetalMatrix<F> {
        self.make(chip.columns, |segment| segment.periphery(chip))
    }

    fn table(&mut self, table: &Table) -> MetalMatrix<F> {
        self.make(1, |segment| segment.table(table))
    }

    fn permutations(&mut self, permutations: &Permutations) -> MetalMatrix<F> {
        self.make(permutations.columns(), |segment| {
            segment.permutations(permutations)
        })
    }
}

impl SdkEngine for CpuEngine {
    type Device = ();
    type Context = ();

    fn connect((): &(), _: usize) -> Result<(), EngineError> {
        Ok(())
    }

    fn open(params: SystemParams, (): &()) -> Result<Self, EngineError> {
        Ok(Self::new(params))
    }

    fn label((): &(), (): &()) -> String {
        "OpenVM's CPU engine".into()
    }

    fn memory_config(params: &SystemParams) -> ProvingMemoryConfig {
        Self::new(params.clone()).proving_memory_config()
    }

    fn air_data(key: &MultiStarkProvingKey<SC>) -> Vec<()> {
        vec![(); key.per_air.len()]
    }

    fn upload(_: &Self::PD, trace: RowMajorMatrix<F>) -> RowMajorMatrix<F> {
        trace
    }
}

impl SdkEngine for ReferenceEngine {
    type Device = ();
    type Context = ();

    fn connect((): &(), _: usize) -> Result<(), EngineError> {
        Ok(())
    }

    fn open(params: SystemParams, (): &()) -> Result<Self, EngineError> {
        Ok(Self::new(params))
    }

    fn label((): &(), (): &()) -> String {
        "OpenVM's reference engine".into()
    }

    fn memory_config(params: &SystemParams) -> ProvingMemoryConfig {
        Self::new(params.clone()).proving_memory_config()
    }

    fn air_data(key: &MultiStarkProvingKey<SC>) -> Vec<()> {
        vec![(); key.per_air.len()]
    }

    fn upload(_: &Self::PD, trace: RowMajorMatrix<F>) -> ColMajorMatrix<F> {
        ColMajorMatrix::from_row_major(&trace)
    }
}
