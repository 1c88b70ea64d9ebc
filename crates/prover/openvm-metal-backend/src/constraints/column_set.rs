//! Columns of one trace that are treated alike.

use std::ops::Range;

use super::input::PartSources;
use crate::{params::ConstraintColumn, programs::Variable};

/// A range of the column table whose sources belong to one group.
#[derive(Clone, Debug)]
pub(super) struct GroupRange {
    pub group: usize,
    pub entries: Range<u32>,
}

/// Columns of one trace that are treated alike.
#[derive(Clone, Debug, Default)]
pub struct ColumnSet(pub(super) Vec<GroupRange>);

impl ColumnSet {
    /// Adds entries to the table.
    pub fn new(
        table: &mut Vec<ConstraintColumn>,
        mut entries: Vec<(usize, ConstraintColumn)>,
    ) -> Self {
        entries.sort_by_key(|&(group, _)| group);
        let mut ranges = Vec::new();
        for same in entries.chunk_by(|a, b| a.0 == b.0) {
            let first = table.len() as u32;
            table.extend(same.iter().map(|&(_, column)| column));
            ranges.push(GroupRange {
                group: same[0].0,
                entries: first..table.len() as u32,
            });
        }
        Self(ranges)
    }

    /// Ranges of the table, with the group of sources of each.
    pub fn ranges(&self) -> impl Iterator<Item = (usize, Range<u32>)> + '_ {
        self.0
            .iter()
            .map(|range| (range.group, range.entries.clone()))
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.0.iter().map(|range| range.entries.len()).sum()
    }

    /// The columns that read `variables`, with columns of the arena counted from `first_column`.
    pub fn of_variables(
        table: &mut Vec<ConstraintColumn>,
        parts: &PartSources,
        variables: &[Variable],
        first_column: usize,
    ) -> Self {
        let numbered = variables.iter().zip(first_column as u32..);
        let entries = numbered.map(|(&v, column)| parts.column(v, column));
        Self::new(table, entries.collect())
    }
}
