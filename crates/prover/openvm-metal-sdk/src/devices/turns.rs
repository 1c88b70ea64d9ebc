//! `Turns`: which device proves what, and in which order.
//!
//! Work is given to a device by a reservation before its traces are brought there, and proved when its turn comes. A
//! device begins proofs in the order in which they are asked for, and makes as many at once as gain time there and fit
//! its memory. Work goes to the device that is expected to end it first, by the times of what it proved before; a device
//! that is not measured yet is taken to be quick.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{load::Load, Capacity};

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The proof of a segment, whose traces take so many bytes.
    Segment { trace_bytes: u64 },
    /// The proof of an aggregation node.
    Node,
}

impl Work {
    pub(super) fn kind(self) -> usize {
        usize::from(self == Self::Node)
    }

    /// Bytes of traces that are counted; those of a node are small.
    pub(super) fn trace_bytes(self) -> u64 {
        match self {
            Self::Segment { trace_bytes } => trace_bytes,
            Self::Node => 0,
        }
    }
}

/// Reservations on each device of an SDK, and the order of waiting work. Shared by all jobs of the SDK.
pub(crate) struct Turns {
    devices: Mutex<Vec<Load>>,
    changed: Condvar,
}

impl Turns {
    /// For so many devices.
    pub fn new(devices: usize) -> Self {
        let devices = (0..devices).map(|_| Load::default()).collect();
        Self {
            devices: Mutex::new(devices),
            changed: Condvar::new(),
        }
    }

    /// Chooses a device of those that are usable, waiting until it has room for the work's traces. `capacities` are all devices'.
    /// Nothing if none is usable, which is asked again after [`wake`](Self::wake).
    pub fn reserve(
        &self,
        work: Work,
        capacities: &[Capacity],
        is_usable: impl Fn(usize) -> bool,
    ) -> Option<Reservation<'_>> {
        let kind = work.kind();
        let mut devices = self.lock();
        loop {
            let best = (0..devices.len())
                .filter(|&i| is_usable(i))
                .min_by_key(|&i| (devices[i].end(kind), devices[i].reserved, i))?;
            let (device, capacity) = (&mut devices[best], capacities[best]);
            if work == Work::Node || device.has_room(work.trace_bytes(), &capacity) {
                device.reserved[kind] += 1;
                device.waiting_bytes += work.trace_bytes();
                return Some(Reservation {
                    turns: self,
                    device: best,
                    capacity,
                    work,
                    step: Step::Waiting,
                });
            }
            devices = self.wait(devices);
        }
    }

    /// Makes those that wait look again at which devices are usable.
    pub fn wake(&self) {
        // Whoever looked before the change waits by now.
        drop(self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Load>> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, devices: MutexGuard<'a, Vec<Load>>) -> MutexGuard<'a, Vec<Load>> {
        self.changed
            .wait(devices)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work that was given to a device. Given back when it is dropped.
pub(crate) struct Reservation<'a> {
    turns: &'a Turns,
    device: usize,
    capacity: Capacity,
    work: Work,
    step: Step,
}

/// Progress of reserved work.
enum Step {
    /// The traces are counted.
    Waiting,
    /// The proof with this ticket is made.
    Proving(u64),
    Ended,
}

/// Result of the work of a reservation.
pub(crate) struct Made<T> {
    pub proof: T,
    /// From its beginning to its end.
    pub time: Duration,
    /// The part of the device's time: of what passes while several proofs are made, each has its part.
    pub share: Duration,
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

    /// Bytes that the proof counts with on the device. They are `needed`, all if nobody knows; where one proof is made at a
    /// time, which is not asked, those of the largest.
    pub fn bytes(&self, needed: impl FnOnce() -> Option<u64>) -> u64 {
        match self.capacity.proofs {
            0 | 1 => self.capacity.segment,
            _ => needed().unwrap_or(u64::MAX),
        }
    }

    /// Makes the proof, which counts with so many [`bytes`](Self::bytes), when its turn comes.
    pub fn prove<T>(mut self, bytes: u64, make: impl FnOnce() -> T) -> Made<T> {
        self.begin(bytes);
        let clock = Instant::now();
        let proof = make();
        let time = clock.elapsed();
        let mut devices = self.turns.lock();
        let share = self.end(&mut devices[self.device]);
        devices[self.device].measured(self.work, share);
        drop(devices);
        Made { proof, time, share }
    }

    /// Stands in line and waits for the turn.
    fn begin(&mut self, bytes: u64) {
        let mut devices = self.turns.lock();
        let ticket = devices[self.device].ask();
        while !devices[self.device].may_begin(ticket, self.work, bytes, &self.capacity) {
            devices = self.turns.wait(devices);
        }
        devices[self.device].begin(self.work, bytes);
        self.step = Step::Proving(ticket);
        // The next one may fit beside it.
        self.turns.changed.notify_all();
    }

    /// Ends the step. Gives the share of the proof that was made.
    fn end(&mut self, device: &mut Load) -> Duration {
        match std::mem::replace(&mut self.step, Step::Ended) {
            Step::Waiting => device.waiting_bytes -= self.work.trace_bytes(),
            Step::Proving(ticket) => return device.ended(ticket),
            Step::Ended => {}
        }
        Duration::ZERO
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut devices = self.turns.lock();
        let device = &mut devices[self.device];
        self.end(device);
        device.reserved[self.work.kind()] -= 1;
        drop(devices);
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            atomic::{AtomicUsize, Ordering},
            Barrier,
        },
        thread,
    };

    use super::*;

    const SEGMENT: Work = Work::Segment { trace_bytes: 10 };

    /// A place on any of the devices.
    fn reserve<'a>(turns: &'a Turns, work: Work, capacities: &[Capacity]) -> Reservation<'a> {
        let reservation = turns.reserve(work, capacities, |_| true);
        reservation.expect("there is a device")
    }

    fn capacity(proofs: usize, memory: u64) -> Capacity {
        Capacity {
            proofs,
            memory,
            segment: 100,
        }
    }

    #[test]
    fn work_goes_to_the_device_that_has_least() {
        let turns = Turns::new(2);
        let two = [capacity(1, 100); 2];
        let first = reserve(&turns, SEGMENT, &two);
        let second = reserve(&turns, SEGMENT, &two);
        assert_eq!((first.device(), second.device()), (0, 1));
        let node = reserve(&turns, Work::Node, &two);
        assert_eq!(node.device(), 0);
        drop(first);
        drop(node);
        assert_eq!(reserve(&turns, SEGMENT, &two).device(), 0);
    }

    #[test]
    fn work_goes_to_usable_devices_only() {
        let turns = Turns::new(2);
        let two = [capacity(1, 100); 2];
        let all: Vec<_> = (0..2)
            .filter_map(|_| turns.reserve(SEGMENT, &two, |device| device == 1))
            .collect();
        assert!(all.len() == 2 && all.iter().all(|reservation| reservation.device() == 1));
        assert!(turns.reserve(SEGMENT, &two, |_| false).is_none());
        // Who waits for a place learns that there is none any more.
        let usable = std::sync::atomic::AtomicBool::new(true);
        let asked = AtomicUsize::new(0);
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let is_usable = |device| {
                    asked.fetch_add(1, Ordering::SeqCst);
                    device == 1 && usable.load(Ordering::SeqCst)
                };
                turns.reserve(SEGMENT, &two, is_usable).is_none()
            });
            while asked.load(Ordering::SeqCst) < 2 {
                thread::yield_now();
            }
            usable.store(false, Ordering::SeqCst);
            turns.wake();
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn a_slow_device_waits_while_a_quick_one_ends_first() {
        let turns = Turns::new(2);
        {
            let mut devices = turns.lock();
            devices[0].mean[0] = Some(Duration::from_secs(100));
            devices[1].mean[0] = Some(Duration::from_millis(1));
        }
        let two = [capacity(1, 1000); 2];
        let all: Vec<_> = (0..50).map(|_| reserve(&turns, SEGMENT, &two)).collect();
        assert!(all.iter().all(|reservation| reservation.device() == 1));
    }

    #[test]
    fn traces_of_two_segments_and_of_as_many_as_there_is_room_for() {
        let turns = Turns::new(1);
        for (room, places) in [(0, 2), (20, 2), (45, 4)] {
            let one = capacity(1, 100 + room);
            let taken: Vec<_> = (0..places)
                .map(|_| reserve(&turns, SEGMENT, &[one]))
                .collect();
            assert!(!turns.lock()[0].has_room(10, &one), "{room}");
            // The next one gets the place that is given back.
            thread::scope(|scope| {
                let next = scope.spawn(|| reserve(&turns, SEGMENT, &[one]).device());
                drop(taken);
                assert_eq!(next.join().unwrap(), 0);
            });
            assert_eq!(turns.lock()[0].waiting_bytes, 0);
        }
    }

    /// Makes 16 proofs that need 80 bytes each, one of which fails. Gives the most that a device made at once.
    fn most_at_once(capacity: Capacity) -> usize {
        let turns = Turns::new(2);
        let busy = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let (made, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for i in 0..16 {
                let (turns, busy, made, most) = (&turns, &busy, &made, &most);
                scope.spawn(move || {
                    let work = if i % 3 == 0 { Work::Node } else { SEGMENT };
                    let reservation = reserve(turns, work, &[capacity; 2]);
                    let device = reservation.device();
                    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        reservation.prove(80, || {
                            let now = busy[device].fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(now, Ordering::SeqCst);
                            thread::sleep(Duration::from_millis(2));
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
            .all(|d| d.line.is_empty() && d.reserved == [0, 0] && d.waiting_bytes == 0));
        most.into_inner()
    }

    #[test]
    fn a_device_makes_as_many_proofs_as_it_gains_by_and_holds_and_survives_a_panic() {
        assert_eq!(most_at_once(capacity(1, u64::MAX)), 1);
        assert_eq!(most_at_once(capacity(2, u64::MAX)), 2);
        // Two need 160 bytes, an eighth of that, and traces of others may wait.
        assert_eq!(most_at_once(capacity(2, 179)), 1);
        assert_eq!(most_at_once(capacity(2, 1000)), 2);
    }

    /// While proofs are made, traces come in beside what those need; beside one of unknown needs none do.
    #[test]
    fn traces_leave_room_for_the_proofs_that_are_made() {
        for (bytes, memory, room) in [
            (50, 110, true),
            (50, 109, false),
            (200, 210, true),
            (200, 209, false),
            (u64::MAX, 1000, false),
        ] {
            let turns = Turns::new(1);
            let one = capacity(2, memory);
            let first = reserve(&turns, SEGMENT, &[one]);
            first.prove(bytes, || {
                assert_eq!(turns.lock()[0].has_room(10, &one), room, "{bytes} {memory}");
            });
            assert!(turns.lock()[0].has_room(10, &one));
        }
    }

    #[test]
    fn a_proof_of_unknown_needs_is_made_alone() {
        let turns = Turns::new(1);
        let two = [capacity(2, 1000)];
        let [first, second] = [(); 2].map(|()| reserve(&turns, Work::Node, &two));
        thread::scope(|scope| {
            first.prove(1, || {
                let second = scope.spawn(|| second.prove(u64::MAX, || ()));
                while turns.lock()[0].line.is_empty() {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(5));
                assert_eq!(turns.lock()[0].line.len(), 1);
                drop(second);
            });
        });
        assert!(turns.lock()[0].line.is_empty());
    }

    #[test]
    fn shares_of_proofs_at_once_add_up_to_the_time_in_which_they_were_made() {
        let turns = Turns::new(1);
        let two = [capacity(2, u64::MAX)];
        let [first, second, third] = [(); 3].map(|()| reserve(&turns, Work::Node, &two));
        let both = Barrier::new(2);
        let make = &|| {
            both.wait();
            thread::sleep(Duration::from_millis(10));
            both.wait();
        };
        let clock = Instant::now();
        let made = thread::scope(|scope| {
            [first, second]
                .map(|reservation| scope.spawn(move || reservation.prove(1, make)))
                .map(|thread| thread.join().unwrap())
        });
        let alone = third.prove(u64::MAX, || thread::sleep(Duration::from_millis(10)));
        let all = clock.elapsed();
        let shares: Duration = made.iter().map(|made| made.share).sum();
        assert!(made
            .iter()
            .all(|made| made.time >= Duration::from_millis(10)));
        assert!(alone.share >= alone.time);
        assert!(shares + alone.share <= all, "{shares:?} of {all:?}");
        let mean = turns.lock()[0].mean[Work::Node.kind()];
        assert!(mean > Some(Duration::ZERO) && mean < Some(all));
    }
}
