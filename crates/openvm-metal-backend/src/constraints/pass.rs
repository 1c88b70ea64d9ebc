//! The evaluations of one pass, and where their results lie.

use super::{
    interpreter::EvalPass,
    plan::{Plan, ProgramKind},
};
use crate::params::{ConstraintEvalJob, ConstraintSumJob};

/// Collects the evaluations of a pass.
#[derive(Default)]
pub struct PassBuilder {
    pub evals: EvalPass,
    /// Words of results so far.
    pub partials: u64,
}

/// Results of a program at some points: for each section its accumulators, each as four planes.
pub struct Results {
    partials: u64,
    points: u32,
    sections: u32,
    section_stride: u32,
}

impl PassBuilder {
    /// Evaluates a program of trace `t` in at most `sections`; `job` holds everything but the program and its results.
    pub fn evaluate(
        &mut self,
        plan: &Plan<'_>,
        t: usize,
        kind: ProgramKind,
        sections: usize,
        job: ConstraintEvalJob,
    ) -> Results {
        let job = ConstraintEvalJob {
            partials: self.partials,
            plane_stride: job.points,
            ..job
        };
        let jobs = plan.jobs(t, kind, sections, job);
        let results = Results {
            partials: self.partials,
            points: job.points,
            sections: jobs.len() as u32,
            section_stride: 4 * job.accumulators * job.points,
        };
        self.partials += u64::from(results.sections) * u64::from(results.section_stride);
        self.evals.jobs.extend(jobs);
        self.evals.resources = self.evals.resources.max(plan.resources(t, kind));
        results
    }
}

impl Results {
    /// The sum of an accumulator over `length` points from `first` on, weighted with the entries of the eq tables from
    /// `weights` on.
    pub fn sum(&self, accumulator: u64, first: u64, length: u32, weights: u32) -> ConstraintSumJob {
        ConstraintSumJob {
            partials: self.partials + 4 * accumulator * u64::from(self.points) + first,
            plane_stride: self.points,
            length,
            sections: self.sections,
            section_stride: self.section_stride,
            weights,
            unused: 0,
        }
    }
}
