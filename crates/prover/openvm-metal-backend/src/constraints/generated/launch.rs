//! Launches of rules: which section each thread has, and where it reads and writes.

use std::{collections::HashMap, sync::Arc};

use openvm_metal_common::{
    CommandStream, Cost, DeviceProfile, Grid, MetalBuffer, MetalError, RuntimeUnit,
};

use super::{
    kernels::ReadyKernel,
    sections::{log_group, sections, threads, LOG_VECTOR},
};
use crate::{
    constraints::eval_field::EvalField,
    params::RuleParams,
    prelude::{EF, F},
    programs::{Rule, Rules, UseRange},
};

/// One launch of a kernel of rules.
#[derive(Clone)]
pub struct RuleLaunch {
    unit: Arc<RuntimeUnit>,
    kernel: usize,
    params: RuleParams,
    /// Words of results from `first` on.
    first: u64,
    words: u64,
    cost: Cost,
}

/// Tables of the sections of programs, each once: where each section's ranges of uses begin, then the ranges.
#[derive(Default)]
pub struct SectionTables {
    words: Vec<u32>,
    known: HashMap<(usize, usize, usize), (u32, u32)>,
}

impl SectionTables {
    /// The table of at most `most` sections of a kernel of `rules`: where it begins, and how many sections there are.
    fn of(&mut self, rules: &Rules, kernel: &ReadyKernel, most: usize) -> (u32, u32) {
        let key = (
            std::ptr::from_ref(rules) as usize,
            kernel.members.start,
            most,
        );
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let sections = rules.sections(kernel.members.clone(), most);
        let (table, count) = (self.words.len() as u32, sections.len() as u32);
        let mut next = table + count + 1;
        let mut ranges = Vec::new();
        for section in sections {
            self.words.push(next);
            for UseRange { rule, uses } in section {
                let of = &rules.list[rule as usize];
                ranges.extend([
                    rule,
                    of.first + uses.start * of.words,
                    uses.end - uses.start,
                ]);
                next += 3;
            }
        }
        self.words.push(next);
        self.words.append(&mut ranges);
        self.known.insert(key, (table, count));
        (table, count)
    }

    /// Uploads all tables.
    pub fn upload(&self, s: &CommandStream) -> Result<MetalBuffer<u32>, MetalError> {
        MetalBuffer::from_host(s, &self.words)
    }
}

/// Points at which a program is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct RuleEvaluation {
    /// With everything but threads, sections and tables.
    pub params: RuleParams,
    pub field: EvalField,
    /// Points of a job.
    pub points: u32,
    /// Threads run as vectors, so that whole ones must stay together.
    pub vectors: bool,
}

impl RuleEvaluation {
    /// The launches of a program's kernels, the sections of all, and the words between them. `None` where there are fewer
    /// points than a thread takes, or more threads than a grid has.
    pub fn launches(
        mut self,
        profile: &DeviceProfile,
        tables: &mut SectionTables,
        rules: &Rules,
        kernels: &[ReadyKernel],
    ) -> Option<(Vec<RuleLaunch>, u32)> {
        let accumulators = u64::from(rules.accumulators);
        let section_words = 4 * accumulators * u64::from(self.points);
        let jobs = self.params.jobs;
        let mut planned = Vec::new();
        let mut all = 0;
        for kernel in kernels {
            let points = kernel.points;
            if !self.points.is_power_of_two() || self.points < points {
                return None;
            }
            let log_threads = (self.points / points).ilog2();
            if self.vectors && log_threads < LOG_VECTOR {
                return None;
            }
            let log_group = log_group(profile, log_threads);
            let threads = threads(profile, log_threads, u64::from(jobs));
            let (table, sections) = tables.of(rules, kernel, sections(profile, threads));
            let threads = u32::try_from(threads * u64::from(sections)).ok()?;
            planned.push((
                kernel,
                table,
                sections,
                threads,
                log_group,
                log_threads,
                all,
            ));
            all += sections;
        }
        self.params.section_stride = section_words;
        self.params.partials_stride = section_words * u64::from(all);
        self.params.plane_stride = self.points;
        let launches = planned.into_iter().map(
            |(kernel, table, sections, threads, log_group, log_threads, before)| {
                let evaluated = u64::from(self.points) * u64::from(jobs);
                let members = &rules.list[kernel.members.clone()];
                let of = |f: &dyn Fn(&Rule) -> u64| {
                    evaluated
                        * members
                            .iter()
                            .map(|r| u64::from(r.uses) * f(r))
                            .sum::<u64>()
                };
                let loads = of(&|r| u64::from(r.variables));
                let (products, read) = match self.field {
                    EvalField::Base => (of(&Rule::products), 4 * loads),
                    EvalField::Extension => {
                        let [full, by_uniform] = [0, 1].map(|k| of(&|r| r.ext_products()[k]));
                        (19 * full / 2 + 4 * by_uniform, 32 * loads)
                    }
                };
                let results = evaluated * 16 * accumulators * u64::from(sections);
                RuleLaunch {
                    unit: kernel.unit.clone(),
                    kernel: kernel.number,
                    params: RuleParams {
                        table,
                        sections,
                        threads,
                        log_group,
                        log_threads,
                        partials: u64::from(before) * section_words,
                        ..self.params
                    },
                    first: self.params.partials,
                    words: self.params.partials_stride * u64::from(jobs),
                    cost: Cost {
                        products,
                        bytes: read + results,
                    },
                }
            },
        );
        Some((launches.collect(), all))
    }
}

/// Buffers that all launches of a proof read besides the arena.
pub struct RuleBuffers<'a> {
    pub coefficients: &'a MetalBuffer<EF>,
    pub uniforms: &'a MetalBuffer<F>,
    pub use_ranges: &'a MetalBuffer<u32>,
    pub operands: &'a MetalBuffer<u32>,
}

impl RuleLaunch {
    /// Encodes the launch.
    pub fn encode(
        &self,
        s: &CommandStream,
        buffers: &RuleBuffers<'_>,
        arena: &MetalBuffer<F>,
        partials: &mut MetalBuffer<F>,
    ) -> Result<(), MetalError> {
        let grid = Grid::threads(self.params.threads as usize);
        let results = self.first as usize..(self.first + self.words) as usize;
        let mut results = partials.slice_mut(results);
        let call = self
            .unit
            .encode(s, self.kernel, grid)?
            .buffer(0, &arena)
            .buffer_mut(1, &mut results)
            .buffer(2, &buffers.coefficients)
            .buffer(3, &buffers.uniforms)
            .buffer(4, &buffers.use_ranges)
            .buffer(5, &buffers.operands)
            .value(6, &self.params)
            .cost(self.cost);
        // SAFETY: the table has ranges of uses for each section, whose operands lie in `operands`; these name columns, uniforms
        // and coefficients of the program, for which the plan of the jobs gave room at every point, as for the
        // results of each section.
        unsafe { call.dispatch_unchecked() }
    }
}
