//! `Uploader`: brings traces to a device and counts what that costs.

use std::{
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc, Mutex,
    },
    time::{Duration, Instant},
};

use openvm_cpu_backend::CpuBackend;
use openvm_stark_backend::{
    p3_matrix::dense::RowMajorMatrix,
    prover::{AirProvingContext, ProverBackend},
};

use crate::{
    engine::SdkEngine,
    prelude::{F, SC},
    slot::lock,
    system::TraceUpload,
};

/// Brings traces to a device, which can be changed. Clones share device and counters.
pub struct Uploader<E: SdkEngine> {
    device: Arc<Mutex<E::PD>>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    nanos: AtomicU64,
    bytes: AtomicU64,
}

impl<E: SdkEngine> Clone for Uploader<E> {
    fn clone(&self) -> Self {
        Self {
            device: self.device.clone(),
            counts: self.counts.clone(),
        }
    }
}

impl<E: SdkEngine> Uploader<E> {
    /// An uploader to the device of `engine`.
    pub fn new(engine: &E) -> Self {
        Self {
            device: Arc::new(Mutex::new(engine.device().clone())),
            counts: Arc::default(),
        }
    }

    /// From now on traces go to the device of `engine`.
    pub fn aim(&self, engine: &E) {
        *lock(&self.device) = engine.device().clone();
    }

    /// Time in [`matrix`](Self::matrix) so far, and bytes that it uploaded.
    pub fn spent(&self) -> (Duration, u64) {
        let nanos = self.counts.nanos.load(Ordering::Relaxed);
        let bytes = self.counts.bytes.load(Ordering::Relaxed);
        (Duration::from_nanos(nanos), bytes)
    }

    /// Brings a row-major trace to the device; see [`SdkEngine::upload`].
    pub fn matrix(&self, trace: RowMajorMatrix<F>) -> <E::PB as ProverBackend>::Matrix {
        let start = Instant::now();
        let bytes = size_of_val(trace.values.as_slice()) as u64;
        let device = lock(&self.device).clone();
        let matrix = E::upload(&device, trace);
        let nanos = start.elapsed().as_nanos() as u64;
        self.counts.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
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
