//! The kernels of a program.

use std::{ops::Range, sync::Arc};

use openvm_metal_common::RuntimeUnit;

use super::{pool::Unit, sections::PlannedSections};
use crate::programs::Rules;

/// The kernels of a program: those of its parts, compiled or on their way.
#[derive(Clone, Debug, Default)]
pub struct ProgramKernels {
    parts: Vec<PendingPart>,
}

#[derive(Clone, Debug)]
struct PendingPart {
    shapes: Range<usize>,
    points: u32,
    unit: Arc<Unit>,
    kernel: usize,
}

/// Shapes of a program with their kernel.
#[derive(Clone)]
pub struct ReadyPart {
    pub shapes: Range<usize>,
    /// Points of a thread.
    pub points: u32,
    pub unit: Arc<RuntimeUnit>,
    /// Number of the kernel in the unit.
    pub kernel: usize,
}

impl ProgramKernels {
    /// Adds some shapes, whose kernel is number `kernel` of `unit`.
    pub(super) fn push(
        &mut self,
        shapes: Range<usize>,
        points: u32,
        unit: Arc<Unit>,
        kernel: usize,
    ) {
        self.parts.push(PendingPart {
            shapes,
            points,
            unit,
            kernel,
        });
    }

    /// All parts, if they are compiled; with `wait` when they are. `None` where one is not there (yet).
    pub fn ready(&self, wait: bool) -> Option<Vec<ReadyPart>> {
        let ready = |part: &PendingPart| {
            Some(ReadyPart {
                shapes: part.shapes.clone(),
                points: part.points,
                unit: part.unit.get(wait)?,
                kernel: part.kernel,
            })
        };
        self.parts.iter().map(ready).collect()
    }

    /// What the kernels' sections take at most.
    pub fn planned(&self, rules: &Rules) -> PlannedSections {
        let rows = |part: &PendingPart| {
            let shapes = rules.shapes[part.shapes.clone()].iter();
            shapes.map(|s| u64::from(s.rows)).sum()
        };
        let parts = self.parts.iter();
        PlannedSections(parts.map(|part| (rows(part), part.points)).collect())
    }

    /// The unit of each part.
    pub fn units(&self) -> impl Iterator<Item = &Arc<Unit>> {
        self.parts.iter().map(|part| &part.unit)
    }
}
