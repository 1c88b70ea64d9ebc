//! Numbered work on threads of its own; each result is waited for by itself.

use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::lock;

/// Results on their way. Dropping it ends the threads when what each is at is done; the rest is not begun.
pub(crate) struct Loading<T> {
    shared: Arc<Shared<T>>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// A number has ended.
    ended: Condvar,
    start: Instant,
}

struct State<T> {
    /// Not yet begun, in order.
    waiting: VecDeque<usize>,
    /// By number; `None` for what panicked.
    results: Vec<Option<Option<T>>>,
    left: usize,
    /// From the start to the last result.
    took: Duration,
}

impl<T: Clone + Send + 'static> Loading<T> {
    /// Begins `load` of the numbers in `order`, a permutation of `0..order.len()`, at most `threads` at a time.
    pub fn start(
        order: Vec<usize>,
        threads: usize,
        load: impl Fn(usize) -> T + Send + Sync + 'static,
    ) -> Self {
        let count = order.len();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                waiting: order.into(),
                results: vec![None; count],
                left: count,
                took: Duration::ZERO,
            }),
            ended: Condvar::new(),
            start: Instant::now(),
        });
        let load = Arc::new(load);
        let threads = (0..count.min(threads))
            .filter_map(|n| {
                let (shared, load) = (shared.clone(), load.clone());
                std::thread::Builder::new()
                    .name(format!("load-{n}"))
                    .spawn(move || shared.work(&*load))
                    .ok()
            })
            .collect::<Vec<_>>();
        if threads.is_empty() {
            // The system gives no thread: the caller's does it.
            shared.work(&*load);
        }
        Self { shared, threads }
    }

    /// Waits for a number; it goes before all that have not begun.
    pub fn wait_for(&self, index: usize) {
        let mut state = lock(&self.shared.state);
        if let Some(place) = state.waiting.iter().position(|&waiting| waiting == index) {
            state.waiting.remove(place);
            state.waiting.push_front(index);
        }
        while state.results.get(index).is_some_and(Option::is_none) {
            state = self.shared.wait(state);
        }
    }

    /// Nothing is left to wait for.
    pub fn is_done(&self) -> bool {
        lock(&self.shared.state).left == 0
    }

    /// All results in order without what panicked, and the time from the start to the last.
    pub fn wait_for_all(&self) -> (Vec<T>, Duration) {
        let mut state = lock(&self.shared.state);
        while state.left > 0 {
            state = self.shared.wait(state);
        }
        let results = state.results.iter().flatten().flatten().cloned().collect();
        (results, state.took)
    }
}

impl<T> Shared<T> {
    fn wait<'a>(
        &self,
        state: std::sync::MutexGuard<'a, State<T>>,
    ) -> std::sync::MutexGuard<'a, State<T>> {
        self.ended
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, load: impl Fn(usize) -> T) {
        loop {
            let Some(index) = lock(&self.state).waiting.pop_front() else {
                return;
            };
            let result = catch_unwind(AssertUnwindSafe(|| load(index))).ok();
            let mut state = lock(&self.state);
            state.results[index] = Some(result);
            state.left -= 1;
            state.took = self.start.elapsed();
            self.ended.notify_all();
        }
    }
}

impl<T> Drop for Loading<T> {
    fn drop(&mut self) {
        lock(&self.shared.state).waiting.clear();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn results_are_in_order_whoever_made_them() {
        for (count, threads) in [(0, 3), (1, 8), (100, 1), (100, 7)] {
            let loading = Loading::start((0..count).rev().collect(), threads, |n| n * n);
            let expected: Vec<_> = (0..count).map(|n| n * n).collect();
            assert_eq!(loading.wait_for_all().0, expected);
            loading.wait_for(count.saturating_sub(1));
            // A number that does not exist is not waited for.
            loading.wait_for(count);
        }
    }

    #[test]
    fn work_is_begun_in_the_order_that_is_given() {
        let begun = Arc::new(Mutex::new(Vec::new()));
        let order = begun.clone();
        let loading = Loading::start(vec![2, 0, 3, 1], 1, move |n| lock(&order).push(n));
        loading.wait_for_all();
        assert_eq!(*lock(&begun), [2, 0, 3, 1]);
    }

    #[test]
    fn what_is_waited_for_goes_before_the_rest() {
        let (gate, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let begun = Arc::new(Mutex::new(Vec::new()));
        let order = begun.clone();
        let loading = Loading::start((0..10).collect(), 1, move |n| {
            lock(&order).push(n);
            // The first waits until the test has asked for another.
            if n == 0 {
                let _ = lock(&held).recv();
            }
        });
        while lock(&begun).is_empty() {
            std::thread::yield_now();
        }
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| loading.wait_for(7));
            while lock(&loading.shared.state).waiting.front() != Some(&7) {
                std::thread::yield_now();
            }
            gate.send(()).expect("the thread waits");
            waiter.join().expect("ends");
        });
        assert_eq!(lock(&begun)[..2], [0, 7]);
        loading.wait_for_all();
        assert_eq!(lock(&begun).len(), 10);
    }

    #[test]
    fn dropping_it_ends_it() {
        let done = Arc::new(Mutex::new(0));
        let count = done.clone();
        let loading = Loading::start((0..1000).collect(), 2, move |_| {
            std::thread::sleep(Duration::from_millis(1));
            *lock(&count) += 1;
        });
        loading.wait_for(0);
        drop(loading);
        let after = *lock(&done);
        assert!((1..1000).contains(&after), "{after}");
        assert_eq!(Arc::strong_count(&done), 1);
    }

    #[test]
    fn one_that_panics_leaves_the_others() {
        let loading = Loading::start((0..5).collect(), 2, |n| {
            assert_ne!(n, 2, "on purpose");
            n
        });
        loading.wait_for(2);
        assert_eq!(loading.wait_for_all().0, [0, 1, 3, 4]);
    }
}
