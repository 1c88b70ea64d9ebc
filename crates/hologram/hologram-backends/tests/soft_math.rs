//! The functions of 64-bit floats for devices without a mathematics library, compiled for this processor and compared
//! with its own.

mod compiled;

use compiled::{compiled, Outcome};
use hologram_backends::translate;
use openvm_metal_common::kernel::ArgKind;
use openvm_metal_common::{Grid, MetalBuffer};

/// Distance in units of the last place; 0 for two NaNs.
fn ulps(x: f64, y: f64) -> u64 {
    let order = |x: f64| {
        let bits = i128::from(x.to_bits() as i64);
        if bits < 0 {
            i128::from(i64::MIN) - bits
        } else {
            bits
        }
    };
    match (x.is_nan(), y.is_nan()) {
        (true, true) => 0,
        (false, false) => u64::try_from(order(x).abs_diff(order(y))).unwrap_or(u64::MAX),
        _ => u64::MAX,
    }
}

/// Numbers that look random.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Values between -1 and 1.
fn units(seed: u64, count: usize) -> impl Iterator<Item = f64> {
    let mut next = random(seed);
    (0..count).map(move |_| (next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
}

const EDGES: [f64; 26] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    -3.0,
    0.5,
    -0.5,
    1.5,
    1e300,
    -1e300,
    1e-300,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9_007_199_254_740_993.0,
    9_007_199_254_740_991.0,
    1.0 + f64::EPSILON,
    1.0 - f64::EPSILON / 2.0,
    -7.0,
];

/// `out[i]` = a function of `x[i]` and `y[i]`: `expression` of Metal text with `$v` and `$w` for them, compiled with
/// `options`.
fn run(text: &str, expression: &str, options: &[&str], x: &[f64], y: &[f64]) -> Outcome<Vec<f64>> {
    let header = "kernel void one(device const ulong* x [[buffer(0)]], device const ulong* y [[buffer(1)]], \
                  device ulong* out [[buffer(2)]], uint gid [[thread_position_in_grid]])";
    let body = format!("out[gid] = as_type<ulong>({expression});")
        .replace("$v", "as_type<decltype(1.0)>(x[gid])")
        .replace("$w", "as_type<decltype(1.0)>(y[gid])");
    let args = [
        ("x", ArgKind::BufferRead { elem: 8 }),
        ("y", ArgKind::BufferRead { elem: 8 }),
        ("out", ArgKind::BufferWrite { elem: 8 }),
    ];
    let text = format!("{text}\n{header} {{ {body} }}\n");
    let (unit, stream) = compiled(&text, options, &args)?;
    let bytes =
        |values: &[f64]| -> Vec<u8> { values.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let buffers = [
        MetalBuffer::from_host(&stream, &bytes(x))?,
        MetalBuffer::from_host(&stream, &bytes(y))?,
        MetalBuffer::<u8>::zeroed(&stream, 8 * x.len())?,
    ];
    let mut call = unit.encode(&stream, 0, Grid::threads(x.len()))?;
    for (index, buffer) in buffers.iter().enumerate() {
        call = call.buffer_range(index as u8, buffer.as_slice());
    }
    // SAFETY: a thread for each element of the three buffers.
    unsafe { call.dispatch_unchecked()? };
    let out = buffers[2].to_host(&stream)?;
    let words = out.as_chunks::<8>().0;
    Ok(words.iter().map(|&word| f64::from_le_bytes(word)).collect())
}

/// The system's function.
type Exact = fn(f64, f64) -> f64;

/// No result is further than `bound` from `exact`.
fn compare(name: &str, bound: u64, x: &[f64], y: &[f64], got: &[f64], exact: Exact) {
    let mut worst = 0;
    for ((&x, &y), &got) in x.iter().zip(y).zip(got) {
        let exact = exact(x, y);
        let distance = ulps(got, exact);
        assert!(
            distance <= bound,
            "{name}({x:e}, {y:e}) = {got:e}, not {exact:e}"
        );
        worst = worst.max(distance);
    }
    println!("{name}: {worst} ULP at most, {} values", x.len());
}

/// Pairs of edges, near 1, of the whole range with results of every size, and any bits.
fn bases_and_exponents() -> (Vec<f64>, Vec<f64>) {
    let mut pairs: Vec<(f64, f64)> = EDGES.iter().flat_map(|&x| EDGES.map(|y| (x, y))).collect();
    let (a, b) = (units(1, 60_000), units(2, 60_000));
    for (i, (a, b)) in a.zip(b).enumerate() {
        let base: f64 = match i % 4 {
            0 => 1.0 + a * 0.5,
            1 => (a * 700.0).exp(),
            2 => a.abs() * 10.0,
            _ => 1.0 + a * 1e-6,
        };
        // Any result that is not out of range.
        let exponent = b * 745.0 / base.ln();
        pairs.push((base, exponent));
        pairs.push((-base, (b * 40.0).round()));
    }
    let mut next = random(3);
    pairs.extend((0..20_000).map(|_| (f64::from_bits(next()), f64::from_bits(next()))));
    pairs.into_iter().unzip()
}

/// Option of kernels for NVIDIA that are no programs.
const CONTRACT: &str = "-ffp-contract=fast";

#[test]
fn powers_of_whole_buffers() -> Outcome<()> {
    let (x, y) = bases_and_exponents();
    let text = "#define SOFT_MATH 1\n#include \"math.h\"\n";
    let got = run(text, "real_pow($v, $w)", &[CONTRACT], &x, &y)?;
    compare("pow", 2, &x, &y, &got, f64::powf);
    Ok(())
}

#[test]
fn powers_of_programs() -> Outcome<()> {
    let (x, y) = bases_and_exponents();
    let text = format!("#define HG_SOFT_MATH 1\n{}", translate::unit([]));
    let got = run(&text, "hg_pow_f64($v, $w)", &["-ffp-contract=off"], &x, &y)?;
    compare("pow", 2, &x, &y, &got, f64::powf);
    Ok(())
}

#[test]
fn error_functions() -> Outcome<()> {
    let mut x = EDGES.to_vec();
    x.extend(units(4, 50_000).map(|x| x * 7.0));
    x.extend(units(5, 10_000));
    let mut next = random(6);
    x.extend((0..20_000).map(|_| f64::from_bits(next())));
    let text = "#define SOFT_MATH 1\n#include \"math.h\"\n";
    let got = run(text, "real_erf($v)", &[CONTRACT], &x, &x)?;
    compare("erf", 2, &x, &x, &got, |x, _| libm::erf(x));
    for (x, y) in x.iter().zip(&got) {
        assert!(x.is_nan() || x.is_sign_negative() == y.is_sign_negative());
    }
    Ok(())
}

/// Angles: edges, a few turns, many turns, and any bits.
fn angles() -> Vec<f64> {
    let mut x = EDGES.to_vec();
    x.extend(units(7, 20_000).map(|x| x * 7.0));
    x.extend(units(8, 20_000).map(|x| x * 2e5));
    let mut next = random(9);
    x.extend((0..20_000).map(|_| f64::from_bits(next())));
    x
}

#[test]
fn angles_and_signs_of_zeros() -> Outcome<()> {
    let x = angles();
    let whole = "#define SOFT_MATH 1\n#include \"math.h\"\n";
    let program = format!("#define HG_SOFT_MATH 1\n{}", translate::unit([]));
    let functions: [(&str, Exact); 4] = [
        ("sin", |x, _| x.sin()),
        ("cos", |x, _| x.cos()),
        ("tan", |x, _| x.tan()),
        ("tanh", |x, _| x.tanh()),
    ];
    for (name, exact) in functions {
        let ways = [
            (whole, format!("real_{name}($v)"), CONTRACT),
            (&program, format!("hg_{name}_f64($v)"), "-ffp-contract=off"),
        ];
        for (text, expression, option) in ways {
            let got = run(text, &expression, &[option], &x, &x)?;
            compare(&expression, 6, &x, &x, &got, exact);
            for (&x, got) in x.iter().zip(&got).filter(|(&x, _)| x == 0.0) {
                let sign = exact(x, x).is_sign_negative();
                assert_eq!(got.is_sign_negative(), sign, "{expression} of {x}");
            }
        }
    }
    Ok(())
}

/// Functions of `float` of their own: with fewer terms than those of `double`.
#[test]
fn floats() -> Outcome<()> {
    let mut x: Vec<f64> = EDGES.iter().map(|&x| f64::from(x as f32)).collect();
    x.extend(units(10, 40_000).map(|x| f64::from((x * 110.0) as f32)));
    x.extend(units(11, 40_000).map(|x| f64::from((x * 2.0) as f32)));
    x.extend(units(12, 10_000).map(|x| f64::from((x * 1e-3) as f32)));
    let mut next = random(13);
    x.extend((0..40_000).map(|_| f64::from(f32::from_bits(next() as u32))));
    let text = format!("#define HG_SOFT_MATH 1\n{}", translate::unit([]));
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function); 2] = [("exp", f64::exp), ("tanh", f64::tanh)];
    for (name, exact) in functions {
        let expression = format!("(decltype(1.0))hg_{name}_f32((float)$v)");
        let got = run(&text, &expression, &["-ffp-contract=off"], &x, &x)?;
        let mut worst = 0;
        for (&x, &got) in x.iter().zip(&got) {
            let (got, exact) = (got as f32, exact(x) as f32);
            let far = match (got.is_nan(), exact.is_nan()) {
                (true, true) => 0,
                (false, false) => got.to_bits().abs_diff(exact.to_bits()),
                _ => u32::MAX,
            };
            assert!(far <= 1, "{name}({x:e}) = {got:e}, not {exact:e}");
            worst = worst.max(far);
        }
        println!("{name} of float: {worst} ULP at most, {} values", x.len());
    }
    Ok(())
}
