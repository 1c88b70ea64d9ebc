//! `Station`: a device that was opened, and its name in messages.

use std::{sync::Arc, thread};

use openvm_stark_backend::{
    p3_matrix::dense::RowMajorMatrix, prover::CommittedTraceData, SystemParams,
};

use crate::{
    cache::{self, Cache},
    engine::{EngineError, SdkEngine},
    error::{guard, SdkError, Stage},
    prelude::F,
};

/// A device that was opened. Engines of one station, and of its clones, share what lies in its memory.
pub struct Station<E: SdkEngine> {
    name: String,
    context: E::Context,
    /// Commitments of earlier processes.
    cache: Cache,
}

impl<E: SdkEngine> Clone for Station<E> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            context: self.context.clone(),
            cache: self.cache.clone(),
        }
    }
}

impl<E: SdkEngine> Station<E> {
    /// Opens one device.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn open(device: &E::Device) -> Result<Self, SdkError> {
        Self::connect(device, 0)
    }

    /// Opens devices, all at the same time. What is named several times gets numbers: `cpu #1`, `cpu #2`.
    ///
    /// # Errors
    /// [`SdkError::Config`] if the list is empty or these devices cannot prove together; else the error of a device that
    /// cannot be opened.
    pub fn open_all(devices: &[E::Device]) -> Result<Vec<Self>, SdkError> {
        if devices.is_empty() {
            return Err(SdkError::Config("no device is named".into()));
        }
        if let Some(reason) = E::refusal(devices) {
            return Err(SdkError::Config(reason));
        }
        let copies = |index: usize| {
            let before = &devices[..index];
            before.iter().filter(|d| **d == devices[index]).count()
        };
        let mut stations = on_each(devices.len(), |index| {
            Self::connect(&devices[index], copies(index))
        })?;
        for (index, station) in stations.iter_mut().enumerate() {
            if devices.iter().filter(|d| **d == devices[index]).count() > 1 {
                station.name = format!("{} #{}", station.name, copies(index) + 1);
            }
        }
        Ok(stations)
    }

    /// The opened context.
    pub(crate) fn context(&self) -> &E::Context {
        &self.context
    }

    fn connect(device: &E::Device, copy: usize) -> Result<Self, SdkError> {
        let context = E::connect(device, copy).map_err(SdkError::engine(Stage::OpenDevice))?;
        Ok(Self {
            name: E::label(device, &context),
            context,
            cache: Cache::none(),
        })
    }

    /// The device's name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of proofs that the device makes at once, at least 1.
    pub fn proofs_at_once(&self) -> usize {
        E::proofs_at_once(&self.context).max(1)
    }

    /// The same device, with commitments taken from a cache and kept there.
    pub(crate) fn with_cache(self, cache: Cache) -> Self {
        Self { cache, ..self }
    }

    /// Brings a trace to the device and commits it, or takes the commitment from the cache.
    ///
    /// # Errors
    /// Refusals of the device.
    pub(crate) fn commit(
        &self,
        engine: &E,
        trace: RowMajorMatrix<F>,
    ) -> Result<CommittedTraceData<E::PB>, EngineError> {
        let (trace, commitment, data) = cache::commit(&self.cache, engine, trace)?;
        Ok(CommittedTraceData {
            commitment,
            trace,
            data: Arc::new(data),
        })
    }

    /// An engine on the device.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn engine(&self, params: SystemParams) -> Result<E, SdkError> {
        E::open(params, &self.context)
            .map_err(SdkError::engine(Stage::OpenDevice))
            .map_err(|error| error.on(&self.name))
    }
}

/// Does something for each of `count` devices at the same time; for one on the calling thread. Results are in
/// the order of the devices; of several errors the first in that order is given.
pub(crate) fn on_each<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, SdkError> + Sync,
) -> Result<Vec<T>, SdkError> {
    let work = |index| guard(Stage::OpenDevice, || work(index)).and_then(|result| result);
    if count == 1 {
        return Ok(vec![work(0)?]);
    }
    let results: Vec<Result<T, SdkError>> = thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count)
            .map(|index| scope.spawn(move || work(index)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|r| r.expect("panics are errors")).collect()
    });
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a panic of one driver that ends the thread which asked for the devices.
    #[test]
    fn panics_are_errors_on_any_number_of_devices() {
        for count in [1, 2] {
            let opened = on_each(count, |_| -> Result<(), SdkError> { panic!("no driver") });
            let error = opened.expect_err("no device is opened");
            assert!(matches!(error, SdkError::Panicked { .. }), "{error}");
        }
    }
}
