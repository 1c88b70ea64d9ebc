//! `JobFolder`: finished tasks of one plan in files.

use std::path::Path;

use super::{Plan, Task, TaskVerifier};
use crate::{
    aggregation::NodeFile,
    app::{segment_file, Id, ResumeFolder},
    engine::SdkEngine,
    error::SdkError,
};

/// The file of what the guest revealed.
const END_FILE: &str = "public-values.proof";

/// A folder of one job, with the files of [`ProveOptions::with_resume`](crate::ProveOptions::with_resume), so that one process goes on
/// where many were, and the other way round. A file is written under another name and renamed; it begins with the identity of what it
/// holds and the SHA-256 of the rest.
pub struct JobFolder(ResumeFolder);

impl JobFolder {
    /// Opens the folder of a plan's job, or makes it.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if it is of another job, or cannot be used.
    pub fn open(path: &Path, plan: &Plan) -> Result<Self, SdkError> {
        ResumeFolder::of_job(path, plan.job().0, plan.segment_max_memory()).map(Self)
    }

    /// The bytes of a finished segment's proof, or of the public values.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file is damaged or of another task, [`SdkError::Plan`] for a node: see
    /// [`load_node`](Self::load_node).
    pub fn load(&self, plan: &Plan, task: Task) -> Result<Option<Vec<u8>>, SdkError> {
        let (name, id) = part(plan, task)?;
        self.0.load_part(&name, &id)
    }

    /// Stores the proof of a finished segment, or the public values.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file cannot be written, [`SdkError::Plan`] for a node: see [`store_node`](Self::store_node).
    pub fn store(&self, plan: &Plan, task: Task, proof: &[u8]) -> Result<(), SdkError> {
        let (name, id) = part(plan, task)?;
        self.0.store_part(&name, &id, proof)
    }

    /// The bytes of the proof of node `(level, index)` over the encoded proofs `below`, which are in order. A node over other proofs,
    /// or with other aggregation keys, counts as none and is replaced when the node is stored.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if its file is damaged.
    pub fn load_node<E: SdkEngine>(
        &self,
        verifier: &TaskVerifier<E>,
        place: (usize, usize),
        below: &[impl AsRef<[u8]>],
    ) -> Result<Option<Vec<u8>>, SdkError> {
        NodeFile::of_encoded(verifier.node_vk(place.0), place, below).find(&self.0)
    }

    /// Stores the proof of a node; see [`load_node`](Self::load_node).
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file cannot be written.
    pub fn store_node<E: SdkEngine>(
        &self,
        verifier: &TaskVerifier<E>,
        place: (usize, usize),
        below: &[impl AsRef<[u8]>],
        proof: &[u8],
    ) -> Result<(), SdkError> {
        NodeFile::of_encoded(verifier.node_vk(place.0), place, below).keep(&self.0, proof)
    }
}

/// The file and the identity of a task that is no node.
fn part(plan: &Plan, task: Task) -> Result<(String, Id), SdkError> {
    let name = match task {
        Task::Segment(index) => segment_file(index),
        Task::End => END_FILE.into(),
        Task::Node { .. } => {
            return Err(SdkError::Plan(format!(
                "{task} is found by the proofs below it, not by its place alone"
            )))
        }
    };
    Ok((name, plan.id(task)?.0))
}
