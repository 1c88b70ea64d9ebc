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
    let rows = Rows::new(ty, &edges);
    let mut case = rows.loaded();
    rows.arithmetic(&mut case);
    rows.bits(&mut case);
    rows.check(&mut case, "mov.T r20, r12", |i| rows.c(i));
    if ty.size() >= 4 {
        rows.folds(&mut case);
    }
    for edge in edges {
        // Bits beyond the type are cut off.
        let wide = edge | 0xa5a5_a5a5_a5a5_a5a5 & !ty.mask();
        let line = format!("mov_imm.T r20, {wide:#x}");
        rows.check(&mut case, &line, |_| edge.into());
    }
    rows.comparisons(&mut case);
    case
}

/// Operands of the rows, as bits.
struct Rows {
    ty: Ty,
    /// r10 and r11: every pair of edges.
    a: Vec<u64>,
    b: Vec<u64>,
    /// r12: other edges.
    c: Vec<u64>,
    /// r13: r11, or 3 where that is 0.
    divisor: Vec<u64>,
    /// r14, `u32`: how far to shift.
    amount: Vec<u64>,
}

/// Distances to shift by, up to the width of every type and past it.
const AMOUNTS: [u64; 16] = [
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
    u32::MAX as u64,
];

impl Rows {
    fn new(ty: Ty, edges: &[u64]) -> Self {
        let pairs = edges
            .iter()
            .flat_map(|&a| edges.iter().map(move |&b| (a, b)));
        let (a, b): (Vec<u64>, Vec<u64>) = pairs.unzip();
        let rows = 0..a.len();
        Self {
            ty,
            c: rows.clone().map(|i| edges[i * 5 % edges.len()]).collect(),
            divisor: b.iter().map(|&b| if b == 0 { 3 } else { b }).collect(),
            amount: rows.map(|i| AMOUNTS[i % 16]).collect(),
            a,
            b,
        }
    }

    /// A case whose registers hold the operands.
    fn loaded(&self) -> Case {
        let mut case = Case::new(self.ty.name(), self.a.len());
        for (register, values) in [
            (10, &self.a),
            (11, &self.b),
            (12, &self.c),
            (13, &self.divisor),
        ] {
            case.load(register, self.ty, values);
        }
        case.load(14, Ty::U32, &self.amount);
        case
    }

    /// An instruction of type `T` gives the value of each row, which wraps.
    fn check(&self, case: &mut Case, line: &str, value: impl Fn(usize) -> i128) {
        let ty = self.ty;
        let expected = (0..self.a.len()).map(|i| Expected::Bits(wrap(ty, value(i))));
        case.check(&line.replace('T', ty.name()), ty, expected);
    }

    fn a(&self, row: usize) -> i128 {
        value(self.ty, self.a[row])
    }

    fn b(&self, row: usize) -> i128 {
        value(self.ty, self.b[row])
    }

    fn c(&self, row: usize) -> i128 {
        value(self.ty, self.c[row])
    }

    fn arithmetic(&self, case: &mut Case) {
        let (a, b, c) = (|i| self.a(i), |i| self.b(i), |i| self.c(i));
        self.check(case, "add.T r20, r10, r11", |i| a(i) + b(i));
        self.check(case, "sub.T r20, r10, r11", |i| a(i) - b(i));
        self.check(case, "mul.T r20, r10, r11", |i| a(i).wrapping_mul(b(i)));
        self.check(case, "div.T r20, r10, r13", |i| {
            a(i) / value(self.ty, self.divisor[i])
        });
        self.check(case, "mad.T r20, r10, r11, r12", |i| {
            a(i).wrapping_mul(b(i)).wrapping_add(c(i))
        });
        self.check(case, "min.T r20, r10, r11", |i| a(i).min(b(i)));
        self.check(case, "max.T r20, r10, r11", |i| a(i).max(b(i)));
        if self.ty.is_signed_int() {
            self.check(case, "abs.T r20, r10", |i| a(i).abs());
            self.check(case, "neg.T r20, r10", |i| -a(i));
        }
    }

    fn bits(&self, case: &mut Case) {
        let Self { ty, a, b, .. } = self;
        self.check(case, "and.T r20, r10, r11", |i| (a[i] & b[i]).into());
        self.check(case, "or.T r20, r10, r11", |i| (a[i] | b[i]).into());
        self.check(case, "xor.T r20, r10, r11", |i| (a[i] ^ b[i]).into());
        self.check(case, "not.T r20, r10", |i| i128::from(ty.mask() - a[i]));
        let by = |i: usize| (self.amount[i] % u64::from(ty.bits())) as u32;
        self.check(case, "shl.T r20, r10, r14", |i| {
            self.a(i).wrapping_mul(1 << by(i))
        });
        self.check(case, "shr.T r20, r10, r14", |i| {
            self.a(i).div_euclid(1 << by(i))
        });
    }

    /// Folds of three registers, of one and of none.
    fn folds(&self, case: &mut Case) {
        let ty = self.ty;
        let (a, b, c) = (|i| self.a(i), |i| self.b(i), |i| self.c(i));
        self.check(case, "reduce_add.T r20, r10, 3", |i| a(i) + b(i) + c(i));
        self.check(case, "reduce_min.T r20, r10, 3", |i| {
            a(i).min(b(i)).min(c(i))
        });
        self.check(case, "reduce_max.T r20, r10, 3", |i| {
            a(i).max(b(i)).max(c(i))
        });
        self.check(case, "reduce_mul.T r20, r10, 3", |i| {
            value(ty, wrap(ty, a(i).wrapping_mul(b(i)))).wrapping_mul(c(i))
        });
        self.check(case, "reduce_mul.T r20, r11, 1", b);
        let (least, most) = match ty.is_signed_int() {
            true => (1 << (ty.bits() - 1), ty.mask() >> 1),
            false => (0, ty.mask()),
        };
        self.check(case, "reduce_add.T r20, r255, 0", |_| 0);
        self.check(case, "reduce_mul.T r20, r255, 0", |_| 1);
        self.check(case, "reduce_min.T r20, r255, 0", |_| value(ty, most));
        self.check(case, "reduce_max.T r20, r255, 0", |_| value(ty, least));
    }

    /// A predicate chooses between r12 and r11.
    fn comparisons(&self, case: &mut Case) {
        let (ty, a, b) = (self.ty, &self.a, &self.b);
        let comparisons: [(&str, &dyn Fn(usize) -> bool); 10] = [
            ("eq", &|i| a[i] == b[i]),
            ("ne", &|i| a[i] != b[i]),
            ("lt", &|i| self.a(i) < self.b(i)),
            ("le", &|i| self.a(i) <= self.b(i)),
            ("gt", &|i| self.a(i) > self.b(i)),
            ("ge", &|i| self.a(i) >= self.b(i)),
            ("ltu", &|i| a[i] < b[i]),
            ("leu", &|i| a[i] <= b[i]),
            ("gtu", &|i| a[i] > b[i]),
            ("geu", &|i| a[i] >= b[i]),
        ];
        for (condition, holds) in comparisons {
            case.line(&format!("set.{condition}.{ty} p3, r10, r11"));
            let chosen = |i: usize| if holds(i) { self.c[i] } else { b[i] };
            let expected = (0..a.len()).map(|i| Expected::Bits(chosen(i)));
            case.check(&format!("sel.{ty} r20, p3, r12, r11"), ty, expected);
        }
    }
}
