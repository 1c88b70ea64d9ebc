//! Places of an AIR's columns in the folded arena and among the openings: fixed by its key.

use std::collections::HashMap;

use crate::programs::{AirPrograms, Variable};

/// Place of a column's opening.
#[derive(Clone, Copy, Debug)]
pub enum Opening {
    /// Column of the folded arena.
    Folded(u32),
    /// Position among the columns opened one row ahead.
    Next(u32),
}

/// A column of the folded arena.
#[derive(Clone, Copy, Debug)]
pub struct FoldedColumn {
    pub variable: Variable,
    pub column: u32,
    /// The column of the same column one row ahead, if programs read it.
    pub next: Option<u32>,
}

/// The columns of an AIR.
#[derive(Clone, Debug, Default)]
pub struct ColumnLayout {
    /// Everything that is folded. The arena begins with the variables of the programs.
    pub folded: Vec<FoldedColumn>,
    /// Columns of the folded arena: the variables, then all others.
    pub folded_columns: u32,
    /// Columns to open one row ahead that no program reads there.
    pub next: Vec<Variable>,
    /// Each opened column: common main, preprocessed, cached, (local, next) if rotated.
    pub openings: Vec<Vec<Opening>>,
}

impl ColumnLayout {
    /// Gives each opened column its place.
    pub fn new(programs: &AirPrograms) -> Self {
        let mut layout = Self {
            folded_columns: programs.variables.len() as u32,
            ..Self::default()
        };
        let numbered = programs.variables.iter().copied().zip(0..);
        let mut column_of: HashMap<Variable, u32> = numbered.clone().collect();
        let selectors = numbered.filter(|(v, _)| !matches!(v, Variable::Column { .. }));
        layout
            .folded
            .extend(selectors.map(|(variable, column)| FoldedColumn {
                variable,
                column,
                next: None,
            }));
        for (part, &width) in programs.part_widths.iter().enumerate() {
            let mut opened = Vec::new();
            for column in 0..width as u32 {
                let part = part as u32;
                let [here, ahead] =
                    [false, true].map(|next| Variable::Column { part, column, next });
                let local = *column_of.entry(here).or_insert_with(|| {
                    layout.folded_columns += 1;
                    layout.folded_columns - 1
                });
                let next = column_of.get(&ahead).copied();
                layout.folded.push(FoldedColumn {
                    variable: here,
                    column: local,
                    next,
                });
                opened.push(Opening::Folded(local));
                if programs.need_rot {
                    opened.push(next.map_or_else(
                        || {
                            layout.next.push(ahead);
                            Opening::Next(layout.next.len() as u32 - 1)
                        },
                        Opening::Folded,
                    ));
                }
            }
            layout.openings.push(opened);
        }
        layout.openings.rotate_right(1); // common main comes first
        layout
    }
}
