//! Results of submissions to Metal: finished, failed, and their times.
//! Nothing here needs Metal, so it is tested on every system.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use super::{DriverResult, Fault, Tag};
use crate::lock;
use crate::plan::{in_words, Work};

/// Submissions whose GPU times are remembered for `time` and the profile.
const REMEMBERED: usize = 1 << 14;
/// GPU time above which a submission counts as long in reports: Macs with a display end work that keeps the
/// display waiting.
const LONG: u64 = 100_000_000;
/// Shorter submissions are not remembered for the planner.
const TELLING: u64 = 100_000;

/// Work that was submitted as one command buffer.
pub(crate) struct Submission {
    /// From 1, in the order in which they run.
    pub number: u64,
    pub tag: Tag,
    pub operations: Vec<Work>,
}

impl Submission {
    /// The operations in order, repetitions counted, the last ones of many.
    pub fn held(&self) -> String {
        in_words(self.operations.iter().map(|work| work.name))
    }
}

/// Reports of the completion handlers. Waiting threads are parked: spinning would take power, and
/// so clock, from the GPU.
#[derive(Default)]
pub(crate) struct Completion {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// All submissions up to this one have finished.
    completed: u64,
    /// Finished out of the order of their numbers.
    ahead: BTreeSet<u64>,
    /// The first that failed, and why.
    failed: Option<(u64, Fault)>,
    /// GPU nanoseconds by submission.
    times: BTreeMap<u64, u64>,
    tagged: VecDeque<(Tag, u64)>,
    /// Measurements that the planner has not fetched yet.
    measured: VecDeque<(Vec<Work>, u64)>,
    /// GPU nanoseconds of the longest, and what it held.
    longest: (u64, String),
    /// Number of submissions that took longer than [`LONG`].
    long: u64,
    total: u64,
}

impl Completion {
    /// A submission has ended after so much GPU time, with a fault if it failed.
    pub fn finished(&self, submission: &Submission, nanoseconds: u64, failure: Option<Fault>) {
        let failure_free = failure.is_none();
        let mut state = lock(&self.state);
        if let Some(fault) = failure {
            state.failed.get_or_insert((submission.number, fault));
        }
        state.total += nanoseconds;
        state.long += u64::from(nanoseconds > LONG);
        if nanoseconds > state.longest.0 {
            state.longest = (nanoseconds, submission.held());
        }
        state.times.insert(submission.number, nanoseconds);
        while state.times.len() > REMEMBERED {
            state.times.pop_first();
        }
        if nanoseconds >= TELLING && failure_free {
            let measured = &mut state.measured;
            measured.push_back((submission.operations.clone(), nanoseconds));
            if measured.len() > REMEMBERED {
                measured.pop_front();
            }
        }
        if submission.tag != 0 {
            state.tagged.push_back((submission.tag, nanoseconds));
        }
        state.ahead.insert(submission.number);
        loop {
            let next = state.completed + 1;
            if !state.ahead.remove(&next) {
                break;
            }
            state.completed = next;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until submission `number` and all before it have finished, and reports the first failure.
    pub fn wait_for(&self, number: u64, limit: Duration) -> DriverResult {
        let start = Instant::now();
        let mut state = lock(&self.state);
        while state.completed < number {
            let Some(left) = limit.checked_sub(start.elapsed()) else {
                return Err(Fault::Timeout(limit));
            };
            state = match self.changed.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        match &state.failed {
            Some((failed, fault)) if *failed <= number => Err(fault.clone()),
            _ => Ok(()),
        }
    }

    /// All submissions up to this one have finished.
    pub fn completed(&self) -> u64 {
        lock(&self.state).completed
    }

    /// GPU time of the submissions after `start` up to `end`.
    pub fn gpu_time(&self, start: u64, end: u64) -> Duration {
        if end <= start {
            return Duration::ZERO;
        }
        let state = lock(&self.state);
        Duration::from_nanos(state.times.range(start + 1..=end).map(|(_, t)| t).sum())
    }

    /// GPU times of tagged operations, forgotten afterwards.
    pub fn take_timings(&self) -> Vec<(Tag, u64)> {
        lock(&self.state).tagged.drain(..).collect()
    }

    /// Contents and GPU times of submissions that were long enough; forgotten afterwards.
    pub fn take_measured(&self) -> Vec<(Vec<Work>, u64)> {
        lock(&self.state).measured.drain(..).collect()
    }

    /// Submissions, their GPU time, and the longest of them, in words.
    pub fn summary(&self) -> String {
        let state = lock(&self.state);
        let ms = |ns: u64| ns as f64 / 1e6;
        format!(
            "{} in {:.1} ms of GPU time; {} took over {} ms; longest {:.1} ms ({})",
            state.completed,
            ms(state.total),
            state.long,
            LONG / 1_000_000,
            ms(state.longest.0),
            state.longest.1,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(20);

    fn work(name: &'static str) -> Work {
        Work {
            name,
            kernel: None,
            modelled: 1e6,
        }
    }

    fn submission(number: u64, operations: &[&'static str]) -> Submission {
        Submission {
            number,
            tag: number as Tag % 2,
            operations: operations.iter().map(|&name| work(name)).collect(),
        }
    }

    fn end(completion: &Completion, number: u64, ms: u64) {
        completion.finished(&submission(number, &["a", "b"]), ms * 1_000_000, None);
    }

    #[test]
    fn submissions_end_in_any_order() {
        let completion = Completion::default();
        assert!(completion.wait_for(0, LIMIT).is_ok());
        end(&completion, 2, 5);
        end(&completion, 3, 7);
        assert_eq!(completion.completed(), 0);
        assert!(matches!(
            completion.wait_for(1, LIMIT),
            Err(Fault::Timeout(LIMIT))
        ));
        end(&completion, 1, 1);
        assert_eq!(completion.completed(), 3);
        assert!(completion.wait_for(3, LIMIT).is_ok());
        assert_eq!(completion.gpu_time(1, 3), Duration::from_millis(12));
        assert_eq!(completion.gpu_time(3, 3), Duration::ZERO);
        assert_eq!(completion.take_timings(), [(1, 7_000_000), (1, 1_000_000)]);
        assert!(completion.take_timings().is_empty());
        let summary = completion.summary();
        assert!(
            summary.starts_with("3 in 13.0 ms of GPU time; 0 took over 100 ms"),
            "{summary}"
        );
        assert!(summary.contains("longest 7.0 ms (a, b)"), "{summary}");
    }

    #[test]
    fn a_waiting_thread_is_woken() {
        let completion = Arc::new(Completion::default());
        let waiting = completion.clone();
        let thread = std::thread::spawn(move || waiting.wait_for(1, Duration::from_secs(60)));
        end(&completion, 1, 1);
        assert!(thread.join().expect("no panic").is_ok());
    }

    #[test]
    fn the_first_failure_is_kept() {
        let completion = Completion::default();
        end(&completion, 1, 1);
        for (number, reason) in [(2, "first"), (3, "second")] {
            let fault = Fault::Failed(reason.into());
            completion.finished(&submission(number, &["k"]), 0, Some(fault));
        }
        end(&completion, 4, 1);
        // What ended before it is right.
        assert!(completion.wait_for(1, LIMIT).is_ok());
        for number in 2..=4 {
            match completion.wait_for(number, LIMIT) {
                Err(Fault::Failed(reason)) => assert_eq!(reason, "first"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn only_submissions_that_tell_something_are_measured() {
        let completion = Completion::default();
        completion.finished(&submission(1, &["a"]), TELLING - 1, None);
        let fault = Fault::Failed("stopped".into());
        completion.finished(&submission(2, &["b"]), 2 * LONG, Some(fault));
        completion.finished(&submission(3, &["c", "d"]), TELLING, None);
        let measured = completion.take_measured();
        assert_eq!(measured.len(), 1);
        let names: Vec<_> = measured[0].0.iter().map(|work| work.name).collect();
        assert_eq!((names, measured[0].1), (vec!["c", "d"], TELLING));
        assert!(completion.take_measured().is_empty());
        assert!(completion.summary().contains("1 took over 100 ms"));
    }

    #[test]
    fn times_of_old_submissions_are_forgotten() {
        let completion = Completion::default();
        let last = REMEMBERED as u64 + 10;
        (1..=last).for_each(|n| end(&completion, n, 1));
        assert_eq!(completion.completed(), last);
        let all = completion.gpu_time(0, last);
        assert_eq!(all, Duration::from_millis(REMEMBERED as u64));
    }
}
