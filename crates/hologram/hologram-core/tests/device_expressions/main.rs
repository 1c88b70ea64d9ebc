//! Expressions as kernels of devices against the host's vector code: the device in `OPENVM_METAL_DEVICE`, else the CPU in both
//! modes. `HOLOGRAM_TEST_EXPRESSIONS` sets the number of random expressions.

mod folds;
mod random;
mod sorts;
mod support;

use hologram_backends::{BinaryOp, MapOp, Ty};
use hologram_core::expression::{Expression, Step, StepOp};
use hologram_core::Executor;

use support::{compare, data, devices, elements, Case, Random};

/// Functions that devices compute by polynomials of their own.
#[test]
fn functions() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    let mut random = Random(99);
    let all = [
        MapOp::Exp,
        MapOp::Log,
        MapOp::Sqrt,
        MapOp::Rsqrt,
        MapOp::Sin,
        MapOp::Cos,
        MapOp::Tan,
        MapOp::Tanh,
        MapOp::Sigmoid,
        MapOp::Gelu,
        MapOp::Reciprocal,
    ];
    for ty in [Ty::F32, Ty::F64] {
        let steps: Vec<Step> = all
            .iter()
            .map(|&op| Step {
                op: StepOp::Map(op),
                ty,
                args: vec![0],
            })
            .chain([Step {
                op: StepOp::Binary(BinaryOp::Pow),
                ty,
                args: vec![0, 1],
            }])
            .collect();
        let outputs: Vec<usize> = (2..2 + steps.len()).collect();
        let case = Case {
            outputs: outputs.iter().map(|_| (0, vec![1], 4099)).collect(),
            expression: Expression::new(&[ty, ty], &[], steps, outputs, None).unwrap(),
            shape: vec![4099],
            operands: vec![
                (0, vec![1], data(&mut random, ty, 4099)),
                (0, vec![1], data(&mut random, ty, 4099)),
            ],
            scalars: vec![],
            folded: vec![false],
            target: None,
        };
        compare(&case, &host, &devices, 4e-6, &format!("functions of {ty}"));
    }
}

/// Operands that lie along another dimension than what is written: tiles.
#[test]
fn transposes() {
    let (host, devices) = (Executor::new().unwrap(), devices());
    let mut random = Random(41);
    for (ty, shape, strides) in [
        (Ty::F32, vec![64, 132], vec![1, 64]),
        (Ty::U8, vec![33, 65], vec![1, 40]),
        (Ty::F64, vec![100, 34], vec![1, 100]),
        (Ty::I16, vec![5, 40, 96], vec![96 * 40, 1, 40]),
        (Ty::F32, vec![48, 7, 64], vec![1, 48 * 64, 48]),
    ] {
        let count: usize = shape.iter().product();
        let dense: Vec<isize> = (0..shape.len())
            .map(|d| shape[d + 1..].iter().product::<usize>() as isize)
            .collect();
        let last = shape
            .iter()
            .zip(&strides)
            .map(|(&e, &s)| (e as isize - 1) * s)
            .sum::<isize>();
        let add = Step {
            op: StepOp::Binary(BinaryOp::Add),
            ty,
            args: vec![0, 1],
        };
        let case = Case {
            expression: Expression::new(&[ty, ty], &[], vec![add], vec![2], None).unwrap(),
            operands: vec![
                (0, strides, data(&mut random, ty, last as usize + 1)),
                (0, dense.clone(), data(&mut random, ty, count)),
            ],
            scalars: vec![],
            outputs: vec![(0, dense, count)],
            folded: vec![false; shape.len()],
            target: None,
            shape,
        };
        compare(
            &case,
            &host,
            &devices,
            0.0,
            &format!("{ty} {:?}", case.shape),
        );
    }
}

#[test]
fn what_devices_lack_is_named() {
    let mut random = Random(5);
    let step = Step {
        op: StepOp::Map(MapOp::Erf),
        ty: Ty::F32,
        args: vec![0],
    };
    let case = Case {
        expression: Expression::new(&[Ty::F32], &[], vec![step], vec![1], None).unwrap(),
        shape: vec![5],
        operands: elements(&mut random, &[Ty::F32], &[5]),
        scalars: vec![],
        outputs: vec![(0, vec![1], 5)],
        folded: vec![false],
        target: None,
    };
    for device in devices() {
        let error = case.run(&device).unwrap_err().to_string();
        assert!(error.contains("erf of f32"), "{error}");
    }
}
