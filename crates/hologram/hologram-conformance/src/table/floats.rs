//! Every instruction on `f32` and `f64`, at the edges, against floats computed in integers.

use hologram_backends::Ty;

use crate::Promise;

use super::case::{Case, Expected};
use super::flush::Flush;
use super::softfloat::{self as soft, Format, Number};

/// The format of a floating-point type.
pub fn format(ty: Ty) -> Format {
    match ty {
        Ty::F16 => soft::F16,
        Ty::Bf16 => soft::BF16,
        Ty::F32 => soft::F32,
        _ => soft::F64,
    }
}

/// Bits of edge values of a floating-point type.
pub fn edges(ty: Ty) -> Vec<u64> {
    let f = format(ty);
    let one = f.encode(soft::integer(1));
    let positive = [
        0,
        1,
        (1 << f.mantissa) - 1,
        1 << f.mantissa,
        one - 1,
        one,
        one + 1,
        one | 1 << (f.mantissa - 1),
        f.encode(soft::integer(2)),
        f.encode(soft::integer(3)),
        f.encode(soft::integer(100)),
        f.encode(soft::div(soft::integer(1), soft::integer(10))),
        f.encode(Number::Finite(false, 5, -1)),
        f.encode(soft::integer(1 << 15)),
        f.infinity() - 1,
        f.infinity(),
        f.nan(),
    ];
    positive
        .into_iter()
        .flat_map(|bits| [bits, bits | f.sign()])
        .collect()
}

/// The cases of `f32` and `f64`. Where subnormals are not kept, results of `f32` may be those of any way to flush them.
pub fn cases(promise: Promise) -> Vec<Case> {
    let with_ways = |ty: Ty| {
        let mut kept = case(ty, Flush::none(ty));
        if ty == Ty::F32 && !promise.subnormals {
            Flush::ways(ty).for_each(|flush| kept.allow(case(ty, flush)));
        }
        kept
    };
    types(promise.doubles).map(with_ways).collect()
}

/// `f32` and, if there are any, doubles.
pub fn types(doubles: bool) -> impl Iterator<Item = Ty> {
    [Ty::F32, Ty::F64]
        .into_iter()
        .take(1 + usize::from(doubles))
}

fn case(ty: Ty, flush: Flush) -> Case {
    let f = format(ty);
    let edges = edges(ty);
    let pairs: Vec<(u64, u64)> = edges
        .iter()
        .flat_map(|&a| edges.iter().map(move |&b| (a, b)))
        .collect();
    let a: Vec<u64> = pairs.iter().map(|p| p.0).collect();
    let b: Vec<u64> = pairs.iter().map(|p| p.1).collect();
    let c: Vec<u64> = (0..pairs.len())
        .map(|i| edges[i * 7 % edges.len()])
        .collect();
    let mut case = Case::new(ty.name(), pairs.len());
    for (register, values) in [(10, &a), (11, &b), (12, &c)] {
        case.load(register, ty, values);
    }
    let n = |bits: u64| f.decode(flush.seen(bits));
    let round = |number: Number| n(flush.rounded(number));
    let less = |x: u64, y: u64| soft::compare(n(x), n(y)) == Some(-1);
    let nan = |x: u64| n(x) == Number::Nan;

    let mut numbers = |line: &str, g: &dyn Fn(usize) -> Number| {
        let expected = (0..pairs.len()).map(|i| Expected::Float(flush.rounded(g(i)), 0));
        case.check(&line.replace('T', ty.name()), ty, expected);
    };
    numbers("add.T r20, r10, r11", &|i| soft::add(n(a[i]), n(b[i])));
    numbers("sub.T r20, r10, r11", &|i| {
        soft::add(n(a[i]), soft::negate(n(b[i])))
    });
    numbers("mul.T r20, r10, r11", &|i| soft::mul(n(a[i]), n(b[i])));
    numbers("div.T r20, r10, r11", &|i| soft::div(n(a[i]), n(b[i])));
    numbers("mad.T r20, r10, r11, r12", &|i| {
        soft::add(round(soft::mul(n(a[i]), n(b[i]))), n(c[i]))
    });
    numbers("sqrt.T r20, r10", &|i| soft::sqrt(n(a[i])));
    numbers("rsqrt.T r20, r10", &|i| {
        soft::div(soft::integer(1), round(soft::sqrt(n(a[i]))))
    });
    numbers("reduce_add.T r20, r10, 3", &|i| {
        soft::add(round(soft::add(n(a[i]), n(b[i]))), n(c[i]))
    });
    numbers("reduce_mul.T r20, r10, 3", &|i| {
        soft::mul(round(soft::mul(n(a[i]), n(b[i]))), n(c[i]))
    });
    numbers("reduce_add.T r20, r255, 0", &|_| soft::integer(0));
    numbers("reduce_mul.T r20, r255, 0", &|_| soft::integer(1));
    numbers("reduce_min.T r20, r255, 0", &|_| Number::Infinite(false));
    numbers("reduce_max.T r20, r255, 0", &|_| Number::Infinite(true));

    // A NaN yields the other, equals the first.
    let min = |x: u64, y: u64| if nan(x) || less(y, x) { y } else { x };
    let max = |x: u64, y: u64| if nan(x) || less(x, y) { y } else { x };
    let mut bits = |line: &str, g: &dyn Fn(usize) -> u64| {
        let expected = (0..pairs.len()).map(|i| Expected::Float(flush.given(g(i)), 0));
        case.check(&line.replace('T', ty.name()), ty, expected);
    };
    bits("min.T r20, r10, r11", &|i| min(a[i], b[i]));
    bits("max.T r20, r10, r11", &|i| max(a[i], b[i]));
    bits("reduce_min.T r20, r10, 3", &|i| min(min(a[i], b[i]), c[i]));
    bits("reduce_max.T r20, r10, 3", &|i| max(max(a[i], b[i]), c[i]));
    bits("reduce_add.T r20, r11, 1", &|i| b[i]);
    // NVIDIA's have one NaN for all.
    bits("abs.T r20, r10", &|i| a[i] & (f.sign() - 1));
    bits("neg.T r20, r10", &|i| a[i] ^ f.sign());
    // Exact products need more than 128 bits at times: native fusion, which the next test pins.
    bits("fma.T r20, r10, r11, r12", &|i| {
        fused(ty, flush.seen(a[i]), flush.seen(b[i]), flush.seen(c[i]))
    });

    let mut exact = |line: &str, g: &dyn Fn(usize) -> u64| {
        let expected = (0..pairs.len()).map(|i| Expected::Bits(g(i)));
        case.check(&line.replace('T', ty.name()), ty, expected);
    };
    exact("mov.T r20, r12", &|i| c[i]);

    let order = |i: usize| soft::compare(n(a[i]), n(b[i]));
    let comparisons: [(&str, &dyn Fn(usize) -> bool); 6] = [
        ("eq", &|i| order(i) == Some(0)),
        ("ne", &|i| order(i) != Some(0)),
        ("lt", &|i| order(i) == Some(-1)),
        ("le", &|i| matches!(order(i), Some(-1 | 0))),
        ("gt", &|i| order(i) == Some(1)),
        ("ge", &|i| matches!(order(i), Some(0 | 1))),
    ];
    for (condition, holds) in comparisons {
        case.line(&format!("set.{condition}.{ty} p3, r10, r11"));
        let expected = (0..pairs.len()).map(|i| Expected::Bits(if holds(i) { c[i] } else { b[i] }));
        case.check(&format!("sel.{ty} r20, p3, r12, r11"), ty, expected);
    }
    case
}

fn fused(ty: Ty, a: u64, b: u64, c: u64) -> u64 {
    if ty == Ty::F32 {
        let [a, b, c] = [a, b, c].map(|x| f32::from_bits(x as u32));
        a.mul_add(b, c).to_bits().into()
    } else {
        let [a, b, c] = [a, b, c].map(f64::from_bits);
        a.mul_add(b, c).to_bits()
    }
}

/// (1 + e)^2 - (1 + 2e) is e^2 with one rounding and 0 with two.
#[test]
fn fused_products_round_once() {
    let e = f32::EPSILON;
    let c = (-(1.0 + 2.0 * e)).to_bits();
    let x = u64::from((1.0 + e).to_bits());
    let fused = fused(Ty::F32, x, x, c.into());
    assert_eq!(fused, u64::from((e * e).to_bits()));
}
