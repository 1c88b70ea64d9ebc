//! Twiddle factors: one table for all sizes.
//!
//! `z[j]` for index bits `j_0 j_1 ...` is the product of the roots of unity of order `2^(i + 2)` over the
//! set bits `i`. The table holds `z[j]` for `j < 2^13`, then `z[h << 13]` for `h < 2^13`.

use std::sync::{Arc, OnceLock};

use openvm_metal_common::{CommandStream, MetalBuffer, MetalError};
use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};

use super::NttDirection;
use crate::prelude::F;

const LOG_TABLE: usize = 13;

/// The table on the device: 64 KiB, copied once for a handle and its clones.
pub(crate) fn table(
    s: &CommandStream,
    direction: NttDirection,
) -> Result<Arc<MetalBuffer<F>>, MetalError> {
    static FORWARD: OnceLock<Vec<F>> = OnceLock::new();
    static INVERSE: OnceLock<Vec<F>> = OnceLock::new();
    let host = match direction {
        NttDirection::Forward => FORWARD.get_or_init(|| host_table(|root| root)),
        NttDirection::Inverse => INVERSE.get_or_init(|| host_table(|root| root.inverse())),
    };
    s.constant(host)
}

fn host_table(map: impl Fn(F) -> F) -> Vec<F> {
    let mut table = Vec::with_capacity(2 << LOG_TABLE);
    for half in 0..2 {
        let start = table.len();
        table.push(F::ONE);
        for bit in 0..LOG_TABLE {
            let root = map(F::two_adic_generator((half * LOG_TABLE + bit + 2).min(27)));
            for j in 0..1 << bit {
                let low: F = table[start + j];
                table.push(low * root);
            }
        }
    }
    table
}
