//! Kernels of `metal/hash` and `metal/bn254`.

use openvm_metal_backend::bn254::Bn254Node;
use openvm_metal_backend::hash::{row_grid, HashScheme, MerkleTreeMetal};
use openvm_metal_backend::kernels;
use openvm_metal_backend::params::MerkleLeafParams;
use openvm_metal_backend::prelude::{Digest, SC};
use openvm_metal_backend::MetalMatrix;
use openvm_metal_common::{CommandStream, MetalBuffer, MetalError};
use openvm_stark_sdk::config::baby_bear_bn254_poseidon2::BabyBearBn254Poseidon2Config as RootSC;

use super::case::{
    random_base, random_ext, repeated, Case, Least, Prepared, Work, BASE_BYTES, PERMUTATION,
};

pub const CASES: &[Case] = &[
    Case {
        group: "hash",
        name: "row_hash_base",
        in_proofs: true,
        prepare: |s, log_size| row_hash::<SC>(s, log_size, 2),
    },
    Case {
        group: "hash",
        name: "row_hash_ext",
        in_proofs: true,
        prepare: row_hash_ext,
    },
    Case {
        group: "hash",
        name: "merkle_tree",
        in_proofs: true,
        prepare: merkle_tree,
    },
    Case {
        group: "bn254",
        name: "row_hash",
        in_proofs: true,
        prepare: |s, log_size| row_hash::<RootSC>(s, fewer(log_size), 1),
    },
    Case {
        group: "bn254",
        name: "nodes",
        in_proofs: true,
        prepare: bn254_nodes,
    },
];

/// Columns of the matrix: two permutations of width 16 a row, or one over BN254.
const WIDTH: usize = 16;
/// Bytes of a digest.
const DIGEST_BYTES: f64 = 32.0;
/// Rows that share a leaf.
const ROWS_PER_LEAF: usize = 16;
/// Hashes over BN254 take about 2^4 times as long as others: fewer of them are enough.
const LOG_FEWER_OF_BN254: usize = 4;

fn work(permutations: f64, least: Least) -> Work {
    Work {
        items: permutations,
        unit: "permutations",
        least,
    }
}

fn params(log_rows: usize, width: usize) -> MerkleLeafParams {
    MerkleLeafParams {
        height: 1 << log_rows,
        threads: 1 << log_rows,
        width: width as u32,
        log_stride: log_rows as u32,
        log_fold: 0,
    }
}

/// Rows of base elements, with so many permutations a row.
fn row_hash<S: HashScheme>(
    s: &CommandStream,
    log_rows: usize,
    permutations: usize,
) -> Result<Prepared, MetalError> {
    let rows = 1usize << log_rows;
    let matrix = random_base(s, rows * WIDTH)?;
    let mut nodes = MetalBuffer::<S::Node>::uninit(s.context(), rows)?;
    let p = params(log_rows, WIDTH);
    Ok(Prepared {
        size: format!("2^{log_rows} x {WIDTH}"),
        work: work((permutations * rows) as f64, Least::Clauses),
        launch: Box::new(move |s| {
            let grid = row_grid(s.context().device_profile(), rows);
            S::leaves_base(s, grid, matrix.as_slice(), nodes.as_slice_mut(), &p)
        }),
    })
}

fn row_hash_ext(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let rows = 1usize << log_size;
    let matrix = random_ext(s, rows * 4)?;
    let mut digests = MetalBuffer::<Digest>::uninit(s.context(), rows)?;
    let p = params(log_size, 4);
    Ok(Prepared {
        size: format!("2^{log_size} x 4"),
        work: work(2.0 * rows as f64, Least::Clauses),
        launch: Box::new(move |s| {
            let grid = row_grid(s.context().device_profile(), rows);
            kernels::merkle_leaves_ext(s, grid, &matrix, &mut digests, &p)
        }),
    })
}

/// The whole tree with its root read back.
fn merkle_tree(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let rows = 1usize << log_size;
    let matrix = MetalMatrix::from_buffer(random_base(s, rows * WIDTH)?, rows, WIDTH);
    // Two permutations a row, one for every node above the rows.
    let permutations = 3.0 * rows as f64 - 1.0;
    let nodes = 2.0 * (rows / ROWS_PER_LEAF) as f64;
    let products = permutations * PERMUTATION;
    let bytes = rows as f64 * WIDTH as f64 * BASE_BYTES + nodes * DIGEST_BYTES;
    Ok(Prepared {
        size: format!("2^{log_size} x {WIDTH}, {ROWS_PER_LEAF} rows a leaf"),
        work: work(permutations, Least::Problem { products, bytes }),
        launch: Box::new(move |s| {
            MerkleTreeMetal::<_, SC>::new(s, matrix.clone(), ROWS_PER_LEAF).map(drop)
        }),
    })
}

/// log2 of the number of hashes over BN254 where 2^`log_size` others are measured.
fn fewer(log_size: usize) -> usize {
    log_size.saturating_sub(LOG_FEWER_OF_BN254)
}

/// Pairs of nodes, a permutation of width 2 for each.
fn bn254_nodes(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let log_pairs = fewer(log_size);
    let pairs = 1usize << log_pairs;
    let below = repeated(s, &[Bn254Node([1; 8])], 2 * pairs)?;
    let mut above = MetalBuffer::<Bn254Node>::uninit(s.context(), pairs)?;
    let p = MerkleLeafParams {
        log_fold: 1,
        ..params(log_pairs, 0)
    };
    Ok(Prepared {
        size: format!("2^{log_pairs} pairs"),
        work: work(pairs as f64, Least::Clauses),
        launch: Box::new(move |s| {
            let grid = row_grid(s.context().device_profile(), pairs);
            kernels::bn254_fold(s, grid, &below, &mut above, &p)
        }),
    })
}
