//! `Plan`: the tasks of one proof.

use std::{fmt, ops::Range, str::FromStr, sync::Arc};

use openvm_circuit::arch::{execution_mode::Segment, instructions::exe::VmExe};
use openvm_sdk::{config::AggregationTreeConfig, StdIn};
use serde::{de::Error as _, Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::{
    aggregation::{layer_name, Shape},
    app::{hex, job_id, segment_id},
    error::SdkError,
    executable::ProgramSource,
    options::ProveOptions,
    prelude::F,
    sdk::MetalSdk,
};

/// The version of the JSON.
const FORMAT: u32 = 1;

/// One thing to prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Task {
    /// A segment, from 0 on.
    Segment(usize),
    /// The guest's public values, with their path in the memory at the end of the execution.
    End,
    /// A node of the aggregation: leaves are level 1.
    Node { level: usize, index: usize },
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segment(index) => write!(f, "segment {index}"),
            Self::End => f.write_str("the public values"),
            Self::Node { level, index } => {
                write!(f, "node {index} of layer {}", layer_name(*level))
            }
        }
    }
}

/// SHA-256 of everything that determines a job, or the proof of a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskId(pub [u8; 32]);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for TaskId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is not 64 hexadecimal digits");
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let mut id = [0; 32];
        for (index, byte) in id.iter_mut().enumerate() {
            let digits = &text[2 * index..2 * index + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| bad())?;
        }
        Ok(Self(id))
    }
}

impl Serialize for TaskId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// Segments of an execution, and the proofs to make. A process that has program, keys and input can do any task of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    format: u32,
    job: TaskId,
    segments: Vec<Segment>,
    public_values: Vec<u8>,
    leaf_children: usize,
    internal_children: usize,
    segment_max_memory: usize,
}

impl MetalSdk {
    /// Segments are cut so that the proof of one is estimated to need at most this many bytes: what was set, or what the
    /// device has room for. A worker proves segments of any plan; those of a larger one may not fit its device.
    ///
    /// # Errors
    /// If the keys cannot be made or the device cannot be used.
    pub fn segment_max_memory(&self) -> Result<usize, SdkError> {
        Ok(self.app_keys()?[0]
            .config
            .system
            .config
            .segmentation_max_memory)
    }

    /// Runs a program and plans the proof of its execution.
    ///
    /// # Errors
    /// What goes wrong in the guest, or the bound on instructions.
    pub fn plan(
        &self,
        source: impl Into<ProgramSource>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<Plan, SdkError> {
        self.plan_of(self.executable(source)?, input, options)
    }

    fn plan_of(
        &self,
        exe: Arc<VmExe<F>>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<Plan, SdkError> {
        self.check_tasks()?;
        let prover = self.app_prover_of(exe)?;
        let key = &prover.keys()[0];
        let segment_max_memory = key.config.system.config.segmentation_max_memory;
        let job = job_id(key, prover.exe(), &input, segment_max_memory);
        let run = prover.execute_metered(input, options)?;
        let tree = self.tree();
        Ok(Plan {
            format: FORMAT,
            job: TaskId(job),
            segments: run.segments,
            public_values: run.public_values,
            leaf_children: tree.num_children_leaf,
            internal_children: tree.num_children_internal,
            segment_max_memory,
        })
    }
}

impl Plan {
    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// [`SdkError::Plan`].
    pub fn from_json(text: &str) -> Result<Self, SdkError> {
        let plan: Self =
            serde_json::from_str(text).map_err(|error| SdkError::Plan(error.to_string()))?;
        let bad = |reason: String| Err(SdkError::Plan(reason));
        if plan.format != FORMAT {
            return bad(format!(
                "it has format {}, this version reads {FORMAT}",
                plan.format
            ));
        }
        if plan.segments.is_empty() {
            return bad("it has no segments".into());
        }
        if plan.leaf_children == 0 || plan.internal_children < 2 {
            return bad(format!(
                "a leaf of {} and an internal node of {} proofs",
                plan.leaf_children, plan.internal_children
            ));
        }
        let mut start = 0;
        for (index, segment) in plan.segments.iter().enumerate() {
            if segment.instret_start != start || segment.num_insns == 0 {
                return bad(format!(
                    "segment {index} does not begin where the one before ends"
                ));
            }
            let Some(end) = start.checked_add(segment.num_insns) else {
                return bad(format!("segment {index} ends after 2^64 instructions"));
            };
            start = end;
        }
        Ok(plan)
    }

    /// The plan as JSON.
    ///
    /// # Panics
    /// Never: numbers, strings and lists are JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, strings and lists are JSON")
    }

    /// Identifies program, verifying key, input and the rule by which segments are cut.
    pub fn job(&self) -> TaskId {
        self.job
    }

    /// The segments, with upper bounds of their traces' heights.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Bytes that the guest reveals.
    pub fn public_values(&self) -> &[u8] {
        &self.public_values
    }

    /// Instructions of all segments.
    pub fn instructions(&self) -> u64 {
        self.segments.iter().map(|s| s.num_insns).sum()
    }

    /// Segments were cut so that the proof of one is estimated to need at most this many bytes.
    pub fn segment_max_memory(&self) -> usize {
        self.segment_max_memory
    }

    /// Number of proofs that a node verifies: a leaf, and an internal node.
    pub fn children(&self) -> (usize, usize) {
        (self.leaf_children, self.internal_children)
    }

    /// Number of proofs of each level, from the segments (level 0) to the one that ends the aggregation.
    pub fn levels(&self) -> Vec<usize> {
        self.shape().levels(self.segments.len())
    }

    /// The proofs of level `level - 1` that node `index` of a level verifies.
    ///
    /// # Errors
    /// [`SdkError::Plan`] if there is no such node.
    pub fn below(&self, level: usize, index: usize) -> Result<Range<usize>, SdkError> {
        let levels = self.levels();
        match levels.get(level) {
            Some(&nodes) if level > 0 && index < nodes => {
                Ok(self.shape().below(level, index, levels[level - 1]))
            }
            _ => Err(SdkError::Plan(format!(
                "it has no {}; its levels have {levels:?} proofs",
                Task::Node { level, index }
            ))),
        }
    }

    /// Segment `index`.
    ///
    /// # Errors
    /// [`SdkError::Plan`] if there is no such segment.
    pub fn segment(&self, index: usize) -> Result<&Segment, SdkError> {
        self.segments.get(index).ok_or_else(|| {
            SdkError::Plan(format!(
                "it has no segment {index}, only {}",
                self.segments.len()
            ))
        })
    }

    /// Identity of a segment or the end of the execution. A node is identified by the key that verifies it and the proofs below
    /// it: [`JobFolder`](super::JobFolder) finds it by these.
    ///
    /// # Errors
    /// [`SdkError::Plan`] if there is no such segment, or it is a node.
    pub fn id(&self, task: Task) -> Result<TaskId, SdkError> {
        match task {
            Task::Segment(index) => {
                let segment = self.segment(index)?;
                Ok(TaskId(segment_id(&self.job.0, index, segment)))
            }
            Task::End => {
                let mut hash = Sha256::new_with_prefix(self.job.0);
                for (index, segment) in self.segments.iter().enumerate() {
                    hash.update(segment_id(&self.job.0, index, segment));
                }
                hash.update("end");
                Ok(TaskId(hash.finalize().into()))
            }
            Task::Node { .. } => Err(SdkError::Plan(format!(
                "{task} is identified by the proofs below it"
            ))),
        }
    }

    fn shape(&self) -> Shape {
        Shape::new(&AggregationTreeConfig {
            num_children_leaf: self.leaf_children,
            num_children_internal: self.internal_children,
        })
    }
}
