//! `JobFolder`: finished tasks of one plan in files.

use std::path::Path;

use super::{Plan, Task};
use crate::{app::ResumeFolder, error::SdkError};

/// A folder of one job. Segments have the same files as in a folder of
/// [`ProveOptions::with_resume`](crate::ProveOptions::with_resume), so that one process goes on where many were, and the other way
/// round. A file is written under another name and renamed; it begins with the task's identity and the SHA-256 of the rest.
pub struct JobFolder(ResumeFolder);

impl JobFolder {
    /// Opens the folder of a plan's job, or makes it.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if it is of another job, or cannot be used.
    pub fn open(path: &Path, plan: &Plan) -> Result<Self, SdkError> {
        ResumeFolder::of_job(path, plan.job().0, plan.segment_max_memory()).map(Self)
    }

    /// The bytes of a finished task's proof.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if its file is damaged or of another task.
    pub fn load(&self, plan: &Plan, task: Task) -> Result<Option<Vec<u8>>, SdkError> {
        self.0.load_part(&Plan::file(task), &plan.id(task)?.0)
    }

    /// Stores the proof of a finished task.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file cannot be written.
    pub fn store(&self, plan: &Plan, task: Task, proof: &[u8]) -> Result<(), SdkError> {
        self.0
            .store_part(&Plan::file(task), &plan.id(task)?.0, proof)
    }
}
