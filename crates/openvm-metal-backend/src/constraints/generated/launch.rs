//! Launches of rules: which section each thread has, and where it reads and writes.

use std::{collections::HashMap, sync::Arc};

use openvm_metal_common::{
    CommandStream, Cost, DeviceProfile, Grid, MetalBuffer, MetalError, RuntimeUnit,
};

use super::{
    kernels::ReadyPart,
    sections::{log_unit, sections, threads},
    text::MAX_THREADS,
};
use crate::{
    params::RuleParams,
    prelude::{EF, F},
    programs::{Rules, Run, Shape},
};

/// No vector of a CPU has more threads, nor any that stays together.
const LOG_VECTOR: u32 = 5;

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

/// Tables of the sections of programs, each once.
#[derive(Default)]
pub struct RunTables {
    words: Vec<u32>,
    known: HashMap<(usize, usize, usize), (u32, u32)>,
}

impl RunTables {
    /// The table of some sections of a part of `rules`: where it begins, and how many sections there are.
    fn of(&mut self, rules: &Rules, part: &ReadyPart, most: usize) -> (u32, u32) {
        let key = (std::ptr::from_ref(rules) as usize, part.shapes.start, most);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let sections = rules.sections(part.shapes.clone(), most);
        let (table, count) = (self.words.len() as u32, sections.len() as u32);
        let mut next = table + count + 1;
        let mut runs = Vec::new();
        for section in sections {
            self.words.push(next);
            for Run { shape, rows } in section {
                let of = &rules.shapes[shape as usize];
                runs.extend([
                    shape,
                    of.first + rows.start * of.words,
                    rows.end - rows.start,
                ]);
                next += 3;
            }
        }
        self.words.push(next);
        self.words.append(&mut runs);
        self.known.insert(key, (table, count));
        (table, count)
    }

    /// Uploads all tables.
    pub fn upload(&self, s: &CommandStream) -> Result<MetalBuffer<u32>, MetalError> {
        MetalBuffer::from_host(s, &self.words)
    }
}

/// What a program is evaluated at.
#[derive(Clone, Copy, Debug)]
pub struct RulePoints {
    /// With everything but threads, sections and tables.
    pub params: RuleParams,
    /// Points of a job.
    pub points: u32,
    /// Threads run as vectors, so that whole ones must stay together.
    pub vectors: bool,
}

impl RulePoints {
    /// The launches of a program's parts, the sections of all, and the words between them. `None` where there are fewer
    /// points than a thread takes, or more threads than a grid has.
    pub fn launches(
        mut self,
        profile: &DeviceProfile,
        tables: &mut RunTables,
        rules: &Rules,
        parts: &[ReadyPart],
    ) -> Option<(Vec<RuleLaunch>, u32)> {
        let accumulators = u64::from(rules.accumulators);
        let section_words = 4 * accumulators * u64::from(self.points);
        let jobs = self.params.jobs;
        let mut planned = Vec::new();
        let mut all = 0;
        for part in parts {
            let points = part.points;
            if !self.points.is_power_of_two() || self.points < points {
                return None;
            }
            let log_threads = (self.points / points).ilog2();
            if self.vectors && log_threads < LOG_VECTOR {
                return None;
            }
            let log_unit = log_unit(profile, log_threads);
            let threads = threads(profile, log_threads, u64::from(jobs));
            let (table, sections) = tables.of(rules, part, sections(profile, threads));
            let threads = u32::try_from(threads * u64::from(sections)).ok()?;
            planned.push((part, table, sections, threads, log_unit, log_threads, all));
            all += sections;
        }
        self.params.section_stride = section_words;
        self.params.partials_stride = section_words * u64::from(all);
        self.params.plane_stride = self.points;
        let launches = planned.into_iter().map(
            |(part, table, sections, threads, log_unit, log_threads, before)| {
                let evaluated = u64::from(self.points) * u64::from(jobs);
                let shapes = &rules.shapes[part.shapes.clone()];
                let of = |f: &dyn Fn(&Shape) -> u64| {
                    evaluated * shapes.iter().map(|s| u64::from(s.rows) * f(s)).sum::<u64>()
                };
                let (products, loads) = (of(&|s| s.products()), of(&|s| u64::from(s.variables)));
                let results = evaluated * 16 * accumulators * u64::from(sections);
                RuleLaunch {
                    unit: part.unit.clone(),
                    kernel: part.kernel,
                    params: RuleParams {
                        table,
                        sections,
                        threads,
                        log_unit,
                        log_threads,
                        partials: u64::from(before) * section_words,
                        ..self.params
                    },
                    first: self.params.partials,
                    words: self.params.partials_stride * u64::from(jobs),
                    cost: Cost {
                        products,
                        bytes: 4 * loads + results,
                    },
                }
            },
        );
        Some((launches.collect(), all))
    }
}

/// What all launches of a proof read beside the arena.
pub struct RuleBuffers<'a> {
    pub coefficients: &'a MetalBuffer<EF>,
    pub uniforms: &'a MetalBuffer<F>,
    pub runs: &'a MetalBuffer<u32>,
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
        let grid = Grid::threads_per_group(self.params.threads as usize, MAX_THREADS);
        let results = self.first as usize..(self.first + self.words) as usize;
        let mut results = partials.slice_mut(results);
        let call = self
            .unit
            .encode(s, self.kernel, grid)?
            .buffer(0, &arena)
            .buffer_mut(1, &mut results)
            .buffer(2, &buffers.coefficients)
            .buffer(3, &buffers.uniforms)
            .buffer(4, &buffers.runs)
            .buffer(5, &buffers.operands)
            .value(6, &self.params)
            .cost(self.cost);
        // SAFETY: the table has a run for each section, whose rows lie in `operands`; these name columns, uniforms
        // and coefficients of the program, for which the plan of the jobs gave room at every point, as for the
        // results of each section.
        unsafe { call.dispatch_unchecked() }
    }
}
