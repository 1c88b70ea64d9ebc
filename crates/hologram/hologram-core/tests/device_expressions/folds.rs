//! Folds of every size class, and positions of extremes.

use hologram_backends::Ty;
use hologram_core::expression::{Expression, FoldOp, Strided};
use hologram_core::positions::{self, Extreme};
use hologram_core::Executor;

use crate::support::{buffer, compare, data, devices, view, Case, Random, TYPES};

/// One of a type.
fn ones(ty: Ty, times: u8) -> Vec<u8> {
    match ty {
        Ty::F32 => f32::from(times).to_le_bytes().to_vec(),
        Ty::F64 => f64::from(times).to_le_bytes().to_vec(),
        _ => u64::from(times).to_le_bytes()[..ty.size()].to_vec(),
    }
}

/// A fold of a matrix along some of its dimensions.
fn fold_of(random: &mut Random, ty: Ty, op: FoldOp, shape: [usize; 2], folded: [bool; 2]) -> Case {
    let count = shape[0] * shape[1];
    let mut bytes = data(random, ty, count);
    if op == FoldOp::Product && ty.is_float() {
        // Products of most numbers are infinite; of ones and a few twos they are not.
        bytes = ones(ty, 1).repeat(count);
        for i in [0, count / 2, count - 1] {
            bytes[i * ty.size()..(i + 1) * ty.size()].copy_from_slice(&ones(ty, 2));
        }
    }
    let (strides, len) = match folded {
        [true, true] => (vec![0, 0], 1),
        [false, true] => (vec![1, 0], shape[0]),
        _ => (vec![0, 1], shape[1]),
    };
    Case {
        expression: Expression::new(&[ty], &[], vec![], vec![], Some((op, 0))).unwrap(),
        shape: shape.to_vec(),
        operands: vec![(0, vec![shape[1] as isize, 1], bytes)],
        scalars: vec![],
        outputs: vec![],
        folded: folded.to_vec(),
        target: Some((0, strides, len)),
    }
}

/// Folds of whole arrays, of rows and of columns, by one thread, by 32, by a group, and in parts: each type and operation meets
/// some of them, and all of them are met.
#[test]
fn folds_of_all_types() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    let mut random = Random(77);
    let shapes = [
        ([70_001, 1], [true, true]),
        ([1_030, 2_052], [false, true]),
        ([1_100, 300], [false, true]),
        ([20_000, 5], [false, true]),
        ([301, 1_028], [true, false]),
        ([20_001, 3], [true, false]),
        ([4, 40_000], [false, true]),
    ];
    let mut turn = 0;
    for ty in TYPES.into_iter().filter(|ty| ty.is_computable()) {
        for op in [
            FoldOp::Sum,
            FoldOp::Product,
            FoldOp::Minimum,
            FoldOp::Maximum,
        ] {
            let (shape, folded) = shapes[turn % shapes.len()];
            turn += 1;
            let case = fold_of(&mut random, ty, op, shape, folded);
            let what = format!("{op:?} of {ty} {shape:?} {folded:?}");
            compare(&case, &host, &devices, 1e-5, &what);
        }
    }
    for (shape, folded) in shapes {
        let case = fold_of(&mut random, Ty::I32, FoldOp::Sum, shape, folded);
        compare(
            &case,
            &host,
            &devices,
            0.0,
            &format!("{shape:?} {folded:?}"),
        );
    }
}

/// Positions of first extremes along each axis and of all elements, of strided views too.
#[test]
fn positions_of_extremes() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    let mut random = Random(31);
    let shapes: [&[usize]; 6] = [
        &[70_001],
        &[3, 20_001],
        &[1_100, 300],
        &[20_001, 3],
        &[40, 30, 20],
        &[1],
    ];
    let small = TYPES.into_iter().filter(|ty| ty.size() <= 4);
    for (turn, ty) in small.enumerate() {
        for (n, shape) in shapes.into_iter().enumerate() {
            if (turn + n) % 3 != 0 {
                continue;
            }
            let (offset, strides, len) = view(&mut random, shape, false);
            let bytes = data(&mut random, ty, len);
            for axis in std::iter::once(None).chain((0..shape.len()).map(Some)) {
                let kept = shape
                    .iter()
                    .enumerate()
                    .filter(|(d, _)| axis.is_some_and(|axis| axis != *d));
                let count: usize = kept.map(|(_, &extent)| extent).product();
                let extreme = random.of(&[Extreme::Minimum, Extreme::Maximum]);
                let find = |exec: &Executor| {
                    let source = buffer(exec, ty, &bytes);
                    let target = buffer(exec, Ty::I64, &vec![0x5a; 8 * count]);
                    let from = Strided {
                        buffer: &source,
                        offset,
                        strides: &strides,
                    };
                    positions::positions(exec, extreme, shape, axis, &from, &target).unwrap();
                    target.to_bytes().unwrap()
                };
                let expected = find(&host);
                for device in &devices {
                    assert_eq!(
                        find(device),
                        expected,
                        "{extreme:?} of {ty} {shape:?} {axis:?} {strides:?}"
                    );
                }
            }
        }
    }
}
