//! Time and memory of a proof.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use openvm_stark_backend::{codec::Encode, proof::Proof};
use serde::{Serialize, Serializer};

use crate::prelude::SC;

/// Times and sizes of a proof. [`keys`](Self::keys), [`program`](Self::program), [`app`](Self::app), [`tree`](Self::tree) and
/// [`verify`](Self::verify) follow one another and add up to [`total`](Self::total). The other times are work in them, of all threads:
/// they overlap, and add up to more. JSON has seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Number of instructions executed.
    pub instructions: u64,
    /// Number of segments, those resumed included.
    pub segments: usize,
    /// Cells of the main traces of all segments, padded, as metering bounds them.
    pub cells: u64,
    /// Number of segments whose proofs were found in the resume folder.
    pub resumed: usize,
    /// Making keys and bringing them to the devices, as far as they were not there, before the execution starts. On a GPU whose
    /// memory holds two segments, aggregation keys are made during the execution.
    #[serde(serialize_with = "seconds")]
    pub keys: Duration,
    /// Committing the program, if it was not. In JSON `program_commitment`, for the command's `program` is a name.
    #[serde(rename = "program_commitment", serialize_with = "seconds")]
    pub program: Duration,
    /// Time from the execution's start to the proof of the last segment. Nodes are proved beside it.
    #[serde(serialize_with = "seconds")]
    pub app: Duration,
    /// Time from the proof of the last segment to that of the last node.
    #[serde(serialize_with = "seconds")]
    pub tree: Duration,
    /// Metered execution.
    #[serde(serialize_with = "seconds")]
    pub execution: Duration,
    /// Taking over the memory image that a segment starts with.
    #[serde(serialize_with = "seconds")]
    pub memory_image: Duration,
    /// Executing the program again without records, up to the snapshots that segments start from.
    #[serde(serialize_with = "seconds")]
    pub skipped: Duration,
    /// Executing segments again, with records.
    #[serde(serialize_with = "seconds")]
    pub preflight: Duration,
    /// Making traces, without uploading them.
    #[serde(serialize_with = "seconds")]
    pub traces: Duration,
    /// Bringing traces to the device.
    #[serde(serialize_with = "seconds")]
    pub upload: Duration,
    /// Bytes of traces brought to the device.
    pub uploaded: u64,
    /// Rows that the host made although the device makes traces, by the name of the AIR, with padding. Empty if the host makes all traces.
    pub rows_on_host: BTreeMap<String, u64>,
    /// Proofs of segments.
    #[serde(serialize_with = "seconds")]
    pub prove: Duration,
    /// Nodes of the aggregation: their traces and their proofs.
    #[serde(serialize_with = "seconds")]
    pub aggregate: Duration,
    /// Verifying the aggregated proof.
    #[serde(serialize_with = "seconds")]
    pub verify: Duration,
    /// From the start to the end.
    #[serde(serialize_with = "seconds")]
    pub total: Duration,
    /// The devices that were opened, each by its kind and name, if the engine names them; separated by commas.
    pub device: Option<String>,
    /// Reports of the devices, in the order in which they were named.
    pub devices: Vec<DeviceReport>,
    /// Most bytes of device memory that were live at once in this process, if the engine counts them.
    pub device_memory_peak: Option<u64>,
    /// Most bytes of records and traces of segments that the host held at once, as they are estimated from the heights and
    /// widths of traces.
    pub host_traces_peak: u64,
    /// Bytes of all segment proofs.
    pub app_proof_bytes: u64,
    /// Bytes of the aggregated proof as OpenVM encodes it. The file of an aggregated proof has them in hexadecimal.
    pub proof_bytes: u64,
    /// Bits of security of the weakest circuit of the proof: the application's, and for an aggregated
    /// proof those above it. Below [`MIN_SECURITY_BITS`](crate::MIN_SECURITY_BITS) such proofs can be
    /// forged.
    pub security_bits: f64,
}

/// A time in JSON.
pub(crate) fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

/// Divides the time of a job into stages that follow one another.
pub(crate) struct Laps {
    last: Instant,
}

impl Laps {
    /// The first stage began then.
    pub fn since(start: Instant) -> Self {
        Self { last: start }
    }

    /// The time of the stage that ends now.
    pub fn end(&mut self) -> Duration {
        let now = Instant::now();
        let time = now.duration_since(self.last);
        self.last = now;
        time
    }
}

/// Report of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DeviceReport {
    /// Name in messages: `cuda:1`, or `cpu #2` for the second of two.
    pub name: String,
    /// Number of segments that it proved.
    pub segments: usize,
    /// Number of aggregation nodes that it proved.
    pub nodes: usize,
    /// Number of proofs that it made and OpenVM's verifier did not accept.
    pub refused: usize,
    /// Time in which it made proofs of this job. What passes while several are made is divided among them.
    #[serde(serialize_with = "seconds")]
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
    /// Adds the work of another thread. Facts of a whole job are not added: who makes a report of a job sets them.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            resumed,
            memory_image,
            skipped,
            preflight,
            traces,
            upload,
            uploaded,
            rows_on_host,
            prove,
            app_proof_bytes,
            // Facts of a whole job.
            instructions: _,
            segments: _,
            cells: _,
            keys: _,
            program: _,
            app: _,
            tree: _,
            execution: _,
            aggregate: _,
            verify: _,
            total: _,
            device: _,
            devices: _,
            device_memory_peak: _,
            host_traces_peak: _,
            proof_bytes: _,
            security_bits: _,
        } = other;
        self.resumed += resumed;
        self.memory_image += *memory_image;
        self.skipped += *skipped;
        self.preflight += *preflight;
        self.traces += *traces;
        self.upload += *upload;
        self.uploaded += uploaded;
        for (air, rows) in rows_on_host {
            *self.rows_on_host.entry(air.clone()).or_default() += rows;
        }
        self.prove += *prove;
        self.app_proof_bytes += app_proof_bytes;
    }

    /// Counts the proof of a segment.
    pub(crate) fn count(&mut self, proof: &Proof<SC>) {
        self.app_proof_bytes += proof.encode_to_vec().map_or(0, |bytes| bytes.len() as u64);
    }
}
