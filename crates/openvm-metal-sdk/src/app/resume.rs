//! `ResumeFolder`: proofs of segments in files, for a job that is interrupted.
//!
//! A job is an executable, an input, a configuration with its parameters, and the rules by which segments are cut.
//! `job.txt` names it; `segment-N.proof` holds a proof: the segment's identity (32 bytes), the SHA-256 of the
//! encoded proof (32 bytes), the encoded proof. A file is written under another name and renamed, so that a
//! killed process leaves whole files only.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
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
use crate::{engine::SdkEngine, error::SdkError, prelude::SC, row_order::RowOrder};

/// SHA-256 of everything that determines a job, or a part of it.
pub(crate) type Id = [u8; 32];

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
        Self::of_job(path, job_id(key, exe, input, memory))
    }

    /// [`open`](Self::open) for the job of this identity.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn of_job(path: &Path, job: Id) -> Result<Self, SdkError> {
        let folder = Self {
            path: path.to_owned(),
            job,
        };
        let file = path.join("job.txt");
        let name = format!("openvm-metal segment proofs 1\n{}\n", hex(&job));
        match fs::read_to_string(&file) {
            Ok(text) if text == name => {}
            Ok(_) => return folder.bad(
                "it holds proofs of another program, input or configuration: use another folder",
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(path)
                    .and_then(|()| write_whole(&file, name.as_bytes()))
                    .or_else(|error| folder.bad(error.to_string()))?;
            }
            Err(error) => return folder.bad(error.to_string()),
        }
        Ok(folder)
    }

    fn bad<T>(&self, reason: impl Into<String>) -> Result<T, SdkError> {
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
        let file = self.path.join(name);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return self.bad(format!("{}: {error}", file.display())),
        };
        let damaged = |what: &str| {
            self.bad(format!(
                "{} {what}: delete it, and it is proved again",
                file.display()
            ))
        };
        let Some((found, rest)) = bytes.split_first_chunk::<32>() else {
            return damaged("is cut off");
        };
        if found != id {
            return damaged("is of another task");
        }
        let Some((sum, proof)) = rest.split_first_chunk::<32>() else {
            return damaged("is cut off");
        };
        if *sum != Id::from(Sha256::digest(proof)) {
            return damaged("is damaged");
        }
        Ok(Some(proof.to_vec()))
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
        write_whole(&file, &bytes).or_else(|error| self.bad(format!("{}: {error}", file.display())))
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

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Several processes may write into one folder.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let unfinished = path.with_extension(format!("{}-{number}.unfinished", process::id()));
    fs::write(&unfinished, bytes)?;
    fs::rename(unfinished, path)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
