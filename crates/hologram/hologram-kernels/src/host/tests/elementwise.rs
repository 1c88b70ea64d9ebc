//! Integers of every type against calculations in 128 bits; faults; operands that are the result.

use super::*;
use crate::{BinaryOp, MapOp, Ty};

/// An integer type as the tests see it.
trait Integer: Copy + PartialEq + std::fmt::Debug {
    const TY: Ty;
    fn of(value: i128) -> Self;
    fn wide(self) -> i128;
}

macro_rules! integers {
    ($($name:ident $ty:ident)*) => {$(
        impl Integer for $name {
            const TY: Ty = Ty::$ty;
            fn of(value: i128) -> Self {
                value as $name
            }
            fn wide(self) -> i128 {
                self as i128
            }
        }
    )*};
}
integers!(i8 I8 i16 I16 i32 I32 i64 I64 u8 U8 u16 U16 u32 U32 u64 U64);

/// Edge values, then random ones.
fn integers<T: Integer>(seed: u64, count: usize) -> Vec<T> {
    let mut next = random(seed);
    let bits = T::TY.bits();
    let edges = [0, 1, -1, 1 << (bits - 1), (1 << (bits - 1)) - 1, 7];
    (0..count)
        .map(|i| match edges.get((i / 2 + seed as usize) % 11) {
            Some(&edge) => T::of(edge),
            None => T::of(i128::from(next())),
        })
        .collect()
}

fn expected<T: Integer>(op: BinaryOp, a: T, b: T) -> T {
    let (x, y) = (a.wide(), b.wide());
    T::of(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div => x / y,
        BinaryOp::Min => x.min(y),
        _ => x.max(y),
    })
}

fn binary_operations<T: Integer>() {
    let ops = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Min,
        BinaryOp::Max,
    ];
    for (round, &count) in SIZES.iter().enumerate() {
        let a = integers::<T>(round as u64, count);
        let mut b = integers::<T>(round as u64 + 5, count);
        for op in ops {
            if op == BinaryOp::Div {
                for x in &mut b {
                    if x.wide() == 0 {
                        *x = T::of(3);
                    }
                }
            }
            let mut out = vec![T::of(0); count];
            let call = Operation::MapBinary {
                op,
                ty: T::TY,
                count: count as u64,
            };
            run_on(&call, &mut out, &[&a, &b]).expect("no fault");
            for i in 0..count {
                assert_eq!(out[i], expected(op, a[i], b[i]), "{call:?} at {i}");
            }
            let value = *b.first().unwrap_or(&T::of(1));
            let call = Operation::MapScalar {
                op,
                ty: T::TY,
                value: value.wide() as u64,
                count: count as u64,
            };
            run_on(&call, &mut out, &[&a]).expect("no fault");
            for i in 0..count {
                assert_eq!(out[i], expected(op, a[i], value), "{call:?} at {i}");
            }
        }
    }
}

#[test]
fn binary_operations_of_integers() {
    binary_operations::<i8>();
    binary_operations::<i16>();
    binary_operations::<i32>();
    binary_operations::<i64>();
    binary_operations::<u8>();
    binary_operations::<u16>();
    binary_operations::<u32>();
    binary_operations::<u64>();
}

fn unary_operations<T: Integer>() {
    let count = 1001;
    let src = integers::<T>(3, count);
    let check = |op: MapOp, result: fn(i128) -> i128| {
        let mut out = vec![T::of(0); count];
        let call = Operation::Map {
            op,
            ty: T::TY,
            count: count as u64,
        };
        run_on(&call, &mut out, &[&src]).expect("no fault");
        for i in 0..count {
            assert_eq!(out[i], T::of(result(src[i].wide())), "{call:?} at {i}");
        }
    };
    check(MapOp::Relu, |x| x.max(0));
    if T::TY.is_signed_int() {
        check(MapOp::Abs, i128::abs);
        check(MapOp::Neg, |x| -x);
    }
    let (low, high) = (T::of(2), T::of(100));
    let mut out = vec![T::of(0); count];
    let clip = Operation::Clip {
        ty: T::TY,
        low: 2,
        high: 100,
        count: count as u64,
    };
    run_on(&clip, &mut out, &[&src]).expect("no fault");
    for i in 0..count {
        let x = src[i].wide().clamp(low.wide(), high.wide());
        assert_eq!(out[i].wide(), x, "{clip:?} at {i}");
    }
    let fill = Operation::Fill {
        ty: T::TY,
        value: 0x0123_4567_89ab_cdef,
        count: count as u64 - 1,
    };
    run_on(&fill, &mut out, &[]).expect("no fault");
    assert!(out[..count - 1]
        .iter()
        .all(|&x| x == T::of(0x0123_4567_89ab_cdef)));
    assert_eq!(out[count - 1], T::of(src[count - 1].wide().clamp(2, 100)));
}

#[test]
fn unary_operations_of_integers() {
    unary_operations::<i8>();
    unary_operations::<i16>();
    unary_operations::<i32>();
    unary_operations::<i64>();
    unary_operations::<u8>();
    unary_operations::<u16>();
    unary_operations::<u32>();
    unary_operations::<u64>();
}

#[test]
fn division_by_zero_is_a_fault() {
    for at in [0, 63, 70, 99] {
        let a = vec![5i32; 100];
        let mut b = vec![1i32; 100];
        b[at] = 0;
        let mut out = vec![0; 100];
        let call = Operation::MapBinary {
            op: BinaryOp::Div,
            ty: Ty::I32,
            count: 100,
        };
        assert_eq!(
            run_on(&call, &mut out, &[&a, &b]),
            Err(HostError::DivisionByZero)
        );
    }
    let large = vec![7u64; 200_000];
    let mut out = vec![0; 200_000];
    let mut call = Operation::MapScalar {
        op: BinaryOp::Div,
        ty: Ty::U64,
        value: 0,
        count: 200_000,
    };
    assert_eq!(
        run_on(&call, &mut out, &[&large]),
        Err(HostError::DivisionByZero)
    );
    if let Operation::MapScalar { count, .. } = &mut call {
        *count = 0;
    }
    assert_eq!(run_on(&call, &mut out, &[&large]), Ok(()));
}

#[test]
fn the_result_may_be_an_operand() {
    for count in SIZES {
        let a = singles(1, count);
        let b = singles(2, count);
        let sum: Vec<f32> = a.iter().zip(&b).map(|(x, y)| x - y).collect();
        let call = Operation::MapBinary {
            op: BinaryOp::Sub,
            ty: Ty::F32,
            count: count as u64,
        };
        let (mut left, mut right) = (a.clone(), b.clone());
        let (l, r) = (span(&left), span(&right));
        // SAFETY: the written span is exactly the left one, which nothing else uses meanwhile.
        unsafe {
            run(
                &call,
                &[
                    HostSpan {
                        ptr: left.as_mut_ptr().cast(),
                        ..l
                    },
                    l,
                    r,
                ],
            )
        }
        .expect("no fault");
        assert_eq!(left, sum);
        let l = span(&a);
        let written = HostSpan {
            ptr: right.as_mut_ptr().cast(),
            ..r
        };
        // SAFETY: the written span is exactly the right one.
        unsafe { run(&call, &[written, l, written]) }.expect("no fault");
        assert_eq!(right, sum);
    }
}

#[test]
fn spans_that_do_not_fit() {
    let mut out = [0u32; 8];
    let call = Operation::Fill {
        ty: Ty::U32,
        value: 1,
        count: 9,
    };
    assert_eq!(
        run_on(&call, &mut out, &[]),
        Err(HostError::TooShort {
            operand: 0,
            needed: 36,
            len: 32
        })
    );
    let shifted = HostSpan {
        ptr: out.as_mut_ptr().cast::<u8>().wrapping_add(2),
        len: 28,
    };
    let call = Operation::Fill {
        ty: Ty::U32,
        value: 1,
        count: 7,
    };
    // SAFETY: the span lies in `out`.
    let result = unsafe { run(&call, &[shifted]) };
    assert!(matches!(
        result,
        Err(HostError::Misaligned {
            operand: 0,
            size: 4
        })
    ));
    // SAFETY: there is nothing to read or write.
    let result = unsafe { run(&call, &[]) };
    assert!(matches!(result, Err(HostError::TooShort { .. })));
    assert_eq!(out, [0; 8]);
}

#[test]
fn half_floats_are_filled() {
    let mut out = [0u16; 70];
    for ty in [Ty::F16, Ty::Bf16] {
        let call = Operation::Fill {
            ty,
            value: 0xffff_3c00 + u64::from(ty.code()),
            count: 69,
        };
        run_on(&call, &mut out, &[]).expect("no fault");
        assert_eq!(out[68], 0x3c00 + u16::from(ty.code()));
        assert_eq!(out[69], 0);
    }
}

#[test]
fn types_are_checked() {
    let mut out = [0u32; 8];
    let call = Operation::Map {
        op: MapOp::Exp,
        ty: Ty::U32,
        count: 8,
    };
    assert_eq!(
        run_on(&call, &mut out, &[&[0; 8]]),
        Err(HostError::Type {
            ty: Ty::U32,
            allowed: "the float types"
        })
    );
}
