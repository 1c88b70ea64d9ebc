//! `ConstraintCheck`: the constraints of the verifying key, evaluated on every row of traces in the host's memory.
//!
//! OpenVM's own check of this kind panics with AIR and row, prints unbalanced messages, and knows no columns. This one evaluates what the
//! verifier does, the symbolic constraints of the key.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};

use openvm_stark_backend::{
    air_builders::symbolic::{
        symbolic_variable::{Entry, SymbolicVariable},
        SymbolicConstraintsDag, SymbolicExpressionNode,
    },
    keygen::types::MultiStarkProvingKey,
    prover::{ColMajorMatrix, MatrixDimensions},
    StarkProtocolConfig,
};
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::prelude::F;

/// Most columns, and most places of a message, that a report names.
const MOST: usize = 8;

/// Rows that one task evaluates.
const ROWS: usize = 1 << 10;

/// The traces of one AIR in one segment.
pub struct AirTraces {
    /// Index of the AIR in the key.
    pub air: usize,
    /// Cached traces, then the common one.
    pub parts: Vec<ColMajorMatrix<F>>,
    /// Public values of the AIR.
    pub public_values: Vec<F>,
}

/// A column of a row that a broken constraint reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The AIR's name of the column, or its index.
    pub name: String,
    /// Index in its part of the trace.
    pub index: usize,
    /// Row, which is the failing one or the next.
    pub row: usize,
    /// The cell, as a number below the order of the field.
    pub value: u32,
}

/// A place where traces break the rules of the circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BrokenConstraint {
    /// A constraint is not zero.
    Row {
        /// Number of the segment, of an execution's traces.
        segment: Option<usize>,
        /// Index and name of the AIR.
        air: String,
        row: usize,
        /// Rows of the trace.
        height: usize,
        /// Number of the constraint in the key.
        constraint: usize,
        /// Columns that the constraint reads.
        columns: Vec<Column>,
    },
    /// A bus carries a message that is not received as often as it is sent.
    Bus {
        /// Number of the segment, of an execution's traces.
        segment: Option<usize>,
        /// Index of the bus.
        bus: u16,
        /// Fields of the message.
        message: Vec<u32>,
        /// AIRs and rows that send (positive) or receive it, and how often.
        places: Vec<(String, usize, i64)>,
    },
}

impl fmt::Display for BrokenConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row {
                segment,
                air,
                row,
                height,
                constraint,
                columns,
            } => {
                write_segment(f, *segment)?;
                write!(
                    f,
                    "AIR {air}, row {row} of {height}: constraint {constraint} is not zero; it reads "
                )?;
                for (i, column) in columns.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}column {} ({})", column.index, column.name)?;
                    if column.row != *row {
                        write!(f, " of row {}", column.row)?;
                    }
                    write!(f, " = {}", column.value)?;
                }
                Ok(())
            }
            Self::Bus {
                segment,
                bus,
                message,
                places,
            } => {
                write_segment(f, *segment)?;
                write!(
                    f,
                    "bus {bus}: the message {message:?} is not received as often as it is sent:"
                )?;
                for (i, (air, row, count)) in places.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    write!(f, "{comma} {count} by AIR {air} in row {row}")?;
                }
                Ok(())
            }
        }
    }
}

fn write_segment(f: &mut fmt::Formatter<'_>, segment: Option<usize>) -> fmt::Result {
    segment.map_or(Ok(()), |segment| write!(f, "segment {segment}, "))
}

impl std::error::Error for BrokenConstraint {}

/// The constraints of one AIR.
pub(crate) struct Constraints<'a> {
    /// Name of the AIR.
    pub name: &'a str,
    pub dag: &'a SymbolicConstraintsDag<F>,
    pub preprocessed: Option<ColMajorMatrix<F>>,
    /// Names of the columns of the trace, if it has them.
    pub columns: Option<Vec<String>>,
}

/// The constraints of a key, to be checked on traces.
pub struct ConstraintCheck<'a> {
    airs: Vec<Constraints<'a>>,
}

/// A random linear image of messages, times how often they are sent: zero if all are balanced, but for one case in 2^100.
type Sum = [F; 4];

impl<'a> ConstraintCheck<'a> {
    /// The constraints of `key`, with the names of the columns of each AIR, if it has them.
    pub fn new<SC: StarkProtocolConfig<F = F>>(
        key: &'a MultiStarkProvingKey<SC>,
        columns: Vec<Option<Vec<String>>>,
    ) -> Self {
        let airs = key.per_air.iter().zip(columns);
        Self::of(airs.map(|(air, columns)| {
            Constraints {
                name: &air.air_name,
                dag: &air.vk.symbolic_constraints,
                preprocessed: air
                    .preprocessed_data
                    .as_ref()
                    .map(|data| data.mat_view(0).to_matrix()),
                columns,
            }
        }))
    }

    /// The constraints of all AIRs of a key, in its order.
    pub(crate) fn of(airs: impl Iterator<Item = Constraints<'a>>) -> Self {
        Self {
            airs: airs.collect(),
        }
    }

    /// Checks traces, of a segment if they are an execution's: each constraint on each row, then the balance of each bus.
    ///
    /// # Errors
    /// The first constraint that fails, in the order of AIRs and rows; else the first bus.
    pub fn check(
        &self,
        segment: impl Into<Option<usize>>,
        traces: &[AirTraces],
    ) -> Result<(), BrokenConstraint> {
        let segment = segment.into();
        let mut buses: FxHashMap<u16, Sum> = FxHashMap::default();
        for air in traces {
            let rows = Rows::new(self, air);
            let tasks = rows.height.div_ceil(ROWS);
            let sums: Vec<Result<FxHashMap<u16, Sum>, (usize, usize)>> = (0..tasks)
                .into_par_iter()
                .map(|task| rows.check(task * ROWS..((task + 1) * ROWS).min(rows.height)))
                .collect();
            for sum in sums {
                let sum =
                    sum.map_err(|(row, constraint)| self.broken(segment, &rows, row, constraint))?;
                for (bus, part) in sum {
                    let all = buses.entry(bus).or_default();
                    all.iter_mut()
                        .zip(part)
                        .for_each(|(all, part)| *all += part);
                }
            }
        }
        let unbalanced = buses.into_iter().filter(|(_, sum)| *sum != Sum::default());
        match unbalanced.map(|(bus, _)| bus).min() {
            Some(bus) => Err(self.unbalanced(segment, bus, traces)),
            None => Ok(()),
        }
    }

    fn broken(
        &self,
        segment: Option<usize>,
        rows: &Rows<'_>,
        row: usize,
        constraint: usize,
    ) -> BrokenConstraint {
        let nodes = &rows.dag.constraints.nodes;
        let mut read: Vec<SymbolicVariable<F>> = Vec::new();
        let mut todo = vec![rows.dag.constraints.constraint_idx[constraint]];
        let mut seen = vec![false; nodes.len()];
        while let Some(index) = todo.pop() {
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            match &nodes[index] {
                SymbolicExpressionNode::Variable(variable) => read.push(*variable),
                SymbolicExpressionNode::Add {
                    left_idx,
                    right_idx,
                    ..
                }
                | SymbolicExpressionNode::Sub {
                    left_idx,
                    right_idx,
                    ..
                }
                | SymbolicExpressionNode::Mul {
                    left_idx,
                    right_idx,
                    ..
                } => {
                    todo.extend([*right_idx, *left_idx]);
                }
                SymbolicExpressionNode::Neg { idx, .. } => todo.push(*idx),
                _ => {}
            }
        }
        let parts = rows.traces.parts.len();
        let column = |variable: &SymbolicVariable<F>| {
            let index = variable.index;
            let (name, offset) = match variable.entry {
                Entry::Main { part_index, offset } => {
                    let names = rows.air.columns.as_ref();
                    // Names are those of the whole width: cached parts first.
                    let before: usize = rows.traces.parts[..part_index]
                        .iter()
                        .map(|p| p.width())
                        .sum();
                    let name = names.and_then(|names| names.get(before + index).cloned());
                    let part = if parts > 1 {
                        format!("part {part_index}")
                    } else {
                        "no name".into()
                    };
                    (name.unwrap_or(part), offset)
                }
                Entry::Preprocessed { offset } => ("preprocessed".to_owned(), offset),
                Entry::Public => ("public value".to_owned(), 0),
                Entry::Challenge => ("challenge".to_owned(), 0),
            };
            Column {
                name,
                index,
                row: (row + offset) % rows.height,
                value: rows.value(variable, row).as_canonical_u32(),
            }
        };
        BrokenConstraint::Row {
            segment,
            air: self.name(rows.traces.air),
            row,
            height: rows.height,
            constraint,
            columns: read.iter().take(MOST).map(column).collect(),
        }
    }

    /// Index and name of an AIR.
    fn name(&self, air: usize) -> String {
        format!("{air} ({})", self.airs[air].name)
    }

    /// The smallest message of a bus that is not balanced.
    fn unbalanced(
        &self,
        segment: Option<usize>,
        bus: u16,
        traces: &[AirTraces],
    ) -> BrokenConstraint {
        let mut messages: FxHashMap<Vec<F>, F> = FxHashMap::default();
        self.each_message(bus, traces, |message, count, _, _| {
            *messages.entry(message.to_vec()).or_default() += count;
        });
        let broken = messages.into_iter().filter(|(_, count)| *count != F::ZERO);
        let message = broken.map(|(message, _)| message).min().unwrap_or_default();
        let mut places = Vec::new();
        self.each_message(bus, traces, |other, count, air, row| {
            if other == message && places.len() < MOST {
                let count = count.as_canonical_u32();
                let count = match count > F::ORDER_U32 / 2 {
                    true => i64::from(count) - i64::from(F::ORDER_U32),
                    false => i64::from(count),
                };
                places.push((self.name(air), row, count));
            }
        });
        BrokenConstraint::Bus {
            segment,
            bus,
            message: message.iter().map(F::as_canonical_u32).collect(),
            places,
        }
    }

    fn each_message(
        &self,
        bus: u16,
        traces: &[AirTraces],
        mut take: impl FnMut(&[F], F, usize, usize),
    ) {
        for air in traces {
            let rows = Rows::new(self, air);
            let mut values = Vec::new();
            let mut message = Vec::new();
            if !rows.dag.interactions.iter().any(|i| i.bus_index == bus) {
                continue;
            }
            for row in 0..rows.height {
                rows.evaluate(row, &mut values);
                for interaction in rows.dag.interactions.iter().filter(|i| i.bus_index == bus) {
                    let count = values[interaction.count];
                    if count != F::ZERO {
                        message.clear();
                        message.extend(interaction.message.iter().map(|&node| values[node]));
                        take(&message, count, air.air, row);
                    }
                }
            }
        }
    }
}

/// The rows of one AIR.
struct Rows<'a> {
    air: &'a Constraints<'a>,
    dag: &'a SymbolicConstraintsDag<F>,
    traces: &'a AirTraces,
    height: usize,
}

impl<'a> Rows<'a> {
    fn new(check: &'a ConstraintCheck<'_>, traces: &'a AirTraces) -> Self {
        let air = &check.airs[traces.air];
        Self {
            air,
            dag: air.dag,
            traces,
            height: traces
                .parts
                .iter()
                .map(|part| part.height())
                .max()
                .unwrap_or(0),
        }
    }

    /// Sums of the messages of each bus; or the row and number of a constraint that is not zero.
    fn check(&self, rows: std::ops::Range<usize>) -> Result<FxHashMap<u16, Sum>, (usize, usize)> {
        let mut sums: FxHashMap<u16, Sum> = FxHashMap::default();
        let mut values = Vec::new();
        for row in rows {
            self.evaluate(row, &mut values);
            let constraints = self.dag.constraints.constraint_idx.iter();
            if let Some(broken) = constraints
                .into_iter()
                .position(|&node| values[node] != F::ZERO)
            {
                return Err((row, broken));
            }
            for interaction in &self.dag.interactions {
                let count = values[interaction.count];
                if count == F::ZERO {
                    continue;
                }
                let image = image(interaction.message.iter().map(|&node| values[node]));
                let sum = sums.entry(interaction.bus_index).or_default();
                sum.iter_mut()
                    .zip(image)
                    .for_each(|(sum, part)| *sum += part * count);
            }
        }
        Ok(sums)
    }

    /// The values of all nodes on a row.
    fn evaluate(&self, row: usize, values: &mut Vec<F>) {
        values.clear();
        for node in &self.dag.constraints.nodes {
            let value = match node {
                SymbolicExpressionNode::Variable(variable) => self.value(variable, row),
                SymbolicExpressionNode::IsFirstRow => F::from_bool(row == 0),
                SymbolicExpressionNode::IsLastRow => F::from_bool(row + 1 == self.height),
                SymbolicExpressionNode::IsTransition => F::from_bool(row + 1 != self.height),
                SymbolicExpressionNode::Constant(value) => *value,
                SymbolicExpressionNode::Add {
                    left_idx,
                    right_idx,
                    ..
                } => values[*left_idx] + values[*right_idx],
                SymbolicExpressionNode::Sub {
                    left_idx,
                    right_idx,
                    ..
                } => values[*left_idx] - values[*right_idx],
                SymbolicExpressionNode::Neg { idx, .. } => -values[*idx],
                SymbolicExpressionNode::Mul {
                    left_idx,
                    right_idx,
                    ..
                } => values[*left_idx] * values[*right_idx],
            };
            values.push(value);
        }
    }

    fn value(&self, variable: &SymbolicVariable<F>, row: usize) -> F {
        let index = variable.index;
        let cell = |part: Option<&ColMajorMatrix<F>>, offset: usize| {
            let row = (row + offset) % self.height;
            part.and_then(|part| part.values.get(index * self.height + row).copied())
        };
        // A cell that does not exist is zero: keys are checked when they are brought to a device.
        match variable.entry {
            Entry::Main { part_index, offset } => cell(self.traces.parts.get(part_index), offset),
            Entry::Preprocessed { offset } => cell(self.air.preprocessed.as_ref(), offset),
            Entry::Public => self.traces.public_values.get(index).copied(),
            // OpenVM's circuits have none: interactions are proved apart.
            Entry::Challenge => None,
        }
        .unwrap_or_default()
    }
}

/// Four numbers that follow from a message as if by chance.
fn image(message: impl Iterator<Item = F>) -> Sum {
    let mut hash = DefaultHasher::new();
    let mut length = 0_u32;
    for value in message {
        value.as_canonical_u32().hash(&mut hash);
        length += 1;
    }
    length.hash(&mut hash);
    std::array::from_fn(|part| {
        let mut hash = hash.clone();
        part.hash(&mut hash);
        F::from_u64(hash.finish())
    })
}

#[cfg(test)]
mod tests {
    use openvm_stark_backend::{
        test_utils::{test_system_params_small, FibFixture, MixtureFixture, TestFixture},
        StarkEngine,
    };
    use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2RefEngine, DuplexSponge};

    use super::*;
    use crate::prelude::SC;

    type Engine = BabyBearPoseidon2RefEngine<DuplexSponge>;

    /// The key and the traces of a fixture.
    fn traces(fixture: &impl TestFixture<SC>) -> (MultiStarkProvingKey<SC>, Vec<AirTraces>) {
        let engine = Engine::new(test_system_params_small(2, 8, 3));
        let (key, _) = engine.keygen(&fixture.airs());
        let ctx = fixture.generate_proving_ctx();
        let traces = ctx.per_trace.into_iter().map(|(air, trace)| AirTraces {
            air,
            parts: trace
                .cached_mains
                .into_iter()
                .map(|part| part.trace)
                .chain([trace.common_main])
                .collect(),
            public_values: trace.public_values,
        });
        (key, traces.collect())
    }

    fn check(key: &MultiStarkProvingKey<SC>, traces: &[AirTraces]) -> Result<(), BrokenConstraint> {
        let names = key.per_air.iter().map(|_| None).collect();
        ConstraintCheck::new(key, names).check(7, traces)
    }

    /// Circuits with preprocessed and cached traces, public values and messages hold.
    #[test]
    fn traces_that_hold() {
        let config = Engine::new(test_system_params_small(2, 8, 3));
        let fixture = MixtureFixture::standard(5, config.config().clone());
        let (key, traces) = traces(&fixture);
        assert_eq!(check(&key, &traces), Ok(()));
    }

    /// A changed cell is found in the first row that reads it, with its column.
    #[test]
    fn the_first_broken_row_is_named() {
        let (key, mut traces) = traces(&FibFixture::new(0, 1, 1 << 6));
        // Row 20 of the right column: row 19 reads it as the next row's.
        let cell = &mut traces[0].parts[0].values[(1 << 6) + 20];
        *cell += F::ONE;
        let changed = cell.as_canonical_u32();
        let broken = check(&key, &traces).expect_err("a broken constraint");
        let BrokenConstraint::Row {
            segment,
            row,
            height,
            ref columns,
            ..
        } = broken
        else {
            panic!("{broken}");
        };
        assert_eq!((segment, row, height), (Some(7), 19, 1 << 6));
        let found = columns
            .iter()
            .find(|column| (column.index, column.row) == (1, 20));
        assert_eq!(found.expect("the column").value, changed);
        assert!(broken.to_string().contains("row 19 of 64"), "{broken}");
        // Public values count too.
        let (key, mut traces) = super::tests::traces(&FibFixture::new(0, 1, 1 << 6));
        traces[0].public_values[2] += F::ONE;
        let broken = check(&key, &traces).expect_err("a broken constraint");
        assert!(
            matches!(broken, BrokenConstraint::Row { row: 63, .. }),
            "{broken}"
        );
    }

    /// A message that is sent once more than it is received is named with its places.
    #[test]
    fn an_unbalanced_message_is_named() {
        use openvm_stark_backend::test_utils::InteractionsFixture11;

        let (key, mut traces) = traces(&InteractionsFixture11);
        assert_eq!(check(&key, &traces), Ok(()));
        // The sender's second row sends 5 three times; now four times.
        traces[0].parts[0].values[1] += F::ONE;
        let broken = check(&key, &traces).expect_err("an unbalanced bus");
        let BrokenConstraint::Bus {
            message, places, ..
        } = &broken
        else {
            panic!("{broken}");
        };
        assert_eq!(message, &[5]);
        let sent: i64 = places.iter().map(|(_, _, count)| count).sum();
        assert_eq!(sent.abs(), 1, "{broken}");
        assert!(
            places
                .iter()
                .any(|&(_, row, count)| row == 1 && count.abs() == 4),
            "{broken}"
        );
    }
}
