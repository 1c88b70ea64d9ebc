//! In which order operations run: which of them use the same memory, and what may overlap.
//!
//! Nothing here depends on a device: the CPU device runs what a GPU could, in any order that this allows, to test it.

mod access;
mod queues;
mod running;

use std::str::FromStr;

use serde::Serialize;

pub(crate) use self::access::Access;
pub(crate) use self::queues::{Placement, Queues, COPY_QUEUE, MAX_QUEUES};
pub(crate) use self::running::Running;
use crate::error::{MetalError, Result};

/// Environment variable with the order of operations.
pub const ORDER_VARIABLE: &str = "OPENVM_METAL_ORDER";

/// In which order a context's operations run. The bytes that they give are the same in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after another, in the order of the calls.
    Serial,
    /// On GPUs, operations overlap unless one writes bytes that the other reads or writes.
    #[default]
    Concurrent,
    /// On the CPU device, each batch of operations up to a wait runs in an order drawn by the seed from those that a
    /// GPU could take. For tests.
    Shuffled(u64),
}

impl Order {
    /// The order in `OPENVM_METAL_ORDER`; concurrent if it is unset or empty.
    ///
    /// # Errors
    /// [`MetalError::InvalidSetting`].
    pub fn from_env() -> Result<Self> {
        match std::env::var(ORDER_VARIABLE) {
            Ok(value) if !value.is_empty() => value.parse(),
            _ => Ok(Self::default()),
        }
    }
}

impl FromStr for Order {
    type Err = MetalError;

    fn from_str(value: &str) -> Result<Self> {
        let invalid = || MetalError::InvalidSetting {
            variable: ORDER_VARIABLE,
            value: value.to_owned(),
            expected: "serial, concurrent, or on the CPU device shuffled or shuffled-SEED",
        };
        match value.trim().to_ascii_lowercase().as_str() {
            "serial" => Ok(Self::Serial),
            "concurrent" => Ok(Self::Concurrent),
            "shuffled" => Ok(Self::Shuffled(1)),
            other => other
                .strip_prefix("shuffled-")
                .and_then(|seed| seed.parse().ok())
                .map(Self::Shuffled)
                .ok_or_else(invalid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read() {
        for (name, order) in [
            ("serial", Order::Serial),
            ("Concurrent", Order::Concurrent),
            ("shuffled", Order::Shuffled(1)),
            ("shuffled-77", Order::Shuffled(77)),
        ] {
            assert_eq!(name.parse::<Order>().expect(name), order);
        }
        for name in ["", "parallel", "shuffled-", "shuffled-x"] {
            let error = name.parse::<Order>().expect_err(name).to_string();
            assert!(error.contains(ORDER_VARIABLE), "{error}");
        }
    }
}
