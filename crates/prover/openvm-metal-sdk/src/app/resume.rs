//! `ResumeFolder`: proofs of segments in files, for a job that is interrupted.
//!
//! A job is an executable, an input, a configuration with its parameters, and the rules by which segments are cut.
//! `job.txt` names it and says by how many bytes segments are cut; `segment-N.proof` holds a proof: the segment's
//! identity (32 bytes), the SHA-256 of the encoded proof (32 bytes), the encoded proof. Files are
//! [whole](whole_file), and what killed processes left unfinished is removed after an hour. A file that is no proof of its part is set
//! aside as `segment-N.proof.rejected-` with 16 hexadecimal digits, and the part is proved again.

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use openvm_circuit::arch::{
    deferral::{DeferralState, InputMapVal},
    execution_mode::Segment,
};
use openvm_sdk::StdIn;
use openvm_stark_backend::{codec::Encode, p3_field::PrimeField32, proof::Proof};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{kept::Kept, AppKey, CommittedExe};
use crate::{
    engine::SdkEngine,
    error::SdkError,
    prelude::SC,
    progress::{Event, Progress},
    row_order::RowOrder,
    whole_file,
};

/// SHA-256 of everything that determines a job, or a part of it.
pub(crate) type Id = [u8; 32];

const JOB: &str = "job.txt";

/// The beginning of the first line of `job.txt`, in all versions.
const FORMATS: &str = "openvm-metal segment proofs ";
/// The first line of `job.txt`; behind it stand the job's identity and the bytes by which segments are cut.
const FORMAT: &str = "openvm-metal segment proofs 4";

/// Most bytes of `job.txt`, which has about 120.
const JOB_BYTES: u64 = 4096;

/// Most bytes of a part: more than ten times the largest proof of OpenVM's own parameters.
const PART_BYTES: u64 = 256 << 20;

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
        let file = path.join(JOB);
        let name = format!("{FORMAT}\n{}\n{segment_max_memory}\n", hex(&job));
        match whole_file::read(&file, JOB_BYTES) {
            // Only a folder of this job is cleaned.
            Ok(text) if text == name.as_bytes() => whole_file::remove_abandoned(path),
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                return folder.bad(foreign(&text, segment_max_memory));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(path)
                    .and_then(|()| whole_file::write(&file, name.as_bytes()))
                    .or_else(|error| folder.bad(error.to_string()))?;
            }
            Err(error) => return folder.bad(format!("{}: {error}", file.display())),
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

    /// The kept proof of a segment, which is not verified.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the system does not let it be read.
    pub fn load(&self, index: usize, segment: &Segment) -> Result<Kept<Proof<SC>>, SdkError> {
        let (name, id) = (segment_file(index), segment_id(&self.job, index, segment));
        Ok(self.load_part(&name, &id)?.decoded())
    }

    /// The part of the job that was stored under a file's name. One that was stored for another is bad.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_part(&self, name: &str, id: &Id) -> Result<Kept<Vec<u8>>, SdkError> {
        Ok(self.find_part(name)?.and_then(|(found, proof)| {
            if found == *id {
                Kept::Part(proof)
            } else {
                Kept::Bad("is of another task".into())
            }
        }))
    }

    /// Bytes that were stored under a file's name, with the identity that it was stored for.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn find_part(&self, name: &str) -> Result<Kept<(Id, Vec<u8>)>, SdkError> {
        let file = self.path.join(name);
        let bytes = match whole_file::read(&file, PART_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => match error.kind() {
                ErrorKind::NotFound => return Ok(Kept::None),
                ErrorKind::InvalidData => return Ok(Kept::Bad(format!("is no part: {error}"))),
                _ => return self.bad(format!("{}: {error}", file.display())),
            },
        };
        Ok(match split(&bytes) {
            None => Kept::Bad("is cut off".into()),
            Some((_, sum, proof)) if sum != Id::from(Sha256::digest(proof)) => {
                Kept::Bad("is damaged".into())
            }
            Some((id, _, proof)) => Kept::Part((id, proof.to_vec())),
        })
    }

    /// The path of a part, for messages.
    pub fn part_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Gives the file of a part another name, under which it is never read again, and which is returned. It is not deleted: it may tell
    /// what went wrong.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if it cannot be renamed.
    pub fn set_aside(&self, name: &str, reason: &str) -> Result<PathBuf, SdkError> {
        let file = self.path.join(name);
        let aside = self
            .path
            .join(format!("{name}.rejected-{}", whole_file::drawn()));
        match fs::rename(&file, &aside) {
            Ok(()) => Ok(aside),
            // Another process of this job did it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(aside),
            Err(error) => self.bad(format!(
                "{} {reason}, and it cannot be renamed to {}: {error}",
                file.display(),
                aside.display()
            )),
        }
    }

    /// [`set_aside`](Self::set_aside), and tells who watches.
    ///
    /// # Errors
    /// As it.
    pub fn refuse(
        &self,
        name: &str,
        reason: &str,
        progress: &dyn Progress,
    ) -> Result<(), SdkError> {
        let to = self.set_aside(name, reason)?;
        progress.event(Event::SetAside {
            file: &self.part_path(name),
            to: &to,
            reason,
        });
        Ok(())
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

/// The identity, the sum and the rest of a part's file.
fn split(bytes: &[u8]) -> Option<(Id, Id, &[u8])> {
    let (id, rest) = bytes.split_first_chunk::<32>()?;
    let (sum, proof) = rest.split_first_chunk::<32>()?;
    Some((*id, *sum, proof))
}

/// The bytes by which the segments are cut whose proofs a folder holds, if it is a resume folder: a job with the same bytes goes on, also
/// where free memory would cut them elsewhere.
pub fn resumed_segment_max_memory(path: &Path) -> Option<usize> {
    let text = whole_file::read(&path.join(JOB), JOB_BYTES).ok()?;
    let text = String::from_utf8(text).ok()?;
    let mut lines = text.lines();
    let (format, cut) = (lines.next(), lines.nth(1));
    cut.filter(|_| format == Some(FORMAT))?.parse().ok()
}

/// Reason why a folder with this `job.txt` is none of a job whose segments are cut by so many bytes.
fn foreign(text: &str, segment_max_memory: usize) -> String {
    let mut lines = text.lines();
    let (format, cut) = (lines.next(), lines.nth(1));
    match cut.and_then(|bytes| bytes.parse::<usize>().ok()) {
        Some(bytes) if format == Some(FORMAT) && bytes != segment_max_memory => format!(
            "its segments are cut so that one needs {bytes} bytes at most, here by {segment_max_memory}, which follow from the \
             devices' memory unless they are set: set the segments' memory to {bytes} (`--segment-max-memory {bytes}`), or use \
             another folder"
        ),
        _ if format.is_some_and(|format| format != FORMAT && format.starts_with(FORMATS)) => {
            "another version of this program made it: use another folder".into()
        }
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
    hash_deferrals(&mut hash, &input.deferrals);
    hash.update((segment_max_memory as u64).to_le_bytes());
    hash.update([u8::from(key.order == RowOrder::AsMade)]);
    hash.finalize().into()
}

/// Adds the results of deferral circuits, which a guest reads as an input. Without any nothing is added.
fn hash_deferrals(hash: &mut Sha256, deferrals: &[DeferralState]) {
    /// `DeferralState` with sorted maps.
    #[derive(Serialize, Deserialize)]
    struct Sorted {
        inputs: BTreeMap<Vec<u8>, InputMapVal>,
        outputs: BTreeMap<Vec<u8>, Vec<u8>>,
    }
    for state in deferrals {
        // The maps of the state are private; as bytes they are those of a struct with the same fields.
        let sorted = bitcode::serialize(state).and_then(|bytes| {
            let sorted: Sorted = bitcode::deserialize(&bytes)?;
            bitcode::serialize(&sorted)
        });
        let bytes = sorted.expect("maps of bytes are encoded and decoded");
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use openvm_circuit::arch::deferral::DeferralResult;

    use super::*;

    #[test]
    fn jobs_with_other_deferred_results_are_others() {
        let result = |byte: u8, output: u8| DeferralResult {
            input: vec![byte; 32],
            output_commit: vec![byte; 32],
            output_raw: vec![output; 4],
        };
        let id = |results: &[(u8, u8)]| -> Id {
            let results = results.iter().map(|&(byte, output)| result(byte, output));
            let mut hash = Sha256::new();
            hash_deferrals(&mut hash, &[DeferralState::new(results.collect())]);
            hash.finalize().into()
        };
        let many: Vec<_> = (0..50).map(|byte| (byte, byte)).collect();
        let reversed: Vec<_> = many.iter().rev().copied().collect();
        assert_eq!(id(&many), id(&reversed));
        assert_ne!(id(&many), id(&many[1..]));
        assert_ne!(id(&[(1, 1)]), id(&[(1, 2)]));
        assert_ne!(id(&[]), <Id>::from(Sha256::new().finalize()));
    }

    #[test]
    fn a_folder_of_other_segments_says_how_they_are_cut() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("job");
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
        let job = path.join("job.txt");
        let unfinished = path.join("00c0ffee00c0ffee.unfinished");
        let abandon = || {
            let file = fs::File::create(&unfinished).expect("made");
            let old = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
            file.set_modified(old).expect("a time");
        };
        // Only a folder of this job is cleaned.
        abandon();
        assert!(reason([2; 32], 3 << 30).is_some() && unfinished.exists());
        assert!(reason([1; 32], 3 << 30).is_none() && !unfinished.exists());
        fs::write(&job, "openvm-metal segment proofs 1\n00\n").expect("written");
        abandon();
        let other = reason([1; 32], 3 << 30).expect("another format");
        assert!(
            other.contains("another version of this program") && unfinished.exists(),
            "{other}"
        );
        fs::write(&job, [b'7'; 5000]).expect("written");
        let other = reason([1; 32], 3 << 30).expect("too large");
        assert!(
            other.contains("job.txt: it has more than 4096 bytes"),
            "{other}"
        );
        assert!(unfinished.exists());
    }
}
