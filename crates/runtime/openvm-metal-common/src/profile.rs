//! Device time per stage and operation, measured on request.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde::Serialize;

use crate::device::DeviceInfo;
use crate::driver::Tag;
use crate::error::{MetalError, Result};
use crate::lock;

/// Set to `1` to measure from the start of every context.
pub const PROFILE_VARIABLE: &str = "OPENVM_METAL_PROFILE";

/// Device time of one kernel (or `copy d2d`, `fill`, ...) in one stage.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileRow {
    pub stage: Arc<str>,
    pub name: &'static str,
    /// Operations whose time is known.
    pub calls: u64,
    /// Threads of all calls (bytes, for copies and fills).
    pub threads: u64,
    /// Bytes of all buffers bound to the calls: a floor for traffic only if each is used once, whole.
    pub bound_bytes: u64,
    pub total_ns: u64,
    /// Shortest and longest time that the device worked without a break: a call, or a slice of one.
    pub min_ns: u64,
    pub max_ns: u64,
}

/// Bit of the tags of slices after the first of a call.
const CONTINUES: Tag = 1 << 31;

/// All measurements of a context, longest total first.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileTable {
    pub device: String,
    pub rows: Vec<ProfileRow>,
}

impl ProfileTable {
    /// Device time of everything in nanoseconds.
    pub fn total_ns(&self) -> u64 {
        self.rows.iter().map(|r| r.total_ns).sum()
    }

    /// One row per kernel, all stages together.
    pub fn by_kernel(&self) -> Self {
        let mut rows: Vec<ProfileRow> = Vec::new();
        for row in &self.rows {
            match rows.iter_mut().find(|r| r.name == row.name) {
                Some(sum) => {
                    sum.calls += row.calls;
                    sum.threads += row.threads;
                    sum.bound_bytes += row.bound_bytes;
                    sum.total_ns += row.total_ns;
                    sum.min_ns = sum.min_ns.min(row.min_ns);
                    sum.max_ns = sum.max_ns.max(row.max_ns);
                }
                None => rows.push(ProfileRow {
                    stage: "".into(),
                    ..row.clone()
                }),
            }
        }
        rows.sort_by_key(|r| std::cmp::Reverse(r.total_ns));
        Self {
            device: self.device.clone(),
            rows,
        }
    }

    /// Formats the table as one JSON object.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl fmt::Display for ProfileTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total_ns();
        writeln!(
            f,
            "device time on {}: {:.3} ms",
            self.device,
            total as f64 * 1e-6
        )?;
        writeln!(
            f,
            "{:>10} {:>6} {:>8} {:>10} {:>10} {:>12} {:>9} {:>9}  name",
            "total ms", "%", "calls", "mean us", "max us", "threads", "ns/thread", "GB/s"
        )?;
        for row in &self.rows {
            let time = row.total_ns as f64;
            writeln!(
                f,
                "{:>10.3} {:>6.1} {:>8} {:>10.1} {:>10.1} {:>12} {:>9.3} {:>9.1}  {}{}{}",
                time * 1e-6,
                100.0 * time / total.max(1) as f64,
                row.calls,
                time * 1e-3 / row.calls.max(1) as f64,
                row.max_ns as f64 * 1e-3,
                row.threads,
                time / row.threads.max(1) as f64,
                row.bound_bytes as f64 / time.max(1.0),
                row.name,
                if row.name.is_empty() || row.stage.is_empty() {
                    ""
                } else {
                    " in "
                },
                row.stage,
            )?;
        }
        Ok(())
    }
}

/// Collection of measurements.
pub(crate) struct Profile {
    enabled: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rows: Vec<ProfileRow>,
    index: HashMap<(Arc<str>, &'static str), usize>,
    /// Bumped by `reset`, so that times of earlier operations are dropped.
    first_tag: Tag,
}

impl Profile {
    pub fn from_env() -> Result<Self> {
        let enabled = match std::env::var(PROFILE_VARIABLE).as_deref() {
            Err(_) | Ok("" | "0") => false,
            Ok("1") => true,
            Ok(value) => {
                return Err(MetalError::InvalidSetting {
                    variable: PROFILE_VARIABLE,
                    value: value.to_owned(),
                    expected: "0 or 1",
                })
            }
        };
        Ok(Self {
            enabled: enabled.into(),
            state: Mutex::default(),
        })
    }

    pub fn enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    pub fn set_enabled(&self, on: bool) {
        self.enabled.store(on, Ordering::Relaxed);
    }

    /// The tag to time an operation with: 0 if profiling is off.
    /// `continues`: a slice of a call whose first slice has a tag already.
    pub fn tag(
        &self,
        stage: &Arc<str>,
        name: &'static str,
        [threads, bound_bytes]: [u64; 2],
        continues: bool,
    ) -> Tag {
        if !self.enabled() {
            return 0;
        }
        let mut state = lock(&self.state);
        let State {
            rows,
            index,
            first_tag,
        } = &mut *state;
        let slot = *index.entry((stage.clone(), name)).or_insert_with(|| {
            rows.push(ProfileRow {
                stage: stage.clone(),
                name,
                calls: 0,
                threads: 0,
                bound_bytes: 0,
                total_ns: 0,
                min_ns: u64::MAX,
                max_ns: 0,
            });
            rows.len() - 1
        });
        rows[slot].threads += threads;
        rows[slot].bound_bytes += bound_bytes;
        (*first_tag + slot as Tag + 1) | if continues { CONTINUES } else { 0 }
    }

    pub fn collect(&self, timings: Vec<(Tag, u64)>) {
        if timings.is_empty() {
            return;
        }
        let mut state = lock(&self.state);
        let first = state.first_tag;
        for (tag, ns) in timings {
            let slot = (tag & !CONTINUES).checked_sub(first + 1);
            if let Some(row) = slot.and_then(|slot| state.rows.get_mut(slot as usize)) {
                row.calls += u64::from(tag & CONTINUES == 0);
                row.total_ns += ns;
                row.min_ns = row.min_ns.min(ns);
                row.max_ns = row.max_ns.max(ns);
            }
        }
    }

    pub fn reset(&self) {
        let mut state = lock(&self.state);
        let used = state.rows.len() as Tag;
        *state = State {
            first_tag: state.first_tag + used,
            ..State::default()
        };
    }

    /// Device time of a stage so far.
    pub fn stage_ns(&self, stage: &str) -> Option<u64> {
        let state = lock(&self.state);
        let mut rows = state.rows.iter().filter(|r| &*r.stage == stage).peekable();
        rows.peek()?;
        Some(rows.map(|r| r.total_ns).sum())
    }

    pub fn table(&self, device: &DeviceInfo) -> ProfileTable {
        let mut rows = lock(&self.state).rows.clone();
        rows.retain(|r| r.calls > 0);
        rows.sort_by_key(|r| std::cmp::Reverse(r.total_ns));
        ProfileTable {
            device: device.name.clone(),
            rows,
        }
    }
}
