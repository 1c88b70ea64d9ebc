//! The two tables of the WHIR sumcheck, on the device or on the host.
//!
//! `c` are the multilinear coefficients of `f` and `w` its dual weights: if `v` are the weights on the
//! hypercube of the protocol, `w[s] = sum over x containing s of v[x]`, so that
//! `sum_x f(x) v(x) = sum_s c[s] w[s]`. In these bases the message needs no transform, `eq(u)` and `z^s`
//! are the weights of an opening at `u` and at `pow(z)`, and a round is
//! ```text
//! s(1) = sum (c_0 + c_1) w_1,  s(2) = sum (c_0 + 2 c_1) (3 w_1 - w_0)
//! c' = c_0 + alpha c_1,        w' = (1 - alpha) w_0 + (2 alpha - 1) w_1
//! ```

use openvm_metal_common::{CommandStream, MetalBuffer};
use p3_field::PrimeCharacteristicRing;

use super::{first_round::dual_fold, tables::DeviceTables};
use crate::{error::MetalProverError, prelude::EF, tensor};

/// A table of extension elements.
pub(super) enum Table {
    Device(MetalBuffer<EF>),
    Host(Vec<EF>),
}

/// Coefficients and dual weights.
pub(super) enum State {
    Device(DeviceTables),
    Host { c: Vec<EF>, w: Vec<EF> },
}

impl State {
    /// Tables of one length; moves them to the host if they have at most `2^host_log` elements.
    pub fn new(
        s: &CommandStream,
        c: Table,
        w: Table,
        host_log: usize,
    ) -> Result<Self, MetalProverError> {
        match (c, w) {
            (Table::Device(c), Table::Device(w)) if c.len() <= 1 << host_log => {
                let mut read = s.read_many(&[c.as_slice(), w.as_slice()])?.into_iter();
                s.count_host_work("whir.sumcheck", c.len());
                let (c, w) = (
                    read.next().unwrap_or_default(),
                    read.next().unwrap_or_default(),
                );
                Ok(Self::Host { c, w })
            }
            (Table::Device(c), Table::Device(w)) => Ok(Self::Device(DeviceTables::new(c, w))),
            (Table::Host(c), Table::Host(w)) => Ok(Self::Host { c, w }),
            _ => Err(MetalProverError::internal(
                "openings.whir",
                "tables in two places",
            )),
        }
    }

    /// The round polynomial at 1 and 2: on the device one dispatch and one wait.
    pub fn round_evals(&mut self, s: &CommandStream) -> Result<[EF; 2], MetalProverError> {
        match self {
            Self::Host { c, w } => Ok(host_evals(c, w)),
            Self::Device(tables) => tables.round_evals(s),
        }
    }

    /// Binds the lowest variable.
    pub fn fold(&mut self, s: &CommandStream, alpha: EF) -> Result<(), MetalProverError> {
        self.flush(s)?;
        match self {
            Self::Host { c, w } => {
                *c = tensor::fold_pairs(c, [EF::ONE, alpha]);
                *w = tensor::fold_pairs(w, dual_fold(alpha));
            }
            Self::Device(tables) => tables.fold = Some(alpha),
        }
        Ok(())
    }

    /// The folded coefficients and dual weights.
    pub fn into_tables(mut self, s: &CommandStream) -> Result<(Table, Table), MetalProverError> {
        self.flush(s)?;
        Ok(match self {
            Self::Host { c, w } => (Table::Host(c), Table::Host(w)),
            Self::Device(tables) => (Table::Device(tables.c), Table::Device(tables.w)),
        })
    }

    /// Folds device tables by a challenge that is still waiting.
    fn flush(&mut self, s: &CommandStream) -> Result<(), MetalProverError> {
        match self {
            Self::Device(tables) => tables.flush(s),
            Self::Host { .. } => Ok(()),
        }
    }
}

fn host_evals(c: &[EF], w: &[EF]) -> [EF; 2] {
    let mut evals = [EF::ZERO; 2];
    for (c, w) in c.chunks_exact(2).zip(w.chunks_exact(2)) {
        let sum = c[0] + c[1];
        evals[0] += sum * w[1];
        evals[1] += (sum + c[1]) * (w[1].double() + w[1] - w[0]);
    }
    evals
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, MetalContext};

    use super::*;
    use crate::kernels;

    /// Tables of at most `2^host_log` elements are read, longer ones stay.
    #[test]
    fn short_tables_move_to_the_host() -> Result<(), MetalProverError> {
        let context = MetalContext::shared_on(Device::Cpu, &[&kernels::LIBRARY])?;
        let s = context.stream();
        for (log_len, on_host) in [(2, true), (3, true), (4, false)] {
            let values = |first: u32| -> Vec<EF> {
                (first..).map(EF::from_u32).take(1 << log_len).collect()
            };
            let table = |first| MetalBuffer::from_host(&s, &values(first)).map(Table::Device);
            let state = State::new(&s, table(1)?, table(100)?, 3)?;
            assert_eq!(matches!(state, State::Host { .. }), on_host, "{log_len}");
            let (c, w) = state.into_tables(&s)?;
            for (table, first) in [(c, 1), (w, 100)] {
                let found = match table {
                    Table::Host(values) => values,
                    Table::Device(buffer) => buffer.to_host(&s)?,
                };
                assert_eq!(found, values(first));
            }
        }
        Ok(())
    }
}
