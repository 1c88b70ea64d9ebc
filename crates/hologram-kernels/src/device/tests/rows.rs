//! Operations on rows.

use super::*;

fn rows(context: &MetalContext, shapes: &[(u32, u32)]) {
    for ty in FLOATS {
        for &(rows, cols) in shapes {
            let cells = rows as usize * cols as usize;
            let read = [
                random(ty, cells, 4),
                random(ty, cols as usize, 5),
                random(ty, cols as usize, 6),
            ];
            let softmax = Operation::Softmax { ty, rows, cols };
            let (device, _) = on_device(context, &softmax, &read[..1], 1);
            let host = on_host(&softmax, &read[..1]).expect("no fault");
            same(&softmax, &device, &host, 1e-5, 0.0);
            let norm = Operation::LayerNorm {
                ty,
                rows,
                cols,
                epsilon: 1e-5,
            };
            let (device, _) = on_device(context, &norm, &read, 0);
            let host = on_host(&norm, &read).expect("no fault");
            same(&norm, &device, &host, 1e-5, 1e-5);
        }
    }
}

#[test]
fn softmax_and_layer_norm() {
    rows(
        &context(),
        &[(0, 3), (3, 0), (1, 1), (7, 33), (3, 1000), (2, 9001)],
    );
}

#[test]
fn softmax_and_layer_norm_with_barriers() {
    rows(&conformance(), &[(3, 5), (2, 257), (2, 1030)]);
}
