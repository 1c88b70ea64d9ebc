//! Products of matrices of halves on matrix units, in conformance mode: SIMD-groups of 32 lanes, poisoned threadgroup memory.

use hologram_conformance::operations::product;
use hologram_kernels::device::LIBRARY;
use hologram_kernels::Ty;
use openvm_metal_common::{Device, DeviceProfile, InjectedFault, MetalContext};

use crate::same;

const HALVES: [Ty; 2] = [Ty::F16, Ty::Bf16];
/// The kernels without matrix units.
const PLAIN: [&str; 4] = [
    "gemm_f16_128",
    "gemm_f16_32",
    "gemm_bf16_128",
    "gemm_bf16_32",
];
/// Operations that use matrix units.
const UNITS: [&str; 4] = [
    "gemm_f16_units_128",
    "gemm_f16_units_64",
    "gemm_bf16_units_128",
    "gemm_bf16_units_64",
];

/// Conformance mode as the profile says, or as it is, without some kernels.
fn without(refused: &[&'static str], profile: Option<&str>) -> MetalContext {
    let libraries = [&LIBRARY];
    let mut builder = MetalContext::builder(Device::CpuConformance).libraries(&libraries);
    if let Some(name) = profile {
        builder = builder.profile(DeviceProfile::named(name).expect(name));
    }
    let context = builder.open().expect("the CPU device");
    for kernel in refused {
        context.inject_fault(InjectedFault::Refused(kernel));
    }
    context
}

fn products(context: &MetalContext, shapes: &[[u32; 3]], shift: usize) {
    for ty in HALVES {
        let cases = shapes.iter().map(|&shape| product(ty, shape, shift));
        same(context, cases);
    }
}

/// A number from 1 to `most`.
fn number(state: &mut u32, most: u32) -> u32 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    1 + (*state >> 8) % most
}

#[test]
fn rows_of_octets() {
    let context = without(&PLAIN, None);
    // A row, tiny ones, whole tiles, one more than a tile, one less, and several steps.
    let shapes = [
        [1, 8, 8],
        [3, 16, 8],
        [64, 64, 32],
        [65, 72, 40],
        [63, 56, 64],
        [130, 136, 264],
    ];
    products(&context, &shapes, 0);
}

#[test]
fn rows_that_are_filled_up() {
    let context = without(&PLAIN, None);
    let mut state = 5;
    let random = [(); 5].map(|()| {
        [
            number(&mut state, 150),
            1 + number(&mut state, 150),
            127 + number(&mut state, 60),
        ]
    });
    products(&context, &random, 0);
    // One factor is copied, each in turn; then operands that begin between multiples of 16 bytes.
    products(&context, &[[64, 72, 129], [65, 71, 136]], 0);
    products(&context, &[[66, 64, 128]], 1);
}

#[test]
fn the_largest_tiles() {
    let small = ["gemm_f16_units_64", "gemm_bf16_units_64"];
    let refused = [&PLAIN[..], &small].concat();
    let context = without(&refused, None);
    products(&context, &[[1409, 1416, 40]], 0);
}

#[test]
fn devices_without_matrix_units_and_shallow_products_take_the_plain_kernels() {
    let context = without(&UNITS, None);
    products(&context, &[[65, 72, 40]], 0);
    // Too shallow for copies.
    products(&without(&[], None), &[[33, 65, 71]], 1);
    let plain = without(&UNITS, Some("cpu"));
    assert!(!plain.device_profile().matrix_units);
    products(&plain, &[[33, 64, 72], [40, 33, 150]], 0);
}

#[test]
fn every_profile_of_a_gpu_has_matrix_units() {
    for name in DeviceProfile::names() {
        let units = name != "cpu";
        let refused = if units { &PLAIN } else { &UNITS };
        let context = without(refused, Some(name));
        assert_eq!(context.device_profile().matrix_units, units, "{name}");
        products(&context, &[[70, 80, 48], [9, 17, 130]], 0);
    }
}
