//! `Turns`: which device proves what, and in which order.
//!
//! Work is given to a device by a reservation before its traces are brought there, and proved when its turn comes. A
//! device makes one proof at a time, in the order in which proofs are asked for. Work goes to the device that is
//! expected to end it first, by the times of what it proved before; a device that is not measured yet is taken to be
//! quick.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The proof of a segment, whose traces take so many bytes.
    Segment { trace_bytes: u64 },
    /// The proof of an aggregation node.
    Node,
}

impl Work {
    fn kind(self) -> usize {
        usize::from(self == Self::Node)
    }

    fn trace_bytes(self) -> u64 {
        match self {
            Self::Segment { trace_bytes } => trace_bytes,
            Self::Node => 0,
        }
    }
}

/// What is reserved on each device of an SDK, and whose turn it is. Shared by all jobs of the SDK.
pub(crate) struct Turns {
    devices: Mutex<Vec<Device>>,
    changed: Condvar,
}

/// One device.
#[derive(Default)]
struct Device {
    /// Reserved and not ended, by kind.
    reserved: [usize; 2],
    /// Bytes of the traces of segments that are reserved.
    trace_bytes: u64,
    /// Tickets of the proofs that were asked for and have not ended; the first one has its turn.
    line: VecDeque<u64>,
    next_ticket: u64,
    /// When the proof that is made now began, and its kind.
    proving: Option<(Instant, usize)>,
    /// Mean time of a proof, by kind, the last ones weighing most.
    mean: [Option<Duration>; 2],
}

impl Device {
    /// Time of one proof, as far as it is known.
    fn time(&self, kind: usize) -> Duration {
        let so_far = match self.proving {
            Some((start, proving)) if proving == kind => start.elapsed(),
            _ => Duration::ZERO,
        };
        self.mean[kind].unwrap_or_default().max(so_far)
    }

    /// When work of a kind would end, if it were reserved now.
    fn end(&self, kind: usize) -> Duration {
        let waiting = (0..2).map(|kind| self.time(kind) * self.reserved[kind] as u32);
        waiting.sum::<Duration>() + self.time(kind)
    }

    /// True if the traces may be brought: those of two segments always, of more as long as there is `room`.
    fn has_room(&self, trace_bytes: u64, room: u64) -> bool {
        self.reserved[0] < 2 || self.trace_bytes.saturating_add(trace_bytes) <= room
    }
}

impl Turns {
    /// For so many devices.
    pub fn new(devices: usize) -> Self {
        let devices = (0..devices).map(|_| Device::default()).collect();
        Self {
            devices: Mutex::new(devices),
            changed: Condvar::new(),
        }
    }

    /// Chooses a device for work, waiting until it has room for its traces. `room` are the bytes of each
    /// device that may hold traces of segments.
    pub fn reserve(&self, work: Work, room: &[u64]) -> Reservation<'_> {
        let kind = work.kind();
        let mut devices = self.lock();
        loop {
            let best = (0..devices.len())
                .min_by_key(|&i| (devices[i].end(kind), devices[i].reserved, i))
                .expect("an SDK has at least one device");
            let device = &mut devices[best];
            if work == Work::Node || device.has_room(work.trace_bytes(), room[best]) {
                device.reserved[kind] += 1;
                device.trace_bytes += work.trace_bytes();
                return Reservation {
                    turns: self,
                    device: best,
                    work,
                };
            }
            devices = self.wait(devices);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Device>> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, devices: MutexGuard<'a, Vec<Device>>) -> MutexGuard<'a, Vec<Device>> {
        self.changed
            .wait(devices)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work that was given to a device. Given back when it is dropped.
pub(crate) struct Reservation<'a> {
    turns: &'a Turns,
    device: usize,
    work: Work,
}

impl Reservation<'_> {
    /// The device's place in the list of devices.
    pub fn device(&self) -> usize {
        self.device
    }

    /// The kind of work.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Makes the proof when its turn comes. Also gives the time that it took.
    pub fn prove<T>(self, make: impl FnOnce() -> T) -> (T, Duration) {
        let turn = Turn::take(&self);
        let clock = Instant::now();
        let proof = make();
        let time = clock.elapsed();
        drop(turn);
        let kind = self.work.kind();
        let mean = &mut self.turns.lock()[self.device].mean[kind];
        *mean = Some(mean.map_or(time, |mean| (mean * 3 + time) / 4));
        (proof, time)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let device = &mut self.turns.lock()[self.device];
        device.reserved[self.work.kind()] -= 1;
        device.trace_bytes -= self.work.trace_bytes();
        self.turns.changed.notify_all();
    }
}

/// The right to prove on a device, until it is dropped.
struct Turn<'a> {
    turns: &'a Turns,
    device: usize,
}

impl<'a> Turn<'a> {
    /// Stands in line and waits.
    fn take(reservation: &'a Reservation<'_>) -> Self {
        let Reservation {
            turns,
            device: index,
            work,
        } = reservation;
        let mut devices = turns.lock();
        let device = &mut devices[*index];
        let ticket = device.next_ticket;
        device.next_ticket += 1;
        device.line.push_back(ticket);
        while devices[*index].line.front() != Some(&ticket) {
            devices = turns.wait(devices);
        }
        devices[*index].proving = Some((Instant::now(), work.kind()));
        Self {
            turns,
            device: *index,
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let device = &mut self.turns.lock()[self.device];
        device.line.pop_front();
        device.proving = None;
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use super::*;

    const SEGMENT: Work = Work::Segment { trace_bytes: 10 };

    #[test]
    fn work_goes_to_the_device_that_has_least() {
        let turns = Turns::new(2);
        let room = [0, 0];
        let first = turns.reserve(SEGMENT, &room);
        let second = turns.reserve(SEGMENT, &room);
        assert_eq!((first.device(), second.device()), (0, 1));
        let node = turns.reserve(Work::Node, &room);
        assert_eq!(node.device(), 0);
        drop(first);
        drop(node);
        assert_eq!(turns.reserve(SEGMENT, &room).device(), 0);
    }

    #[test]
    fn a_slow_device_waits_while_a_quick_one_ends_first() {
        let turns = Turns::new(2);
        {
            let mut devices = turns.lock();
            devices[0].mean[0] = Some(Duration::from_secs(100));
            devices[1].mean[0] = Some(Duration::from_millis(1));
        }
        let room = [1000; 2];
        let all: Vec<_> = (0..50).map(|_| turns.reserve(SEGMENT, &room)).collect();
        assert!(all.iter().all(|reservation| reservation.device() == 1));
    }

    #[test]
    fn traces_of_two_segments_and_of_as_many_as_there_is_room_for() {
        let turns = Turns::new(1);
        for (room, places) in [(0, 2), (20, 2), (45, 4)] {
            let taken: Vec<_> = (0..places)
                .map(|_| turns.reserve(SEGMENT, &[room]))
                .collect();
            assert!(!turns.lock()[0].has_room(10, room), "{room}");
            // The next one gets the place that is given back.
            thread::scope(|scope| {
                let next = scope.spawn(|| turns.reserve(SEGMENT, &[room]).device());
                drop(taken);
                assert_eq!(next.join().unwrap(), 0);
            });
            assert_eq!(turns.lock()[0].trace_bytes, 0);
        }
    }

    #[test]
    fn a_device_makes_one_proof_at_a_time_and_survives_a_panic() {
        let turns = Turns::new(2);
        let busy = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let made = AtomicUsize::new(0);
        thread::scope(|scope| {
            for i in 0..16 {
                let (turns, busy, made) = (&turns, &busy, &made);
                scope.spawn(move || {
                    let work = if i % 3 == 0 { Work::Node } else { SEGMENT };
                    let reservation = turns.reserve(work, &[100; 2]);
                    let device = reservation.device();
                    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        reservation.prove(|| {
                            assert_eq!(busy[device].fetch_add(1, Ordering::SeqCst), 0);
                            thread::yield_now();
                            made.fetch_add(1, Ordering::SeqCst);
                            busy[device].fetch_sub(1, Ordering::SeqCst);
                            assert!(i != 5, "this one fails");
                        })
                    }));
                    assert_eq!(outcome.is_err(), i == 5);
                });
            }
        });
        assert_eq!(made.into_inner(), 16);
        let devices = turns.lock();
        assert!(devices
            .iter()
            .all(|d| d.line.is_empty() && d.reserved == [0, 0]));
    }
}
