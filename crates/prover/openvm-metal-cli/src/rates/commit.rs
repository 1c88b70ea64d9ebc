//! Kernels of `metal/commit`, with the transforms that they begin.

use openvm_metal_backend::{codewords, CommitParams, KeptCodewords, MetalMatrix, MetalProverError};
use openvm_metal_common::{CommandStream, MetalError};

use super::case::{random_base, Case, Least, Prepared, Work, BASE_BYTES};

pub const CASES: &[Case] = &[Case {
    group: "commit",
    name: "codewords",
    in_proofs: true,
    prepare: encode,
}];

/// Columns of the stacked matrix: so many that a GPU is not idle at the end of each batch of them, as in a proof.
const COLUMNS: usize = 64;
/// Products of a message's chunk of 16 cells.
const CHUNK_PRODUCTS: f64 = 17.0;

/// Cells of one trace to codewords of rate 1/2, as in a proof.
fn encode(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let (log_height, log_n) = (log_size - 1, log_size);
    let params = CommitParams {
        l_skip: 4,
        log_height,
        log_blowup: 1,
        k_whir: 4,
        kept: KeptCodewords::All,
        memory_budget: None,
    };
    let cells = (COLUMNS << log_height) as f64;
    let trace = random_base(s, COLUMNS << log_height)?;
    let trace = MetalMatrix::from_buffer(trace, 1 << log_height, COLUMNS);
    Ok(Prepared {
        size: format!("2^{log_height} -> 2^{log_n} x {COLUMNS}"),
        work: Work {
            items: 2.0 * cells,
            unit: "elements",
            least: Least::Problem {
                products: cells * (log_n as f64 + CHUNK_PRODUCTS / 16.0),
                bytes: 3.0 * cells * BASE_BYTES,
            },
        },
        launch: Box::new(move |s| match codewords(s, params, &[&trace]) {
            Ok(_) => Ok(()),
            Err(MetalProverError::Device(error)) => Err(error),
            Err(error) => {
                let (kernel, actual) = ("commit_encode_columns", error.to_string());
                Err(MetalError::argument_mismatch(
                    kernel, "range", "traces", actual,
                ))
            }
        }),
    })
}
