//! Parameters of a secret that everybody knows, for tests.
//!
//! The secret is that of halo2's own test parameters (`ParamsKZG::setup` with ChaCha20 from a seed of zeros), so that the files are those
//! which other programs make. A point of either basis is the generator times a scalar that is known: 2^[`BITS`] multiples of the generator
//! are tabled for each digit of a scalar, and a point is one addition a digit.

use std::{
    fs::File,
    io::{self, Write as _},
    os::unix::fs::FileExt as _,
    path::Path,
    sync::OnceLock,
};

use halo2_base::halo2_proofs::halo2curves::{
    bn256::{Fr, G1Affine, G2Affine, G1},
    group::{
        ff::{BatchInvert as _, Field as _, PrimeField as _},
        prime::PrimeCurveAffine as _,
        Curve as _, Group as _,
    },
    serde::SerdeObject as _,
};
use rand_chacha::{rand_core::SeedableRng as _, ChaCha20Rng};
use rayon::prelude::*;
use tempfile::Builder;

use super::file::{G1_BYTES, K_BYTES};

/// Bits of a digit.
const BITS: usize = 13;
/// Digits of a scalar of 254 bits.
const DIGITS: usize = 254usize.div_ceil(BITS);
/// Points that a thread makes at once.
const PIECE: usize = 1 << 12;

/// The secrets that everybody knows: that of halo2's test parameters, and that of OpenVM's variable `RANDOM_SRS`.
fn public_secrets() -> &'static [(Fr, G2Affine); 2] {
    static SECRETS: OnceLock<[(Fr, G2Affine); 2]> = OnceLock::new();
    SECRETS.get_or_init(|| {
        [
            ChaCha20Rng::from_seed([0; 32]),
            ChaCha20Rng::seed_from_u64(42),
        ]
        .map(|rng| {
            let secret = Fr::random(rng);
            (secret, (G2Affine::generator() * secret).to_affine())
        })
    })
}

/// The secret of the parameters that are made: the generator of the second group times it.
pub(super) fn s_g2() -> G2Affine {
    public_secrets()[0].1
}

/// True for the generator of the second group times a secret that everybody knows.
pub(super) fn is_public_secret(s_g2: &G2Affine) -> bool {
    public_secrets().iter().any(|(_, known)| known == s_g2)
}

/// Words of the known secrets as they stand in a contract: the coordinates of the second group's point, big endian.
pub(crate) fn public_secret_words() -> impl Iterator<Item = [u8; 32]> {
    public_secrets().iter().map(|(_, point)| {
        let mut word = point.x.c0.to_repr();
        word.as_mut().reverse();
        <[u8; 32]>::try_from(word.as_ref()).expect("an element has 32 bytes")
    })
}

/// Multiples of the generator: for each digit of a scalar, its multiples by 0 to 2^[`BITS`] - 1 at that place.
struct Multiples(Vec<G1Affine>);

impl Multiples {
    fn new() -> Self {
        let mut base = G1::generator();
        let mut places = Vec::with_capacity(DIGITS);
        for _ in 0..DIGITS {
            places.push(base);
            (0..BITS).for_each(|_| base = base.double());
        }
        let tables = places.par_iter().flat_map_iter(|place| {
            let mut multiples = vec![G1::identity(); 1 << BITS];
            for i in 1..multiples.len() {
                multiples[i] = multiples[i - 1] + place;
            }
            affine(&multiples)
        });
        Self(tables.collect())
    }

    /// The generator times a scalar.
    fn times(&self, scalar: &Fr) -> G1 {
        let repr = scalar.to_repr();
        let bytes: &[u8] = repr.as_ref();
        let mut point = G1::identity();
        for place in 0..DIGITS {
            let bit = place * BITS;
            let mut word = [0; 4];
            for (to, from) in word.iter_mut().zip(&bytes[bit / 8..]) {
                *to = *from;
            }
            let digit = (u32::from_le_bytes(word) >> (bit % 8)) as usize & ((1 << BITS) - 1);
            point += self.0[(place << BITS) + digit];
        }
        point
    }
}

fn affine(points: &[G1]) -> Vec<G1Affine> {
    let mut normal = vec![G1Affine::identity(); points.len()];
    G1::batch_normalize(points, &mut normal);
    normal
}

/// Writes the parameters for 2^k rows, whole or not at all.
///
/// # Errors
/// Errors of the system, such as a full disk.
pub(super) fn write(path: &Path, k: u32) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // Another process may make the same file.
    let mut named = Builder::new().suffix(".unfinished").tempfile_in(folder)?;
    write_to(named.as_file_mut(), k)?;
    named.persist(path)?;
    Ok(())
}

fn write_to(file: &mut File, k: u32) -> io::Result<()> {
    let (secret, s_g2) = public_secrets()[0];
    let rows = 1usize << k;
    file.write_all(&k.to_le_bytes())?;
    file.set_len((K_BYTES + 2 * rows * G1_BYTES) as u64)?;
    let multiples = Multiples::new();
    // L_i(s) = (s^n - 1) / n * w^i / (s - w^i), for a root of unity w of order n.
    let root = (k..Fr::S).fold(Fr::ROOT_OF_UNITY, |root, _| root.square());
    let factor = (secret.pow_vartime([rows as u64]) - Fr::ONE)
        * Fr::from(rows as u64).invert().expect("n is not 0");
    let shared: &File = file;
    let piece = |index: usize| -> io::Result<()> {
        let (start, end) = (index * PIECE, rows.min((index + 1) * PIECE));
        let powers = |base: Fr| {
            let first = base.pow_vartime([start as u64]);
            std::iter::successors(Some(first), move |power| Some(*power * base)).take(end - start)
        };
        let monomial: Vec<Fr> = powers(secret).collect();
        let mut lagrange: Vec<Fr> = powers(root).map(|power| secret - power).collect();
        lagrange.iter_mut().batch_invert();
        for (value, power) in lagrange.iter_mut().zip(powers(root)) {
            *value *= factor * power;
        }
        for (basis, scalars) in [monomial, lagrange].iter().enumerate() {
            let points: Vec<G1> = scalars
                .iter()
                .map(|scalar| multiples.times(scalar))
                .collect();
            let mut bytes = Vec::with_capacity(points.len() * G1_BYTES);
            for point in affine(&points) {
                point.write_raw(&mut bytes)?;
            }
            let offset = K_BYTES + (basis * rows + start) * G1_BYTES;
            shared.write_all_at(&bytes, offset as u64)?;
        }
        Ok(())
    };
    (0..rows.div_ceil(PIECE))
        .into_par_iter()
        .try_for_each(piece)?;
    let mut end = Vec::new();
    G2Affine::generator().write_raw(&mut end)?;
    s_g2.write_raw(&mut end)?;
    file.write_all_at(&end, (K_BYTES + 2 * rows * G1_BYTES) as u64)?;
    file.sync_all()
}
