//! The checks of `selftest`, on the device of the environment and in conformance mode.

#[test]
fn kernels_match_oracles() {
    crate::selftest::test_group("ntt");
}

/// Tiles of more rows than the processor's own profile has memory for.
#[test]
fn tall_tiles_match_oracles() {
    crate::selftest::test_group_as("h100-80gb", "ntt", "tall");
}
