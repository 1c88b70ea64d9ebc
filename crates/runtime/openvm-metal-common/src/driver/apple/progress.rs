//! Logs units that take long to compile, so that a start never looks like a hang.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::lock;

/// Units that are being compiled.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    running: BTreeMap<&'static str, Instant>,
    ended: bool,
}

impl Progress {
    /// Does `work` as a part of the unit.
    pub fn during<R>(&self, unit: &'static str, work: impl FnOnce() -> R) -> R {
        lock(&self.state).running.insert(unit, Instant::now());
        let result = work();
        lock(&self.state).running.remove(unit);
        result
    }

    /// Ends [`Progress::watch`] when it is dropped, be it by a panic.
    pub fn ending(&self) -> Ending<'_> {
        Ending(self)
    }

    /// Calls `tell` with units and their seconds whenever `every` has passed, until the end.
    pub fn watch(&self, every: Duration, tell: impl Fn(&str)) {
        let mut state = lock(&self.state);
        while !state.ended {
            let waited = self.ended.wait_timeout(state, every);
            let (next, timeout) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
            state = next;
            if timeout.timed_out() && !state.ended {
                let now = Instant::now();
                let running = state.running.iter().map(|(unit, since)| {
                    format!("{unit} ({} s)", now.duration_since(*since).as_secs())
                });
                tell(&running.collect::<Vec<_>>().join(", "));
            }
        }
    }
}

/// See [`Progress::ending`].
pub(crate) struct Ending<'a>(&'a Progress);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).ended = true;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_units_are_named_and_short_ones_are_not() {
        let progress = Progress::default();
        let told = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                progress.watch(Duration::from_millis(20), |text| {
                    lock(&told).push(text.to_owned())
                })
            });
            let _ending = progress.ending();
            progress.during("hash/merkle", || {});
            progress.during("gkr/gkr", || {
                while lock(&told).is_empty() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
        });
        assert!(lock(&told)[0].starts_with("gkr/gkr ("), "{:?}", lock(&told));
    }

    #[test]
    fn nothing_is_told_of_a_start_that_is_short() {
        let progress = Progress::default();
        drop(progress.ending());
        progress.watch(Duration::from_secs(60), |text| panic!("{text}"));
    }

    #[test]
    fn a_panic_ends_the_watch() {
        let progress = Progress::default();
        let work = || {
            std::thread::scope(|scope| {
                scope.spawn(|| progress.watch(Duration::from_secs(60), |_| {}));
                let _ending = progress.ending();
                progress.during("gkr/gkr", || panic!("in a unit"));
            });
        };
        let work = std::panic::AssertUnwindSafe(work);
        assert!(std::panic::catch_unwind(work).is_err());
    }
}
