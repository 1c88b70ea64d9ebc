//! Kernels of whole-buffer operations on the CPU device, also in conformance mode, against the host's.

mod calls;
mod elementwise;
mod folds;
mod products;
mod products_on_units;
mod rows;
mod suite;

use hologram_conformance::operations::{OperationCase, Tolerance};
use hologram_kernels::device::LIBRARY;
use hologram_kernels::Ty;
use openvm_metal_common::{Device, MetalContext};

fn context() -> MetalContext {
    MetalContext::shared_on(Device::Cpu, &[&LIBRARY]).expect("the CPU device")
}

/// Barrier kernels with real barriers.
fn conformance() -> MetalContext {
    MetalContext::shared_on(Device::CpuConformance, &[&LIBRARY]).expect("the CPU device")
}

/// Device and host agree.
fn same(context: &MetalContext, cases: impl IntoIterator<Item = OperationCase>) {
    for case in cases {
        assert_eq!(case.run(context).expect("it runs"), Ok(0));
    }
}

/// Equal elements.
const EXACT: Tolerance = Tolerance {
    relative: 0.0,
    absolute: 0.0,
    flushes: false,
};

const FLOATS: [Ty; 4] = [Ty::F32, Ty::F64, Ty::F16, Ty::Bf16];
