//! `Uploader`: brings traces to a device, or records of which the device makes them, and counts what that costs.

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc, Mutex, OnceLock,
    },
    time::{Duration, Instant},
};

use openvm_cpu_backend::CpuBackend;
use openvm_metal_tracegen::{DeviceChips, Permutations, RowChip, Table};
use openvm_stark_backend::{
    p3_matrix::dense::RowMajorMatrix,
    prover::{AirProvingContext, ProverBackend},
};

use crate::{
    engine::{DeviceTraces, SdkEngine},
    prelude::{F, SC},
    slot::lock,
    system::TraceUpload,
};

/// Brings traces to a device, which can be changed. Clones share device and counters.
pub struct Uploader<E: SdkEngine> {
    device: Arc<Mutex<E::PD>>,
    /// Chips whose traces devices make, once the chips of the machine are known; none if devices make no traces.
    chips: Arc<OnceLock<DeviceChips>>,
    /// Traces of the segment that is made.
    segment: Arc<Mutex<Option<DeviceTraces<E>>>>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    nanos: AtomicU64,
    bytes: AtomicU64,
    /// Rows of each chip, by the number of the chip.
    rows_on_host: Mutex<BTreeMap<usize, u64>>,
}

impl<E: SdkEngine> Clone for Uploader<E> {
    fn clone(&self) -> Self {
        Self {
            device: self.device.clone(),
            chips: self.chips.clone(),
            segment: self.segment.clone(),
            counts: self.counts.clone(),
        }
    }
}

impl<E: SdkEngine> Uploader<E> {
    /// An uploader to the device of `engine`.
    pub fn new(engine: &E) -> Self {
        Self {
            device: Arc::new(Mutex::new(engine.device().clone())),
            chips: Arc::default(),
            segment: Arc::default(),
            counts: Arc::default(),
        }
    }

    /// From now on traces go to the device of `engine`.
    pub fn aim(&self, engine: &E) {
        *lock(&self.device) = engine.device().clone();
    }

    /// Devices make the traces of these chips from now on.
    pub(super) fn make_on_device(&self, chips: DeviceChips) {
        let _ = self.chips.set(chips);
    }

    /// The chips whose traces devices make, if they make any.
    pub(crate) fn device_chips(&self) -> Option<&DeviceChips> {
        self.chips.get()
    }

    /// Begins the traces of another segment: counts of tables are zero.
    pub(crate) fn begin_segment(&self) {
        *lock(&self.segment) = None;
    }

    /// The rows of a chip of [`device_chips`](Self::device_chips), made on the device from its records.
    pub(super) fn rows(&self, chip: &RowChip, records: &[u8]) -> <E::PB as ProverBackend>::Matrix {
        self.timed(records.len(), |segment| segment.rows(chip, records))
    }

    /// The rows of a chip of [`device_chips`](Self::device_chips) that has no records of its own.
    pub(super) fn periphery(&self, chip: &RowChip) -> <E::PB as ProverBackend>::Matrix {
        self.timed(0, |segment| segment.periphery(chip))
    }

    /// The trace of a table of [`device_chips`](Self::device_chips).
    pub(super) fn table(&self, table: &Table) -> <E::PB as ProverBackend>::Matrix {
        self.timed(0, |segment| segment.table(table))
    }

    /// The trace of the Poseidon2 chip, made on the device.
    pub(super) fn permutations(
        &self,
        permutations: &Permutations,
    ) -> <E::PB as ProverBackend>::Matrix {
        let bytes = size_of_val(permutations.inputs.as_slice())
            + size_of_val(permutations.lookups.as_slice());
        self.timed(bytes, |segment| segment.permutations(permutations))
    }

    fn timed<R>(&self, bytes: usize, make: impl FnOnce(&mut DeviceTraces<E>) -> R) -> R {
        let start = Instant::now();
        let mut segment = lock(&self.segment);
        let traces = segment.get_or_insert_with(|| {
            let chips = self.chips.get().expect("chips of the device");
            E::traces(&lock(&self.device), chips).expect("the engine makes traces")
        });
        let made = make(traces);
        self.count(start, bytes as u64);
        made
    }

    fn count(&self, start: Instant, bytes: u64) {
        let nanos = start.elapsed().as_nanos() as u64;
        self.counts.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Time of uploads and of traces on the device so far, and bytes that were uploaded.
    pub fn spent(&self) -> (Duration, u64) {
        let nanos = self.counts.nanos.load(Ordering::Relaxed);
        let bytes = self.counts.bytes.load(Ordering::Relaxed);
        (Duration::from_nanos(nanos), bytes)
    }

    /// The host made rows of a chip; counted if the device makes those of others.
    pub(super) fn made_on_host(&self, chip: usize, rows: usize) {
        if self.chips.get().is_some() && rows > 0 {
            *lock(&self.counts.rows_on_host).entry(chip).or_default() += rows as u64;
        }
    }

    /// Rows that the host made so far, by the number of the chip in the order in which chips were added.
    pub(crate) fn rows_on_host(&self) -> BTreeMap<usize, u64> {
        lock(&self.counts.rows_on_host).clone()
    }

    /// Brings a row-major trace to the device; see [`SdkEngine::upload`].
    pub fn matrix(&self, trace: RowMajorMatrix<F>) -> <E::PB as ProverBackend>::Matrix {
        let start = Instant::now();
        let bytes = size_of_val(trace.values.as_slice()) as u64;
        let device = lock(&self.device).clone();
        let matrix = E::upload(&device, trace);
        self.count(start, bytes);
        matrix
    }

    /// Brings the common main trace of an AIR to the device.
    ///
    /// # Panics
    /// If there are cached traces: those are committed on the device once and never come from here.
    pub fn air(&self, ctx: AirProvingContext<CpuBackend<SC>>) -> AirProvingContext<E::PB> {
        assert!(
            ctx.cached_mains.is_empty(),
            "cached traces are not uploaded with a segment"
        );
        AirProvingContext {
            cached_mains: vec![],
            common_main: self.matrix(ctx.common_main),
            public_values: ctx.public_values,
        }
    }
}

impl<E: SdkEngine> TraceUpload<E::PB> for Uploader<E> {
    fn upload(&self, trace: RowMajorMatrix<F>) -> <E::PB as ProverBackend>::Matrix {
        self.matrix(trace)
    }
}
