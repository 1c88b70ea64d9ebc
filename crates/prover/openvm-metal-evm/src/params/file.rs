//! A file of parameters: its checks, and its reading on all threads.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path};

use halo2_base::halo2_proofs::{
    halo2curves::{
        bn256::{pairing, Bn256, G1Affine, G2Affine},
        group::prime::PrimeCurveAffine as _,
        serde::SerdeObject as _,
    },
    poly::{commitment::CommitmentScheme as _, kzg::commitment::KZGCommitmentScheme},
};
use openvm_static_verifier::Halo2Params;
use rayon::prelude::*;

/// Bytes of a point of the first group.
pub(super) const G1_BYTES: usize = 64;
/// Bytes of a point of the second group.
const G2_BYTES: usize = 128;
/// Bytes of the number of rows.
pub(super) const K_BYTES: usize = 4;
/// Points that a thread reads at once: 1 MiB.
const PIECE: usize = 1 << 14;

/// Bytes of a file for 2^k rows.
pub(super) fn size(k: u32) -> u64 {
    K_BYTES as u64 + 2 * ((G1_BYTES as u64) << k) + 2 * G2_BYTES as u64
}

/// A file whose beginning and end are those of parameters.
pub(super) struct Opened {
    file: File,
    k: u32,
    g2: G2Affine,
    /// The generator of the second group times the secret.
    pub s_g2: G2Affine,
}

impl Opened {
    /// Opens the file for 2^k rows.
    ///
    /// # Errors
    /// The first check that fails, as text.
    pub fn new(path: &Path, k: u32) -> Result<Self, String> {
        let file = File::open(path).map_err(text)?;
        let found = file.metadata().map_err(text)?.len();
        if found != size(k) {
            return Err(format!(
                "it has {found} bytes, those for 2^{k} rows have {}",
                size(k)
            ));
        }
        let mut named = [0; K_BYTES];
        file.read_exact_at(&mut named, 0).map_err(text)?;
        let named = u32::from_le_bytes(named);
        if named != k {
            return Err(format!("they are for 2^{named} rows, not for 2^{k}"));
        }
        let first = points(&file, K_BYTES as u64, 2)?;
        let second = |index: u64| {
            let mut bytes = [0; G2_BYTES];
            let offset = size(k) - (2 - index) * G2_BYTES as u64;
            file.read_exact_at(&mut bytes, offset).map_err(text)?;
            G2Affine::from_raw_bytes(&bytes)
                .ok_or_else(|| "a point of the second group is not on the curve".to_owned())
        };
        let (g2, s_g2) = (second(0)?, second(1)?);
        if first[0] != G1Affine::generator() || g2 != G2Affine::generator() {
            return Err("they do not begin with the groups' generators".into());
        }
        if bool::from(s_g2.is_identity()) || pairing(&first[1], &g2) != pairing(&first[0], &s_g2) {
            return Err("the powers in the two groups are of different secrets".into());
        }
        Ok(Self { file, k, g2, s_g2 })
    }

    /// Reads the parameters.
    ///
    /// # Errors
    /// A point that is not on the curve, and errors of the system, as text.
    pub fn read(self) -> Result<Halo2Params, String> {
        let (start, rows) = (K_BYTES as u64, 1 << self.k);
        let g = points(&self.file, start, rows)?;
        let lagrange = points(&self.file, start + ((G1_BYTES as u64) << self.k), rows)?;
        let any = KZGCommitmentScheme::<Bn256>::new_params(1);
        Ok(any.from_parts(self.k, g, Some(lagrange), self.g2, self.s_g2))
    }
}

fn text(error: io::Error) -> String {
    error.to_string()
}

/// The points from a byte of a file on.
fn points(file: &File, offset: u64, count: usize) -> Result<Vec<G1Affine>, String> {
    let mut points = vec![G1Affine::identity(); count];
    let read = |(index, points): (usize, &mut [G1Affine])| -> Result<(), String> {
        let mut bytes = vec![0; points.len() * G1_BYTES];
        let at = offset + (index * PIECE * G1_BYTES) as u64;
        file.read_exact_at(&mut bytes, at).map_err(text)?;
        for (point, bytes) in points.iter_mut().zip(bytes.chunks_exact(G1_BYTES)) {
            *point = G1Affine::from_raw_bytes(bytes)
                .filter(|point| !bool::from(point.is_identity()))
                .ok_or("a point is not on the curve: the file is damaged")?;
        }
        Ok(())
    };
    points
        .par_chunks_mut(PIECE)
        .enumerate()
        .try_for_each(read)?;
    Ok(points)
}
