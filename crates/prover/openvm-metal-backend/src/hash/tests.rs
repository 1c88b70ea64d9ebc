//! The checks of `selftest`, on the device of the environment and in conformance mode.

use openvm_metal_common::{Device, DeviceProfile, MetalBuffer, MetalContext};

use super::{digests_below_leaves, MerkleTreeMetal};
use crate::{
    kernels,
    matrix::MetalMatrix,
    prelude::{Digest, SC},
    selftest::CheckRng,
};

#[test]
fn kernels_match_oracles() {
    crate::selftest::test_group("hash");
}

/// The upper layers with each permutation on sixteen lanes.
#[test]
fn kernels_match_oracles_on_many_cores() {
    crate::selftest::test_group_as("h100-80gb", "hash", "merkle");
}

/// The tree of 2^20 rows of one column, 16 rows a leaf, and the dispatches it took.
fn large_tree(profile: DeviceProfile) -> (Vec<Digest>, u64) {
    let libraries = [&kernels::LIBRARY];
    let builder = MetalContext::builder(Device::Cpu).libraries(&libraries);
    let context = builder.profile(profile).open().unwrap();
    let s = &context.stream();
    let cells = MetalBuffer::from_host(s, &CheckRng::new(3).fs(1 << 20)).unwrap();
    let matrix = MetalMatrix::from_buffer(cells, 1 << 20, 1);
    let before = s.counters().total().dispatches;
    let tree = MerkleTreeMetal::<_, SC>::encode(s, matrix, 16).unwrap();
    let dispatches = s.counters().total().dispatches - before;
    let layers = tree.digest_layers_to_host(s).unwrap();
    (layers.concat(), dispatches)
}

/// 2^16 leaves are fewer than four times the threads of half an H100: the last two levels below them are a dispatch of their own.
#[test]
fn leaves_in_two_dispatches_are_those_of_one() {
    let (expected, one) = large_tree(DeviceProfile::named("cpu").unwrap());
    let mut half = DeviceProfile::named("h100-80gb").unwrap();
    half.cores /= 2;
    assert_eq!(digests_below_leaves(&half, 4, 16), 1 << 18);
    let (actual, two) = large_tree(half);
    assert!(actual == expected);
    // Above the leaves: layers of 2^8 digests; layers down to 2^12, the last 7 and 5 on lanes.
    assert_eq!((one, two), (1 + 2, 2 + 3));
}

#[test]
fn an_opening_without_all_columns_is_an_error() {
    let libraries = [&kernels::LIBRARY];
    let context = MetalContext::builder(Device::Cpu).libraries(&libraries);
    let context = context.open().unwrap();
    let s = &context.stream();
    let cells = MetalBuffer::from_host(s, &CheckRng::new(4).fs(3 << 4)).unwrap();
    let tree =
        MerkleTreeMetal::<_, SC>::encode(s, MetalMatrix::from_buffer(cells, 1 << 4, 3), 2).unwrap();
    let queries = MetalBuffer::from_host(s, &[0_u32, 5]).unwrap();
    let error = tree.gather(s, &queries).unwrap().finish().err();
    let error = error.expect("no columns").to_string();
    assert!(error.contains("0 of 3"), "{error}");
    let mut whole = tree.gather(s, &queries).unwrap();
    whole.add_kept(s).unwrap();
    whole.finish().unwrap();
}

/// Outputs of the leaf kernel can be combined, for leaves and trees of any size on every device.
#[test]
fn digests_below_leaves_are_none_or_more_than_the_leaves() {
    for name in DeviceProfile::names() {
        let profile = DeviceProfile::named(name).unwrap();
        for (log_rows, log_stride) in (0..=6).flat_map(|r| (0..=27 - r).map(move |s| (r, s))) {
            let below = digests_below_leaves(&profile, log_rows, log_stride);
            let (leaves, all) = (1u64 << log_stride, 1u64 << (log_rows + log_stride));
            let fits = below == 0 || (below > leaves && below <= all);
            assert!(fits, "{name}, {log_rows}, {log_stride}: {below}");
        }
    }
}
