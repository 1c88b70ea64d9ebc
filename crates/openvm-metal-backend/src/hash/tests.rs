//! The checks of `selftest`, on the device of the environment and in conformance mode.

#[test]
fn kernels_match_oracles() {
    crate::selftest::test_group("hash");
}

/// The upper layers with each permutation on sixteen lanes.
#[test]
fn kernels_match_oracles_on_many_cores() {
    crate::selftest::test_group_as("h100-80gb", "hash", "merkle");
}
