//! Kernels of `metal/hash`.

use openvm_metal_backend::hash::{row_grid, MerkleTreeMetal};
use openvm_metal_backend::kernels;
use openvm_metal_backend::params::MerkleLeafParams;
use openvm_metal_backend::prelude::{Digest, SC};
use openvm_metal_backend::MetalMatrix;
use openvm_metal_common::{CommandStream, MetalBuffer, MetalError};

use super::case::{random_base, random_ext, Case, Least, Prepared, Work, BASE_BYTES, PERMUTATION};

pub const CASES: &[Case] = &[
    Case {
        group: "hash",
        name: "row_hash_base",
        in_proofs: true,
        prepare: row_hash_base,
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
];

/// Columns of the matrix: two permutations a row.
const WIDTH: usize = 16;
/// Bytes of a digest.
const DIGEST_BYTES: f64 = 32.0;
/// Rows that share a leaf.
const ROWS_PER_LEAF: usize = 16;

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

fn row_hash_base(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let rows = 1usize << log_size;
    let matrix = random_base(s, rows * WIDTH)?;
    let mut digests = MetalBuffer::<Digest>::uninit(s.context(), rows)?;
    let p = params(log_size, WIDTH);
    Ok(Prepared {
        size: format!("2^{log_size} x {WIDTH}"),
        work: work(2.0 * rows as f64, Least::Clauses),
        launch: Box::new(move |s| {
            let grid = row_grid(s.context().device_profile(), rows);
            kernels::merkle_leaves_base(s, grid, &matrix, &mut digests, &p)
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
