//! `JobFolder`: finished tasks of one plan in files.

use std::path::{Path, PathBuf};

use super::{Plan, Task, TaskVerifier};
use crate::{
    aggregation::{node_file, NodeFile},
    app::{segment_file, Id, Kept, ResumeFolder},
    engine::SdkEngine,
    error::SdkError,
};

/// The file of what the guest revealed.
const END_FILE: &str = "public-values.proof";

/// A folder of one job, with the files of [`ProveOptions::with_resume`](crate::ProveOptions::with_resume), so that one process goes on
/// where many were, and the other way round. A file is written under another name and renamed; it begins with the identity of what it
/// holds and the SHA-256 of the rest. What is loaded is as it was stored; whether it proves its task is asked of a [`TaskVerifier`]. A
/// file that does not is [set aside](Self::set_aside), and its task is done again.
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
        self.found(&name, self.0.load_part(&name, &id)?)
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
        let file = NodeFile::of_encoded(verifier.node_vk(place.0), place, below);
        self.found(&file.name, file.find(&self.0)?)
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

    /// Renames the file of a task that is damaged or holds no proof of it, and gives its new path: the task counts as not done, and the
    /// file is never read again. The reason is told if it cannot be renamed.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if it cannot be renamed; [`SdkError::Plan`] if the plan has no such task.
    pub fn set_aside(&self, plan: &Plan, task: Task, reason: &str) -> Result<PathBuf, SdkError> {
        let name = match task {
            Task::Node { level, index } => {
                plan.below(level, index)?;
                node_file(level, index)
            }
            task => part(plan, task)?.0,
        };
        self.0.set_aside(&name, &format!("is refused ({reason})"))
    }

    fn found(&self, name: &str, kept: Kept<Vec<u8>>) -> Result<Option<Vec<u8>>, SdkError> {
        match kept {
            Kept::None => Ok(None),
            Kept::Part(bytes) => Ok(Some(bytes)),
            Kept::Bad(reason) => self.0.bad(format!(
                "{} {reason}: set it aside or delete it, and its task is done again",
                self.0.part_path(name).display()
            )),
        }
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
