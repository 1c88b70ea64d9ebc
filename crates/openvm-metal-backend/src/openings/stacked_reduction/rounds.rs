//! The sumcheck over the rows of one height, on its two batched tables.
//!
//! With `eq'(y) = eq(y; r_(k+1) ..)`, round `k` needs for each height only
//! ```text
//! S0(X) = sum_y eq'(y) g_0(X, y),  S1(X) = sum_y eq'(y) g_1(X, y),  S2(X) = sum_y eq'(y - 1) g_1(X, y)
//! ```
//! each linear in `X`: `eq` folds to a scalar times `eq'`, and `kappa_rot` stays in the span of `eq'` and
//! its rotation, because `kappa(x_0, x') = x_0 (1 - r_0) eq(x') + (1 - x_0) r_0 kappa(x')`.
//! `S2` is `S1` of `g_1` rotated by one `y`, which is a slice of the table if its first pair is repeated
//! behind its end.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalSlice};
use p3_field::PrimeCharacteristicRing;

use super::{batch::wrap, round0::FactorsAt};
use crate::{
    error::MetalProverError,
    openings::contract::{self, Contraction},
    prelude::EF,
    tensor,
};

/// Where the tables of a height are.
pub(super) enum Table {
    /// `g_0`, `g_1`, then the first two elements of `g_1` once more.
    Device(MetalBuffer<EF>),
    /// `g_0` and `g_1`.
    Host(Vec<EF>, Vec<EF>),
}

/// One height in the rounds up to its own number of variables.
pub(super) struct HeightSum {
    /// Hypercube variables left.
    vars: usize,
    /// Elements of a table: `2^vars`.
    table: Table,
    factors: Factors,
    pending: Pending,
}

/// Device work of the next round.
enum Pending {
    None,
    /// The tables themselves: from now on the host has them.
    Tables,
    Sums(Contraction),
}

/// The weight of `g_0` is `eq * eq(x; r)`, that of `g_1` is `rot * eq(x; r) + step * eq(x - 1; r)`, for the
/// variables that are left.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    eq: EF,
    rot: EF,
    step: EF,
}

impl Factors {
    pub fn new(at: &FactorsAt) -> Self {
        Self {
            eq: at.eq,
            rot: at.rot - at.step,
            step: at.step,
        }
    }

    /// The weights of a column that is bound to one value: of `lambda_eq` and of `lambda_rot`.
    pub fn bound(&self) -> [EF; 2] {
        [self.eq, self.rot + self.step]
    }

    /// With the lowest variable set to `x`: factors of `S0`, `S1`, `S2`.
    fn at(&self, r: EF, x: EF) -> [EF; 3] {
        let eq = (EF::ONE - x) * (EF::ONE - r) + x * r;
        let rot = self.rot * eq + self.step * x * (EF::ONE - r);
        [self.eq * eq, rot, self.step * (EF::ONE - x) * r]
    }

    fn fold(&mut self, r: EF, u: EF) {
        let [eq, rot, step] = self.at(r, u);
        *self = Self { eq, rot, step };
    }
}

impl HeightSum {
    pub fn new(vars: usize, table: Table, factors: Factors) -> Self {
        Self {
            vars,
            table,
            factors,
            pending: Pending::None,
        }
    }

    /// Hypercube variables left.
    pub fn vars(&self) -> usize {
        self.vars
    }

    /// The weights of a bound column, once no variable is left.
    pub fn bound_weights(&self) -> [EF; 2] {
        self.factors.bound()
    }

    /// Plans the sums of a round, whose weights are added to `weights`, or decides to read the tables (at most
    /// `2^host_log` rows each). `r` are the coordinates of the variables that are left.
    pub fn plan(&mut self, r: &[EF], host_log: usize, weights: &mut Vec<EF>) {
        if matches!(self.table, Table::Host(..)) {
            return;
        }
        if self.vars <= host_log {
            self.pending = Pending::Tables;
            return;
        }
        let len = 1 << self.vars;
        let bits = tensor::eq_bits(&r[1..]);
        let sums = Contraction::new(&[0, len, len + 2], 1, &bits, weights);
        self.pending = Pending::Sums(sums);
    }

    /// Encodes what was planned.
    pub fn encode(
        &mut self,
        s: &CommandStream,
        weights: &MetalBuffer<EF>,
    ) -> Result<(), MetalProverError> {
        match (&self.table, &mut self.pending) {
            (Table::Device(buffer), Pending::Sums(sums)) => {
                sums.encode(s, &buffer.as_slice(), weights)
            }
            _ => Ok(()),
        }
    }

    /// What [`Self::plan`] wants read back.
    pub fn slices(&self) -> Vec<MetalSlice<'_, EF>> {
        match (&self.table, &self.pending) {
            (Table::Device(buffer), Pending::Tables) => {
                let len = 1 << self.vars;
                vec![buffer.slice(0..len), buffer.slice(len..2 * len)]
            }
            (Table::Device(buffer), Pending::Sums(sums)) => sums.slices(buffer.as_slice()),
            _ => Vec::new(),
        }
    }

    /// The height's share of the round polynomial at 1 and 2, from what was read. `r` as in
    /// [`Self::plan`].
    pub fn round_evals(&mut self, s: &CommandStream, r: &[EF], read: Vec<Vec<EF>>) -> [EF; 2] {
        let sums = match std::mem::replace(&mut self.pending, Pending::None) {
            Pending::Sums(sums) => sums.finish(&read),
            Pending::Tables => {
                let mut read = read.into_iter();
                let (g0, g1) = (
                    read.next().unwrap_or_default(),
                    read.next().unwrap_or_default(),
                );
                s.count_host_work("stacked_reduction.rounds", g0.len() + g1.len());
                let sums = host_sums(&g0, &g1, r);
                self.table = Table::Host(g0, g1);
                sums
            }
            Pending::None => match &self.table {
                Table::Host(g0, g1) => host_sums(g0, g1, r),
                Table::Device(_) => Vec::new(),
            },
        };
        let mut evals = [EF::ZERO; 2];
        for (eval, x) in evals.iter_mut().zip([EF::ONE, EF::TWO]) {
            for (factor, sum) in self.factors.at(r[0], x).into_iter().zip(&sums) {
                *eval += factor * (sum[0] + x * (sum[1] - sum[0]));
            }
        }
        evals
    }

    /// Binds the lowest variable to `u`; tables on the device are left to [`Self::fold_on_device`]. There are none when
    /// no variable is left: the columns are opened one by one from then on.
    pub fn bind(&mut self, r: EF, u: EF) {
        self.factors.fold(r, u);
        self.vars -= 1;
        if self.vars == 0 {
            self.table = Table::Host(Vec::new(), Vec::new());
        } else if let Table::Host(g0, g1) = &mut self.table {
            *g0 = tensor::interpolate_pairs(g0, u);
            *g1 = tensor::interpolate_pairs(g1, u);
        }
    }

    /// Whether the tables are on the device.
    pub fn is_on_device(&self) -> bool {
        matches!(self.table, Table::Device(_))
    }

    /// Folds the tables on the device, if any, after [`Self::bind`], once for each call of it; `weights`: `1 - u`, `u`.
    pub fn fold_on_device(
        &mut self,
        s: &CommandStream,
        weights: &MetalBuffer<EF>,
    ) -> Result<(), MetalProverError> {
        if let Table::Device(buffer) = &mut self.table {
            *buffer = fold_table(s, &buffer.slice(0..4 << self.vars), 1, weights, self.vars)?;
        }
        Ok(())
    }
}

/// Folds `g_0` and `g_1`, neighbours in `input`, and repeats the first pair of `g_1` behind them. `vars` is
/// the number of variables afterwards, at least 1.
pub(super) fn fold_table(
    s: &CommandStream,
    input: &MetalSlice<'_, EF>,
    log_block: usize,
    weights: &MetalBuffer<EF>,
    vars: usize,
) -> Result<MetalBuffer<EF>, MetalProverError> {
    let len = 1 << vars;
    let mut out = MetalBuffer::uninit(s.context(), 2 * len + 2)?;
    contract::fold(
        s,
        input,
        log_block,
        weights,
        0,
        out.slice_mut(0..2 * len),
        1,
    )?;
    wrap(s, &mut out.as_slice_mut(), len, len, 2)?;
    Ok(out)
}

/// `S0`, `S1`, `S2` at `X = 0` and `1` on the host: 6 extension products for each pair.
fn host_sums(g0: &[EF], g1: &[EF], r: &[EF]) -> Vec<Vec<EF>> {
    let eq = tensor::expand(&tensor::eq_bits(&r[1..]), EF::ONE);
    let mut sums = vec![EF::zero_vec(2); 3];
    for (y, &weight) in eq.iter().enumerate() {
        let before = eq[if y == 0 { eq.len() - 1 } else { y - 1 }];
        for x in 0..2 {
            sums[0][x] += weight * g0[2 * y + x];
            sums[1][x] += weight * g1[2 * y + x];
            sums[2][x] += before * g1[2 * y + x];
        }
    }
    sums
}
