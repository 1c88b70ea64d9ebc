//! The checks of `selftest`, on the device of the environment and in conformance mode.

#[test]
fn bn254_kernels_match_oracles() {
    crate::selftest::test_group("bn254");
}
