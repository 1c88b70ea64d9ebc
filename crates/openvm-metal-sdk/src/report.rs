//! Where the time and the memory of a proof went.

use std::time::Duration;

use openvm_stark_backend::{codec::Encode, proof::Proof};
use serde::Serialize;

use crate::prelude::SC;

/// What proving a program took. Times of stages that run beside each other overlap: they add up to more than
/// `total`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Number of instructions executed.
    pub instructions: u64,
    /// Number of segments, those resumed included.
    pub segments: usize,
    /// Number of segments whose proofs were found in the resume folder.
    pub resumed: usize,
    /// Metered execution.
    pub execution: Duration,
    /// Taking over the memory image that a segment starts with.
    pub memory_image: Duration,
    /// Executing segments again without records, by machines that other segments were given to.
    pub skipped: Duration,
    /// Executing segments again, with records.
    pub preflight: Duration,
    /// Making traces, without uploading them.
    pub traces: Duration,
    /// Bringing traces to the device.
    pub upload: Duration,
    /// Bytes of traces brought to the device.
    pub uploaded: u64,
    /// Proofs of segments.
    pub prove: Duration,
    /// Aggregation: its traces and its proofs.
    pub aggregate: Duration,
    /// Verifying the aggregated proof.
    pub verify: Duration,
    /// From the start to the end.
    pub total: Duration,
    /// The devices that were opened, each by its kind and name, if the engine names them; separated by commas.
    pub device: Option<String>,
    /// What each device did, in the order in which they were named.
    pub devices: Vec<DeviceReport>,
    /// Most bytes of device memory that were live at once in this process, if the engine counts them.
    pub device_memory_peak: Option<u64>,
    /// Most bytes of records and traces of segments that the host held at once, as they are estimated from the heights and
    /// widths of traces.
    pub host_traces_peak: u64,
    /// Bytes of all segment proofs.
    pub app_proof_bytes: u64,
    /// Bytes of the aggregated proof.
    pub proof_bytes: u64,
    /// Bits of security of the weakest circuit of the proof: the application's, and for an aggregated
    /// proof those above it. Below [`MIN_SECURITY_BITS`](crate::MIN_SECURITY_BITS) such proofs can be
    /// forged.
    pub security_bits: f64,
}

/// What one device did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DeviceReport {
    /// As messages name it: `cuda:1`, or `cpu #2` for the second of two.
    pub name: String,
    /// Number of segments that it proved.
    pub segments: usize,
    /// Number of aggregation nodes that it proved.
    pub nodes: usize,
    /// Number of proofs that it made and OpenVM's verifier did not accept.
    pub refused: usize,
    /// Time in which it made proofs of this job. What passes while several are made is divided among them.
    pub busy: Duration,
    /// The rest of the job's time as a share of it, from 0 to 1.
    pub idle: f64,
}

impl DeviceReport {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Counts a proof.
    pub(crate) fn count(&mut self, is_node: bool, time: Duration) {
        match is_node {
            true => self.nodes += 1,
            false => self.segments += 1,
        }
        self.busy += time;
    }

    /// A proof that was counted is not accepted.
    pub(crate) fn refuse(&mut self, is_node: bool) {
        let counted = match is_node {
            true => &mut self.nodes,
            false => &mut self.segments,
        };
        *counted = counted.saturating_sub(1);
        self.refused += 1;
    }

    /// The job took `total`.
    pub(crate) fn end(&mut self, total: Duration) {
        let busy = self.busy.as_secs_f64() / total.as_secs_f64().max(1e-9);
        self.idle = (1.0 - busy).clamp(0.0, 1.0);
    }
}

impl Report {
    /// Adds what another thread spent.
    pub(crate) fn add(&mut self, other: &Self) {
        self.resumed += other.resumed;
        self.memory_image += other.memory_image;
        self.skipped += other.skipped;
        self.preflight += other.preflight;
        self.traces += other.traces;
        self.upload += other.upload;
        self.uploaded += other.uploaded;
        self.prove += other.prove;
        self.app_proof_bytes += other.app_proof_bytes;
    }

    /// Counts the proof of a segment.
    pub(crate) fn count(&mut self, proof: &Proof<SC>) {
        self.app_proof_bytes += proof.encode_to_vec().map_or(0, |bytes| bytes.len() as u64);
    }
}
