//! `StarkProof`: the aggregated proof of an execution, in OpenVM's versioned JSON.

use std::{borrow::Cow, io};

use openvm_stark_backend::{
    codec::{DecodableConfig, EncodableConfig, Encode},
    proof::Proof,
};
use serde::Deserialize;

use crate::{
    encoding::decode_proof,
    error::{guard, VerifyError},
    prelude::{Digest, F, SC},
};

/// The version in the files of proofs that are read: OpenVM's, without the number of its patch.
pub const VERSION: &str = "v2.0";

/// The aggregated proof of an execution. Fields are those of OpenVM's `VmStarkProof`.
#[derive(Clone, Debug)]
pub struct StarkProof {
    /// The proof of the last circuit.
    pub inner: Proof<SC>,
    /// The public values, and where they are in the memory at the end.
    pub user_pvs_proof: PublicValuesProof,
    /// The paths of deferred computations, if the virtual machine has any.
    pub deferral_merkle_proofs: Option<DeferralPaths>,
}

/// The public values of a guest, and the path from them to the root of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicValuesProof {
    /// The siblings of the path, from below.
    pub proof: Vec<Digest>,
    /// Elements, one for each byte that the guest may reveal.
    pub public_values: Vec<F>,
    /// The root of the tree over the public values.
    pub public_values_commit: Digest,
}

/// Paths from the accumulators of deferred computations to the root of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeferralPaths {
    /// Siblings from below, in the memory at the beginning.
    pub initial_merkle_proof: Vec<Digest>,
    /// Siblings from below, in the memory at the end.
    pub final_merkle_proof: Vec<Digest>,
}

/// The file, with its bytes in hexadecimal digits.
#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    version: Cow<'a, str>,
    #[serde(borrow)]
    proof: Cow<'a, str>,
    #[serde(borrow)]
    user_pvs_proof: Cow<'a, str>,
    #[serde(borrow, default)]
    deferral_merkle_proofs: Option<Cow<'a, str>>,
}

impl StarkProof {
    /// Takes a proof from the bytes of a file of `prove stark` or of cargo-openvm. Its version is compared, and so are
    /// its bytes with the encoding of what they hold: OpenVM's conversion looks at neither.
    ///
    /// # Errors
    /// [`VerifyError::Bytes`] if they hold none.
    pub fn from_json(bytes: &[u8]) -> Result<Self, VerifyError> {
        guard(|| Self::decode(bytes))
            .unwrap_or_else(|_| Err("its parts contradict each other".into()))
            .map_err(|reason| VerifyError::Bytes {
                what: "a proof",
                reason: format!(
                    "it is damaged, cut off, of another version or something else ({reason}); \
                     copy it again, or prove again"
                ),
            })
    }

    /// [`Self::from_json`] with the bare reason as its error.
    ///
    /// # Errors
    /// The reason why the bytes are no proof.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let file: File = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if file.version != VERSION {
            let found: String = file.version.chars().take(20).collect();
            return Err(format!(
                "its version is {found:?}, this program reads {VERSION:?}"
            ));
        }
        let text = |error: io::Error| error.to_string();
        let inner_bytes = digits("proof", &file.proof)?;
        let values_bytes = digits("user_pvs_proof", &file.user_pvs_proof)?;
        let paths_bytes = file
            .deferral_merkle_proofs
            .map(|paths| digits("deferral_merkle_proofs", &paths))
            .transpose()?;
        let proof = Self {
            inner: decode_proof(&inner_bytes).map_err(text)?,
            user_pvs_proof: PublicValuesProof::decode(&values_bytes).map_err(text)?,
            deferral_merkle_proofs: paths_bytes
                .as_deref()
                .map(DeferralPaths::decode)
                .transpose()
                .map_err(text)?,
        };
        let again = (
            proof.inner.encode_to_vec().map_err(text)?,
            proof.user_pvs_proof.encode().map_err(text)?,
            proof
                .deferral_merkle_proofs
                .as_ref()
                .map(DeferralPaths::encode)
                .transpose()
                .map_err(text)?,
        );
        for (name, is_equal) in [
            ("proof", again.0 == inner_bytes),
            ("user_pvs_proof", again.1 == values_bytes),
            ("deferral_merkle_proofs", again.2 == paths_bytes),
        ] {
            if !is_equal {
                return Err(format!("`{name}` has more bytes than a proof, or others"));
            }
        }
        Ok(proof)
    }
}

fn digits(name: &str, text: &str) -> Result<Vec<u8>, String> {
    hex::decode(text).map_err(|error| format!("`{name}` is not hexadecimal: {error}"))
}

impl PublicValuesProof {
    fn decode(mut bytes: &[u8]) -> io::Result<Self> {
        Ok(Self {
            proof: SC::decode_digest_vec(&mut bytes)?,
            public_values: SC::decode_base_field_vec(&mut bytes)?,
            public_values_commit: SC::decode_digest(&mut bytes)?,
        })
    }

    fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        SC::encode_digest_slice(&self.proof, &mut bytes)?;
        SC::encode_base_field_slice(&self.public_values, &mut bytes)?;
        SC::encode_digest(&self.public_values_commit, &mut bytes)?;
        Ok(bytes)
    }
}

impl DeferralPaths {
    fn decode(mut bytes: &[u8]) -> io::Result<Self> {
        Ok(Self {
            initial_merkle_proof: SC::decode_digest_vec(&mut bytes)?,
            final_merkle_proof: SC::decode_digest_vec(&mut bytes)?,
        })
    }

    fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        SC::encode_digest_slice(&self.initial_merkle_proof, &mut bytes)?;
        SC::encode_digest_slice(&self.final_merkle_proof, &mut bytes)?;
        Ok(bytes)
    }
}
