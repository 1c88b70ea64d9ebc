//! The kernels of a program.

use std::{ops::Range, sync::Arc};

use openvm_metal_common::RuntimeUnit;

use super::{pool::Unit, sections::PlannedSections};
use crate::{constraints::eval_field::EvalField, programs::Rules};

/// The kernels of a sum: those of round 0 and those of the rounds over the hypercube, where there are any.
#[derive(Clone, Debug, Default)]
pub struct SumKernels([Option<ProgramKernels>; 2]);

impl SumKernels {
    /// Over a field.
    pub fn over(&self, field: EvalField) -> Option<&ProgramKernels> {
        self.0[field as usize].as_ref()
    }

    /// Over a field, which may be none yet.
    pub(super) fn over_mut(&mut self, field: EvalField) -> &mut ProgramKernels {
        self.0[field as usize].get_or_insert_with(ProgramKernels::default)
    }

    /// The units of all kernels.
    pub fn units(&self) -> impl Iterator<Item = &Arc<Unit>> {
        self.0.iter().flatten().flat_map(ProgramKernels::units)
    }

    /// Greatest memory of the kernels' sections, by field.
    pub fn planned(&self, rules: &Rules) -> [PlannedSections; 2] {
        let of = |kernels: &Option<ProgramKernels>| {
            let kernels = kernels.as_ref();
            kernels.map_or_else(PlannedSections::default, |kernels| kernels.planned(rules))
        };
        self.0.each_ref().map(of)
    }
}

/// The kernels of a program, one for each group of its rules, compiled or on their way.
#[derive(Clone, Debug, Default)]
pub struct ProgramKernels {
    kernels: Vec<PendingKernel>,
}

#[derive(Clone, Debug)]
struct PendingKernel {
    members: Range<usize>,
    points: u32,
    unit: Arc<Unit>,
    number: usize,
}

/// A kernel with the rules of a program that it evaluates.
#[derive(Clone)]
pub struct ReadyKernel {
    pub members: Range<usize>,
    /// Points of a thread.
    pub points: u32,
    pub unit: Arc<RuntimeUnit>,
    /// Number of the kernel in the unit.
    pub number: usize,
}

impl ProgramKernels {
    /// Adds a group of rules, whose kernel has this number in `unit`.
    pub(super) fn push(
        &mut self,
        members: Range<usize>,
        points: u32,
        unit: Arc<Unit>,
        number: usize,
    ) {
        self.kernels.push(PendingKernel {
            members,
            points,
            unit,
            number,
        });
    }

    /// All kernels, if they are compiled; with `wait` when they are. `None` where one is not there (yet).
    pub fn ready(&self, wait: bool) -> Option<Vec<ReadyKernel>> {
        let ready = |kernel: &PendingKernel| {
            Some(ReadyKernel {
                members: kernel.members.clone(),
                points: kernel.points,
                unit: kernel.unit.get(wait)?,
                number: kernel.number,
            })
        };
        self.kernels.iter().map(ready).collect()
    }

    /// Greatest memory of the kernels' sections.
    fn planned(&self, rules: &Rules) -> PlannedSections {
        let uses = |kernel: &PendingKernel| {
            let members = rules.list[kernel.members.clone()].iter();
            members.map(|rule| u64::from(rule.uses)).sum()
        };
        let kernels = self.kernels.iter();
        PlannedSections(
            kernels
                .map(|kernel| (uses(kernel), kernel.points))
                .collect(),
        )
    }

    /// The unit of each kernel.
    fn units(&self) -> impl Iterator<Item = &Arc<Unit>> {
        self.kernels.iter().map(|kernel| &kernel.unit)
    }
}
