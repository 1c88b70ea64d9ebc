//! Requests to the device, per stage: the performance contract, which depends on the device's profile alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::device_kind::DeviceKind;

/// Work of one kind that the host did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostWork {
    /// Number of times.
    pub times: u64,
    /// Elements worked on, all times together.
    pub elements: u64,
    /// Most elements at one time: what a size gate bounds.
    pub largest: u64,
}

impl HostWork {
    pub(crate) fn count(&mut self, elements: u64) {
        self.add(&Self {
            times: 1,
            elements,
            largest: elements,
        });
    }

    fn add(&mut self, other: &Self) {
        self.times += other.times;
        self.elements += other.elements;
        self.largest = self.largest.max(other.largest);
    }
}

/// Counts of one stage, without those of the stages nested in it.
///
/// All counts but the times, submissions and work of the kernels are the same on every device with the same profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StageCounters {
    /// Names of the nested stages joined by `/`; empty for work outside every stage.
    pub stage: Arc<str>,
    /// Times the stage was entered.
    pub entered: u64,
    /// Kernels encoded.
    pub dispatches: u64,
    /// Field products of the kernels by their cost clauses.
    pub products: u64,
    /// Bytes that the kernels read and wrote by their cost clauses.
    pub kernel_bytes: u64,
    /// Times that encoded work was handed to the device.
    pub submissions: u64,
    /// Times the host waited for the device.
    pub waits: u64,
    /// Bytes copied from host to device.
    pub bytes_h2d: u64,
    /// Bytes read by the host, copied or through a view.
    pub bytes_d2h: u64,
    /// Bytes copied within the device.
    pub bytes_d2d: u64,
    /// Bytes filled.
    pub bytes_filled: u64,
    /// Most bytes live in the context while the stage was open, nested stages included.
    pub peak_bytes: u64,
    /// Work that the host did by decision, below a size gate: a round trip would cost more than the work.
    pub host_work: BTreeMap<&'static str, HostWork>,
    /// Work that the host did because the device could not: empty unless something failed.
    pub host_fallbacks: BTreeMap<&'static str, HostWork>,
    /// Time between entering and leaving, nested stages included, in nanoseconds.
    pub wall_ns: u64,
    /// Time that the host spent waiting, in nanoseconds.
    pub wait_ns: u64,
    /// Time that the device worked, in nanoseconds: always known on the CPU, else while profiling.
    pub device_ns: Option<u64>,
}

impl StageCounters {
    pub(crate) fn new(stage: Arc<str>) -> Self {
        Self {
            stage,
            ..Self::default()
        }
    }

    fn add(&mut self, other: &Self) {
        self.entered += other.entered;
        self.dispatches += other.dispatches;
        self.products = self.products.saturating_add(other.products);
        self.kernel_bytes = self.kernel_bytes.saturating_add(other.kernel_bytes);
        self.submissions += other.submissions;
        self.waits += other.waits;
        self.bytes_h2d += other.bytes_h2d;
        self.bytes_d2h += other.bytes_d2h;
        self.bytes_d2d += other.bytes_d2d;
        self.bytes_filled += other.bytes_filled;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        for (sums, works) in [
            (&mut self.host_work, &other.host_work),
            (&mut self.host_fallbacks, &other.host_fallbacks),
        ] {
            for (what, work) in works {
                sums.entry(what).or_default().add(work);
            }
        }
        self.wait_ns += other.wait_ns;
        if let Some(ns) = other.device_ns {
            *self.device_ns.get_or_insert(0) += ns;
        }
    }
}

/// Counts of a stream by stage.
#[derive(Clone, Debug, Serialize)]
pub struct StreamCounters {
    pub device: DeviceKind,
    /// In the order in which the stages were first entered.
    pub stages: Vec<StageCounters>,
}

impl StreamCounters {
    /// The counts of a stage, without nested ones.
    pub fn stage(&self, path: &str) -> Option<&StageCounters> {
        self.stages.iter().find(|s| &*s.stage == path)
    }

    /// The counts of a stage and of all nested in it; `wall_ns` is that of the stage itself.
    /// `inclusive("")` is the total.
    pub fn inclusive(&self, path: &str) -> StageCounters {
        let mut sum = StageCounters::new(path.into());
        for s in &self.stages {
            let rest = s.stage.strip_prefix(path);
            if path.is_empty() || rest.is_some_and(|r| r.is_empty() || r.starts_with('/')) {
                sum.add(s);
            }
            if *s.stage == *path || (path.is_empty() && !s.stage.contains('/')) {
                sum.wall_ns += s.wall_ns;
            }
        }
        sum
    }

    /// All stages together.
    pub fn total(&self) -> StageCounters {
        self.inclusive("")
    }

    /// Formats the counters as one JSON object.
    pub fn to_json(&self) -> String {
        // Strings and integers only: this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}
