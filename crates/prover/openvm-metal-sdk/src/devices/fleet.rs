//! `Fleet`: the devices of one job, where every proof of it is made and counted.

use std::{
    sync::{Mutex, MutexGuard},
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
    slot::lock,
};

/// A device that makes so many proofs which OpenVM's verifier does not accept makes no more in a job.
const MOST_REFUSED: usize = 2;

/// The devices of one job.
pub(crate) struct Fleet<'a> {
    names: Vec<String>,
    capacities: Vec<Capacity>,
    turns: &'a Turns,
    done: Mutex<Vec<DeviceReport>>,
    /// The last proof that OpenVM's verifier did not accept.
    fault: Mutex<Option<Fault>>,
}

/// Reason why OpenVM's verifier did not accept a device's proof.
#[derive(Clone)]
struct Fault {
    stage: Stage,
    device: String,
    reason: String,
}

impl From<Fault> for SdkError {
    fn from(fault: Fault) -> Self {
        let Fault {
            stage,
            device,
            reason,
        } = fault;
        Self::FaultyDevice {
            stage,
            device,
            reason,
        }
    }
}

/// A proof that OpenVM's verifier did not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The device that made it.
    pub device: usize,
}

impl<'a> Fleet<'a> {
    /// Devices with their names, in the order of the lists of keys on them.
    pub fn new(devices: impl Iterator<Item = (String, Capacity)>, turns: &'a Turns) -> Self {
        let (names, capacities): (Vec<_>, Vec<_>) = devices.unzip();
        let done = names.iter().map(|name| DeviceReport::new(name.clone()));
        Self {
            done: Mutex::new(done.collect()),
            fault: Mutex::default(),
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

    /// True if every device makes several proofs at once and its memory holds two segments.
    pub fn holds_two_segments(&self) -> bool {
        let mut capacities = self.capacities.iter();
        capacities.all(|capacity| {
            capacity.proofs > 1 && capacity.holds(capacity.segment.saturating_mul(2))
        })
    }

    /// A device's name in messages.
    pub fn name(&self, device: usize) -> &str {
        &self.names[device]
    }

    /// Chooses a device; see [`Turns::reserve`]. What was made once and refused is made on another device, if there is one.
    ///
    /// # Errors
    /// [`SdkError::FaultyDevice`] if all devices are excluded.
    pub fn reserve(
        &self,
        work: Work,
        refused: Option<&Refused>,
    ) -> Result<Reservation<'a>, SdkError> {
        self.reserve_among(self.len(), work, refused)
    }

    /// [`reserve`](Self::reserve) for work of which the first `devices` have the key.
    ///
    /// # Errors
    /// [`SdkError::FaultyDevice`] if they are excluded.
    pub fn reserve_among(
        &self,
        devices: usize,
        work: Work,
        refused: Option<&Refused>,
    ) -> Result<Reservation<'a>, SdkError> {
        let is_usable = |device| {
            let mut others = (0..devices).filter(|&other| other != device);
            let was_wrong = refused.is_some_and(|refused| refused.device == device);
            let goes_elsewhere = was_wrong && others.any(|i| !self.is_excluded(i));
            device < devices && !self.is_excluded(device) && !goes_elsewhere
        };
        let reservation = self.turns.reserve(work, &self.capacities, is_usable);
        reservation.ok_or_else(|| {
            let fault = lock(&self.fault).clone();
            fault.map_or(SdkError::Cancelled, SdkError::from)
        })
    }

    /// True if a device makes no more proofs in this job.
    pub fn is_excluded(&self, device: usize) -> bool {
        self.done()[device].refused >= MOST_REFUSED
    }

    /// OpenVM's verifier did not accept a proof that a device made; `before` if it was made before and not accepted either. Excludes a
    /// device that makes too many of them. `tell` is told whether the device is excluded.
    ///
    /// # Errors
    /// [`SdkError::FaultyDevice`] if the proof is not to be made again: it was, or no device is left.
    pub fn refuse(
        &self,
        device: usize,
        work: Work,
        stage: Stage,
        reason: String,
        before: Option<&Refused>,
        tell: impl FnOnce(bool),
    ) -> Result<Refused, SdkError> {
        let name = self.name(device);
        let mut fault = Fault {
            stage,
            device: name.to_owned(),
            reason,
        };
        // Who finds all devices excluded says why.
        *lock(&self.fault) = Some(fault.clone());
        let excluded = {
            let report = &mut self.done()[device];
            report.refuse(work == Work::Node);
            report.refused >= MOST_REFUSED
        };
        tell(excluded);
        self.turns.wake();
        if let Some(before) = before.filter(|before| before.device != device) {
            fault.device = format!("{} and {name}", self.name(before.device));
        }
        let is_left = (0..self.len()).any(|device| !self.is_excluded(device));
        match before {
            None if is_left => Ok(Refused { device }),
            _ => Err(fault.into()),
        }
    }

    fn done(&self) -> MutexGuard<'_, Vec<DeviceReport>> {
        lock(&self.done)
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
        self.done()[device].count(work == Work::Node, share);
        Ok((proof, time))
    }

    /// Reports of all devices, in a job that took `total`.
    pub fn report(&self, total: Duration) -> Vec<DeviceReport> {
        let mut done = self.done().clone();
        for device in &mut done {
            device.end(total);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: Work = Work::Segment { trace_bytes: 10 };
    const CAPACITY: Capacity = Capacity {
        proofs: 1,
        memory: 1000,
        segment: 100,
    };

    fn fleet<'a>(turns: &'a Turns, names: &[&str]) -> Fleet<'a> {
        let devices = names.iter().map(|name| ((*name).to_owned(), CAPACITY));
        Fleet::new(devices, turns)
    }

    /// Refuses a proof of a device, and gives whether the device is excluded.
    fn refuse(
        fleet: &Fleet<'_>,
        device: usize,
        before: Option<&Refused>,
    ) -> (bool, Result<Refused, String>) {
        let mut excluded = false;
        let stage = Stage::ProveSegment(3);
        let refused = fleet.refuse(device, SEGMENT, stage, "so".into(), before, |is| {
            excluded = is;
        });
        (excluded, refused.map_err(|error| error.to_string()))
    }

    #[test]
    fn what_is_refused_is_made_on_another_device() {
        let turns = Turns::new(2);
        let fleet = fleet(&turns, &["a", "b"]);
        let (excluded, refused) = refuse(&fleet, 0, None);
        let refused = refused.expect("it is made again");
        assert!(!excluded);
        for _ in 0..2 {
            let reservation = fleet.reserve(SEGMENT, Some(&refused)).expect("a place");
            assert_eq!(reservation.device(), 1);
        }
        let other = fleet.reserve(SEGMENT, None).expect("a place");
        assert_eq!(other.device(), 0);
        let (_, again) = refuse(&fleet, 1, Some(&refused));
        let error = again.expect_err("it was made twice");
        assert!(error.contains("segment 3 on a and b: "), "{error}");
    }

    #[test]
    fn a_device_with_two_refused_proofs_is_excluded() {
        let turns = Turns::new(2);
        let fleet = fleet(&turns, &["a", "b"]);
        assert!(!refuse(&fleet, 1, None).0);
        let (excluded, refused) = refuse(&fleet, 1, None);
        assert!(excluded && refused.is_ok());
        for _ in 0..2 {
            let reservation = fleet.reserve(SEGMENT, None).expect("a place");
            assert_eq!(reservation.device(), 0);
        }
        // The one that is left is used even for what it made wrong.
        let (_, refused) = refuse(&fleet, 0, None);
        let refused = refused.expect("it is made again");
        let reservation = fleet.reserve(SEGMENT, Some(&refused)).expect("a place");
        assert_eq!(reservation.device(), 0);
        let (excluded, refused) = refuse(&fleet, 0, None);
        let error = refused.expect_err("no device is left");
        assert!(excluded && error.contains("on a: "), "{error}");
        let error = fleet
            .reserve(SEGMENT, None)
            .err()
            .expect("no device is left");
        assert!(error.to_string().contains(" on a: "), "{error}");
        let report = fleet.report(Duration::from_secs(1));
        let refused: Vec<_> = report.iter().map(|device| device.refused).collect();
        assert_eq!(refused, [2, 2]);
    }
}
