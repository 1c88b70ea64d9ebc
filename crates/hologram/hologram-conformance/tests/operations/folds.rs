//! Reductions and losses.

use hologram_conformance::operations::{losses, reductions};
use hologram_kernels::Ty;
use openvm_metal_common::MetalContext;

use crate::{conformance, context, same};

fn folds(context: &MetalContext, counts: &[u64]) {
    for ty in Ty::ALL {
        for &count in counts {
            for shift in [0, 1] {
                same(context, reductions(ty, count, shift));
            }
            same(context, losses(ty, count));
        }
    }
}

#[test]
fn reductions_and_losses() {
    folds(&context(), &[0, 1, 31, 1000, 70_001]);
}

#[test]
fn reductions_and_losses_with_barriers() {
    folds(&conformance(), &[3, 9001]);
}
