//! `SegmentQueue`: hands the segments of an execution out to tracers as they are cut, as many at a time as their number and the
//! host's memory allow.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use openvm_circuit::arch::execution_mode::Segment;

/// Bounds of concurrent work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Most segments that are taken and not proved.
    pub segments: usize,
    /// Most bytes of their records and traces on the host.
    pub bytes: u64,
}

/// Segments that are cut by one thread and taken by others, in order.
pub(super) struct SegmentQueue {
    state: Mutex<State>,
    changed: Condvar,
    bounds: Bounds,
}

#[derive(Default)]
struct State {
    /// Segments that no tracer has taken, with the bytes of each.
    waiting: VecDeque<(Segment, u64)>,
    /// Number of segments that were handed out.
    taken: usize,
    in_flight: usize,
    /// Bytes on the host, and the most that there were.
    held: u64,
    most_held: u64,
    /// All segments were added.
    ended: bool,
    /// The queue was stopped.
    stopped: bool,
}

/// A segment that was taken.
pub(super) struct Taken<'a> {
    pub index: usize,
    pub segment: Segment,
    pub permit: Permit<'a>,
}

/// Permission to have a segment under way. It is given back when it is dropped.
pub(super) struct Permit<'a> {
    queue: &'a SegmentQueue,
    /// Bytes that the host holds of it.
    bytes: u64,
}

impl SegmentQueue {
    pub fn new(bounds: Bounds) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            bounds,
        }
    }

    /// Adds the next segment, of which the host will hold at most so many bytes. False if the queue was stopped.
    ///
    /// # Panics
    /// If the segment alone is above the bound: nobody could ever take it.
    pub fn add(&self, segment: Segment, bytes: u64) -> bool {
        assert!(
            bytes <= self.bounds.bytes,
            "a segment of {bytes} bytes above the bound of {}",
            self.bounds.bytes
        );
        let mut state = self.lock();
        state.waiting.push_back((segment, bytes));
        self.changed.notify_all();
        !state.stopped
    }

    /// Says that all segments were added.
    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// Hands out no more segments.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// True once it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Most bytes that the host held at once.
    pub fn most_held(&self) -> u64 {
        self.lock().most_held
    }

    /// The next segment. Waits until there is one and the bounds allow it; `None` after the last one and after a
    /// stop. A large segment holds those behind it back until there is room for it.
    pub fn take(&self) -> Option<Taken<'_>> {
        let mut state = self.lock();
        loop {
            if state.stopped || (state.ended && state.waiting.is_empty()) {
                return None;
            }
            if let Some((index, segment, bytes)) = state.next(self.bounds) {
                return Some(Taken {
                    index,
                    segment,
                    permit: Permit { queue: self, bytes },
                });
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until more than `number` segments were added; tracer 0 does not wait. False after a stop, and for other tracers than 0 once all
    /// segments were added and are no more than `number`.
    pub fn wait_for(&self, number: usize) -> bool {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return false;
            }
            if number == 0 || state.taken + state.waiting.len() > number {
                return true;
            }
            if state.ended {
                return false;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The number of the next segment, the segment and its bytes, if there is one and the bounds allow it now.
    fn next(&mut self, bounds: Bounds) -> Option<(usize, Segment, u64)> {
        let (_, bytes) = self.waiting.front()?;
        if self.in_flight >= bounds.segments || *bytes > bounds.bytes - self.held {
            return None;
        }
        let (segment, bytes) = self.waiting.pop_front()?;
        self.in_flight += 1;
        self.taken += 1;
        self.held += bytes;
        self.most_held = self.most_held.max(self.held);
        Some((self.taken - 1, segment, bytes))
    }
}

impl Permit<'_> {
    /// Says that the host holds nothing of the segment any more.
    pub fn leave_host(&mut self) {
        self.queue.lock().held -= std::mem::take(&mut self.bytes);
        self.queue.changed.notify_all();
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.held -= self.bytes;
        state.in_flight -= 1;
        drop(state);
        self.queue.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, AtomicUsize, Ordering},
        thread,
    };

    use rand::{rngs::StdRng, Rng, SeedableRng};

    use super::*;

    fn segment(number: u64) -> Segment {
        Segment {
            instret_start: number,
            num_insns: 1,
            trace_heights: vec![],
        }
    }

    fn queue(segments: usize, bytes: u64) -> SegmentQueue {
        SegmentQueue::new(Bounds { segments, bytes })
    }

    #[test]
    fn a_tracer_begins_once_there_are_segments_for_those_before_it() {
        let queue = queue(1, 0);
        let begun = thread::scope(|scope| {
            let waits = |number| {
                let queue = &queue;
                scope.spawn(move || queue.wait_for(number))
            };
            let tracers: Vec<_> = (0..4).map(waits).collect();
            queue.add(segment(0), 0);
            // Segments that were taken count.
            drop(queue.take());
            queue.add(segment(1), 0);
            queue.end();
            let begun = tracers.into_iter().map(|tracer| tracer.join());
            begun
                .map(|begun| begun.expect("no panic"))
                .collect::<Vec<_>>()
        });
        assert_eq!(begun, [true, true, false, false]);
        queue.stop();
        assert!(!queue.wait_for(0));
    }

    #[test]
    fn segments_are_handed_out_once_each_and_few_at_a_time() {
        let queue = queue(3, 0);
        let (most, now) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut taken: Vec<usize> = thread::scope(|scope| {
            let workers: Vec<_> = (0..5)
                .map(|_| {
                    scope.spawn(|| {
                        let mut taken = Vec::new();
                        while let Some(segment) = queue.take() {
                            assert_eq!(segment.index as u64, segment.segment.instret_start);
                            most.fetch_max(
                                now.fetch_add(1, Ordering::SeqCst) + 1,
                                Ordering::SeqCst,
                            );
                            thread::yield_now();
                            now.fetch_sub(1, Ordering::SeqCst);
                            taken.push(segment.index);
                        }
                        assert!(taken.is_sorted(), "segments are taken in order");
                        taken
                    })
                })
                .collect();
            for number in 0..200 {
                assert!(queue.add(segment(number), 0));
            }
            queue.end();
            let join = |worker: thread::ScopedJoinHandle<'_, Vec<usize>>| worker.join().unwrap();
            workers.into_iter().flat_map(join).collect()
        });
        taken.sort_unstable();
        assert_eq!(taken, (0..200).collect::<Vec<_>>());
        assert!(most.into_inner() <= 3);
    }

    /// Segments of random sizes, some as large as the bound, which leave the host before they are proved or then. The
    /// bytes are counted here too: never more than the bound, whoever comes first.
    #[test]
    fn the_host_never_holds_more_than_the_bound() {
        for seed in 0..20 {
            let mut rng = StdRng::seed_from_u64(seed);
            let bound = rng.random_range(1..1000);
            let sizes: Vec<u64> = (0..100)
                .map(|_| match rng.random_range(0..4) {
                    0 => bound,
                    1 => 0,
                    _ => rng.random_range(0..=bound),
                })
                .collect();
            let queue = queue(rng.random_range(1..9), bound);
            let (held, most) = (AtomicU64::new(0), AtomicU64::new(0));
            let taken = AtomicUsize::new(0);
            thread::scope(|scope| {
                for _ in 0..rng.random_range(1..7) {
                    scope.spawn(|| {
                        while let Some(mut next) = queue.take() {
                            let bytes = sizes[next.index];
                            let now = held.fetch_add(bytes, Ordering::SeqCst) + bytes;
                            most.fetch_max(now, Ordering::SeqCst);
                            thread::yield_now();
                            held.fetch_sub(bytes, Ordering::SeqCst);
                            if next.index % 2 == 0 {
                                next.permit.leave_host();
                                thread::yield_now();
                            }
                            taken.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                }
                for (number, &bytes) in sizes.iter().enumerate() {
                    queue.add(segment(number as u64), bytes);
                }
                queue.end();
            });
            assert_eq!(taken.into_inner(), sizes.len());
            assert!(most.into_inner() <= bound, "seed {seed}");
            let largest = sizes.iter().copied().max();
            assert!((largest..=Some(bound)).contains(&Some(queue.most_held())));
            let state = queue.lock();
            assert_eq!((state.held, state.in_flight), (0, 0));
        }
    }

    #[test]
    fn a_large_segment_is_not_overtaken() {
        let queue = queue(9, 10);
        for (number, bytes) in [4, 10, 1].into_iter().enumerate() {
            queue.add(segment(number as u64), bytes);
        }
        queue.end();
        let mut first = queue.take().unwrap();
        // The third would fit, but the second does not.
        assert!(queue.lock().next(queue.bounds).is_none());
        first.permit.leave_host();
        let second = queue.take().unwrap();
        assert_eq!((second.index, second.segment.instret_start), (1, 1));
        assert!(queue.lock().next(queue.bounds).is_none());
        drop(second);
        let third = queue.take().unwrap();
        assert_eq!((third.index, third.segment.instret_start), (2, 2));
        assert!(queue.take().is_none());
    }

    #[test]
    #[should_panic(expected = "above the bound")]
    fn what_never_fits_is_refused() {
        queue(1, 10).add(segment(0), 11);
    }

    #[test]
    fn a_stop_wakes_those_who_wait() {
        let queue = queue(1, 0);
        thread::scope(|scope| {
            let first = queue.add(segment(0), 0).then(|| queue.take()).flatten();
            assert_eq!(first.as_ref().map(|first| first.index), Some(0));
            let waits = scope.spawn(|| queue.take().is_none());
            queue.add(segment(1), 0);
            queue.stop();
            assert!(waits.join().unwrap());
            assert!(!queue.add(segment(2), 0));
        });
    }
}
