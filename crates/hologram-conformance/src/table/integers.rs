//! Every instruction on every integer type, at the edges, against integers of 128 bits.

use hologram_backends::Ty;

use super::case::{Case, Expected};

/// Bits of edge values of an integer type.
pub fn edges(ty: Ty) -> Vec<u64> {
    let top = 1u64 << (ty.bits() - 1);
    let mut values: Vec<u64> = [
        0,
        1,
        2,
        3,
        7,
        100,
        top,
        top + 1,
        top - 1,
        top - 2,
        ty.mask(),
        ty.mask() - 1,
        ty.mask() - 6,
        0x5555_5555_5555_5555 & ty.mask(),
        0xfedc_ba98_7654_3210 & ty.mask(),
    ]
    .into();
    values.sort_unstable();
    values.dedup();
    values
}

/// The value of bits.
pub fn value(ty: Ty, bits: u64) -> i128 {
    if ty.is_signed_int() && bits >> (ty.bits() - 1) & 1 == 1 {
        i128::from(bits) - (1 << ty.bits())
    } else {
        i128::from(bits)
    }
}

/// The bits of a value that wraps.
pub fn wrap(ty: Ty, value: i128) -> u64 {
    value as u64 & ty.mask()
}

pub fn cases() -> Vec<Case> {
    Ty::ALL
        .into_iter()
        .filter(|ty| ty.is_int())
        .map(case)
        .chain([Ty::U32, Ty::U64].map(near_the_top))
        .collect()
}

/// Quotients of the largest dividends: drivers that divide by a reciprocal have been seen to be one off there.
fn near_the_top(ty: Ty) -> Case {
    let divisors = (1..40)
        .chain([641, 1000, 65_535, 65_537, 6_700_417, 16_777_213])
        .chain((4..ty.bits()).flat_map(|k| [(1u64 << k) - 1, 1 << k, (1 << k) + 1]));
    let pairs: Vec<(u64, u64)> = divisors
        .flat_map(|b| (0..24).map(move |k| (ty.mask() - k * k, b)))
        .collect();
    let (a, b): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
    let mut case = Case::new(format!("{ty} quotients near the top"), pairs.len());
    case.load(10, ty, &a);
    case.load(11, ty, &b);
    let expected = pairs.iter().map(|(a, b)| Expected::Bits(a / b));
    case.check(&format!("div.{ty} r20, r10, r11"), ty, expected);
    case
}

fn case(ty: Ty) -> Case {
    let edges = edges(ty);
    let pairs: Vec<(u64, u64)> = edges
        .iter()
        .flat_map(|&a| edges.iter().map(move |&b| (a, b)))
        .collect();
    let a: Vec<u64> = pairs.iter().map(|p| p.0).collect();
    let b: Vec<u64> = pairs.iter().map(|p| p.1).collect();
    let c: Vec<u64> = (0..pairs.len())
        .map(|i| edges[i * 5 % edges.len()])
        .collect();
    let divisor: Vec<u64> = b.iter().map(|&b| if b == 0 { 3 } else { b }).collect();
    let amount: Vec<u64> = (0..pairs.len())
        .map(|i| {
            [
                0,
                1,
                5,
                7,
                8,
                15,
                16,
                31,
                32,
                33,
                63,
                64,
                65,
                255,
                1 << 31,
                u64::from(u32::MAX),
            ][i % 16]
        })
        .collect();
    let mut case = Case::new(format!("{ty}"), pairs.len());
    for (register, values) in [(10, &a), (11, &b), (12, &c), (13, &divisor)] {
        case.load(register, ty, values);
    }
    case.load(14, Ty::U32, &amount);

    let v = |bits: u64| value(ty, bits);
    // Instructions of values, which wrap.
    let mut values = |line: &str, f: &dyn Fn(usize) -> i128| {
        let expected = (0..pairs.len()).map(|i| Expected::Bits(wrap(ty, f(i))));
        case.check(&line.replace('T', ty.name()), ty, expected);
    };
    values("add.T r20, r10, r11", &|i| v(a[i]) + v(b[i]));
    values("sub.T r20, r10, r11", &|i| v(a[i]) - v(b[i]));
    values("mul.T r20, r10, r11", &|i| v(a[i]).wrapping_mul(v(b[i])));
    values("div.T r20, r10, r13", &|i| v(a[i]) / v(divisor[i]));
    values("mad.T r20, r10, r11, r12", &|i| {
        v(a[i]).wrapping_mul(v(b[i])).wrapping_add(v(c[i]))
    });
    values("min.T r20, r10, r11", &|i| v(a[i]).min(v(b[i])));
    values("max.T r20, r10, r11", &|i| v(a[i]).max(v(b[i])));
    if ty.is_signed_int() {
        values("abs.T r20, r10", &|i| v(a[i]).abs());
        values("neg.T r20, r10", &|i| -v(a[i]));
    }
    values("and.T r20, r10, r11", &|i| (a[i] & b[i]).into());
    values("or.T r20, r10, r11", &|i| (a[i] | b[i]).into());
    values("xor.T r20, r10, r11", &|i| (a[i] ^ b[i]).into());
    values("not.T r20, r10", &|i| i128::from(ty.mask() - a[i]));
    let by = |i: usize| (amount[i] % u64::from(ty.bits())) as u32;
    values("shl.T r20, r10, r14", &|i| v(a[i]).wrapping_mul(1 << by(i)));
    values("shr.T r20, r10, r14", &|i| v(a[i]).div_euclid(1 << by(i)));
    values("mov.T r20, r12", &|i| v(c[i]));
    if ty.size() >= 4 {
        let fold = |i: usize| [v(a[i]), v(b[i]), v(c[i])];
        values("reduce_add.T r20, r10, 3", &|i| fold(i).iter().sum());
        values("reduce_min.T r20, r10, 3", &|i| {
            fold(i).into_iter().fold(v(a[i]), i128::min)
        });
        values("reduce_max.T r20, r10, 3", &|i| {
            fold(i).into_iter().fold(v(a[i]), i128::max)
        });
        values("reduce_mul.T r20, r10, 3", &|i| {
            v(wrap(ty, v(a[i]).wrapping_mul(v(b[i])))).wrapping_mul(v(c[i]))
        });
        values("reduce_mul.T r20, r11, 1", &|i| v(b[i]));
        let least = value(
            ty,
            if ty.is_signed_int() {
                1 << (ty.bits() - 1)
            } else {
                0
            },
        );
        let most = value(
            ty,
            if ty.is_signed_int() {
                ty.mask() >> 1
            } else {
                ty.mask()
            },
        );
        values("reduce_add.T r20, r255, 0", &|_| 0);
        values("reduce_mul.T r20, r255, 0", &|_| 1);
        values("reduce_min.T r20, r255, 0", &|_| most);
        values("reduce_max.T r20, r255, 0", &|_| least);
    }
    for &edge in &edges {
        // Bits beyond the type are cut off.
        let wide = edge | 0xa5a5_a5a5_a5a5_a5a5 & !ty.mask();
        values(&format!("mov_imm.T r20, {wide:#x}"), &|_| edge.into());
    }

    let comparisons: [(&str, &dyn Fn(usize) -> bool); 10] = [
        ("eq", &|i| a[i] == b[i]),
        ("ne", &|i| a[i] != b[i]),
        ("lt", &|i| v(a[i]) < v(b[i])),
        ("le", &|i| v(a[i]) <= v(b[i])),
        ("gt", &|i| v(a[i]) > v(b[i])),
        ("ge", &|i| v(a[i]) >= v(b[i])),
        ("ltu", &|i| a[i] < b[i]),
        ("leu", &|i| a[i] <= b[i]),
        ("gtu", &|i| a[i] > b[i]),
        ("geu", &|i| a[i] >= b[i]),
    ];
    for (condition, holds) in comparisons {
        case.line(&format!("set.{condition}.{ty} p3, r10, r11"));
        let expected = (0..pairs.len()).map(|i| Expected::Bits(if holds(i) { c[i] } else { b[i] }));
        case.check(&format!("sel.{ty} r20, p3, r12, r11"), ty, expected);
    }
    case
}
