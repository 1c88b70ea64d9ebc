//! Operations on rows.

use hologram_conformance::operations::rows;
use openvm_metal_common::MetalContext;

use crate::{conformance, context, same, FLOATS};

fn every(context: &MetalContext, shapes: &[(u32, u32)]) {
    for ty in FLOATS {
        for &(count, cols) in shapes {
            same(context, rows(ty, count, cols));
        }
    }
}

#[test]
fn softmax_and_layer_norm() {
    every(
        &context(),
        &[(0, 3), (3, 0), (1, 1), (7, 33), (3, 1000), (2, 9001)],
    );
}

#[test]
fn softmax_and_layer_norm_with_barriers() {
    every(&conformance(), &[(3, 5), (2, 257), (2, 1030)]);
}
