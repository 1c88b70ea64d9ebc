//! Products of matrices.

use hologram_conformance::operations::product;
use hologram_kernels::device::{run, DeviceError, DeviceSpan, LIBRARY};
use hologram_kernels::{Operation, Ty};
use openvm_metal_common::{Device, InjectedFault, MetalBuffer, MetalContext};

use crate::{conformance, context, same, FLOATS};

fn products(context: &MetalContext, shapes: &[[u32; 3]]) {
    for ty in FLOATS {
        for &[m, n, k] in shapes {
            // One processor stands for all threads of a tile: halves take the largest tile once.
            let half = ty.calculated() != ty;
            if half && (600..1408).contains(&m) {
                continue;
            }
            let shifts = if half && m >= 600 { 1 } else { 2 };
            same(
                context,
                (0..shifts).map(|shift| product(ty, [m, n, k], shift)),
            );
        }
    }
}

/// No rows, no depth, a vector, and the three tile sizes with whole and cut tiles.
const PRODUCTS: [[u32; 3]; 9] = [
    [0, 3, 3],
    [3, 2, 0],
    [1, 1, 1],
    [5, 1, 77],
    [33, 7, 19],
    [32, 64, 48],
    [600, 1000, 20],
    [1400, 1500, 3],
    [1408, 1536, 17],
];

#[test]
fn gemm() {
    products(&context(), &PRODUCTS);
}

#[test]
fn gemm_with_barriers() {
    products(&conformance(), &PRODUCTS[..6]);
    // The largest tile: as many threads as it was made for.
    products(&conformance(), &[[1408, 1409, 18]]);
}

#[test]
fn products_without_the_largest_tiles() {
    let context = MetalContext::new(Device::Cpu, &[&LIBRARY]).expect("the CPU device");
    // As under Metal's shader validation, which leaves no room for 32 KiB of tiles.
    for kernel in ["gemm_f32_128", "gemm_f16_128", "gemm_bf16_128"] {
        context.inject_fault(InjectedFault::Refused(kernel));
    }
    let types = [Ty::F32, Ty::F16, Ty::Bf16];
    same(&context, types.map(|ty| product(ty, [1408, 1536, 3], 0)));
    context.inject_fault(InjectedFault::Refused("gemm_f32_64"));
    same(&context, [product(Ty::F32, [1408, 1536, 3], 0)]);
    context.inject_fault(InjectedFault::Refused("gemm_f32_32"));
    let stream = context.stream();
    let buffer = MetalBuffer::<u8>::zeroed(&stream, 64).expect("memory");
    let span = DeviceSpan {
        memory: buffer.as_slice(),
        offset: 0,
    };
    let operation = Operation::Gemm {
        ty: Ty::F32,
        m: 2,
        n: 2,
        k: 2,
    };
    match run(&operation, &stream, &[span; 3]) {
        Err(DeviceError::Device(error)) => {
            assert!(error.to_string().contains("gemm_f32_32"), "{error}");
        }
        other => panic!("{:?}", other.map(drop)),
    }
}
