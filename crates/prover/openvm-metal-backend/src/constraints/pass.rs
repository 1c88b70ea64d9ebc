//! The evaluations of one pass, and where their results lie.

use super::{
    evaluations::Evaluations,
    generated::SectionTables,
    interpreter::EvalPass,
    plan::{Plan, ProgramId},
};
use crate::params::{ConstraintEvalJob, ConstraintSumJob};

/// Collects the evaluations of a pass.
#[derive(Default)]
pub struct PassBuilder {
    pub evals: EvalPass,
    /// Words of results so far.
    pub partials: u64,
}

/// Results of evaluations: for each of them its sections' accumulators, each as four planes.
pub struct Results {
    partials: u64,
    points: u32,
    sections: u32,
    section_stride: u32,
}

impl PassBuilder {
    /// Evaluates sum `k` of trace `t`: by kernels of its rules if they are ready, whose sections are added to `tables`, else by the
    /// interpreter.
    pub fn evaluate(
        &mut self,
        plan: &Plan,
        t: usize,
        k: usize,
        evaluations: Evaluations,
        tables: &mut SectionTables,
    ) -> Results {
        let Evaluations { job, count, .. } = evaluations;
        let mut results = Results {
            partials: self.partials,
            points: job.points,
            sections: 0,
            section_stride: 4 * job.accumulators * job.points,
        };
        let rules = plan.rules(t, k, self.partials, &evaluations, tables);
        if let Some((mut launches, sections)) = rules {
            self.evals.rules.append(&mut launches);
            results.sections = sections;
        } else {
            let id = ProgramId::Sum(k);
            let resources = plan.resources(t, id);
            for number in 0..count {
                let job = ConstraintEvalJob {
                    arena: job.arena + u64::from(number) * evaluations.arena_stride,
                    step: job.step + number * evaluations.step_stride,
                    partials: self.partials + u64::from(number) * results.words(),
                    plane_stride: job.points,
                    ..job
                };
                let jobs = plan.jobs(t, id, evaluations.sections, job);
                results.sections = jobs.len() as u32;
                let jobs = jobs.into_iter().map(|job| (resources, job));
                self.evals.jobs.extend(jobs);
            }
        }
        self.partials += u64::from(count) * results.words();
        results
    }
}

impl Results {
    /// Words of an evaluation.
    fn words(&self) -> u64 {
        u64::from(self.sections) * u64::from(self.section_stride)
    }

    /// The sum of an accumulator of evaluation `k` over `length` points from `first` on, weighted with the entries of
    /// the eq tables from `weights` on.
    pub fn sum(
        &self,
        k: u32,
        accumulator: u64,
        first: u64,
        length: u32,
        weights: u32,
    ) -> ConstraintSumJob {
        let evaluation = self.partials + u64::from(k) * self.words();
        ConstraintSumJob {
            partials: evaluation + 4 * accumulator * u64::from(self.points) + first,
            plane_stride: self.points,
            length,
            sections: self.sections,
            section_stride: self.section_stride,
            weights,
            unused: 0,
        }
    }
}
