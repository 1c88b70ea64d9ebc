//! Checks of kernels whose own tests are elsewhere, on the device of the environment and in
//! conformance mode.

#[test]
fn gkr() {
    super::test_group("gkr");
}

#[test]
fn peaks() {
    super::test_group("bench");
}
