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

type Id = [u8; 32];

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
        let job = job_id(key, exe, input);
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

    fn file(&self, index: usize) -> PathBuf {
        self.path.join(format!("segment-{index}.proof"))
    }

    /// The proof of a segment, if there is one.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if its file is damaged or of another segment.
    pub fn load(&self, index: usize, segment: &Segment) -> Result<Option<Proof<SC>>, SdkError> {
        let file = self.file(index);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return self.bad(format!("{}: {error}", file.display())),
        };
        let damaged = |what: &str| {
            self.bad(format!(
                "{} {what}: delete it, and the segment is proved again",
                file.display()
            ))
        };
        let Some((id, rest)) = bytes.split_first_chunk::<32>() else {
            return damaged("is cut off");
        };
        if *id != self.segment_id(index, segment) {
            return damaged("is of another segment");
        }
        let Some((sum, proof)) = rest.split_first_chunk::<32>() else {
            return damaged("is cut off");
        };
        if *sum != Id::from(Sha256::digest(proof)) {
            return damaged("is damaged");
        }
        match Proof::<SC>::decode_from_bytes(proof) {
            Ok(proof) => Ok(Some(proof)),
            Err(_) => damaged("holds no proof"),
        }
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
        let write = || -> io::Result<()> {
            let proof = proof.encode_to_vec()?;
            let mut bytes = self.segment_id(index, segment).to_vec();
            bytes.extend(Sha256::digest(&proof));
            bytes.extend(proof);
            write_whole(&self.file(index), &bytes)
        };
        write().or_else(|error| self.bad(error.to_string()))
    }

    fn segment_id(&self, index: usize, segment: &Segment) -> Id {
        let mut hash = Sha256::new_with_prefix(self.job);
        hash.update((index as u64).to_le_bytes());
        hash.update(segment.instret_start.to_le_bytes());
        hash.update(segment.num_insns.to_le_bytes());
        for height in &segment.trace_heights {
            hash.update(height.to_le_bytes());
        }
        hash.finalize().into()
    }
}

fn job_id<E: SdkEngine>(key: &AppKey<E>, exe: &CommittedExe<E>, input: &StdIn) -> Id {
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
    let memory = key.config.system.config.segmentation_max_memory;
    hash.update((memory as u64).to_le_bytes());
    hash.update([u8::from(key.order == RowOrder::AsMade)]);
    hash.finalize().into()
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, bytes)?;
    fs::rename(unfinished, path)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
