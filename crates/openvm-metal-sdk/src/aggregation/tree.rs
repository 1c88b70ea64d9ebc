//! `Tree`: which node can be proved when, from the proofs of segments to one proof. The grouping is that of
//! [`Shape`] and does not depend on the order in which nodes are proved.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use openvm_sdk::config::AggregationTreeConfig;
use openvm_stark_backend::proof::Proof;

use super::{
    shape::{layer_name, Shape, RECURSIVE},
    AggregationKeys,
};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    options::ProveOptions,
    prelude::SC,
    progress::Event,
};

/// One proof in place of many.
pub struct Aggregated {
    /// The proof of the last internal-recursive node.
    pub proof: Proof<SC>,
    /// Number of internal-recursive levels, the wrapping one included.
    pub internal_recursive_layers: usize,
}

/// Aggregates the proofs of all segments, which are in order, as OpenVM's SDK does.
///
/// # Errors
/// What the device refuses, or that there are no proofs.
pub fn aggregate<E: SdkEngine>(
    keys: &AggregationKeys<E>,
    config: &AggregationTreeConfig,
    segments: &[Proof<SC>],
    options: &ProveOptions<'_>,
) -> Result<Aggregated, SdkError> {
    let device = Mutex::new(());
    let tree = Tree::new(keys, config, options, &device);
    for (index, proof) in segments.iter().enumerate() {
        tree.add_segment(index, proof.clone())?;
    }
    tree.close(segments.len());
    tree.work()?;
    tree.finish()
}

/// The tree while it grows. Any number of threads may [`work`](Self::work) on it while others add segments.
pub(crate) struct Tree<'a, E: SdkEngine> {
    keys: &'a AggregationKeys<E>,
    shape: Shape,
    options: &'a ProveOptions<'a>,
    /// Held while a proof is made.
    device: &'a Mutex<()>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    levels: Vec<Level>,
    result: Option<Aggregated>,
    stopped: bool,
    busy: Duration,
}

/// The proofs of a level that nodes of the next one have not taken yet.
#[derive(Default)]
struct Level {
    proofs: BTreeMap<usize, Proof<SC>>,
    /// How many the level has in all, once that is known.
    total: Option<usize>,
    /// Nodes of the next level that were taken up.
    taken: usize,
}

/// A node to prove.
struct Node {
    /// The level of the node itself.
    level: usize,
    index: usize,
    /// Number of nodes of the level, once that is known.
    nodes: Option<usize>,
    below: Vec<Proof<SC>>,
    /// It wraps the last node of the tree.
    wraps: bool,
}

impl<'a, E: SdkEngine> Tree<'a, E> {
    pub fn new(
        keys: &'a AggregationKeys<E>,
        config: &AggregationTreeConfig,
        options: &'a ProveOptions<'a>,
        device: &'a Mutex<()>,
    ) -> Self {
        Self {
            keys,
            shape: Shape::new(config),
            options,
            device,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The proof of segment `index`.
    ///
    /// # Errors
    /// [`SdkError::Cancelled`] if the tree was stopped.
    pub fn add_segment(&self, index: usize, proof: Proof<SC>) -> Result<(), SdkError> {
        let mut state = self.lock();
        if state.stopped {
            return Err(SdkError::Cancelled);
        }
        state.level(0).proofs.insert(index, proof);
        self.changed.notify_all();
        Ok(())
    }

    /// Says how many segments there are.
    pub fn close(&self, segments: usize) {
        let mut state = self.lock();
        state.level(0).total = Some(segments);
        let levels = self.shape.levels(segments);
        // The wrapping node is not of a level.
        let levels = levels.split_last().map_or(&[][..], |(_, levels)| levels);
        for (level, &total) in levels.iter().enumerate() {
            state.level(level).total = Some(total);
        }
        self.changed.notify_all();
    }

    /// Makes every [`work`](Self::work) return after the node that it is at.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Proves nodes, waiting for those that cannot be proved yet, until the tree is done or stopped. An error stops
    /// the tree.
    pub fn work(&self) -> Result<(), SdkError> {
        let result = guard(Stage::Pipeline, || self.prove_nodes());
        result
            .and_then(|result| result)
            .inspect_err(|_| self.stop())
    }

    fn prove_nodes(&self) -> Result<(), SdkError> {
        let mut state = self.lock();
        while !state.stopped && state.result.is_none() {
            let Some(node) = state.take(&self.shape) else {
                if state.level(0).total == Some(0) {
                    return Ok(());
                }
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let clock = Instant::now();
            let proof = self.prove(&node)?;
            state = self.lock();
            state.busy += clock.elapsed();
            state.put(node, proof);
            self.changed.notify_all();
        }
        Ok(())
    }

    /// The proof, once the tree is done.
    ///
    /// # Errors
    /// If there were no segments, or it was stopped.
    pub fn finish(self) -> Result<Aggregated, SdkError> {
        let state = self.state.into_inner();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.result.ok_or(SdkError::NothingToAggregate)
    }

    /// Time that nodes took so far, their traces included.
    pub fn busy(&self) -> Duration {
        self.lock().busy
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prove(&self, node: &Node) -> Result<Proof<SC>, SdkError> {
        self.options.check_cancelled()?;
        let layer = layer_name(node.level);
        let keys = self.keys;
        let proof = keys.prove_node(node.level, node.index, &node.below, self.device)?;
        self.options.progress.event(Event::NodeProved {
            layer: &layer,
            node: node.index,
            nodes: node.nodes,
        });
        Ok(proof)
    }
}

impl State {
    fn level(&mut self, level: usize) -> &mut Level {
        while self.levels.len() <= level {
            self.levels.push(Level::default());
        }
        &mut self.levels[level]
    }

    /// A node whose children exist, of the highest level that has one.
    fn take(&mut self, shape: &Shape) -> Option<Node> {
        (0..self.levels.len())
            .rev()
            .find_map(|level| self.take_above(level, shape))
    }

    /// The next node over a level, if its children exist.
    fn take_above(&mut self, below: usize, shape: &Shape) -> Option<Node> {
        let level = &mut self.levels[below];
        let wraps = level.total.is_some_and(|total| Shape::wraps(below, total));
        let nodes = level.total.map(|total| shape.above(below, total));
        let index = level.taken;
        if nodes.is_some_and(|nodes| index >= nodes) {
            return None;
        }
        let range = shape.below(below + 1, index, level.total.unwrap_or(usize::MAX));
        if !range.clone().all(|i| level.proofs.contains_key(&i)) {
            return None;
        }
        level.taken += 1;
        let below_proofs = range.filter_map(|i| level.proofs.remove(&i)).collect();
        Some(Node {
            level: below + 1,
            index,
            nodes,
            below: below_proofs,
            wraps,
        })
    }

    fn put(&mut self, node: Node, proof: Proof<SC>) {
        if node.wraps {
            self.result = Some(Aggregated {
                proof,
                internal_recursive_layers: node.level - RECURSIVE + 1,
            });
            return;
        }
        self.level(node.level).proofs.insert(node.index, proof);
    }
}
