//! Rates of kernels against a roofline: the least time that the device's measured peaks allow.

mod case;
mod commit;
mod grind;
mod hash;
mod measure;
mod ntt;
mod roof;

use openvm_metal_common::CommandStream;
use serde::Serialize;

use self::case::{Least, Work};
use self::measure::median_time;
use crate::error::Result;

pub use self::case::Case;
#[cfg(feature = "reference")]
pub use self::measure::RUNS;
pub use self::roof::Roof;

/// Measurement of a kernel.
#[derive(Serialize)]
pub struct Row {
    /// Phase and name.
    pub kernel: String,
    /// True if proofs do it.
    pub in_proofs: bool,
    /// Size of its input.
    pub size: String,
    /// Median.
    pub seconds: f64,
    /// Things per second, see `unit`.
    pub rate: f64,
    /// Unit of the count.
    pub unit: String,
    /// Traffic by the cost clauses.
    pub bytes_per_second: f64,
    /// Arithmetic by the cost clauses.
    pub products_per_second: f64,
    /// Least time that the measured peaks allow over the time taken, in percent.
    pub percent_of_floor: f64,
    /// The peak that makes the floor: `memory` or `arithmetic`.
    pub bound: String,
    /// Reason why there is no figure; then all figures are zero.
    pub error: Option<String>,
}

/// All kernels that can be measured.
pub fn cases() -> Vec<Case> {
    [hash::CASES, ntt::CASES, commit::CASES, grind::CASES].concat()
}

/// Measures one kernel.
///
/// # Errors
/// A kernel that cannot run, and Ctrl-C.
pub fn measure(s: &CommandStream, case: &Case, log_size: usize, roof: &Roof) -> Result<Row> {
    let mut prepared = (case.prepare)(s, log_size)?;
    let seconds = median_time(s, || (prepared.launch)(s))?;
    let Work { items, unit, least } = prepared.work;
    let (products, bytes) = match least {
        Least::Problem { products, bytes } => (products, bytes),
        Least::Clauses => {
            let before = s.counters().total();
            (prepared.launch)(s)?;
            let after = s.counters().total();
            let products = after.products - before.products;
            let bytes = after.kernel_bytes - before.kernel_bytes;
            (products as f64, bytes as f64)
        }
    };
    let by_memory = bytes / roof.bytes_per_second > products / roof.products_per_second;
    Ok(Row {
        kernel: case.path(),
        in_proofs: case.in_proofs,
        size: prepared.size,
        seconds,
        rate: items / seconds,
        unit: unit.to_owned(),
        bytes_per_second: bytes / seconds,
        products_per_second: products / seconds,
        percent_of_floor: 100.0 * roof.floor(products, bytes) / seconds,
        bound: if by_memory { "memory" } else { "arithmetic" }.to_owned(),
        error: None,
    })
}
