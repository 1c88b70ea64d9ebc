//! Poseidon2 and Merkle trees against Plonky3's permutation and the reference's `MerkleTree`.

use openvm_metal_common::MetalBuffer;
use openvm_stark_backend::{
    hasher::Hasher,
    prover::{stacked_pcs::MerkleTree, ColMajorMatrix},
};
use p3_baby_bear::{
    default_babybear_poseidon2_16, BABYBEAR_RC16_EXTERNAL_FINAL, BABYBEAR_RC16_EXTERNAL_INITIAL,
    BABYBEAR_RC16_INTERNAL,
};
use p3_field::{ExtensionField, Field, PrimeCharacteristicRing, PrimeField32};
use p3_symmetric::{PaddingFreeSponge, PseudoCompressionFunction, TruncatedPermutation};

use super::{compare, refused, Check, CheckEnv, CheckFailure};
use crate::{
    hash::{upper_layers, AbsorbedRows, MerkleCell, MerkleTreeMetal},
    matrix::MetalMatrix,
    prelude::{montgomery, Digest, EF, F, SC},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "hash",
        name: "round_constants",
        run: round_constants,
    },
    Check {
        group: "hash",
        name: "merkle_base",
        run: merkle_base,
    },
    Check {
        group: "hash",
        name: "merkle_of_extremes",
        run: merkle_of_extremes,
    },
    Check {
        group: "hash",
        name: "merkle_ext",
        run: merkle_ext,
    },
    Check {
        group: "hash",
        name: "merkle_absorbed",
        run: merkle_absorbed,
    },
    Check {
        group: "hash",
        name: "merkle_layers",
        run: merkle_layers,
    },
    Check {
        group: "hash",
        name: "bad_shapes",
        run: bad_shapes,
    },
];

const HEADER: &str = include_str!("../../metal/hash/poseidon2_layers.h");

/// The words of a `constant` table of a header, or of the macro that lists them: what stands from its name to the end of the statement.
pub(super) fn table(header: &str, name: &str) -> Vec<u32> {
    let start = header.find(name).unwrap_or(header.len());
    let body = header[start..].split_once(';');
    let words = body
        .map_or("", |(table, _)| table)
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(|word| word.strip_prefix("0x"));
    words
        .filter_map(|word| u32::from_str_radix(word.trim_end_matches('u'), 16).ok())
        .collect()
}

/// The tables of the kernels are Plonky3's constants in Montgomery form, less the modulus.
fn round_constants(_: &mut CheckEnv) -> Result<(), CheckFailure> {
    let words = |constants: &[F]| -> Vec<u32> {
        let shifted = |c: &F| montgomery(*c).wrapping_sub(F::ORDER_U32);
        constants.iter().map(shifted).collect()
    };
    for (name, constants) in [
        (
            "P2_RC_EXTERNAL",
            [
                BABYBEAR_RC16_EXTERNAL_INITIAL.concat(),
                BABYBEAR_RC16_EXTERNAL_FINAL.concat(),
            ]
            .concat(),
        ),
        ("P2_RC_INTERNAL", BABYBEAR_RC16_INTERNAL.to_vec()),
    ] {
        compare(|| name.to_owned(), &table(HEADER, name), &words(&constants))?;
    }
    Ok(())
}

fn merkle_base(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    merkle(env, |env, n| env.rng.fs(n))
}

/// Rows of the smallest and largest words in memory, among others: the ends of every window that a sum or a product is in.
fn merkle_of_extremes(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    merkle(env, |env, n| {
        // Montgomery form: words 0, 1, 2, p - 2 and p - 1.
        let word = F::TWO.exp_u64(32).inverse();
        let ends = [F::ZERO, word, word.double(), -word.double(), -word];
        let mut cells = env.rng.fs(n);
        for cell in &mut cells {
            let choice = cell.as_canonical_u32() as usize % 8;
            *cell = ends.get(choice).copied().unwrap_or(*cell);
        }
        cells[..n / 4].fill(F::ZERO);
        cells[n / 4..n / 2].fill(-word);
        cells
    })
}

fn merkle_ext(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    merkle(env, |env, n| env.rng.efs(n))
}

/// Columns that are absorbed while others are still to come give the tree of the whole matrix.
fn merkle_absorbed(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for (log_height, width, rows) in [
        (2, 9, 1),
        (5, 16, 4),
        (6, 17, 16),
        (7, 15, 2),
        (9, 40, 8),
        (10, 33, 16),
        (11, 64, 32),
    ] {
        if env.conformance() && log_height > 9 {
            continue;
        }
        let what = format!("2^{log_height} x {width}, {rows} rows in a leaf");
        let height = 1 << log_height;
        let cells = env.rng.fs(width * height);
        let matrix =
            MetalMatrix::from_buffer(MetalBuffer::from_host(env.s, &cells)?, height, width);
        let mut absorbed = AbsorbedRows::<SC>::new(env.s, height)?;
        for done in [width / 2, width / 2 + width / 4, width] {
            absorbed.absorb(env.s, matrix.slice().slice(..done * height), width)?;
        }
        let (whole, root) = MerkleTreeMetal::<_, SC>::new(env.s, matrix.clone(), rows)?;
        let tree = MerkleTreeMetal::resumed(env.s, matrix, absorbed.columns(), rows, &absorbed)?;
        compare(|| what.clone(), &[tree.read_root(env.s)?], &[root])?;
        compare(
            || what.clone(),
            &tree.digest_layers_to_host(env.s)?.concat(),
            &whole.digest_layers_to_host(env.s)?.concat(),
        )?;
    }
    Ok(())
}

fn merkle<T: MerkleCell + ExtensionField<F>>(
    env: &mut CheckEnv,
    cells: impl Fn(&mut CheckEnv, usize) -> Vec<T>,
) -> Result<(), CheckFailure> {
    let perm = default_babybear_poseidon2_16();
    let sponge = PaddingFreeSponge::<_, 16, 8, 8>::new(perm.clone());
    let compress = TruncatedPermutation::<_, 2, 8, 16>::new(perm);
    let hasher = Hasher::<F, Digest, _, _>::new(sponge, compress);
    for (log_height, width, rows) in [
        (0, 1, 1),
        (1, 5, 2),
        (3, 3, 1),
        (4, 3, 2),
        (5, 8, 4),
        (6, 17, 16),
        (9, 1, 8),
        (10, 33, 16),
        (11, 9, 32),
        (12, 2, 1),
        (15, 1, 1),
    ] {
        if env.conformance() && log_height > 9 {
            continue;
        }
        let what = format!("2^{log_height} x {width}, {rows} rows in a leaf");
        let host = cells(env, width << log_height);
        let matrix = ColMajorMatrix::new(host.clone(), width);
        let oracle = |_| CheckFailure::Oracle { what: what.clone() };
        let expected = MerkleTree::new(&hasher, matrix, rows).map_err(oracle)?;
        let buffer = MetalBuffer::from_host(env.s, &host)?;
        let matrix = MetalMatrix::from_buffer(buffer, 1 << log_height, width);
        let (tree, root) = MerkleTreeMetal::<_, SC>::new(env.s, matrix, rows)?;
        compare(
            || what.clone(),
            &[root],
            &[expected.root().map_err(oracle)?],
        )?;
        let layers = tree.digest_layers_to_host(env.s)?;
        compare(
            || what.clone(),
            &layers.concat(),
            &expected.digest_layers().concat(),
        )?;
        let stride = tree.query_stride();
        let indices = [0, stride - 1, stride / 2, stride / 3, 0];
        let opened = tree.open(env.s, &indices)?;
        for (i, &index) in indices.iter().enumerate() {
            let opened_rows = expected.get_opened_rows(index).map_err(oracle)?;
            compare(
                || what.clone(),
                &opened.rows[i].concat(),
                &opened_rows.concat(),
            )?;
            let path = expected.query_merkle_proof(index).map_err(oracle)?;
            compare(|| what.clone(), &opened.siblings[i], &path)?;
        }
        refused("a query beyond the leaves", tree.open(env.s, &[stride]))?;
    }
    Ok(())
}

/// The layers above the leaves of a tree, wherever permutations begin to be on sixteen lanes.
fn merkle_layers(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let compress = TruncatedPermutation::<_, 2, 8, 16>::new(default_babybear_poseidon2_16());
    for log_leaves in [0, 1, 5, 7, 8, 11, 14, 17] {
        if env.conformance() && log_leaves > 8 {
            continue;
        }
        let words = env.rng.fs(8 << log_leaves);
        let (leaves, _) = words.as_chunks::<8>();
        let (mut expected, mut layer) = (leaves.to_vec(), leaves.to_vec());
        while layer.len() > 1 {
            let pairs = layer.chunks_exact(2);
            layer = pairs
                .map(|pair| compress.compress([pair[0], pair[1]]))
                .collect();
            expected.extend(&layer);
        }
        for log_spread in [0, 1, 4, 8, 13] {
            let mut host = vec![Digest::default(); expected.len()];
            host[..leaves.len()].copy_from_slice(leaves);
            let mut layers = MetalBuffer::from_host(env.s, &host)?;
            upper_layers::<SC>(env.s, &mut layers, log_leaves, log_spread)?;
            let what = || format!("2^{log_leaves} leaves, on lanes from 2^{log_spread} nodes on");
            compare(what, &layers.to_host(env.s)?, &expected)?;
        }
    }
    Ok(())
}

fn bad_shapes(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for (what, height, rows) in [
        ("no rows", 0, 1),
        ("12 rows", 12, 1),
        ("3 rows in a leaf", 8, 3),
        ("a leaf of more than all rows", 8, 16),
    ] {
        let buffer = MetalBuffer::<F>::zeroed(env.s, height)?;
        let matrix = MetalMatrix::from_buffer(buffer, height, 1);
        refused(what, MerkleTreeMetal::<F>::new(env.s, matrix, rows))?;
    }
    let buffer = MetalBuffer::<EF>::zeroed(env.s, 0)?;
    let matrix = MetalMatrix::from_buffer(buffer, 0, 0);
    refused(
        "an empty matrix",
        MerkleTreeMetal::<EF>::new(env.s, matrix, 1),
    )
}
