//! The checks of `selftest`, on the device of the environment and in conformance mode.

#[test]
fn witnesses_match_reference() {
    crate::selftest::test_group("grind");
}
