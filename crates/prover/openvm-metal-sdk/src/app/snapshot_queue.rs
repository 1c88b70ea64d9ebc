//! `SnapshotQueue`: says to the thread that makes snapshots which of them are wanted, and keeps a bounded number of snapshots until tracers take
//! them.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Snapshots of an execution, made by one thread in order, each taken once, in any order.
pub(super) struct SnapshotQueue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Most snapshots that are made and not taken.
    bound: usize,
    /// A snapshot is made only when it is known that somebody takes it.
    on_demand: bool,
}

struct State<T> {
    stopped: bool,
    /// Segments of which it is known whether somebody takes the snapshot.
    wanted: BTreeMap<usize, bool>,
    /// Snapshots that are made and not taken.
    ready: BTreeMap<usize, T>,
    /// Most snapshots that were ready at once.
    most_ready: usize,
}

impl<T> SnapshotQueue<T> {
    /// At most `bound` snapshots, at least 1, are made and not taken.
    pub fn new(bound: usize, on_demand: bool) -> Self {
        Self {
            state: Mutex::new(State {
                stopped: false,
                wanted: BTreeMap::new(),
                ready: BTreeMap::new(),
                most_ready: 0,
            }),
            changed: Condvar::new(),
            bound: bound.max(1),
            on_demand,
        }
    }

    /// Wakes all that wait, and drops the snapshots.
    pub fn stop(&self) {
        self.change(|state| {
            state.stopped = true;
            state.ready.clear();
        });
    }

    /// True if the snapshot before segment `index` has to be made. If snapshots are made on demand it waits until that is known. `None` after a
    /// stop.
    pub fn is_wanted(&self, index: usize) -> Option<bool> {
        self.wait(|state| match state.wanted.get(&index) {
            None if !self.on_demand => Some(true),
            wanted => wanted.copied(),
        })
    }

    /// Adds a snapshot. Waits until there is room for it; false after a stop.
    pub fn put(&self, index: usize, snapshot: T) -> bool {
        let mut snapshot = Some(snapshot);
        // In one step: a snapshot that is skipped meanwhile would keep its place for ever.
        let put = self.wait(|state| {
            if state.wanted.get(&index) == Some(&false) {
                return Some(());
            }
            if state.ready.len() >= self.bound {
                return None;
            }
            state.ready.insert(index, snapshot.take()?);
            state.most_ready = state.most_ready.max(state.ready.len());
            Some(())
        });
        self.changed.notify_all();
        put.is_some()
    }

    /// Takes the snapshot before segment `index`. Waits until it is there; `None` after a stop.
    pub fn take(&self, index: usize) -> Option<T> {
        self.change(|state| state.wanted.insert(index, true));
        let taken = self.wait(|state| state.ready.remove(&index));
        self.changed.notify_all();
        taken
    }

    /// Says that nobody takes the snapshot before segment `index`.
    pub fn skip(&self, index: usize) {
        self.change(|state| {
            state.wanted.insert(index, false);
            state.ready.remove(&index);
        });
    }

    fn change<R>(&self, change: impl FnOnce(&mut State<T>) -> R) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Result of `ready` as soon as there is one; `None` after a stop.
    fn wait<R>(&self, mut ready: impl FnMut(&mut State<T>) -> Option<R>) -> Option<R> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(result) = ready(&mut state) {
                return Some(result);
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use rand::{rngs::StdRng, Rng, SeedableRng};

    use super::*;

    /// Makes the snapshots of so many segments that are wanted, in order. Gives their indices.
    fn make<'a>(
        queue: &SnapshotQueue<Counted<'a>>,
        live: &'a AtomicUsize,
        segments: usize,
    ) -> Vec<usize> {
        let mut made = Vec::new();
        for index in 0..segments {
            let Some(wanted) = queue.is_wanted(index) else {
                break;
            };
            if wanted {
                live.fetch_add(1, Ordering::SeqCst);
                made.push(index);
                if !queue.put(index, Counted(live, index)) {
                    break;
                }
            }
        }
        made
    }

    /// A snapshot, which is counted until it is dropped.
    struct Counted<'a>(&'a AtomicUsize, usize);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Tracers take segments in order and their snapshots in any order, some of them none. No more snapshots are ready than the bound, each goes to
    /// its segment, and on demand none is made that nobody takes.
    #[test]
    fn snapshots_go_to_their_segments_and_few_are_ready() {
        for seed in 0..40 {
            let mut rng = StdRng::seed_from_u64(seed);
            let (bound, on_demand) = (rng.random_range(0..4), rng.random_bool(0.5));
            let skipped: Vec<bool> = (0..60).map(|_| rng.random_bool(0.3)).collect();
            let live = AtomicUsize::new(0);
            let queue = SnapshotQueue::new(bound, on_demand);
            let next = AtomicUsize::new(0);
            let made = thread::scope(|scope| {
                let made = scope.spawn(|| make(&queue, &live, skipped.len()));
                for _ in 0..rng.random_range(1..6) {
                    scope.spawn(|| loop {
                        let index = next.fetch_add(1, Ordering::SeqCst);
                        match skipped.get(index) {
                            None => break,
                            Some(true) => queue.skip(index),
                            Some(false) => {
                                let taken = queue.take(index).expect("no stop");
                                assert_eq!(taken.1, index);
                            }
                        }
                        thread::yield_now();
                    });
                }
                made.join().unwrap()
            });
            let taken = (0..skipped.len()).filter(|&index| !skipped[index]);
            if on_demand {
                assert!(made.into_iter().eq(taken), "seed {seed}");
            } else {
                assert!(taken.into_iter().all(|index| made.contains(&index)));
            }
            let state = queue.lock();
            assert!(state.most_ready <= bound.max(1), "seed {seed}");
            assert!(state.ready.is_empty() && live.load(Ordering::SeqCst) == 0);
        }
    }

    #[test]
    fn a_stop_wakes_those_who_wait_and_drops_snapshots() {
        let live = AtomicUsize::new(0);
        let queue = SnapshotQueue::new(1, false);
        thread::scope(|scope| {
            // One is ready, the next one waits for room.
            let maker = scope.spawn(|| make(&queue, &live, 3));
            while live.load(Ordering::SeqCst) < 2 {
                thread::yield_now();
            }
            let waits = scope.spawn(|| queue.take(2).is_none());
            while queue.lock().wanted.is_empty() {
                thread::yield_now();
            }
            queue.stop();
            assert!(waits.join().unwrap());
            assert_eq!(maker.join().unwrap(), [0, 1]);
        });
        assert_eq!(live.load(Ordering::SeqCst), 0);
        assert!(queue.is_wanted(0).is_none());
    }
}
