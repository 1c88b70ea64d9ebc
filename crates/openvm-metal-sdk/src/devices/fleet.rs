//! `Fleet`: the devices of one job, where every proof of it is made and counted.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use openvm_stark_backend::{
    proof::Proof,
    prover::{DeviceMultiStarkProvingKey, ProvingContext},
};

use super::{turns::Made, Capacity, Reservation, Turns, Work};
use crate::{
    engine::{EngineError, SdkEngine},
    error::{guard, SdkError, Stage},
    prelude::SC,
    report::DeviceReport,
};

/// The devices of one job.
pub(crate) struct Fleet<'a> {
    names: Vec<String>,
    capacities: Vec<Capacity>,
    turns: &'a Turns,
    done: Mutex<Vec<DeviceReport>>,
}

impl<'a> Fleet<'a> {
    /// Devices with their names, in the order of the lists of keys on them.
    pub fn new(devices: impl Iterator<Item = (String, Capacity)>, turns: &'a Turns) -> Self {
        let (names, capacities): (Vec<_>, Vec<_>) = devices.unzip();
        let done = names.iter().map(|name| DeviceReport::new(name.clone()));
        Self {
            done: Mutex::new(done.collect()),
            names,
            capacities,
            turns,
        }
    }

    /// Number of devices.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Number of proofs that each device makes at once.
    pub fn proofs_at_once(&self) -> Vec<usize> {
        let capacities = self.capacities.iter();
        capacities.map(|capacity| capacity.proofs).collect()
    }

    /// A device's name in messages.
    pub fn name(&self, device: usize) -> &str {
        &self.names[device]
    }

    /// See [`Turns::reserve`].
    pub fn reserve(&self, work: Work) -> Reservation<'a> {
        self.turns.reserve(work, &self.capacities)
    }

    /// Makes a proof on the reserved device when its turn comes. `engine`, `key` and `ctx` belong to that device. Errors
    /// name it.
    pub fn prove<E: SdkEngine>(
        &self,
        reservation: Reservation<'_>,
        stage: Stage,
        engine: &E,
        key: &DeviceMultiStarkProvingKey<E::PB>,
        ctx: ProvingContext<E::PB>,
    ) -> Result<(Proof<SC>, Duration), SdkError> {
        let (device, work) = (reservation.device(), reservation.work());
        let bytes = reservation.bytes(|| {
            let needed = guard(stage.clone(), || engine.memory_needed(key, &ctx));
            needed.ok().flatten()
        });
        let Made { proof, time, share } =
            reservation.prove(bytes, || guard(stage.clone(), || engine.prove(key, ctx)));
        let proof = proof
            .and_then(|proof| {
                proof
                    .map_err(EngineError::new)
                    .map_err(SdkError::engine(stage))
            })
            .map_err(|error| error.on(self.name(device)))?;
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done[device].count(work == Work::Node, share);
        Ok((proof, time))
    }

    /// What each device did, in a job that took `total`.
    pub fn report(&self, total: Duration) -> Vec<DeviceReport> {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let mut done = done.clone();
        for device in &mut done {
            device.end(total);
        }
        done
    }
}
