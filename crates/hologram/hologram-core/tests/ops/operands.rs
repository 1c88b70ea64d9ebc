//! Conversions, and operands that are refused.

use hologram_backends::{BackendError, BinaryOp};
use hologram_core::ops::{linalg, math, memory, raw, reduce};
use hologram_core::Error;

use crate::support::{close, cpu, data, make};

#[test]
fn conversions() {
    use half::{bf16, f16};
    let exec = cpu();
    let n = 1001;
    let (a, x) = make::<f32>(&exec, &data(n, 11));
    let half = exec.allocate::<f16>(n).unwrap();
    memory::cast(&exec, &a, &half, n).unwrap();
    let expected: Vec<f16> = x.iter().map(|&x| f16::from_f64(x)).collect();
    assert_eq!(half.to_vec().unwrap(), expected);
    let brain = exec.allocate::<bf16>(n).unwrap();
    memory::cast(&exec, &half, &brain, n).unwrap();
    let expected: Vec<bf16> = expected
        .iter()
        .map(|x| bf16::from_f32(x.to_f32()))
        .collect();
    assert_eq!(brain.to_vec().unwrap(), expected);
    let whole = exec.allocate::<i32>(n).unwrap();
    memory::cast(&exec, &a, &whole, n).unwrap();
    close(
        "cast",
        &whole,
        &x.iter().map(|x| x.trunc()).collect::<Vec<_>>(),
        0.0,
    );
    let same = exec.allocate::<f32>(n).unwrap();
    memory::cast(&exec, &a, &same, n).unwrap();
    close("cast", &same, &x, 0.0);
    assert!(memory::cast(&exec, &a, &whole, n + 1).is_err());
    assert!(memory::cast(&cpu(), &a, &whole, n).is_err());
    memory::cast(&exec, &a, &whole, 0).unwrap();
    // One pass over the host's memory each, and no program.
    memory::cast(&exec, &a, &whole, 7).unwrap();
    assert_eq!((exec.stats().expressions, exec.stats().programs), (4, 0));
}

#[test]
fn bad_operands_are_errors() {
    let exec = cpu();
    let a = exec.allocate::<f32>(4).unwrap();
    let short = exec.allocate::<f32>(3).unwrap();
    let foreign = cpu().allocate::<f32>(4).unwrap();
    let few = |argument| Error::BufferTooSmall {
        argument,
        needed: 4,
        len: 3,
    };
    assert_eq!(math::vector_add(&exec, &short, &a, &a, 4), Err(few("a")));
    assert_eq!(math::vector_add(&exec, &a, &short, &a, 4), Err(few("b")));
    assert_eq!(math::vector_add(&exec, &a, &a, &short, 4), Err(few("c")));
    let other = Error::ForeignBuffer { argument: "b" };
    assert_eq!(math::vector_add(&exec, &a, &foreign, &a, 4), Err(other));
    assert!(linalg::gemm(&exec, &a, &a, &short, 2, 2, 2).is_err());
    // Who writes into what is read is told the arguments' names, not handles.
    let b = exec.allocate::<f32>(4).unwrap();
    let aliased = |output, input| Err(Error::Aliased { output, input });
    assert_eq!(linalg::gemm(&exec, &a, &b, &a, 2, 2, 2), aliased("c", "a"));
    assert_eq!(linalg::gemm(&exec, &a, &b, &b, 2, 2, 2), aliased("c", "b"));
    assert_eq!(memory::copy(&exec, &a, &a), aliased("dst", "src"));
    let shifted = raw::map2(
        &exec,
        BinaryOp::Add,
        a.slice(0, 3).unwrap(),
        b.slice(0, 3).unwrap(),
        b.slice(1, 3).unwrap(),
        3,
    );
    assert_eq!(shifted, aliased("c", "b"));
    let norm = raw::LayerNorm {
        input: a.span(),
        gamma: b.span(),
        beta: b.span(),
        output: a.span(),
        rows: 1,
        cols: 4,
        epsilon: -1.0,
    };
    let message = raw::layer_norm(&exec, norm).unwrap_err().to_string();
    assert_eq!(message, "epsilon: -1, must be finite and not negative");
    assert!(matches!(
        linalg::gemm(&exec, &a, &a, &short, usize::MAX, 2, 2),
        Err(Error::TooLarge { .. })
    ));
    assert!(memory::copy(&exec, &a, &short).is_err());
    assert!(memory::copy(&exec, &a, &a).is_err());
    let none = exec.allocate::<f32>(0).unwrap();
    assert!(reduce::sum(&exec, &a, &none, 4).is_err());
    let zero = exec.from_slice(&[0i32; 4]).unwrap();
    let fault = math::vector_div(&exec, &zero, &zero, &zero, 4);
    assert!(
        matches!(fault, Err(Error::Backend(BackendError::Fault(_)))),
        "{fault:?}"
    );
}
