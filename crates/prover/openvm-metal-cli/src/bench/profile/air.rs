//! An AIR of a given shape that random traces can satisfy.

use openvm_stark_backend::{
    air_builders::PartitionedAirBuilder, interaction::InteractionBuilder, BaseAirWithPublicValues,
    PartitionedBaseAir,
};
use p3_air::{Air, BaseAir, PairBuilder};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_matrix::{dense::RowMajorMatrix, Matrix};

use super::AirShape;

/// An AIR with the columns, constraints and interactions of a shape.
///
/// The first columns of the common main trace hold bits, as many as there are constraints but no more than half of
/// the columns and at least one; all other cells may hold anything. A constraint is `b (b - 1)` of a bit times as many sums of three columns
/// as its degree allows, so each is satisfied and none is trivial. Interactions `2 k` and `2 k + 1` send one message with
/// opposite counts; the last of an odd number has the count `b (b - 1)`, or `b - b` if the degree is 1.
pub(super) struct ShapeAir {
    pub shape: AirShape,
    /// Row major.
    pub preprocessed: Vec<u32>,
}

impl ShapeAir {
    pub fn new(shape: AirShape) -> Self {
        Self {
            shape,
            preprocessed: Vec::new(),
        }
    }

    /// Columns of the common main trace that hold bits.
    pub fn bits(&self) -> usize {
        let half = self.shape.width.common_main / 2;
        self.shape.num_constraints.min(half).max(1)
    }
}

impl<T: Field> BaseAir<T> for ShapeAir {
    fn width(&self) -> usize {
        self.shape.width.common_main + self.shape.width.cached_mains.iter().sum::<usize>()
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<T>> {
        let width = self.shape.width.preprocessed?;
        let cells = self.preprocessed.iter().map(|&x| T::from_u32(x)).collect();
        Some(RowMajorMatrix::new(cells, width))
    }
}
impl<T: Field> BaseAirWithPublicValues<T> for ShapeAir {}
impl<T: Field> PartitionedBaseAir<T> for ShapeAir {
    fn cached_main_widths(&self) -> Vec<usize> {
        self.shape.width.cached_mains.clone()
    }

    fn common_main_width(&self) -> usize {
        self.shape.width.common_main
    }
}
impl<AB: PartitionedAirBuilder + PairBuilder + InteractionBuilder> Air<AB> for ShapeAir
where
    AB::F: Field,
{
    fn eval(&self, builder: &mut AB) {
        let row = |m: &AB::M| m.row_slice(0).map_or_else(Vec::new, |row| row.to_vec());
        let mut columns = row(builder.common_main());
        if columns.is_empty() {
            return;
        }
        for cached in builder.cached_mains() {
            columns.extend(row(cached));
        }
        if self.shape.width.preprocessed.is_some() {
            columns.extend(row(&builder.preprocessed()));
        }
        let column = |i: usize| -> AB::Expr { columns[i % columns.len()].into() };
        let bit = |i: usize| column(i % self.bits());
        let zero = |i: usize| bit(i) * (bit(i) - AB::Expr::ONE);

        let degree = self.shape.max_constraint_degree;
        for i in 0..self.shape.num_constraints {
            let sums = i % (degree - 1);
            let constraint = (0..sums).fold(zero(i), |product, k| {
                let first = 3 * (i + k) + k;
                let scale = AB::Expr::from_usize(i + 2);
                product * (column(first) * scale + column(first + 1) - column(first + 2))
            });
            builder.assert_zero(constraint);
        }

        let shape = &self.shape;
        for (i, &weight) in shape.interaction_count_weights.iter().enumerate() {
            // Both of a pair are the first one, but for the sign.
            let first = i / 2 * 2;
            let message = (0..shape.interaction_message_lens[first]).map(|k| column(5 * first + k));
            let message: Vec<AB::Expr> = message.collect();
            let count = match (i == first, first + 1 < shape.buses.len()) {
                (true, true) => column(first),
                (false, _) => -column(first),
                (true, false) if degree > 1 => zero(first),
                (true, false) => bit(first) - bit(first),
            };
            builder.push_interaction(shape.buses[first], message, count, weight);
        }
    }
}
