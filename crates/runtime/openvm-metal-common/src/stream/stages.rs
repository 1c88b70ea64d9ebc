//! Stages of a stream, and what is counted in each.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::CommandStream;
use crate::context::MetalContext;
use crate::counters::StageCounters;
use crate::lock;
use crate::stage::NamedStage;

/// The counts of a stream by stage.
pub(super) struct Ledger {
    stages: Vec<StageCounters>,
    index: HashMap<Arc<str>, usize>,
    /// Open stages, innermost last; the bottom is the work outside every stage.
    open: Vec<usize>,
    context: MetalContext,
    tracker: u64,
}

impl Drop for Ledger {
    fn drop(&mut self) {
        lock(&self.context.inner.pool).untrack(self.tracker);
    }
}

impl Ledger {
    /// No stage is open.
    pub fn new(context: MetalContext) -> Self {
        let root: Arc<str> = "".into();
        let tracker = lock(&context.inner.pool).track();
        Self {
            stages: vec![StageCounters::new(root.clone())],
            index: HashMap::from([(root, 0)]),
            open: vec![0],
            tracker,
            context,
        }
    }

    /// The counts so far.
    pub fn counted(&self) -> Vec<StageCounters> {
        let mut stages = self.stages.clone();
        stages[0].peak_bytes = lock(&self.context.inner.pool).tracked(self.tracker);
        stages
    }

    /// Forgets the counts; open stages stay open.
    pub fn reset(&mut self) {
        for stage in &mut self.stages {
            *stage = StageCounters::new(stage.stage.clone());
        }
    }

    /// Counters of the innermost open stage.
    pub fn current(&mut self) -> &mut StageCounters {
        let top = self.open.last().copied().unwrap_or(0);
        &mut self.stages[top]
    }
}

impl CommandStream {
    /// Opens a stage: until the guard is dropped, what this handle does is counted under its path
    /// (the names of the open stages joined by `/`), inside a tracing span `stage{path}`.
    pub fn stage(&self, name: &str) -> StageGuard<'_> {
        let mut ledger = lock(&self.ledger);
        let parent = ledger.current().stage.clone();
        let path: Arc<str> = if parent.is_empty() {
            name.into()
        } else {
            format!("{parent}/{name}").into()
        };
        let slot = match ledger.index.get(&path) {
            Some(&slot) => slot,
            None => {
                ledger.stages.push(StageCounters::new(path.clone()));
                let slot = ledger.stages.len() - 1;
                ledger.index.insert(path.clone(), slot);
                slot
            }
        };
        ledger.open.push(slot);
        ledger.stages[slot].entered += 1;
        drop(ledger);
        let tracker = lock(&self.context.inner.pool).track();
        let named = NamedStage::enter(path);
        StageGuard {
            stream: self,
            slot,
            tracker,
            start: Instant::now(),
            _named: named,
        }
    }
}

/// An open stage of a [`CommandStream`]; dropping it closes the stage.
pub struct StageGuard<'a> {
    stream: &'a CommandStream,
    slot: usize,
    tracker: u64,
    start: Instant,
    _named: NamedStage,
}

impl Drop for StageGuard<'_> {
    fn drop(&mut self) {
        let peak = lock(&self.stream.context.inner.pool).untrack(self.tracker);
        let mut ledger = lock(&self.stream.ledger);
        if let Some(position) = ledger.open.iter().rposition(|&slot| slot == self.slot) {
            ledger.open.remove(position);
        }
        let stage = &mut ledger.stages[self.slot];
        stage.peak_bytes = stage.peak_bytes.max(peak);
        stage.wall_ns += self.start.elapsed().as_nanos() as u64;
    }
}
