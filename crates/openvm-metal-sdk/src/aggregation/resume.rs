//! `NodeFolder`: proofs of aggregation's nodes in a resume folder.
//!
//! `aggregated-LEVEL-N.proof` holds a node's proof behind its identity, as the files of segments do. The identity is made of the
//! proofs below it, so that a node can be found before it is known how many segments there are.

use openvm_stark_backend::{
    codec::{Decode, Encode},
    keygen::types::MultiStarkVerifyingKey,
    p3_field::PrimeField32,
    proof::Proof,
};
use sha2::{Digest as _, Sha256};

use crate::{
    app::{Id, ResumeFolder},
    error::SdkError,
    prelude::SC,
};

/// Proofs of the nodes of one job.
pub(crate) struct NodeFolder(ResumeFolder);

/// A node that a folder is asked for, or gets.
pub(super) struct NodeFile {
    name: String,
    id: Id,
}

impl NodeFile {
    /// Node `index` of `level`, whose proof `vk` verifies, over the proofs `below`. Nothing if one of them has no encoding.
    pub fn new(
        vk: &MultiStarkVerifyingKey<SC>,
        (level, index): (usize, usize),
        below: &[Proof<SC>],
    ) -> Option<Self> {
        let mut hash = Sha256::new_with_prefix(b"openvm-metal node");
        for x in vk.pre_hash {
            hash.update(x.as_canonical_u32().to_le_bytes());
        }
        for number in [level, index, below.len()] {
            hash.update((number as u64).to_le_bytes());
        }
        for proof in below {
            hash.update(Sha256::digest(proof.encode_to_vec().ok()?));
        }
        Some(Self {
            name: format!("aggregated-{level}-{index}.proof"),
            id: hash.finalize().into(),
        })
    }
}

impl NodeFolder {
    pub fn new(folder: ResumeFolder) -> Self {
        Self(folder)
    }

    /// The proof of a node, if it was stored. One over other proofs counts as none.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if its file is damaged.
    pub(super) fn load(&self, file: &NodeFile) -> Result<Option<Proof<SC>>, SdkError> {
        let found = self.0.find_part(&file.name)?;
        let Some((_, bytes)) = found.filter(|(id, _)| *id == file.id) else {
            return Ok(None);
        };
        // What has the sum of its bytes and no proof in it was written by something else: it is proved again.
        Ok(Proof::decode_from_bytes(&bytes).ok())
    }

    /// Stores the proof of a node.
    ///
    /// # Errors
    /// [`SdkError::Resume`] if the file cannot be written.
    pub(super) fn store(&self, file: &NodeFile, proof: &Proof<SC>) -> Result<(), SdkError> {
        match proof.encode_to_vec() {
            Ok(bytes) => self.0.store_part(&file.name, &file.id, &bytes),
            Err(error) => self.0.bad(error.to_string()),
        }
    }
}
