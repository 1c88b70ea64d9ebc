//! `NodeFolder`: proofs of aggregation's nodes in a resume folder.
//!
//! `aggregated-LEVEL-N.proof` holds a node's proof behind its identity, as the files of segments do. The identity is made of the key
//! that verifies the node and of the proofs below it, so that a node can be found before it is known how many segments there are,
//! and by many processes as by one.

use openvm_stark_backend::{
    codec::Encode, keygen::types::MultiStarkVerifyingKey, p3_field::PrimeField32, proof::Proof,
};
use sha2::{Digest as _, Sha256};

use crate::{
    app::{Id, Kept, ResumeFolder},
    error::SdkError,
    prelude::SC,
    progress::Progress,
};

/// Proofs of the nodes of one job.
pub(crate) struct NodeFolder(ResumeFolder);

/// A node that a folder is asked for, or gets.
pub(crate) struct NodeFile {
    pub name: String,
    id: Id,
}

/// The file of a node's proof.
pub(crate) fn node_file(level: usize, index: usize) -> String {
    format!("aggregated-{level}-{index}.proof")
}

impl NodeFile {
    /// Node `index` of `level`, whose proof `vk` verifies, over the proofs `below`. Nothing if one of them has no encoding.
    pub fn new(
        vk: &MultiStarkVerifyingKey<SC>,
        place: (usize, usize),
        below: &[Proof<SC>],
    ) -> Option<Self> {
        let encoded: Result<Vec<_>, _> = below.iter().map(Encode::encode_to_vec).collect();
        Some(Self::of_encoded(vk, place, &encoded.ok()?))
    }

    /// [`new`](Self::new) for encoded proofs.
    pub fn of_encoded(
        vk: &MultiStarkVerifyingKey<SC>,
        (level, index): (usize, usize),
        below: &[impl AsRef<[u8]>],
    ) -> Self {
        let mut hash = Sha256::new_with_prefix(b"openvm-metal node");
        for x in vk.pre_hash {
            hash.update(x.as_canonical_u32().to_le_bytes());
        }
        for number in [level, index, below.len()] {
            hash.update((number as u64).to_le_bytes());
        }
        for proof in below {
            hash.update(Sha256::digest(proof.as_ref()));
        }
        Self {
            name: node_file(level, index),
            id: hash.finalize().into(),
        }
    }

    /// The encoded proof in a folder. One over other proofs, or under another key, counts as none.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the system does not let it be read.
    pub fn find(&self, folder: &ResumeFolder) -> Result<Kept<Vec<u8>>, SdkError> {
        let found = folder.find_part(&self.name)?;
        Ok(found.and_then(|(id, proof)| match id == self.id {
            true => Kept::Part(proof),
            false => Kept::None,
        }))
    }

    /// Stores the encoded proof in a folder.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file cannot be written.
    pub fn keep(&self, folder: &ResumeFolder, proof: &[u8]) -> Result<(), SdkError> {
        folder.store_part(&self.name, &self.id, proof)
    }
}

impl NodeFolder {
    pub fn new(folder: ResumeFolder) -> Self {
        Self(folder)
    }

    /// The kept proof of a node; see [`NodeFile::find`].
    ///
    /// # Errors
    /// As it.
    pub(super) fn load(&self, file: &NodeFile) -> Result<Kept<Proof<SC>>, SdkError> {
        Ok(file.find(&self.0)?.decoded())
    }

    /// See [`ResumeFolder::refuse`].
    ///
    /// # Errors
    /// As it.
    pub(super) fn refuse(
        &self,
        file: &NodeFile,
        reason: &str,
        progress: &dyn Progress,
    ) -> Result<(), SdkError> {
        self.0.refuse(&file.name, reason, progress)
    }

    /// Stores the proof of a node.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file cannot be written.
    pub(super) fn store(&self, file: &NodeFile, proof: &Proof<SC>) -> Result<(), SdkError> {
        match proof.encode_to_vec() {
            Ok(bytes) => file.keep(&self.0, &bytes),
            Err(error) => self.0.bad(error.to_string()),
        }
    }
}
