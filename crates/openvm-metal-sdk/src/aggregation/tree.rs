//! `Tree`: which node can be proved when, from the proofs of segments to one proof.
//!
//! Level 0 are the proofs of segments. Node `i` of level `l + 1` verifies the proofs `i * c` to `(i + 1) * c` of
//! level `l`, where `c` is how many proofs a node verifies; the last node of a level may verify fewer. Level 1 are
//! leaves, 2 internal-for-leaf, from 3 on internal-recursive. The first internal-recursive level of one
//! node ends the tree, and one more node over it makes the proof smaller. The grouping does not depend on the order in which nodes are proved.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use openvm_sdk::config::AggregationTreeConfig;
use openvm_stark_backend::proof::Proof;

use super::{layer::Below, AggregationKeys};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    options::ProveOptions,
    prelude::SC,
    progress::Event,
};

/// The first level whose nodes are internal-recursive.
const RECURSIVE: usize = 3;

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
    children: [usize; 2],
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
            children: [config.num_children_leaf, config.num_children_internal],
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
        let (mut level, mut total) = (0, segments);
        state.level(0).total = Some(total);
        while total > 1 || (total > 0 && level < RECURSIVE) {
            total = total.div_ceil(self.children[usize::from(level > 0)]);
            level += 1;
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
            let Some(node) = state.take(&self.children) else {
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
        let stage = Stage::Aggregate {
            layer: layer.clone(),
            node: node.index,
        };
        let keys = self.keys;
        let proof = match node.level {
            1 => keys
                .leaf
                .node(&node.below, Below::App, self.device, &stage)?,
            2 => keys
                .internal_for_leaf
                .node(&node.below, Below::Layer, self.device, &stage)?,
            RECURSIVE => {
                keys.internal_recursive
                    .node(&node.below, Below::Layer, self.device, &stage)?
            }
            _ => keys
                .internal_recursive
                .node(&node.below, Below::Own, self.device, &stage)?,
        };
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
    fn take(&mut self, children: &[usize; 2]) -> Option<Node> {
        (0..self.levels.len())
            .rev()
            .find_map(|level| self.take_above(level, children))
    }

    /// The next node over a level, if its children exist.
    fn take_above(&mut self, below: usize, children: &[usize; 2]) -> Option<Node> {
        let most = children[usize::from(below > 0)];
        let level = &mut self.levels[below];
        let last = below >= RECURSIVE && level.total == Some(1);
        let nodes = level.total.map(|total| total.div_ceil(most));
        let index = level.taken;
        if nodes.is_some_and(|nodes| index >= nodes) {
            return None;
        }
        let start = index * most;
        let end = level
            .total
            .map_or(start + most, |total| total.min(start + most));
        if !(start..end).all(|i| level.proofs.contains_key(&i)) {
            return None;
        }
        level.taken += 1;
        let below_proofs = (start..end)
            .filter_map(|i| level.proofs.remove(&i))
            .collect();
        Some(Node {
            level: below + 1,
            index,
            nodes,
            below: below_proofs,
            wraps: last,
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

fn layer_name(level: usize) -> String {
    match level {
        1 => "leaf".into(),
        2 => "internal_for_leaf".into(),
        _ => format!("internal_recursive.{}", level - RECURSIVE),
    }
}
