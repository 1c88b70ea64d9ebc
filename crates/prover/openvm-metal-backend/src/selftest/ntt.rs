//! Transforms, codewords and transpositions against Plonky3.

use std::fmt::Debug;

use openvm_metal_common::{DeviceElem, DeviceKind, MetalBuffer, MetalError};
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};
use p3_matrix::{dense::RowMajorMatrix, Matrix};

use super::{compare, refused, Check, CheckEnv, CheckFailure};
use crate::{
    ntt::{
        ntt_batch, ntt_batch_ext, rs_encode, rs_encode_ext, table, transpose, NttDirection,
        TallPlan,
    },
    prelude::{EF, F},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "ntt",
        name: "ntt_batch",
        run: batch,
    },
    Check {
        group: "ntt",
        name: "ntt_batch_ext",
        run: batch_ext,
    },
    Check {
        group: "ntt",
        name: "rs_encode",
        run: codewords,
    },
    Check {
        group: "ntt",
        name: "tall",
        run: tall,
    },
    Check {
        group: "ntt",
        name: "transpose",
        run: transposition,
    },
    Check {
        group: "ntt",
        name: "bad_sizes",
        run: bad_sizes,
    },
];

fn dft(column: &[F]) -> Vec<F> {
    Radix2DitParallel::default().dft(column.to_vec())
}

fn dft_ext(column: &[EF]) -> Vec<EF> {
    let words = |x: &EF| x.as_basis_coefficients_slice().to_vec();
    let flat: Vec<F> = column.iter().flat_map(words).collect();
    let out = Radix2DitParallel::default().dft_batch(RowMajorMatrix::new(flat, 4));
    let out = out.to_row_major_matrix().values;
    out.chunks(4)
        .map(|c| EF::from_basis_coefficients_fn(|i| c[i]))
        .collect()
}

/// (log size, columns, elements between columns)
const SHAPES: [(usize, usize, usize); 14] = [
    (0, 3, 0),
    (1, 2, 1),
    (2, 33, 0),
    (3, 40, 0),
    (4, 17, 4),
    (5, 1, 0),
    (7, 9, 0),
    (8, 5, 8),
    (9, 4, 0),
    (10, 3, 0),
    (12, 3, 64),
    (16, 2, 0),
    (17, 1, 0),
    (18, 1, 0),
];

fn batch(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for (log_n, cols, gap) in SHAPES {
        if env.conformance() && log_n > 10 {
            continue;
        }
        let (n, stride) = (1usize << log_n, (1usize << log_n) + gap);
        let (host, mut data) = env.base(stride * cols)?;
        let expected: Vec<F> = (0..cols)
            .flat_map(|j| {
                let (column, rest) = host[j * stride..(j + 1) * stride].split_at(n);
                [dft(column), rest.to_vec()].concat()
            })
            .collect();
        let what = format!("2^{log_n} x {cols}");
        let forward = NttDirection::Forward;
        ntt_batch(
            env.s,
            &mut data.as_slice_mut(),
            log_n,
            cols,
            stride,
            forward,
        )?;
        compare(|| what.clone(), &data.to_host(env.s)?, &expected)?;
        let inverse = NttDirection::Inverse;
        ntt_batch(
            env.s,
            &mut data.as_slice_mut(),
            log_n,
            cols,
            stride,
            inverse,
        )?;
        compare(|| what.clone(), &data.to_host(env.s)?, &host)?;
    }
    Ok(())
}

fn batch_ext(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for (log_n, cols, gap) in SHAPES {
        if log_n > if env.conformance() { 9 } else { 17 } {
            continue;
        }
        let (n, stride) = (1usize << log_n, (1usize << log_n) + gap);
        let (host, mut data) = env.ext(stride * cols)?;
        let expected: Vec<EF> = (0..cols)
            .flat_map(|j| {
                let (column, rest) = host[j * stride..(j + 1) * stride].split_at(n);
                [dft_ext(column), rest.to_vec()].concat()
            })
            .collect();
        let what = format!("2^{log_n} x {cols}");
        let forward = NttDirection::Forward;
        ntt_batch_ext(
            env.s,
            &mut data.as_slice_mut(),
            log_n,
            cols,
            stride,
            forward,
        )?;
        compare(|| what.clone(), &data.to_host(env.s)?, &expected)?;
        let inverse = NttDirection::Inverse;
        ntt_batch_ext(
            env.s,
            &mut data.as_slice_mut(),
            log_n,
            cols,
            stride,
            inverse,
        )?;
        compare(|| what.clone(), &data.to_host(env.s)?, &host)?;
    }
    Ok(())
}

fn codewords(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for (log_h, log_blowup, cols) in [
        (0, 3, 2),
        (1, 1, 3),
        (3, 1, 17),
        (5, 4, 2),
        (7, 1, 40),
        (8, 1, 3),
        (2, 8, 1),
        (9, 3, 5),
        (10, 9, 1),
        (13, 1, 3),
        (13, 4, 2),
        (14, 3, 1),
        (15, 2, 3),
        (16, 1, 2),
        (17, 2, 1),
    ] {
        if env.conformance() && log_h + log_blowup > 10 {
            continue;
        }
        let (n, h) = (1usize << (log_h + log_blowup), 1usize << log_h);
        let what = format!("2^{log_h} to 2^{}, {cols} columns", log_h + log_blowup);
        let (host, mut code) = env.base(n * cols)?;
        rs_encode(env.s, code.as_slice_mut(), log_h, log_blowup, cols)?;
        let padded = |j: usize| {
            let mut message = host[j * n..j * n + h].to_vec();
            message.resize(n, F::ZERO);
            dft(&message)
        };
        let expected: Vec<F> = (0..cols).flat_map(padded).collect();
        compare(|| what.clone(), &code.to_host(env.s)?, &expected)?;
        let (host, mut code) = env.ext(n * cols)?;
        rs_encode_ext(env.s, &mut code, log_h, log_blowup, cols)?;
        let padded = |j: usize| {
            let mut message = host[j * n..j * n + h].to_vec();
            message.resize(n, EF::ZERO);
            dft_ext(&message)
        };
        let expected: Vec<EF> = (0..cols).flat_map(padded).collect();
        compare(|| what.clone(), &code.to_host(env.s)?, &expected)?;
    }
    Ok(())
}

/// Shapes of transforms in two passes, (log message, log blowup, columns): of those, the ones whose tiles the device has
/// memory for.
const TALL_SHAPES: [(usize, usize, usize); 10] = [
    (16, 0, 3),
    (16, 1, 2),
    (17, 1, 1),
    (17, 3, 1),
    (18, 1, 3),
    (19, 2, 1),
    (20, 1, 1),
    (21, 1, 2),
    (22, 1, 1),
    (23, 0, 1),
];

/// Shapes for a device. Processors transform the short ones only, which take every path of the kernels: tall tiles are made for GPUs.
pub(super) fn tall_shapes(env: &CheckEnv) -> impl Iterator<Item = (usize, usize, usize)> {
    let most = match (env.conformance(), env.s.context().info().kind) {
        (true, _) => 18,
        (_, DeviceKind::Cpu) => 21,
        _ => usize::MAX,
    };
    TALL_SHAPES
        .into_iter()
        .filter(move |&(log_h, log_blowup, _)| log_h + log_blowup <= most)
}

/// Two passes over base and extension elements, whether the device would take them or not.
fn tall(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for shape in tall_shapes(env) {
        tall_columns(env, shape, CheckEnv::base, dft)?;
        tall_columns(env, shape, CheckEnv::ext, dft_ext)?;
    }
    Ok(())
}

/// Columns of base or extension elements, which `random` makes and `dft` transforms, by tall tiles.
fn tall_columns<'a, E: DeviceElem + PrimeCharacteristicRing + PartialEq + Debug>(
    env: &mut CheckEnv<'a>,
    (log_h, log_blowup, cols): (usize, usize, usize),
    random: impl Fn(&mut CheckEnv<'a>, usize) -> Result<(Vec<E>, MetalBuffer<E>), MetalError>,
    dft: impl Fn(&[E]) -> Vec<E>,
) -> Result<(), CheckFailure> {
    let (log_n, cells) = (log_h + log_blowup, size_of::<E>() / size_of::<F>());
    let profile = env.s.context().device_profile();
    let [n, h] = [log_n as u32, log_h as u32];
    let Some(plan) = TallPlan::for_checks(profile, n, h, cells.ilog2()) else {
        return Ok(());
    };
    // As many threads as planned, which read ahead, and fewer.
    for plan in [plan, plan.with_threads(32)] {
        // Messages with a gap between them, codewords as well.
        let (h, n, gap) = (1usize << log_h, 1usize << log_n, 5);
        let (host, messages) = random(env, (h + gap) * cols)?;
        let mut scratch = MetalBuffer::<F>::uninit(env.s.context(), cells * n * cols)?;
        let (before, mut code) = random(env, (n + gap) * cols)?;
        let roots = &table(env.s, NttDirection::Forward)?;
        let (from, to) = (messages.as_slice().cast()?, scratch.as_slice_mut());
        plan.columns(env.s, roots, from, to, cols, cells * (h + gap))?;
        let (from, to) = (scratch.as_slice(), code.as_slice_mut().cast()?);
        plan.runs(env.s, roots, from, to, cols, cells * (n + gap), 0)?;
        let expected: Vec<E> = (0..cols)
            .flat_map(|j| {
                let mut message = host[j * (h + gap)..j * (h + gap) + h].to_vec();
                message.resize(n, E::ZERO);
                [dft(&message), before[j * (n + gap) + n..][..gap].to_vec()].concat()
            })
            .collect();
        let what = || {
            let elements = format!("elements of {cells} words");
            format!("2^{log_h} to 2^{log_n} {elements}, {cols} columns")
        };
        compare(what, &code.to_host(env.s)?, &expected)?;
    }
    Ok(())
}

fn transposition(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let whole_tiles = [
        (64, 32),
        (130, 64),
        (384, 16),
        (512, 5),
        (2048, 1),
        (4097, 2),
    ];
    let parts = [
        (1, 1),
        (5, 70),
        (64, 33),
        (256, 100),
        (31, 1025),
        (65537, 3),
    ];
    for (rows, cols) in whole_tiles.into_iter().chain(parts) {
        let (host, input) = env.base(rows * cols)?;
        let mut out = MetalBuffer::uninit(env.s.context(), rows * cols)?;
        transpose(
            env.s,
            &input.as_slice(),
            &mut out.as_slice_mut(),
            rows,
            cols,
        )?;
        let cell = |i: usize| host[(i % rows) * cols + i / rows];
        let expected: Vec<F> = (0..rows * cols).map(cell).collect();
        compare(
            || format!("{rows} x {cols}"),
            &out.to_host(env.s)?,
            &expected,
        )?;
    }
    Ok(())
}

fn bad_sizes(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let mut data = MetalBuffer::<F>::zeroed(env.s, 64)?;
    let forward = NttDirection::Forward;
    let mut run = |log_n, cols, stride| {
        ntt_batch(
            env.s,
            &mut data.as_slice_mut(),
            log_n,
            cols,
            stride,
            forward,
        )
    };
    refused("2^28 elements", run(28, 1, 1 << 28))?;
    refused("more columns than memory", run(5, 3, 32))?;
    refused("columns that overlap", run(5, 2, 16))?;
    refused("a transposition of too few cells", {
        let (input, out) = (data.slice(0..8), &mut MetalBuffer::zeroed(env.s, 64)?);
        transpose(env.s, &input, &mut out.as_slice_mut(), 8, 8)
    })
}
