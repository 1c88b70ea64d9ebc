//! An AIR made of random constraints that its trace satisfies by construction.

use openvm_stark_backend::{
    air_builders::PartitionedAirBuilder, interaction::InteractionBuilder, BaseAirWithPublicValues,
    PartitionedBaseAir,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_air::{Air, AirBuilder, AirBuilderWithPublicValues, BaseAir, PairBuilder};
use p3_field::Field;
use p3_matrix::{dense::RowMajorMatrix, Matrix};

use super::expr::{Expr, Var};

/// One message per row: `count` times `fields`, sent or received.
#[derive(Clone, Debug)]
pub struct Message {
    pub bus: u16,
    pub fields: Vec<Expr>,
    pub count: Expr,
    pub send: bool,
}

/// Columns of the common main part: free ones, derived ones (`local = expr`), states
/// (`next = expr` on transitions, first and last row bound to public values), message columns.
#[derive(Clone, Debug, Default)]
pub struct RandomAir {
    pub cached_widths: Vec<usize>,
    pub common_width: usize,
    pub preprocessed: Option<RowMajorMatrix<F>>,
    pub num_public: usize,
    /// Column and its value in terms of the same row.
    pub derived: Vec<(usize, Expr)>,
    /// Column, its next value in terms of this row, and the public value of its first row.
    pub states: Vec<(usize, Expr, usize)>,
    /// Column and the public value of its last row.
    pub last: Vec<(usize, usize)>,
    pub messages: Vec<Message>,
}

impl PartitionedBaseAir<F> for RandomAir {
    fn cached_main_widths(&self) -> Vec<usize> {
        self.cached_widths.clone()
    }

    fn common_main_width(&self) -> usize {
        self.common_width
    }
}

impl BaseAir<F> for RandomAir {
    fn width(&self) -> usize {
        self.common_width + self.cached_widths.iter().sum::<usize>()
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<F>> {
        self.preprocessed.clone()
    }
}

impl BaseAirWithPublicValues<F> for RandomAir {
    fn num_public_values(&self) -> usize {
        self.num_public
    }
}

/// One row of every part.
struct Row<V> {
    common: Vec<V>,
    cached: Vec<Vec<V>>,
    preprocessed: Vec<V>,
}

impl<AB> Air<AB> for RandomAir
where
    AB: InteractionBuilder
        + PartitionedAirBuilder
        + PairBuilder
        + AirBuilderWithPublicValues
        + AirBuilder<F = F>,
    AB::F: Field,
{
    fn eval(&self, builder: &mut AB) {
        let row = |matrix: &AB::M, i: usize| matrix.row_slice(i).expect("two rows").to_vec();
        let local = Row::<AB::Var> {
            common: row(builder.common_main(), 0),
            cached: builder
                .cached_mains()
                .iter()
                .map(|part| row(part, 0))
                .collect(),
            preprocessed: match &self.preprocessed {
                Some(_) => row(&builder.preprocessed(), 0),
                None => vec![],
            },
        };
        let next: Vec<AB::Var> = match self.states.is_empty() {
            true => vec![],
            false => row(builder.common_main(), 1),
        };
        let public: Vec<AB::PublicVar> = builder.public_values().to_vec();
        let value = |var: Var| -> AB::Expr {
            match var {
                Var::Common(j) => local.common[j].into(),
                Var::Cached(part, j) => local.cached[part][j].into(),
                Var::Preprocessed(j) => local.preprocessed[j].into(),
                Var::Public(j) => public[j].into(),
            }
        };
        let constant = |x: F| AB::Expr::from(x);

        for (column, expr) in &self.derived {
            let expected = expr.eval(constant, value);
            builder.assert_eq(local.common[*column], expected);
        }
        for (column, expr, first) in &self.states {
            let expected = expr.eval(constant, value);
            builder.when_transition().assert_eq(next[*column], expected);
            builder
                .when_first_row()
                .assert_eq(local.common[*column], public[*first]);
        }
        for (column, last) in &self.last {
            builder
                .when_last_row()
                .assert_eq(local.common[*column], public[*last]);
        }
        for message in &self.messages {
            let fields: Vec<AB::Expr> = message
                .fields
                .iter()
                .map(|field| field.eval(constant, value))
                .collect();
            let count = message.count.eval(constant, value);
            let count = if message.send { count } else { -count };
            builder.push_interaction(message.bus, fields, count, 1);
        }
    }
}
