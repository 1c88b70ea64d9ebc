//! Kernels of `metal/poly`.

use openvm_metal_backend::poly;
use openvm_metal_backend::poly::TensorWeights;
use openvm_metal_backend::selftest::CheckRng;
use openvm_metal_common::{CommandStream, MetalBuffer, MetalError};

use super::case::{
    random_base, random_ext, Case, Least, Prepared, Work, BASE_BYTES, EXT_BYTES, EXT_PRODUCT,
};

pub const CASES: &[Case] = &[
    Case {
        group: "poly",
        name: "eq_table",
        prepare: eq_table,
    },
    Case {
        group: "poly",
        name: "fold",
        prepare: fold,
    },
    Case {
        group: "poly",
        name: "sum",
        prepare: sum,
    },
    Case {
        group: "poly",
        name: "dot_ext",
        prepare: dot_ext,
    },
    Case {
        group: "poly",
        name: "dot_base",
        prepare: dot_base,
    },
    Case {
        group: "poly",
        name: "eval_ext_at",
        prepare: eval,
    },
    Case {
        group: "poly",
        name: "prefix_sums",
        prepare: prefix_sums,
    },
    Case {
        group: "poly",
        name: "coeffs_to_evals",
        prepare: zeta,
    },
    Case {
        group: "poly",
        name: "hat_evals",
        prepare: hat_evals,
    },
];

/// `products` and `bytes` for each of `n` elements.
fn work(n: usize, products: f64, bytes: f64) -> Work {
    let items = n as f64;
    Work {
        items,
        unit: "elements",
        least: Least::Problem {
            products: items * products,
            bytes: items * bytes,
        },
    }
}

/// What the clauses of the kernels say for `n` elements.
fn by_clauses(n: usize) -> Work {
    Work {
        items: n as f64,
        unit: "elements",
        least: Least::Clauses,
    }
}

fn size(log_size: usize) -> String {
    format!("2^{log_size}")
}

fn eq_table(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let mut out = MetalBuffer::uninit(s.context(), 1 << log_size)?;
    let mut rng = CheckRng::new(3);
    let (point, scale) = (rng.efs(log_size), rng.ef());
    Ok(Prepared {
        size: size(log_size),
        work: work(1 << log_size, EXT_PRODUCT, EXT_BYTES),
        launch: Box::new(move |s| poly::eq_table_into(s, &point, scale, &mut out.as_slice_mut())),
    })
}

fn fold(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let table = random_ext(s, 1 << log_size)?;
    let mut out = MetalBuffer::uninit(s.context(), 1 << (log_size - 1))?;
    let r = CheckRng::new(4).ef();
    Ok(Prepared {
        size: size(log_size),
        work: by_clauses(1 << log_size),
        launch: Box::new(move |s| {
            poly::fold_ext_into(s, &table.as_slice(), r, &mut out.as_slice_mut())
        }),
    })
}

fn sum(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let values = random_ext(s, 1 << log_size)?;
    Ok(Prepared {
        size: size(log_size),
        work: by_clauses(1 << log_size),
        launch: Box::new(move |s| poly::sum_ext(s, &values.as_slice(), 1).map(drop)),
    })
}

fn dot_ext(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let (weights, values) = (random_ext(s, 1 << log_size)?, random_ext(s, 1 << log_size)?);
    Ok(Prepared {
        size: size(log_size),
        work: by_clauses(1 << log_size),
        launch: Box::new(move |s| {
            poly::dot_ext(s, &weights.as_slice(), &values.as_slice()).map(drop)
        }),
    })
}

fn dot_base(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let log_rows = log_size - 4;
    let (weights, values) = (
        random_ext(s, 1 << log_rows)?,
        random_base(s, 1 << log_size)?,
    );
    Ok(Prepared {
        size: format!("2^{log_rows} x 16"),
        work: work(1 << log_size, 4.0, BASE_BYTES + EXT_BYTES / 16.0),
        launch: Box::new(move |s| {
            poly::dot_base(s, &weights.as_slice(), &values.as_slice()).map(drop)
        }),
    })
}

fn eval(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let table = random_ext(s, 1 << log_size)?;
    let w = TensorWeights::eq(&CheckRng::new(5).efs(log_size));
    Ok(Prepared {
        size: size(log_size),
        work: work(1 << log_size, EXT_PRODUCT, EXT_BYTES),
        launch: Box::new(move |s| {
            let factors = poly::tensor_factors(s, &w)?;
            poly::tensor_dot_ext(s, &factors, &table.as_slice(), 1).map(drop)
        }),
    })
}

fn prefix_sums(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let mut values = random_ext(s, 1 << log_size)?;
    Ok(Prepared {
        size: size(log_size),
        work: work(1 << log_size, 0.0, 2.0 * EXT_BYTES),
        launch: Box::new(move |s| poly::prefix_sums(s, &mut values.as_slice_mut())),
    })
}

fn zeta(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let mut table = random_ext(s, 1 << log_size)?;
    Ok(Prepared {
        size: size(log_size),
        work: work(1 << log_size, 0.0, 2.0 * EXT_BYTES),
        launch: Box::new(move |s| poly::coeffs_to_evals(s, &mut table.as_slice_mut())),
    })
}

fn hat_evals(s: &CommandStream, log_size: usize) -> Result<Prepared, MetalError> {
    let column = random_ext(s, 1 << log_size)?;
    let mut out = MetalBuffer::uninit(s.context(), 1 << log_size)?;
    Ok(Prepared {
        size: size(log_size),
        work: work(1 << log_size, 2.0 * 4.0, 2.0 * EXT_BYTES),
        launch: Box::new(move |s| {
            poly::hat_evals(s, &column.as_slice(), 4, &mut out.as_slice_mut())
        }),
    })
}
