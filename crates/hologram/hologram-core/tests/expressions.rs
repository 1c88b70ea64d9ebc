//! Expressions on buffers: what is computed, and which views are refused.

use hologram_backends::{BinaryOp, Ty};
use hologram_core::expression::{self, Expression, FoldOp, Step, StepOp, Strided, Views};
use hologram_core::{BackendType, DynBuffer, Error, Executor};

/// x + x, and its sum where it is asked for.
fn doubled(fold: bool) -> Expression {
    let step = Step {
        op: StepOp::Binary(BinaryOp::Add),
        ty: Ty::F32,
        args: vec![0, 0],
    };
    let outputs = if fold { vec![] } else { vec![1] };
    let fold = fold.then_some((FoldOp::Sum, 1));
    Expression::new(&[Ty::F32], &[], vec![step], outputs, fold).unwrap()
}

fn view<'a>(buffer: &'a DynBuffer, offset: usize, strides: &'a [isize]) -> Strided<'a> {
    Strided {
        buffer,
        offset,
        strides,
    }
}

fn run(exec: &Executor, shape: &[usize], from: Strided<'_>, to: Strided<'_>) -> Result<(), Error> {
    let views = Views {
        shape,
        operands: &[from],
        scalars: &[],
        outputs: &[to],
        folded: &vec![false; shape.len()],
        target: None,
    };
    expression::run(exec, &doubled(false), &views)
}

fn numbers(exec: &Executor, n: usize) -> DynBuffer {
    let data: Vec<f32> = (0..n).map(|i| i as f32).collect();
    exec.from_slice(&data).unwrap().as_dyn().clone()
}

fn values(buffer: &DynBuffer) -> Vec<f32> {
    buffer.typed::<f32>().unwrap().to_vec().unwrap()
}

#[test]
fn views_are_computed_in_one_pass() {
    let exec = Executor::new().unwrap();
    let (a, out) = (numbers(&exec, 6), exec.allocate_unset(Ty::F32, 6).unwrap());
    run(&exec, &[3, 2], view(&a, 0, &[1, 3]), view(&out, 0, &[2, 1])).unwrap();
    assert_eq!(values(&out), [0.0, 6.0, 2.0, 8.0, 4.0, 10.0]);
    assert_eq!(exec.stats().expressions, 1);
    // In place, on every other element.
    run(&exec, &[3], view(&a, 1, &[2]), view(&a, 1, &[2])).unwrap();
    assert_eq!(values(&a), [0.0, 2.0, 2.0, 6.0, 4.0, 10.0]);
    let sum = exec.allocate_unset(Ty::F32, 2).unwrap();
    let views = Views {
        shape: &[2, 3],
        operands: &[view(&out, 0, &[3, 1])],
        scalars: &[],
        outputs: &[],
        folded: &[false, true],
        target: Some(view(&sum, 0, &[1, 0])),
    };
    expression::run(&exec, &doubled(true), &views).unwrap();
    assert_eq!(values(&sum), [16.0, 44.0]);
}

#[test]
fn views_are_checked() {
    let exec = Executor::new().unwrap();
    let (a, b) = (numbers(&exec, 8), numbers(&exec, 8));
    let aliased = run(&exec, &[4], view(&a, 0, &[1]), view(&a, 2, &[1]));
    assert!(matches!(aliased, Err(Error::Aliased { .. })), "{aliased:?}");
    let outside = run(&exec, &[4], view(&a, 5, &[1]), view(&b, 0, &[1]));
    assert!(matches!(outside, Err(Error::InvalidView(_))), "{outside:?}");
    let broadcast = run(&exec, &[4], view(&a, 0, &[1]), view(&b, 0, &[0]));
    assert!(
        matches!(broadcast, Err(Error::InvalidView(_))),
        "{broadcast:?}"
    );
    let foreign = numbers(&Executor::new().unwrap(), 8);
    let other = run(&exec, &[4], view(&foreign, 0, &[1]), view(&b, 0, &[1]));
    assert!(
        matches!(other, Err(Error::ForeignBuffer { .. })),
        "{other:?}"
    );
    let wide = exec.allocate_dyn(Ty::F64, 8).unwrap();
    let typed = run(&exec, &[4], view(&wide, 0, &[1]), view(&b, 0, &[1]));
    assert!(
        matches!(typed, Err(Error::TypeMismatch { .. })),
        "{typed:?}"
    );
    assert_eq!(
        values(&b),
        values(&numbers(&exec, 8)),
        "nothing was written"
    );
    assert_eq!(exec.stats().expressions, 0);
}

#[test]
fn memory_is_used_again() {
    let exec = Executor::new().unwrap();
    assert_eq!(exec.backend_type(), BackendType::Cpu);
    let n = 1 << 20;
    let place = |buffer: &DynBuffer| buffer.host_pointer().unwrap().unwrap();
    let first = numbers(&exec, n);
    let at = place(&first);
    drop(first);
    let second = exec.allocate_unset(Ty::F32, n).unwrap();
    assert_eq!(place(&second), at);
    drop(second);
    // What is asked for zeroed is.
    let zeroed = exec.allocate_dyn(Ty::F32, n).unwrap();
    assert!(values(&zeroed).iter().all(|&x| x == 0.0));
}
