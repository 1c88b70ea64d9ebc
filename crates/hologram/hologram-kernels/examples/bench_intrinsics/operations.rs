//! The operations that are measured.

use hologram_kernels::{BinaryOp, Epsilon, LossOp, MapOp, Operation, ReduceOp, Ty};

use super::F32;

/// Operations on `n` elements, with the number of operands that pass through memory.
pub fn elementwise(n: u64) -> Vec<(String, Operation, u64)> {
    let mut out = Vec::new();
    for op in [BinaryOp::Add, BinaryOp::Div, BinaryOp::Pow] {
        let operation = Operation::MapBinary {
            op,
            ty: F32,
            count: n,
        };
        out.push((format!("map2 {op} f32"), operation, 3));
    }
    for op in [
        MapOp::Relu,
        MapOp::Exp,
        MapOp::Log,
        MapOp::Sin,
        MapOp::Tanh,
        MapOp::Sigmoid,
        MapOp::Erf,
        MapOp::Gelu,
    ] {
        out.push((
            format!("map {op} f32"),
            Operation::Map {
                op,
                ty: F32,
                count: n,
            },
            2,
        ));
    }
    let value = u64::from(1.5f32.to_bits());
    let op = BinaryOp::Mul;
    out.push((
        "map_scalar mul f32".into(),
        Operation::MapScalar {
            op,
            ty: F32,
            value,
            count: n,
        },
        2,
    ));
    out.push((
        "fill f32".into(),
        Operation::Fill {
            ty: F32,
            value,
            count: n,
        },
        1,
    ));
    for ty in [Ty::I8, Ty::I32, Ty::I64, Ty::F16, Ty::Bf16] {
        let count = n * 4 / ty.size() as u64;
        let operation = Operation::MapBinary {
            op: BinaryOp::Add,
            ty,
            count,
        };
        out.push((format!("map2 add {ty}"), operation, 3));
    }
    for op in [ReduceOp::Sum, ReduceOp::Max] {
        out.push((
            format!("reduce {op} f32"),
            Operation::Reduce {
                op,
                ty: F32,
                count: n,
            },
            1,
        ));
    }
    // As many bytes as of `f32`.
    let (ty, count) = (Ty::F16, 2 * n);
    let op = MapOp::Exp;
    out.push(("map exp f16".into(), Operation::Map { op, ty, count }, 2));
    let op = ReduceOp::Sum;
    out.push((
        "reduce sum f16".into(),
        Operation::Reduce { op, ty, count },
        1,
    ));
    let (rows, cols) = ((count / 4096) as u32, 4096);
    let softmax = Operation::Softmax { ty, rows, cols };
    out.push((format!("softmax f16 {rows} x {cols}"), softmax, 2));
    let op = LossOp::Mse;
    out.push((
        "loss mse f32".into(),
        Operation::Loss {
            op,
            ty: F32,
            count: n,
        },
        2,
    ));
    for cols in [64u32, 4096] {
        let rows = (n / u64::from(cols)) as u32;
        out.push((
            format!("softmax {rows} x {cols}"),
            Operation::Softmax {
                ty: F32,
                rows,
                cols,
            },
            2,
        ));
        let operation = Operation::LayerNorm {
            ty: F32,
            rows,
            cols,
            epsilon: Epsilon::new(1e-5),
        };
        out.push((format!("layer_norm {rows} x {cols}"), operation, 2));
    }
    out
}

/// Products of matrices.
pub fn products() -> Vec<Operation> {
    let product = |ty, m, n, k| Operation::Gemm { ty, m, n, k };
    let square = |ty, side| product(ty, side, side, side);
    let odd = |ty| product(ty, 4095, 4097, 4093);
    vec![
        square(F32, 256),
        square(F32, 1024),
        square(F32, 4096),
        odd(F32),
        product(F32, 4096, 1, 4096),
        square(Ty::F16, 256),
        square(Ty::F16, 1024),
        square(Ty::F16, 4096),
        odd(Ty::F16),
        product(Ty::F16, 4096, 1, 4096),
        square(Ty::Bf16, 4096),
        odd(Ty::Bf16),
        square(Ty::F64, 2048),
    ]
}
