//! Kernels of `metal/ntt`.

use openvm_metal_backend::ntt::{
    ntt_batch, ntt_batch_ext, rs_encode, rs_encode_ext, transpose, NttDirection,
};
use openvm_metal_common::{CommandStream, MetalBuffer, MetalError};

use super::case::{random_base, random_ext, Case, Least, Prepared, Work, BASE_BYTES, EXT_BYTES};

pub const CASES: &[Case] = &[
    Case {
        group: "ntt",
        name: "forward",
        in_proofs: false,
        prepare: forward,
    },
    Case {
        group: "ntt",
        name: "inverse",
        in_proofs: false,
        prepare: inverse,
    },
    Case {
        group: "ntt",
        name: "forward_ext",
        in_proofs: false,
        prepare: forward_ext,
    },
    Case {
        group: "ntt",
        name: "rs_encode",
        in_proofs: true,
        prepare: encode,
    },
    Case {
        group: "ntt",
        name: "whir_codeword",
        in_proofs: true,
        prepare: whir_codeword,
    },
    Case {
        group: "ntt",
        name: "transpose",
        in_proofs: true,
        prepare: transposed,
    },
];

/// Columns of a batch: so many that a GPU is not idle at its end, as in a proof.
const COLUMNS: usize = 64;

/// `n / 2` butterflies a column for each stage that does not only copy; each element read and written once, or a share of that.
fn work(log_n: usize, stages: usize, columns: usize, words: f64, share: f64) -> Work {
    let items = (columns << log_n) as f64;
    Work {
        items,
        unit: "elements",
        least: Least::Problem {
            products: items * words * stages as f64 / 2.0,
            bytes: share * 2.0 * items * words * BASE_BYTES,
        },
    }
}

fn batch(s: &CommandStream, log_n: usize, dir: NttDirection) -> Result<Prepared, MetalError> {
    let mut data = random_base(s, COLUMNS << log_n)?;
    Ok(Prepared {
        size: format!("2^{log_n} x {COLUMNS}"),
        work: work(log_n, log_n, COLUMNS, 1.0, 1.0),
        launch: Box::new(move |s| {
            ntt_batch(s, &mut data.as_slice_mut(), log_n, COLUMNS, 1 << log_n, dir)
        }),
    })
}

fn forward(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    batch(s, log_size, NttDirection::Forward)
}

fn inverse(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    batch(s, log_size, NttDirection::Inverse)
}

fn forward_ext(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let mut data = random_ext(s, 1 << log_size)?;
    Ok(Prepared {
        size: format!("2^{log_size}"),
        work: work(log_size, log_size, 1, EXT_BYTES / BASE_BYTES, 1.0),
        launch: Box::new(move |s| {
            let forward = NttDirection::Forward;
            ntt_batch_ext(
                s,
                &mut data.as_slice_mut(),
                log_size,
                1,
                1 << log_size,
                forward,
            )
        }),
    })
}

/// Rate 1/2: half of the input is zero and need not be read, and the first stage copies.
fn encode(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let (log_h, log_n) = (log_size - 1, log_size);
    let mut data = random_base(s, COLUMNS << log_n)?;
    Ok(Prepared {
        size: format!("2^{log_h} -> 2^{log_n} x {COLUMNS}"),
        work: work(log_n, log_h, COLUMNS, 1.0, 0.75),
        launch: Box::new(move |s| rs_encode(s, data.as_slice_mut(), log_h, 1, COLUMNS)),
    })
}

/// The codeword of the first round of WHIR after codewords of `2^log_size` rows at rate 1/2: a message folded by 16, in half of the domain.
fn whir_codeword(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let (log_h, log_n) = (log_size - 5, log_size - 1);
    let mut data = random_ext(s, 1 << log_n)?;
    let words = EXT_BYTES / BASE_BYTES;
    let share = 0.5 + 0.5 / (1 << (log_n - log_h)) as f64;
    Ok(Prepared {
        size: format!("2^{log_h} -> 2^{log_n}"),
        work: work(log_n, log_h, 1, words, share),
        launch: Box::new(move |s| rs_encode_ext(s, &mut data, log_h, log_n - log_h, 1)),
    })
}

fn transposed(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let rows = 1usize << log_size;
    let input = random_base(s, COLUMNS * rows)?;
    let mut out = MetalBuffer::uninit(s.context(), COLUMNS * rows)?;
    let moved = 2.0 * (COLUMNS * rows) as f64 * BASE_BYTES;
    Ok(Prepared {
        size: format!("2^{log_size} x {COLUMNS}"),
        work: Work {
            items: (COLUMNS * rows) as f64,
            unit: "elements",
            least: Least::Problem {
                products: 0.0,
                bytes: moved,
            },
        },
        launch: Box::new(move |s| {
            transpose(s, &input.as_slice(), &mut out.as_slice_mut(), rows, COLUMNS)
        }),
    })
}
