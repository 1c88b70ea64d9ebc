//! Tensor tables, reductions, prefix sums, folds and transforms against the reference's functions.

use openvm_stark_backend::prover::poly::{
    eval_to_coeff_rs_message, evals_eq_hypercube, evals_mobius_eq_hypercube, Mle,
};
use p3_field::PrimeCharacteristicRing;

use super::{compare, refused, Check, CheckEnv, CheckFailure};
use crate::poly;
use crate::poly::TensorWeights;
use crate::prelude::{EF, F};

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "poly",
        name: "eq_table",
        run: eq_table,
    },
    Check {
        group: "poly",
        name: "mobius_eq_table",
        run: mobius_eq_table,
    },
    Check {
        group: "poly",
        name: "powers_table",
        run: powers_table,
    },
    Check {
        group: "poly",
        name: "tensor_prefix",
        run: tensor_prefix,
    },
    Check {
        group: "poly",
        name: "sum",
        run: sum,
    },
    Check {
        group: "poly",
        name: "dot",
        run: dot,
    },
    Check {
        group: "poly",
        name: "eval_at_point",
        run: eval_at_point,
    },
    Check {
        group: "poly",
        name: "fold",
        run: fold,
    },
    Check {
        group: "poly",
        name: "prefix_sums",
        run: prefix_sums,
    },
    Check {
        group: "poly",
        name: "zeta",
        run: zeta,
    },
    Check {
        group: "poly",
        name: "chunk_transform",
        run: chunk_transform,
    },
    Check {
        group: "poly",
        name: "bad_requests",
        run: bad_requests,
    },
];

/// Lengths around every boundary of the kernels: lanes, threadgroups, tiles, blocks.
const LENGTHS: [usize; 14] = [
    1, 2, 3, 15, 16, 17, 255, 1000, 1024, 1025, 4097, 12_288, 65_536, 65_537,
];
/// Numbers of variables with one, two and three passes.
const VARS: [usize; 13] = [0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 15, 19];
/// What conformance mode takes of both.
const SLOW_LENGTH: usize = 4097;
const SLOW_VARS: usize = 12;

fn eq_table(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for n in env.sizes(&VARS, SLOW_VARS) {
        let (point, scale) = (env.rng.efs(n), env.rng.ef());
        let expected: Vec<EF> = evals_eq_hypercube(&point)
            .into_iter()
            .map(|x| x * scale)
            .collect();
        let table = poly::eq_table(env.s, &point, scale)?;
        compare(
            || format!("{n} variables"),
            &table.to_host(env.s)?,
            &expected,
        )?;

        // Into the middle of a larger buffer: nothing around it may change.
        let mut arena = env.poisoned(expected.len() + 2)?;
        let before = arena.to_host(env.s)?;
        let mut middle = arena.slice_mut(1..=expected.len());
        poly::eq_table_into(env.s, &point, scale, &mut middle)?;
        let mut around = before;
        around[1..=expected.len()].copy_from_slice(&expected);
        compare(
            || format!("{n} variables in an arena"),
            &arena.to_host(env.s)?,
            &around,
        )?;
    }
    Ok(())
}

fn mobius_eq_table(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for n in env.sizes(&VARS, SLOW_VARS) {
        let point = env.rng.efs(n);
        let table = poly::mobius_eq_table(env.s, &point)?;
        let expected = evals_mobius_eq_hypercube(&point);
        compare(
            || format!("{n} variables"),
            &table.to_host(env.s)?,
            &expected,
        )?;
    }
    Ok(())
}

fn powers_table(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for n in env.sizes(&LENGTHS, SLOW_LENGTH) {
        let base = env.rng.ef();
        let table = poly::powers_table(env.s, base, n)?;
        let expected: Vec<EF> = base.powers().take(n).collect();
        compare(|| format!("{n} powers"), &table.to_host(env.s)?, &expected)?;
    }
    Ok(())
}

fn tensor_prefix(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for (vars, len) in [(3, 5), (12, 1000), (12, 1025), (12, 3001), (13, 8191)] {
        let pairs = (0..vars).map(|_| [env.rng.ef(), env.rng.ef()]).collect();
        let w = TensorWeights::new(pairs).scaled(env.rng.ef());
        let expected: Vec<EF> = (0..len).map(|y| w.entry(y)).collect();
        compare(
            || format!("host, {len} of 2^{vars}"),
            &w.to_table(len),
            &expected,
        )?;
        let table = poly::tensor_table(env.s, &w, len)?;
        compare(
            || format!("{len} of 2^{vars}"),
            &table.to_host(env.s)?,
            &expected,
        )?;
    }
    Ok(())
}

fn sum(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for n in env.sizes(&LENGTHS, SLOW_LENGTH) {
        for segments in [1, 3] {
            let (host, device) = env.ext(n * segments)?;
            let expected: Vec<EF> = host.chunks(n).map(|c| c.iter().copied().sum()).collect();
            let sums = poly::sum_ext(env.s, &device.as_slice(), segments)?;
            compare(
                || format!("{segments} x {n}"),
                &sums.to_host(env.s)?,
                &expected,
            )?;
        }
    }
    Ok(())
}

fn inner<T: Copy>(weights: &[EF], values: &[T]) -> EF
where
    EF: std::ops::Mul<T, Output = EF>,
{
    weights.iter().zip(values).map(|(&w, &v)| w * v).sum()
}

fn dot(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for n in env.sizes(&LENGTHS, SLOW_LENGTH) {
        let (weights, weights_d) = env.ext(n)?;
        for segments in [1, 5] {
            let (ext, ext_d) = env.ext(n * segments)?;
            let expected: Vec<EF> = ext.chunks(n).map(|c| inner(&weights, c)).collect();
            let dots = poly::dot_ext(env.s, &weights_d.as_slice(), &ext_d.as_slice())?;
            compare(
                || format!("extension, {segments} x {n}"),
                &dots.to_host(env.s)?,
                &expected,
            )?;

            let (base, base_d) = env.base(n * segments)?;
            let expected: Vec<EF> = base.chunks(n).map(|c| inner(&weights, c)).collect();
            let dots = poly::dot_base(env.s, &weights_d.as_slice(), &base_d.as_slice())?;
            compare(
                || format!("base, {segments} x {n}"),
                &dots.to_host(env.s)?,
                &expected,
            )?;
        }
    }
    Ok(())
}

fn eval_at_point(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for n in env.sizes(&VARS, SLOW_VARS) {
        let point = env.rng.efs(n);
        let (table, device) = env.ext(1 << n)?;
        let expected = Mle::from_coeffs(table.clone()).eval_at_point_inplace(&point);
        let w = TensorWeights::monomials(&point);
        let value = poly::eval_ext_at(env.s, &device.as_slice(), &w)?;
        compare(
            || format!("coefficients, {n} variables"),
            &[value],
            &[expected],
        )?;

        let expected = Mle::from_evaluations(&table).eval_at_point_inplace(&point);
        let value = poly::eval_ext_at(env.s, &device.as_slice(), &TensorWeights::eq(&point))?;
        compare(
            || format!("evaluations, {n} variables"),
            &[value],
            &[expected],
        )?;
    }
    for n in env.sizes(&LENGTHS, SLOW_LENGTH) {
        let x = env.rng.ef();
        let (coeffs, device) = env.base(n)?;
        let expected = coeffs.iter().rfold(EF::ZERO, |acc, &c| acc * x + c);
        let w = TensorWeights::powers(x, n.next_power_of_two().trailing_zeros() as usize);
        let value = poly::eval_base_at(env.s, &device.as_slice(), &w)?;
        compare(
            || format!("univariate, {n} coefficients"),
            &[value],
            &[expected],
        )?;
    }
    Ok(())
}

fn fold(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for n in env.sizes(&LENGTHS, SLOW_LENGTH) {
        let r = env.rng.ef();
        let (table, device) = env.ext(2 * n)?;
        let expected: Vec<EF> = table.chunks(2).map(|t| t[0] + r * (t[1] - t[0])).collect();
        let folded = poly::fold_ext(env.s, &device.as_slice(), r)?;
        compare(|| format!("{n} pairs"), &folded.to_host(env.s)?, &expected)?;
    }
    Ok(())
}

fn prefix_sums(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for n in env.sizes(&LENGTHS, SLOW_LENGTH) {
        let (values, mut device) = env.ext(n)?;
        let mut acc = EF::ZERO;
        let expected: Vec<EF> = values
            .iter()
            .map(|&x| {
                acc += x;
                acc
            })
            .collect();
        poly::prefix_sums(env.s, &mut device.as_slice_mut())?;
        compare(
            || format!("{n} elements"),
            &device.to_host(env.s)?,
            &expected,
        )?;
    }
    Ok(())
}

fn zeta(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for n in env.sizes(&VARS, SLOW_VARS) {
        let (coeffs, mut device) = env.ext(1 << n)?;
        let mut expected = coeffs.clone();
        Mle::coeffs_to_evals_inplace(&mut expected);
        poly::coeffs_to_evals(env.s, &mut device.as_slice_mut())?;
        compare(
            || format!("coefficients to evaluations, 2^{n}"),
            &device.to_host(env.s)?,
            &expected,
        )?;
        poly::evals_to_coeffs(env.s, &mut device.as_slice_mut())?;
        compare(
            || format!("evaluations to coefficients, 2^{n}"),
            &device.to_host(env.s)?,
            &coeffs,
        )?;
    }
    Ok(())
}

fn chunk_transform(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for (n, l_skip) in [
        (0, 0),
        (1, 1),
        (3, 2),
        (5, 5),
        (8, 4),
        (10, 10),
        (11, 3),
        (12, 4),
        (19, 4),
    ] {
        if env.conformance() && n > SLOW_VARS {
            continue;
        }
        let (column, device) = env.ext(1 << n)?;
        let message = eval_to_coeff_rs_message_ext(l_skip, &column);
        let mut out = env.poisoned(1 << n)?;
        poly::chunk_transform(env.s, &device.as_slice(), l_skip, &mut out.as_slice_mut())?;
        compare(
            || format!("message, 2^{n}, l_skip {l_skip}"),
            &out.to_host(env.s)?,
            &message,
        )?;

        let mut evals = message;
        Mle::coeffs_to_evals_inplace(&mut evals);
        let mut out = env.poisoned(1 << n)?;
        poly::hat_evals(env.s, &device.as_slice(), l_skip, &mut out.as_slice_mut())?;
        compare(
            || format!("evaluations, 2^{n}, l_skip {l_skip}"),
            &out.to_host(env.s)?,
            &evals,
        )?;
    }
    Ok(())
}

/// The reference's transform is linear over the base field: it is applied to each of the four coordinates.
fn eval_to_coeff_rs_message_ext(l_skip: usize, column: &[EF]) -> Vec<EF> {
    use p3_field::BasedVectorSpace;
    let coordinates: Vec<Vec<F>> = (0..4)
        .map(|k| {
            let c: Vec<F> = column
                .iter()
                .map(|x| x.as_basis_coefficients_slice()[k])
                .collect();
            eval_to_coeff_rs_message(l_skip, &c)
        })
        .collect();
    (0..column.len())
        .map(|i| EF::from_basis_coefficients_fn(|k| coordinates[k][i]))
        .collect()
}

fn bad_requests(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let point = env.rng.efs(33);
    refused(
        "eq table of 33 variables",
        poly::eq_table(env.s, &point, EF::ONE),
    )?;
    let (_, mut odd) = env.ext(3)?;
    refused(
        "fold of 3 elements",
        poly::fold_ext(env.s, &odd.as_slice(), EF::ONE),
    )?;
    refused(
        "zeta of 3 elements",
        poly::coeffs_to_evals(env.s, &mut odd.as_slice_mut()),
    )?;
    refused(
        "sum of 2 segments in 3 elements",
        poly::sum_ext(env.s, &odd.as_slice(), 2),
    )?;
    refused(
        "sum of 0 segments",
        poly::sum_ext(env.s, &odd.as_slice(), 0),
    )?;
    let (_, column) = env.ext(8)?;
    let (_, mut out) = env.ext(8)?;
    let mut out = out.as_slice_mut();
    refused(
        "chunks over the column",
        poly::chunk_transform(env.s, &column.as_slice(), 4, &mut out),
    )?;
    refused(
        "8 weights, 3 values",
        poly::dot_ext(env.s, &column.as_slice(), &odd.as_slice()),
    )?;
    let w = TensorWeights::eq(&point[..1]);
    refused(
        "table over the point",
        poly::eval_ext_at(env.s, &column.as_slice(), &w),
    )?;
    refused("prefix over the table", poly::tensor_table(env.s, &w, 3))
}
