//! `Plan`: hands the segments of an execution out to machines as they are cut, a bounded number at a time.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use openvm_circuit::arch::execution_mode::Segment;

/// Segments that are cut by one thread and taken by others, in order.
pub(super) struct Plan {
    state: Mutex<State>,
    changed: Condvar,
    /// Most segments that are taken and not proved.
    in_flight: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Segment>,
    /// Number of segments that were handed out.
    taken: usize,
    in_flight: usize,
    /// All segments were added.
    ended: bool,
    /// The plan was stopped.
    stopped: bool,
}

impl Plan {
    pub fn new(in_flight: usize) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            in_flight,
        }
    }

    /// Adds the next segment. False if the plan was stopped.
    pub fn add(&self, segment: Segment) -> bool {
        let mut state = self.lock();
        state.waiting.push_back(segment);
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

    /// The next segment and its number. Waits until there is one and the number in flight allows it; `None` after the
    /// last one and after a stop.
    pub fn take(&self) -> Option<(usize, Segment)> {
        let mut state = self.lock();
        loop {
            if state.stopped || (state.ended && state.waiting.is_empty()) {
                return None;
            }
            if state.in_flight < self.in_flight {
                if let Some(segment) = state.waiting.pop_front() {
                    state.in_flight += 1;
                    state.taken += 1;
                    return Some((state.taken - 1, segment));
                }
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A segment that was taken is proved.
    pub fn done(&self) {
        self.lock().in_flight -= 1;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicUsize, sync::atomic::Ordering, thread};

    use super::*;

    fn segment(number: u64) -> Segment {
        Segment {
            instret_start: number,
            num_insns: 1,
            trace_heights: vec![],
        }
    }

    #[test]
    fn segments_are_handed_out_once_each_and_few_at_a_time() {
        let plan = Plan::new(3);
        let (most, now) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut taken: Vec<usize> = thread::scope(|scope| {
            let workers: Vec<_> = (0..5)
                .map(|_| {
                    scope.spawn(|| {
                        let mut taken = Vec::new();
                        while let Some((index, segment)) = plan.take() {
                            assert_eq!(index as u64, segment.instret_start);
                            most.fetch_max(
                                now.fetch_add(1, Ordering::SeqCst) + 1,
                                Ordering::SeqCst,
                            );
                            thread::yield_now();
                            now.fetch_sub(1, Ordering::SeqCst);
                            taken.push(index);
                            plan.done();
                        }
                        assert!(taken.is_sorted(), "machines only go forward");
                        taken
                    })
                })
                .collect();
            for number in 0..200 {
                assert!(plan.add(segment(number)));
            }
            plan.end();
            let join = |worker: thread::ScopedJoinHandle<'_, Vec<usize>>| worker.join().unwrap();
            workers.into_iter().flat_map(join).collect()
        });
        taken.sort_unstable();
        assert_eq!(taken, (0..200).collect::<Vec<_>>());
        assert!(most.into_inner() <= 3);
    }

    #[test]
    fn a_stop_wakes_those_who_wait() {
        let plan = Plan::new(1);
        thread::scope(|scope| {
            let first = plan.add(segment(0)).then(|| plan.take()).flatten();
            assert_eq!(first.map(|(index, _)| index), Some(0));
            let waits = scope.spawn(|| plan.take().is_none());
            plan.add(segment(1));
            plan.stop();
            assert!(waits.join().unwrap());
            assert!(!plan.add(segment(2)));
        });
    }
}
