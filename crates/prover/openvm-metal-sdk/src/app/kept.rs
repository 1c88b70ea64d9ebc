//! `Kept`: what a resume folder has under the name of a part.

use openvm_stark_backend::proof::Proof;

use crate::{encoding::decode_proof, prelude::SC};

/// State of a part of a job in its folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kept<T> {
    /// Nothing.
    None,
    Part(T),
    /// Something else than the part. It reads as the end of a sentence about the file.
    Bad(String),
}

impl<T> Kept<T> {
    pub fn and_then<U>(self, f: impl FnOnce(T) -> Kept<U>) -> Kept<U> {
        match self {
            Self::None => Kept::None,
            Self::Part(part) => f(part),
            Self::Bad(reason) => Kept::Bad(reason),
        }
    }
}

impl Kept<Vec<u8>> {
    /// The proof in the bytes.
    pub fn decoded(self) -> Kept<Proof<SC>> {
        self.and_then(|bytes| match decode_proof(&bytes) {
            Ok(proof) => Kept::Part(proof),
            Err(_) => Kept::Bad("holds no proof".into()),
        })
    }
}
