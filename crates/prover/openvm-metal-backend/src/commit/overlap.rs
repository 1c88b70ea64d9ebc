//! Sponges of all rows, with which rows are hashed while columns are encoded: memory that is taken only where there is room for it.

use openvm_metal_common::{CommandStream, DeviceProfile, Order};

use super::{digest_bytes, CommitParams};
use crate::{
    error::MetalProverError,
    hash::{absorbed_bytes, AbsorbedRows, HashScheme},
    memory::MemoryEstimate,
};

/// Fewest columns of a matrix that is hashed while it is encoded, and fewest bytes.
const OVERLAP_COLUMNS: u64 = 32;
pub(crate) const OVERLAP_BYTES: u64 = 64 << 20;

/// Bytes that hashing columns while others are transformed takes: the sponges of all rows. Zero if it does not pay
/// on such a device.
pub(crate) fn overlap_bytes(profile: &DeviceProfile, log_rows: usize, width: u64) -> u64 {
    let large = width >= OVERLAP_COLUMNS && width << (log_rows + 2) >= OVERLAP_BYTES;
    match large && profile.cache == 0 {
        true => absorbed_bytes(1 << log_rows),
        false => 0,
    }
}

/// Sponges for `width` columns that are hashed while they are encoded, if that pays and they fit beside the codewords.
///
/// # Errors
/// If the device fails.
pub(super) fn sponges<SC: HashScheme>(
    s: &CommandStream,
    params: CommitParams,
    width: usize,
) -> Result<Option<AbsorbedRows<SC>>, MetalProverError> {
    let (context, log_rows) = (s.context(), params.log_height + params.log_blowup);
    let bytes = overlap_bytes(context.device_profile(), log_rows, width as u64);
    // The codewords, the tree, and the scratch column of the transform or what the plan of a proof has for digests below the leaves.
    let column = 4u64 << log_rows;
    let [tree, below] = digest_bytes(context.device_profile(), log_rows, params.k_whir);
    let others = width as u64 * column + tree + column.max(2 * below);
    let memory = context.memory();
    let own = MemoryEstimate::plannable(memory.budget);
    let budget = params.memory_budget.map_or(own, |bytes| bytes.min(own));
    let all = MemoryEstimate::rounded(memory.live.saturating_add(others + bytes));
    if bytes == 0 || all > budget || context.order() == Order::Serial {
        return Ok(None);
    }
    Ok(Some(AbsorbedRows::new(s, 1 << log_rows)?))
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, MetalContext};

    use super::*;
    use crate::{kept_codewords::KeptCodewords, kernels, prelude::SC};

    const LOG_ROWS: usize = 18;
    const WIDTH: usize = 64;

    /// True if a device with such a budget has sponges for 64 columns.
    fn has_sponges(name: &str, order: Order, budget: u64, memory_budget: Option<u64>) -> bool {
        let profile = DeviceProfile::named(name).expect("a profile");
        let libraries = [&kernels::LIBRARY];
        let builder = MetalContext::builder(Device::Cpu).libraries(&libraries);
        let builder = builder.profile(profile).order(order).budget(Some(budget));
        let context = builder.open().expect("a context");
        let params = CommitParams {
            l_skip: 4,
            log_height: LOG_ROWS - 1,
            log_blowup: 1,
            k_whir: 4,
            kept: KeptCodewords::All,
            memory_budget,
        };
        let sponges = sponges::<SC>(&context.stream(), params, WIDTH);
        sponges.expect("memory for them").is_some()
    }

    #[test]
    fn sponges_have_to_fit_into_the_budget() {
        let column = 4u64 << LOG_ROWS;
        // The tree has a column's bytes, digests below its leaves twice four, sponges eight.
        let needed = MemoryEstimate::rounded((WIDTH as u64 + 1 + 8 + 8) * column);
        let of_device = needed + MemoryEstimate::POOL_OVERHEAD;
        let (gpu, order) = ("h100-80gb", Order::Concurrent);
        assert!(has_sponges(gpu, order, of_device, None));
        assert!(!has_sponges(gpu, order, of_device - 1, None));
        assert!(has_sponges(gpu, order, 2 * of_device, Some(needed)));
        assert!(!has_sponges(gpu, order, 2 * of_device, Some(needed - 1)));
        assert!(!has_sponges(gpu, order, of_device - 1, Some(needed)));
        assert!(!has_sponges(gpu, Order::Serial, of_device, None));
        assert!(!has_sponges("cpu", order, of_device, None));
    }
}
