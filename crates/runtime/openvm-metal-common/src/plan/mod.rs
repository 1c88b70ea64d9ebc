//! Work that is handed to the device at a time: slices of dispatches, and submissions of several operations.
//!
//! Nothing here depends on a device: the CPU device plans as the GPU whose profile it is given.

mod rates;
mod slice;
mod stats;

use std::time::Duration;

pub(crate) use self::rates::{DeviceRate, KernelKey, Rates};
pub(crate) use self::slice::{Cutter, Slice};
pub use self::stats::SubmissionStats;
use crate::error::{MetalError, Result};

/// Environment variable with the longest submission in milliseconds; 0 never cuts.
pub const SLICE_VARIABLE: &str = "OPENVM_METAL_SLICE_MS";
/// Macs with a display end work that keeps the display waiting for some 100 ms to seconds.
const DEFAULT_LONGEST: Duration = Duration::from_millis(50);
/// Operations per submission: the device starts on them while the host encodes the next.
const OPERATIONS: usize = 64;
/// Share of the longest submission that a kernel gets until its real time is known.
const CAUTION: f64 = 0.25;

/// One operation of a submission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub name: &'static str,
    /// The kernel, if it is one.
    pub kernel: Option<KernelKey>,
    /// Modelled nanoseconds, before what was learnt of the kernel.
    pub modelled: f64,
}

impl Work {
    /// Work whose time is not modelled.
    pub fn untold(name: &'static str) -> Self {
        Self {
            name,
            kernel: None,
            modelled: 0.0,
        }
    }
}

/// Instructions for the next slice.
pub(crate) struct Step {
    pub slice: Slice,
    pub work: Work,
    /// It is not the first of its dispatch.
    pub continues: bool,
    /// Submit what is encoded before it.
    pub submit_before: bool,
    /// Submit what is encoded, with it.
    pub submit_after: bool,
}

/// Decides where dispatches are cut and when encoded work is submitted.
pub(crate) struct Planner {
    /// Nanoseconds of the longest submission.
    longest: f64,
    rates: Rates,
    /// Nanoseconds and operations that are encoded and not submitted.
    open: (f64, Vec<&'static str>),
    stats: SubmissionStats,
}

impl Planner {
    /// `longest`: what no submission should exceed; zero for no limit.
    pub fn new(rate: DeviceRate, learns: bool, longest: Duration) -> Self {
        let mut planner = Self {
            longest: 0.0,
            rates: Rates::new(rate, learns),
            open: (0.0, Vec::with_capacity(OPERATIONS)),
            stats: SubmissionStats::default(),
        };
        planner.set_longest(longest);
        planner
    }

    pub fn set_longest(&mut self, longest: Duration) {
        self.longest = match longest.as_nanos() {
            0 => f64::INFINITY,
            nanoseconds => nanoseconds as f64,
        };
    }

    pub fn rates(&self) -> &Rates {
        &self.rates
    }

    pub fn rates_mut(&mut self) -> &mut Rates {
        &mut self.rates
    }

    /// The next slice of a dispatch of which each threadgroup takes `modelled` nanoseconds; `None` at its
    /// end.
    pub fn next(
        &mut self,
        cutter: &mut Cutter,
        kernel: KernelKey,
        name: &'static str,
        modelled: f64,
        can_cut: bool,
    ) -> Option<Step> {
        let (left, first) = (cutter.left(), cutter.is_whole());
        if left == 0 {
            return None;
        }
        let (factor, most) = match self.rates.factor(Some(kernel)) {
            Some(factor) => (factor, self.longest),
            None => (1.0, self.longest * CAUTION),
        };
        let pieces = (left as f64 * modelled * factor / most).ceil().max(1.0);
        let groups = if can_cut {
            left / pieces.min(left as f64) as u64
        } else {
            u64::MAX
        };
        let slice = cutter.next(groups)?;
        let work = Work {
            name,
            kernel: Some(kernel),
            modelled: modelled * slice.count() as f64,
        };
        self.stats.cut(first, cutter.left() == 0);
        let (submit_before, submit_after) = self.admit(name, work.modelled * factor);
        Some(Step {
            slice,
            work,
            continues: !first,
            submit_before,
            submit_after,
        })
    }

    /// Bytes of a copy or fill to hand over at a time; `each` bytes move for one of them.
    pub fn bytes_at_a_time(&self, each: u64) -> u64 {
        const GRANULE: u64 = 1 << 20;
        let one = self.rates.modelled(crate::Cost::of_bytes(each << 30)) / (1u64 << 30) as f64;
        let most = (self.longest / one).min((1u64 << 60) as f64) as u64;
        (most / GRANULE * GRANULE).max(GRANULE)
    }

    /// Counts an operation of so many nanoseconds: whether to hand over what is encoded before it, and with it.
    pub fn admit(&mut self, name: &'static str, nanoseconds: f64) -> (bool, bool) {
        let before = !self.open.1.is_empty() && self.open.0 + nanoseconds > self.longest;
        if before {
            self.submitted();
        }
        self.open.0 += nanoseconds;
        self.open.1.push(name);
        let after = self.open.0 >= self.longest || self.open.1.len() >= OPERATIONS;
        if after {
            self.submitted();
        }
        (before, after)
    }

    /// Counts what is encoded as submitted.
    pub fn submitted(&mut self) {
        if !self.open.1.is_empty() {
            self.stats.submitted(self.open.0, &self.open.1);
            self.open.0 = 0.0;
            self.open.1.clear();
        }
    }

    pub fn stats(&self) -> &SubmissionStats {
        &self.stats
    }
}

/// The longest submission in the environment, else the default.
pub(crate) fn longest_from_env() -> Result<Duration> {
    let Ok(value) = std::env::var(SLICE_VARIABLE) else {
        return Ok(DEFAULT_LONGEST);
    };
    match value.parse::<f64>() {
        _ if value.is_empty() => Ok(DEFAULT_LONGEST),
        Ok(ms) if (0.0..=1e6).contains(&ms) => Ok(Duration::from_secs_f64(ms * 1e-3)),
        _ => Err(MetalError::InvalidSetting {
            variable: SLICE_VARIABLE,
            value,
            expected: "a number of milliseconds, or 0 for submissions of any length",
        }),
    }
}

/// Operations in words: repetitions counted, the last ones of many.
pub(crate) fn in_words(operations: impl Iterator<Item = &'static str>) -> String {
    const SHOWN: usize = 8;
    let mut runs: Vec<(&str, usize)> = Vec::new();
    for name in operations {
        match runs.last_mut() {
            Some((last, times)) if *last == name => *times += 1,
            _ => runs.push((name, 1)),
        }
    }
    let skipped = runs.len().saturating_sub(SHOWN);
    let shown = runs.iter().skip(skipped).map(|(name, times)| match times {
        1 => (*name).to_owned(),
        _ => format!("{name} {times} x"),
    });
    let ellipsis = (skipped > 0).then(|| "...".to_owned());
    ellipsis
        .into_iter()
        .chain(shown)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Shape;

    const MS: f64 = 1e6;
    const NAME: &str = "k";

    fn planner(learns: bool) -> Planner {
        let rate = DeviceRate {
            products_per_second: 1e9,
            bytes_per_second: 1e9,
        };
        Planner::new(rate, learns, DEFAULT_LONGEST)
    }

    fn shape(groups: u32) -> Shape {
        Shape {
            threads: [groups, 1, 1],
            threads_per_group: [1; 3],
            groups: [groups, 1, 1],
            by_threads: false,
            any_size: false,
        }
    }

    fn key() -> KernelKey {
        static SPEC: crate::kernel::KernelSpec = crate::kernel::KernelSpec {
            name: NAME,
            ptx_entry: "",
            unit: "u",
            library: "l",
            args: &[],
            kind: crate::kernel::KernelKind::Flat,
            max_threads: 1,
            static_threadgroup_bytes: 0,
            any_threadgroup_size: true,
            cpu: &[],
            fiber: None,
            ptx_params: &[],
            slices: true,
            clauses: None,
            safe: false,
        };
        KernelKey::of(&SPEC)
    }

    /// Milliseconds of each slice of a dispatch.
    fn slices(planner: &mut Planner, groups: u32, each: f64, can_cut: bool) -> Vec<f64> {
        let mut cutter = Cutter::new(&shape(groups));
        let mut all = Vec::new();
        while let Some(step) = planner.next(&mut cutter, key(), NAME, each, can_cut) {
            all.push(step.work.modelled / MS);
        }
        all
    }

    #[test]
    fn long_dispatches_are_cut_evenly() {
        let mut planner = planner(false);
        let all = slices(&mut planner, 1000, 0.12 * MS, true);
        assert_eq!(all.len(), 3);
        assert!(all.iter().all(|ms| (39.0..=50.0).contains(ms)), "{all:?}");
        assert!((all.iter().sum::<f64>() - 120.0).abs() < 1e-6);
        // A threadgroup is the least, and kernels that take no base are not cut.
        assert_eq!(slices(&mut planner, 3, 70.0 * MS, true).len(), 3);
        assert_eq!(slices(&mut planner, 1000, MS, false), [1000.0]);
        planner.submitted();
        let stats = planner.stats();
        assert_eq!((stats.dispatches_cut, stats.slices), (2, 6));
        assert_eq!(stats.longest_ns, 1_000_000_000);
        assert_eq!(stats.longest_held, NAME);
    }

    #[test]
    fn kernels_that_were_not_measured_begin_with_small_slices() {
        let mut planner = planner(true);
        let mut cutter = Cutter::new(&shape(1000));
        let first = planner
            .next(&mut cutter, key(), NAME, MS, true)
            .expect("a slice");
        assert!(first.work.modelled <= 12.5 * MS);
        // It was ten times slower than modelled.
        let taken = (first.work.modelled * 10.0) as u64;
        planner.rates_mut().learn(&[first.work], taken);
        let second = planner
            .next(&mut cutter, key(), NAME, MS, true)
            .expect("a slice");
        assert!((4.0..=5.0).contains(&(second.work.modelled / MS)));
    }

    #[test]
    fn submissions_hold_no_more_than_the_longest() {
        let mut planner = planner(false);
        assert_eq!(planner.admit("a", 30.0 * MS), (false, false));
        assert_eq!(planner.admit("b", 30.0 * MS), (true, false));
        assert_eq!(planner.admit("c", 20.0 * MS), (false, true));
        assert_eq!(planner.stats().submissions, 2);
        for n in 1..=2 * OPERATIONS {
            let (before, after) = planner.admit("d", 10.0);
            assert_eq!((before, after), (false, n % OPERATIONS == 0));
        }
        assert_eq!(planner.stats().submissions, 4);
        assert_eq!(planner.stats().longest_held, "b, c");
        assert_eq!(planner.bytes_at_a_time(2), 23 << 20);
    }

    #[test]
    fn what_a_submission_held() {
        let held = |names: &[&'static str]| in_words(names.iter().copied());
        assert_eq!(held(&["a", "a", "b", "a"]), "a 2 x, b, a");
        let many: Vec<&str> = (0..20).map(|i| ["x", "y"][i % 2]).collect();
        assert_eq!(held(&many), "..., x, y, x, y, x, y, x, y");
    }
}
