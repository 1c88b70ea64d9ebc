//! Reductions and losses.

use super::*;
use crate::{LossOp, ReduceOp};

fn folds(context: &MetalContext, counts: &[u64]) {
    for ty in Ty::ALL {
        for &count in counts {
            let read = [
                random(ty, count as usize, count),
                random(ty, count as usize, 9),
            ];
            for shift in [0, 1] {
                for &op in ReduceOp::ALL {
                    if op == ReduceOp::Product && ty.is_float() && count > 100 {
                        continue;
                    }
                    let operation = Operation::Reduce { op, ty, count };
                    let (device, _) = on_device(context, &operation, &read[..1], shift);
                    let host = on_host(&operation, &read[..1]).expect("no fault");
                    same(
                        &operation,
                        &device,
                        &host,
                        1e-4,
                        1e-4 * (count as f64).sqrt(),
                    );
                }
            }
            if ty.is_float() {
                for &op in LossOp::ALL {
                    let operation = Operation::Loss { op, ty, count };
                    let (device, _) = on_device(context, &operation, &read, 0);
                    let host = on_host(&operation, &read).expect("no fault");
                    same(&operation, &device, &host, 1e-5, 1e-6);
                }
            }
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
