//! Flame graphs of call stacks.

use std::fmt::Write;

use inferno::flamegraph::{from_lines, Options};

use crate::{
    cost::Cost, model::TimeModel, recording::Recording, tree::each_path, ProfileError, Symbols,
};

/// A quantity that the width of a frame stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Instructions,
    Cells,
    /// Modelled proving time, in microseconds.
    Time,
}

impl Unit {
    fn of(self, cost: Cost, model: &TimeModel) -> u64 {
        match self {
            Self::Instructions => cost.instructions,
            Self::Cells => cost.cells,
            Self::Time => (model.of(cost) * 1e6).round() as u64,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Cells => "cells",
            Self::Time => "microseconds",
        }
    }
}

/// Call stacks, one a line, in the format of `flamegraph.pl`: names separated by semicolons, a space, a number.
fn folded(recording: &Recording, symbols: &Symbols, unit: Unit, model: &TimeModel) -> String {
    let mut lines = String::new();
    each_path(recording, symbols, |path, cost| {
        let number = unit.of(cost, model);
        if number > 0 {
            let names: Vec<String> = path
                .iter()
                .map(|name| name.replace([';', '\n'], ":"))
                .collect();
            // A `String` takes all.
            let _ = writeln!(lines, "{} {number}", names.join(";"));
        }
    });
    lines
}

/// A flame graph as SVG, whose frames are as wide as what they and their callees cost.
///
/// # Errors
/// [`ProfileError::FlameGraph`] if there is nothing to draw.
pub fn flamegraph(
    recording: &Recording,
    symbols: &Symbols,
    unit: Unit,
    model: &TimeModel,
) -> Result<String, ProfileError> {
    let lines = folded(recording, symbols, unit, model);
    let mut options = Options::default();
    options.title = match unit {
        Unit::Instructions => "Instructions".into(),
        Unit::Cells => "Cells of traces".into(),
        Unit::Time => format!("Modelled proving time on {}", model.device),
    };
    options.count_name = unit.name().into();
    options.hash = true;
    let mut svg = Vec::new();
    from_lines(&mut options, lines.lines(), &mut svg)
        .map_err(|error| ProfileError::FlameGraph(error.to_string()))?;
    String::from_utf8(svg).map_err(|error| ProfileError::FlameGraph(error.to_string()))
}
