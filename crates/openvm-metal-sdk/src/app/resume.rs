//! `ResumeFolder`: proofs of segments in files, for a job that is interrupted.
//!
//! A job is an executable, an input, a configuration with its parameters, and the rules by which segments are cut.
//! `job.txt` names it and says by how many bytes segments are cut; `segment-N.proof` holds a proof: the segment's
//! identity (32 bytes), the SHA-256 of the encoded proof (32 bytes), the encoded proof. Files are
//! [whole](whole_file), and what killed processes left unfinished is removed after an hour.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use openvm_circuit::arch::execution_mode::Segment;
use openvm_sdk::StdIn;
use openvm_stark_backend::{
    codec::{Decode, Encode},
    p3_field::PrimeField32,
    proof::Proof,
};
use sha2::{Digest as _, Sha256};

use super::{AppKey, CommittedExe};
use crate::{engine::SdkEngine, error::SdkError, prelude::SC, row_order::RowOrder, whole_file};

/// SHA-256 of everything that determines a job, or a part of it.
pub(crate) type Id = [u8; 32];

/// The first line of `job.txt`; behind it stand the job's identity and the bytes by which segments are cut.
const FORMAT: &str = "openvm-metal segment proofs 2";

/// Proofs of the segments of one job.
pub(crate) struct ResumeFolder {
    path: PathBuf,
    job: Id,
}

impl ResumeFolder {
    /// Opens a folder for a job, or makes it.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if it is of another job, or cannot be used.
    pub fn open<E: SdkEngine>(
        path: &Path,
        key: &AppKey<E>,
        exe: &CommittedExe<E>,
        input: &StdIn,
    ) -> Result<Self, SdkError> {
        let memory = key.config.system.config.segmentation_max_memory;
        Self::of_job(path, job_id(key, exe, input, memory), memory)
    }

    /// [`open`](Self::open) for the job of this identity, whose segments are cut so that each is estimated to need at most
    /// `segment_max_memory` bytes.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn of_job(path: &Path, job: Id, segment_max_memory: usize) -> Result<Self, SdkError> {
        let folder = Self {
            path: path.to_owned(),
            job,
        };
        whole_file::remove_abandoned(path);
        let file = path.join("job.txt");
        let name = format!("{FORMAT}\n{}\n{segment_max_memory}\n", hex(&job));
        match fs::read_to_string(&file) {
            Ok(text) if text == name => {}
            Ok(text) => return folder.bad(foreign(&text, segment_max_memory)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(path)
                    .and_then(|()| whole_file::write(&file, name.as_bytes()))
                    .or_else(|error| folder.bad(error.to_string()))?;
            }
            Err(error) => return folder.bad(error.to_string()),
        }
        Ok(folder)
    }

    /// An error of this folder.
    pub fn bad<T>(&self, reason: impl Into<String>) -> Result<T, SdkError> {
        Err(SdkError::Resume {
            path: self.path.clone(),
            reason: reason.into(),
        })
    }

    /// The proof of a segment, if there is one.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if its file is damaged or of another segment.
    pub fn load(&self, index: usize, segment: &Segment) -> Result<Option<Proof<SC>>, SdkError> {
        let (name, id) = (segment_file(index), segment_id(&self.job, index, segment));
        let Some(proof) = self.load_part(&name, &id)? else {
            return Ok(None);
        };
        match Proof::<SC>::decode_from_bytes(&proof) {
            Ok(proof) => Ok(Some(proof)),
            Err(_) => self.bad(format!(
                "{} holds no proof: delete it, and the segment is proved again",
                self.path.join(name).display()
            )),
        }
    }

    /// The part of the job that was stored under a file's name.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file is damaged or of another part.
    pub fn load_part(&self, name: &str, id: &Id) -> Result<Option<Vec<u8>>, SdkError> {
        match self.find_part(name)? {
            Some((found, _)) if found != *id => self.damaged(name, "is of another task"),
            found => Ok(found.map(|(_, proof)| proof)),
        }
    }

    /// What was stored under a file's name, with the identity that it was stored for.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file is damaged.
    pub fn find_part(&self, name: &str) -> Result<Option<(Id, Vec<u8>)>, SdkError> {
        let file = self.path.join(name);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return self.bad(format!("{}: {error}", file.display())),
        };
        let parts = bytes.split_first_chunk::<32>();
        let Some((id, (sum, proof))) =
            parts.and_then(|(id, rest)| Some((id, rest.split_first_chunk::<32>()?)))
        else {
            return self.damaged(name, "is cut off");
        };
        if *sum != Id::from(Sha256::digest(proof)) {
            return self.damaged(name, "is damaged");
        }
        Ok(Some((*id, proof.to_vec())))
    }

    fn damaged<T>(&self, name: &str, what: &str) -> Result<T, SdkError> {
        self.bad(format!(
            "{} {what}: delete it, and it is proved again",
            self.path.join(name).display()
        ))
    }

    /// Stores the proof of a segment.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file cannot be written.
    pub fn store(
        &self,
        index: usize,
        segment: &Segment,
        proof: &Proof<SC>,
    ) -> Result<(), SdkError> {
        let proof = proof.encode_to_vec();
        let proof = proof.or_else(|error| self.bad(error.to_string()))?;
        let id = segment_id(&self.job, index, segment);
        self.store_part(&segment_file(index), &id, &proof)
    }

    /// Stores a part of the job under a file's name.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file cannot be written.
    pub fn store_part(&self, name: &str, id: &Id, proof: &[u8]) -> Result<(), SdkError> {
        let mut bytes = id.to_vec();
        bytes.extend(Sha256::digest(proof));
        bytes.extend(proof);
        let file = self.path.join(name);
        whole_file::write(&file, &bytes)
            .or_else(|error| self.bad(format!("{}: {error}", file.display())))
    }
}

/// Why a folder with this `job.txt` is none of a job whose segments are cut by so many bytes.
fn foreign(text: &str, segment_max_memory: usize) -> String {
    let mut lines = text.lines();
    let (format, cut) = (lines.next(), lines.nth(1));
    match cut.and_then(|bytes| bytes.parse::<usize>().ok()) {
        Some(bytes) if format == Some(FORMAT) && bytes != segment_max_memory => format!(
            "its segments are cut so that one needs {bytes} bytes at most, here by {segment_max_memory}, which follow from the \
             devices' memory unless they are set: set the segments' memory to {bytes} (`--segment-max-memory {bytes}`), or use \
             another folder"
        ),
        _ => "it holds proofs of another program, input or configuration: use another folder".into(),
    }
}

/// The file of a segment's proof.
pub(crate) fn segment_file(index: usize) -> String {
    format!("segment-{index}.proof")
}

/// The identity of a segment of a job.
pub(crate) fn segment_id(job: &Id, index: usize, segment: &Segment) -> Id {
    let mut hash = Sha256::new_with_prefix(job);
    hash.update((index as u64).to_le_bytes());
    hash.update(segment.instret_start.to_le_bytes());
    hash.update(segment.num_insns.to_le_bytes());
    for height in &segment.trace_heights {
        hash.update(height.to_le_bytes());
    }
    hash.finalize().into()
}

/// The identity of a job: executable, verifying key, input, and the memory by which segments are cut.
pub(crate) fn job_id<E: SdkEngine>(
    key: &AppKey<E>,
    exe: &CommittedExe<E>,
    input: &StdIn,
    segment_max_memory: usize,
) -> Id {
    let mut hash = Sha256::new_with_prefix(b"openvm-metal job");
    hash.update(exe.digest);
    for x in key.device_key.vk_pre_hash {
        hash.update(x.as_canonical_u32().to_le_bytes());
    }
    hash.update((input.buffer.len() as u64).to_le_bytes());
    for vector in &input.buffer {
        hash.update((vector.len() as u64).to_le_bytes());
        for x in vector {
            hash.update(x.as_canonical_u32().to_le_bytes());
        }
    }
    hash.update((segment_max_memory as u64).to_le_bytes());
    hash.update([u8::from(key.order == RowOrder::AsMade)]);
    hash.finalize().into()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_other_segments_says_how_they_are_cut() {
        let path = std::env::temp_dir().join(format!("openvm-metal-job-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let reason = |job, bytes| match ResumeFolder::of_job(&path, job, bytes) {
            Err(SdkError::Resume { reason, .. }) => Some(reason),
            Ok(_) => None,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(reason([1; 32], 3 << 30), None);
        assert_eq!(reason([1; 32], 3 << 30), None);
        let other = reason([2; 32], 2 << 30).expect("another job");
        assert!(
            other.contains("`--segment-max-memory 3221225472`"),
            "{other}"
        );
        let other = reason([2; 32], 3 << 30).expect("another job");
        assert!(other.contains("another program, input"), "{other}");
        fs::write(path.join("job.txt"), "openvm-metal segment proofs 1\n00\n").expect("written");
        let other = reason([1; 32], 3 << 30).expect("another format");
        assert!(other.contains("another program, input"), "{other}");
        let _ = fs::remove_dir_all(&path);
    }
}
