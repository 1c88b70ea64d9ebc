//! Geometry, matrices and packed vectors.

use openvm_metal_common::Device;

use crate::harness::{devices, on_devices, ptx, Kernels, Outcome, Source};
use crate::numbers::{half, near, Random};

pub const SOURCE: Source = Source::new("vectors", include_str!("vectors.metal"));

/// Multiples of a half between -2 and 2.
fn small(count: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    (0..count)
        .map(|_| random.below(9) as f32 / 2.0 - 2.0)
        .collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

type V3 = [f64; 3];

fn dot(a: V3, b: V3) -> f64 {
    (0..3).map(|i| a[i] * b[i]).sum()
}

fn scaled(a: V3, s: f64) -> V3 {
    a.map(|x| x * s)
}

fn sum(a: V3, b: V3) -> V3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn geometry(a: V3, b: V3) -> Vec<f64> {
    let difference = sum(a, scaled(b, -1.0));
    let (n, i) = (
        scaled(b, dot(b, b).sqrt().recip()),
        scaled(a, dot(a, a).sqrt().recip()),
    );
    let cross = [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ];
    let face = if dot(b, a) < 0.0 { n } else { scaled(n, -1.0) };
    let reflected = sum(a, scaled(n, -2.0 * dot(n, a)));
    let d = dot(n, i);
    let k: f64 = 1.0 - 0.25 * (1.0 - d * d);
    let refracted = sum(scaled(i, 0.5), scaled(n, -(0.5 * d + k.sqrt())));
    let mut out = vec![
        dot(a, b),
        dot(a, a).sqrt(),
        dot(a, a),
        dot(difference, difference).sqrt(),
        dot(difference, difference),
    ];
    out.extend([n, cross, face, reflected, refracted].concat());
    out
}

#[test]
fn geometric_functions() -> Outcome<()> {
    let mut values = small(6 * 300, 3);
    // No vector of length 0.
    for v in values.chunks_exact_mut(3) {
        v[0] += 2.25;
    }
    on_devices(SOURCE, |kernels| {
        for (name, tolerance) in [("geometry_float", 3e-6), ("geometry_half", 3e-2)] {
            let out = kernels.run(name, &bits(&values), 20 * 300, 300, 64)?;
            for (v, out) in values.chunks_exact(6).zip(out.chunks_exact(20)) {
                let at = |i: usize| f64::from(v[i]);
                let want = geometry([at(0), at(1), at(2)], [at(3), at(4), at(5)]);
                for (i, (&got, want)) in out.iter().zip(want).enumerate() {
                    let got = f32::from_bits(got);
                    assert!(
                        near(got, want, tolerance),
                        "{name}: number {i} of {v:?} is {got}, not {want}, {:?}",
                        kernels.device
                    );
                }
            }
        }
        Ok(())
    })
}

/// By columns.
type M4 = [[f64; 4]; 4];

fn product(a: M4, b: M4) -> M4 {
    std::array::from_fn(|c| std::array::from_fn(|r| (0..4).map(|k| a[k][r] * b[c][k]).sum()))
}

fn determinant(rows: &[Vec<f64>]) -> f64 {
    if rows.len() == 1 {
        return rows[0][0];
    }
    let minor = |k: usize| -> Vec<Vec<f64>> {
        let without = |r: &Vec<f64>| [&r[..k], &r[k + 1..]].concat();
        rows[1..].iter().map(without).collect()
    };
    (0..rows.len())
        .map(|k| rows[0][k] * determinant(&minor(k)) * if k % 2 == 0 { 1.0 } else { -1.0 })
        .sum()
}

fn matrices(v: &[f32]) -> Vec<f64> {
    let columns: M4 = std::array::from_fn(|c| std::array::from_fn(|r| f64::from(v[4 * c + r])));
    let mut m = columns;
    m[1][2] += 1.0;
    let transposed: M4 = std::array::from_fn(|c| std::array::from_fn(|r| m[r][c]));
    let mut p = product(m, transposed);
    for (c, column) in p.iter_mut().enumerate() {
        for (r, x) in column.iter_mut().enumerate() {
            let diagonal = if r == c { 2.0 } else { 0.0 };
            *x = (*x + diagonal - m[c][r] / 2.0) * 2.0;
        }
    }
    let right = (0..4).map(|r| (0..4).map(|c| p[c][r] * columns[0][c]).sum());
    let left = (0..4).map(|c| (0..4).map(|r| p[c][r] * columns[1][r]).sum());
    let mut out: Vec<f64> = right.chain(left).collect();
    out.push(columns[0][0] * columns[0][3] - columns[0][1] * columns[0][2]);
    let part = |m: &M4, n: usize| m[..n].iter().map(|c| c[..n].to_vec()).collect::<Vec<_>>();
    out.push(determinant(&part(&columns, 3)));
    out.push(determinant(&part(&m, 4)));
    let three = |a: &[f64; 4], b: &[f64; 4]| -> f64 { (0..3).map(|i| a[i] * b[i]).sum() };
    let mixed = three(&columns[0], &columns[1]);
    out.extend([mixed, -3.0 * mixed]);
    let equal = three(&columns[0], &columns[0]) == columns[0][0] && mixed == columns[0][1];
    out.push(f64::from(f32::from_bits(u32::from(equal))));
    out
}

#[test]
fn matrices_by_columns() -> Outcome<()> {
    let values = small(16 * 200, 4);
    on_devices(SOURCE, |kernels| {
        // Floats hold these results exactly; halves round.
        for (name, tolerance) in [("matrices_float", 0.0), ("matrices_half", 2.0)] {
            let out = kernels.run(name, &bits(&values), 15 * 200, 200, 64)?;
            for (v, out) in values.chunks_exact(16).zip(out.chunks_exact(15)) {
                for (i, (&got, want)) in out.iter().zip(matrices(v)).enumerate() {
                    let got = f64::from(f32::from_bits(got));
                    assert!(
                        (got - want).abs() <= tolerance,
                        "{name}: number {i} of {v:?} is {got}, not {want}, {:?}",
                        kernels.device
                    );
                }
                if name == "matrices_float" {
                    assert_eq!(out[14], 62, "{:?}", kernels.device);
                }
            }
        }
        Ok(())
    })
}

fn half_bits(x: f32) -> u32 {
    // Normal halves and 0 only.
    if x == 0.0 {
        return 0;
    }
    let bits = x.to_bits();
    (bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 1023)
}

#[test]
fn packed_vectors_have_no_padding() -> Outcome<()> {
    const COUNT: usize = 100;
    let places = small(3 * COUNT, 5);
    let sizes: Vec<f32> = small(COUNT, 7).iter().map(|s| half(*s)).collect();
    let mut input = Vec::new();
    let mut want = Vec::new();
    for (i, (place, size)) in places.chunks_exact(3).zip(&sizes).enumerate() {
        let colour = 0x0102_0304 * (i as u32 % 60) + 0x1020_3040;
        input.extend(bits(place));
        input.extend([colour, half_bits(*size) | 0x4000_0000]);
        want.extend(bits(&[
            3.0 * place[0] + 1.0,
            -(3.0 * place[1] + 2.0),
            3.0 * place[2] + 3.0,
        ]));
        want.extend([
            colour.swap_bytes(),
            half_bits(size * size + 1.0) | half_bits(30.0) << 16,
        ]);
    }
    on_devices(SOURCE, |kernels| {
        let out = kernels.run("packed", &input, 5 * COUNT, COUNT, 32)?;
        assert_eq!(out, want, "{:?}", kernels.device);
        Ok(())
    })
}

#[test]
fn constants_at_namespace_scope() -> Outcome<()> {
    on_devices(SOURCE, |kernels| {
        let out = kernels.run("constants", &[0, 1, 2, 3], 16, 4, 4)?;
        let want = [2, 2, 1, 3, 7, 1, 5, 4, 12, 0, 3, 3, 13, 4, 4, 8];
        assert_eq!(out, want, "{:?}", kernels.device);
        Ok(())
    })
}

/// Some compilers write such tables wrongly for NVIDIA GPUs: then the file is refused.
#[test]
fn tables_of_vectors_of_three() -> Outcome<()> {
    const SOURCE: Source = Source::new("threes", include_str!("threes.metal"));
    let refused = |e: Box<dyn std::error::Error>| {
        let text = e.to_string();
        assert!(
            text.contains("`kRows` of vectors of three elements"),
            "{text}"
        );
    };
    if let Err(error) = ptx(SOURCE) {
        refused(error);
    }
    for device in devices()? {
        let kernels = match Kernels::load(device, SOURCE) {
            Err(error) if device == Device::Cuda(0) => {
                refused(error);
                continue;
            }
            kernels => kernels?,
        };
        let input: Vec<u32> = (0..9).collect();
        let out = kernels.run("threes", &input, 18, 9, 32)?;
        let rows = [1, 4, 7, 2, 5, 8, 3, 6, 9];
        let entry = |i: usize| [[2, 0, 0, 0, 2, 0, 0, 0, 2], [1, 2, 3, 4, 4, 4, 7, 8, 9]][i % 2][i];
        let want: Vec<u32> = (0..9).flat_map(|i| [rows[i], entry(i)]).collect();
        assert_eq!(out, want, "{device:?}");
    }
    Ok(())
}
