//! Device memory: one pool per context, reuse in stream order, a budget, and a record of peaks.

mod pool;
mod size;
mod span;
mod stats;

pub(crate) use pool::{Pool, PoolBlock};
pub(crate) use size::{is_small, rounded, segment_bytes};
pub(crate) use span::{Segment, Span};
pub use stats::MemoryStats;
use stats::PeakTracker;

/// The byte that memory without a value is filled with where mistakes should show.
pub(crate) const POISON: u8 = 0xA5;

/// Environment variable with the budget in bytes; suffixes K, M, G, T are powers of 1024.
pub const BUDGET_VARIABLE: &str = "OPENVM_METAL_MEMORY_BUDGET";

use crate::error::{MetalError, Result};

/// The budget set in the environment, if any.
pub(crate) fn budget_from_env() -> Result<Option<u64>> {
    let Ok(value) = std::env::var(BUDGET_VARIABLE) else {
        return Ok(None);
    };
    if value.is_empty() {
        return Ok(None);
    }
    parse_bytes(&value)
        .map(Some)
        .ok_or(MetalError::InvalidSetting {
            variable: BUDGET_VARIABLE,
            value,
            expected: "a number of bytes such as 8G",
        })
}

fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let upper = text.to_ascii_uppercase();
    let upper = upper
        .strip_suffix("IB")
        .or_else(|| upper.strip_suffix('B'))
        .unwrap_or(&upper);
    let (digits, shift) = match upper.chars().last()? {
        'K' => (&upper[..upper.len() - 1], 10),
        'M' => (&upper[..upper.len() - 1], 20),
        'G' => (&upper[..upper.len() - 1], 30),
        'T' => (&upper[..upper.len() - 1], 40),
        _ => (upper, 0),
    };
    let count: f64 = digits.trim().parse().ok()?;
    let bytes = count * (1u64 << shift) as f64;
    (bytes.is_finite() && bytes >= 1.0).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn budgets_are_read_with_their_suffix() {
        assert_eq!(parse_bytes("4096"), Some(4096));
        assert_eq!(parse_bytes(" 8G"), Some(8 << 30));
        assert_eq!(parse_bytes("1.5GiB"), Some(3 << 29));
        assert_eq!(parse_bytes("2kb"), Some(2048));
        for bad in ["", "G", "-1", "0", "many", "NaN"] {
            assert_eq!(parse_bytes(bad), None, "{bad}");
        }
    }
}
