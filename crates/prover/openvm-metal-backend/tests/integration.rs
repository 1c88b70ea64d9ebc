//! The shared suite of OpenVM's backends, on the device that `OPENVM_METAL_DEVICE` names.

use openvm_metal_backend::BabyBearPoseidon2MetalEngine;

openvm_backend_tests::backend_test_suite!(BabyBearPoseidon2MetalEngine);
