//! Exponentials, logarithms, roots, circular functions: values from tables, and the edges.

use hologram_backends::Ty;

use crate::Promise;

use super::case::{Case, Expected};
use super::function_values::{POW32, POW64, UNARY};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Arguments with exact values, of both types.
const EDGES: &[(&str, &[(f64, f64)])] = &[
    (
        "exp",
        &[
            (0.0, 1.0),
            (-0.0, 1.0),
            (INF, INF),
            (-INF, 0.0),
            (NAN, NAN),
            (1e5, INF),
            (-1e5, 0.0),
        ],
    ),
    (
        "log",
        &[
            (1.0, 0.0),
            (0.0, -INF),
            (-0.0, -INF),
            (-1.0, NAN),
            (INF, INF),
            (-INF, NAN),
            (NAN, NAN),
        ],
    ),
    (
        "log2",
        &[
            (1.0, 0.0),
            (2.0, 1.0),
            (0.25, -2.0),
            (0.0, -INF),
            (-1.0, NAN),
            (INF, INF),
            (NAN, NAN),
        ],
    ),
    (
        "log10",
        &[
            (1.0, 0.0),
            (0.0, -INF),
            (-0.0, -INF),
            (-1.0, NAN),
            (INF, INF),
            (NAN, NAN),
            (10.0, 1.0),
        ],
    ),
    (
        "sqrt",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (4.0, 2.0),
            (-1.0, NAN),
            (INF, INF),
            (NAN, NAN),
            (-INF, NAN),
        ],
    ),
    (
        "rsqrt",
        &[
            (0.0, INF),
            (-0.0, -INF),
            (4.0, 0.5),
            (-1.0, NAN),
            (INF, 0.0),
            (NAN, NAN),
            (1.0, 1.0),
        ],
    ),
    (
        "sin",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, NAN),
            (-INF, NAN),
            (NAN, NAN),
            (0.0, 0.0),
            (0.0, 0.0),
        ],
    ),
    (
        "cos",
        &[
            (0.0, 1.0),
            (-0.0, 1.0),
            (INF, NAN),
            (-INF, NAN),
            (NAN, NAN),
            (0.0, 1.0),
            (0.0, 1.0),
        ],
    ),
    (
        "tan",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, NAN),
            (-INF, NAN),
            (NAN, NAN),
            (0.0, 0.0),
            (0.0, 0.0),
        ],
    ),
    (
        "tanh",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, 1.0),
            (-INF, -1.0),
            (NAN, NAN),
            (100.0, 1.0),
            (-100.0, -1.0),
        ],
    ),
    (
        "sigmoid",
        &[
            (0.0, 0.5),
            (-0.0, 0.5),
            (INF, 1.0),
            (-INF, 0.0),
            (NAN, NAN),
            (1000.0, 1.0),
            (-1000.0, 0.0),
        ],
    ),
];

/// Bases and exponents with exact powers.
const POWERS: &[(f64, f64, f64)] = &[
    (NAN, 0.0, 1.0),
    (NAN, 1.0, NAN),
    (1.0, NAN, 1.0),
    (2.0, NAN, NAN),
    (0.0, 0.0, 1.0),
    (0.0, -1.0, INF),
    (-0.0, -1.0, -INF),
    (-0.0, -2.0, INF),
    (-0.0, 3.0, -0.0),
    (0.0, 2.0, 0.0),
    (-8.0, 0.5, NAN),
    (-1.0, INF, 1.0),
    (0.5, INF, 0.0),
    (0.5, -INF, INF),
    (2.0, INF, INF),
    (-INF, 3.0, -INF),
    (-INF, 2.0, INF),
    (-INF, -3.0, -0.0),
    (INF, -1.0, 0.0),
    (2.0, 10.0, 1024.0),
];

fn bits(ty: Ty, value: f64) -> u64 {
    if ty == Ty::F32 {
        (value as f32).to_bits().into()
    } else {
        value.to_bits()
    }
}

fn table(ty: Ty, name: &str) -> Vec<(u64, u64)> {
    let known = UNARY.iter().filter(|row| row.0 == name);
    let mut rows: Vec<(u64, u64)> = known
        .flat_map(|row| -> Vec<(u64, u64)> {
            if ty == Ty::F32 {
                let wide = |&(x, y): &(u32, u32)| (x.into(), y.into());
                row.1.iter().map(wide).collect()
            } else {
                row.2.to_vec()
            }
        })
        .collect();
    let edges = EDGES.iter().filter(|row| row.0 == name);
    rows.extend(
        edges
            .flat_map(|row| row.1)
            .map(|&(x, y)| (bits(ty, x), bits(ty, y))),
    );
    rows
}

/// Units in the last place: the library's own error, and the roundings of what is made of several steps. Where functions of `f32` are not
/// close they err as the specification of Metal allows.
fn ulps(name: &str, ty: Ty, promise: Promise) -> u64 {
    let far = ty == Ty::F32 && !promise.close_functions;
    match name {
        "sqrt" => 0,
        "rsqrt" => 1,
        "sigmoid" if far => 8,
        "sigmoid" => 4,
        "pow" if far => 16,
        "tan" if far => 6,
        "tanh" if far => 5,
        _ if far => 4,
        _ => 2,
    }
}

pub fn cases(promise: Promise) -> Vec<Case> {
    super::floats::types(promise.doubles)
        .flat_map(|ty| [unary(ty, promise), powers(ty, promise)])
        .collect()
}

fn unary(ty: Ty, promise: Promise) -> Case {
    let rows = table(ty, "exp").len();
    let mut case = Case::new(format!("functions of {ty}"), rows);
    for &(name, ..) in UNARY {
        let table = table(ty, name);
        let arguments: Vec<u64> = table.iter().map(|row| row.0).collect();
        case.load(10, ty, &arguments);
        let expected = table
            .iter()
            .map(|row| Expected::Float(row.1, ulps(name, ty, promise)));
        case.check(&format!("{name}.{ty} r20, r10"), ty, expected);
    }
    case
}

fn powers(ty: Ty, promise: Promise) -> Case {
    let mut rows: Vec<[u64; 3]> = if ty == Ty::F32 {
        let wide = |&(x, y, z): &(u32, u32, u32)| [x, y, z].map(u64::from);
        POW32.iter().map(wide).collect()
    } else {
        POW64.iter().map(|&(x, y, z)| [x, y, z]).collect()
    };
    rows.extend(
        POWERS
            .iter()
            .map(|&(x, y, z)| [x, y, z].map(|v| bits(ty, v))),
    );
    let mut case = Case::new(format!("powers of {ty}"), rows.len());
    for place in 0..2 {
        let values: Vec<u64> = rows.iter().map(|row| row[place]).collect();
        case.load(10 + place as u8, ty, &values);
    }
    let most = ulps("pow", ty, promise);
    let expected = rows.iter().map(|row| Expected::Float(row[2], most));
    case.check(&format!("pow.{ty} r20, r10, r11"), ty, expected);
    case
}
