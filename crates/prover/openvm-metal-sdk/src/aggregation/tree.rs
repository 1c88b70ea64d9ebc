//! `Tree`: which node can be proved when, from the proofs of segments to one proof. The grouping is that of
//! [`Shape`] and does not depend on the order in which nodes are proved.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use openvm_sdk::config::AggregationTreeConfig;
use openvm_stark_backend::proof::Proof;
use openvm_verify_stark_host::vk::VerificationBaseline;

use super::{
    check::{span_below, NodeCheck},
    node::{prove_node, stage_of, ProvedNode},
    resume::{NodeFile, NodeFolder},
    shape::{layer_name, Shape, RECURSIVE},
    AggregationKeys,
};
use crate::{
    app::Kept,
    devices::{Fleet, Turns, Work},
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
    let turns = Turns::new(1);
    let device = (keys.station.name().to_owned(), keys.capacity());
    let fleet = Fleet::new([device].into_iter(), &turns);
    let tree = Tree::new(config, options, &fleet, None);
    for (index, proof) in segments.iter().enumerate() {
        tree.add_segment(index, proof.clone())?;
    }
    tree.close(segments.len());
    let keys = TreeKeys {
        on_devices: vec![keys],
        baseline: None,
    };
    tree.work(&keys, 1)?;
    tree.finish()
}

/// Keys that nodes are proved and verified with.
pub(crate) struct TreeKeys<'a, E: SdkEngine> {
    /// On each device of the fleet.
    pub on_devices: Vec<&'a AggregationKeys<E>>,
    /// Against which nodes are verified as they are made. Without it none can be taken from a folder.
    pub baseline: Option<&'a VerificationBaseline>,
}

/// The tree while it grows. Threads [`work`](Self::work) on it while others add segments.
pub(crate) struct Tree<'a> {
    shape: Shape,
    options: &'a ProveOptions<'a>,
    fleet: &'a Fleet<'a>,
    /// Folder of stored proofs.
    folder: Option<NodeFolder>,
    state: Mutex<State<Proof<SC>>>,
    changed: Condvar,
}

/// Progress of the tree. `P` is a proof.
struct State<P> {
    levels: Vec<Level<P>>,
    /// The last proof and the number of internal-recursive levels.
    result: Option<(P, usize)>,
    stopped: bool,
    busy: Duration,
}

/// The proofs of a level that nodes of the next one have not taken yet.
struct Level<P> {
    proofs: BTreeMap<usize, P>,
    /// Number of proofs of the level, once that is known.
    total: Option<usize>,
    /// Nodes of the next level below this number were begun, and so were those in `taken`.
    next: usize,
    taken: BTreeSet<usize>,
}

/// A node to prove.
struct Node<P> {
    /// The level of the node itself.
    level: usize,
    index: usize,
    /// Number of nodes of the level, once that is known.
    nodes: Option<usize>,
    below: Vec<P>,
    /// It wraps the last node of the tree.
    wraps: bool,
}

impl<'a> Tree<'a> {
    pub fn new(
        config: &AggregationTreeConfig,
        options: &'a ProveOptions<'a>,
        fleet: &'a Fleet<'a>,
        folder: Option<NodeFolder>,
    ) -> Self {
        Self {
            shape: Shape::new(config),
            options,
            fleet,
            folder,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The same tree without the node that makes the last proof smaller.
    pub fn unwrapped(mut self) -> Self {
        self.shape = self.shape.unwrapped();
        self
    }

    /// The proof of segment `index`. Segments may come in any order.
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
        self.lock().close(segments, &self.shape);
        let nodes = self.shape.levels(segments).iter().skip(1).sum();
        self.options.progress.event(Event::NodesCounted { nodes });
        self.changed.notify_all();
    }

    /// Makes every [`work`](Self::work) return after its current node.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Proves nodes on so many threads, waiting for those that cannot be proved yet, until the tree is done or stopped. An error
    /// stops the tree.
    pub fn work<E: SdkEngine>(
        &self,
        keys: &TreeKeys<'_, E>,
        threads: usize,
    ) -> Result<(), SdkError> {
        let work = || {
            let result = guard(Stage::Pipeline, || self.prove_nodes(keys));
            result
                .and_then(|result| result)
                .inspect_err(|_| self.stop())
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let others = others.into_iter();
            others.fold(own, |result, other| {
                result.and(other.join().expect("panics are errors"))
            })
        })
    }

    fn prove_nodes<E: SdkEngine>(&self, keys: &TreeKeys<'_, E>) -> Result<(), SdkError> {
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
            let (proof, time) = self.prove(keys, &node)?;
            state = self.lock();
            state.busy += time;
            state.put(node, proof);
            state.settle(&self.shape);
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
        let (proof, internal_recursive_layers) =
            state.result.ok_or(SdkError::NothingToAggregate)?;
        Ok(Aggregated {
            proof,
            internal_recursive_layers,
        })
    }

    /// Time that nodes took so far, their traces included.
    pub fn busy(&self) -> Duration {
        self.lock().busy
    }

    fn lock(&self) -> MutexGuard<'_, State<Proof<SC>>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Proves a node, or finds its proof; gives the time of that without the wait for a device.
    fn prove<E: SdkEngine>(
        &self,
        keys: &TreeKeys<'_, E>,
        node: &Node<Proof<SC>>,
    ) -> Result<(Proof<SC>, Duration), SdkError> {
        self.options.check_cancelled()?;
        let check = keys.check_of(node)?;
        let file = self.folder.as_ref().and_then(|folder| {
            let vk = keys.on_devices[0].node_vk(node.level);
            let file = NodeFile::new(vk, (node.level, node.index), &node.below)?;
            Some((folder, file))
        });
        if let (Some((folder, file)), Some(check)) = (&file, &check) {
            if let Some(proof) = self.find(folder, file, check)? {
                self.options.progress.event(Event::NodeResumed {
                    layer: &layer_name(node.level),
                    node: node.index,
                    nodes: node.nodes,
                });
                return Ok((proof, Duration::ZERO));
            }
        }
        let proved = self.make(&keys.on_devices, node, check)?;
        if let Some((folder, file)) = &file {
            folder.store(file, &proved.proof)?;
        }
        self.options.progress.event(Event::NodeProved {
            layer: &layer_name(node.level),
            node: node.index,
            nodes: node.nodes,
            device: self.fleet.name(proved.device),
        });
        Ok((proved.proof, proved.time))
    }

    /// The proof of a node from the folder, which verifies. A file that holds none is set aside.
    fn find(
        &self,
        folder: &NodeFolder,
        file: &NodeFile,
        check: &NodeCheck<'_>,
    ) -> Result<Option<Proof<SC>>, SdkError> {
        let found = folder
            .load(file)?
            .and_then(|proof| match check.check(&proof) {
                Ok(_) => Kept::Part(proof),
                Err(reason) => Kept::Bad(format!("is not accepted: {reason}")),
            });
        match found {
            Kept::None => Ok(None),
            Kept::Part(proof) => Ok(Some(proof)),
            Kept::Bad(reason) => {
                folder.refuse(file, &reason, self.options.progress)?;
                Ok(None)
            }
        }
    }

    /// Proves a node, and once more if the first proof is refused.
    fn make<E: SdkEngine>(
        &self,
        keys: &[&AggregationKeys<E>],
        node: &Node<Proof<SC>>,
        check: Option<NodeCheck<'_>>,
    ) -> Result<ProvedNode, SdkError> {
        let mut refused = None;
        loop {
            let place = (node.level, node.index);
            let before = refused.as_ref();
            let proved = prove_node(keys, self.fleet, place, &node.below, before)?;
            let Some(Err(reason)) = check.as_ref().map(|check| check.check(&proved.proof)) else {
                return Ok(proved);
            };
            let tell = |excluded| {
                self.options.progress.event(Event::NodeRefused {
                    layer: &layer_name(node.level),
                    node: node.index,
                    device: self.fleet.name(proved.device),
                    reason: &reason,
                    excluded,
                });
            };
            let stage = stage_of(node.level, node.index);
            refused = Some(self.fleet.refuse(
                proved.device,
                Work::Node,
                stage,
                reason.clone(),
                before,
                tell,
            )?);
        }
    }
}

impl<E: SdkEngine> TreeKeys<'_, E> {
    /// Verifier of nodes, if they are verified one by one.
    ///
    /// # Errors
    /// [`SdkError::WrongProof`] if the proofs below it do not join.
    fn check_of(&self, node: &Node<Proof<SC>>) -> Result<Option<NodeCheck<'_>>, SdkError> {
        let Some(baseline) = self.baseline else {
            return Ok(None);
        };
        let (level, index) = (node.level, node.index);
        let whole = span_below(level, &node.below).ok_or_else(|| SdkError::WrongProof {
            task: format!(
                "the proofs below node {index} of layer {}",
                layer_name(level)
            ),
            reason: "they do not join".into(),
        })?;
        Ok(Some(NodeCheck {
            vk: self.on_devices[0].node_vk(level),
            baseline,
            level,
            whole,
        }))
    }
}

impl<P> Default for State<P> {
    fn default() -> Self {
        Self {
            levels: Vec::new(),
            result: None,
            stopped: false,
            busy: Duration::ZERO,
        }
    }
}

impl<P> State<P> {
    fn level(&mut self, level: usize) -> &mut Level<P> {
        while self.levels.len() <= level {
            self.levels.push(Level {
                proofs: BTreeMap::new(),
                total: None,
                next: 0,
                taken: BTreeSet::new(),
            });
        }
        &mut self.levels[level]
    }

    /// Sets the number of segments, and with it those of all levels.
    fn close(&mut self, segments: usize, shape: &Shape) {
        self.level(0).total = Some(segments);
        let mut levels = shape.levels(segments);
        if shape.is_wrapped() {
            // The wrapping node belongs to no level.
            levels.pop();
        }
        for (level, &total) in levels.iter().enumerate() {
            self.level(level).total = Some(total);
        }
        self.settle(shape);
    }

    /// Takes the proof of the last node as the result of a tree that is not wrapped.
    fn settle(&mut self, shape: &Shape) {
        if shape.is_wrapped() {
            return;
        }
        for (number, level) in self.levels.iter_mut().enumerate() {
            let is_last = level.total.is_some_and(|total| Shape::wraps(number, total));
            let last = is_last.then(|| level.proofs.remove(&0)).flatten();
            if let Some(proof) = last {
                self.result = Some((proof, number - RECURSIVE + 1));
            }
        }
    }

    /// A node whose children exist, of the highest level that has one.
    fn take(&mut self, shape: &Shape) -> Option<Node<P>> {
        (0..self.levels.len())
            .rev()
            .find_map(|level| self.take_above(level, shape))
    }

    /// The first node over a level whose children exist and that was not taken up.
    fn take_above(&mut self, below: usize, shape: &Shape) -> Option<Node<P>> {
        let level = &mut self.levels[below];
        let wraps = level.total.is_some_and(|total| Shape::wraps(below, total));
        if wraps && !shape.is_wrapped() {
            return None;
        }
        let nodes = level.total.map(|total| shape.above(below, total));
        let highest = level
            .proofs
            .last_key_value()
            .map(|(&index, _)| index / shape.children(below))?;
        let total = level.total.unwrap_or(usize::MAX);
        let range = |index: usize| shape.below(below + 1, index, total);
        let index = (level.next..=highest).find(|&index| {
            !level.taken.contains(&index) && range(index).all(|i| level.proofs.contains_key(&i))
        })?;
        level.taken.insert(index);
        while level.taken.remove(&level.next) {
            level.next += 1;
        }
        let below_proofs = range(index)
            .filter_map(|i| level.proofs.remove(&i))
            .collect();
        Some(Node {
            level: below + 1,
            index,
            nodes,
            below: below_proofs,
            wraps,
        })
    }

    fn put(&mut self, node: Node<P>, proof: P) {
        if node.wraps {
            self.result = Some((proof, node.level - RECURSIVE + 1));
            return;
        }
        self.level(node.level).proofs.insert(node.index, proof);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape {
        Shape::new(&AggregationTreeConfig {
            num_children_leaf: 3,
            num_children_internal: 2,
        })
    }

    /// The leaves that can be taken when proofs come in this order, in the order in which they can. `None` says
    /// that there are `total`.
    fn leaves(order: impl IntoIterator<Item = Option<usize>>, total: usize) -> Vec<usize> {
        let mut state = State::default();
        let mut leaves = Vec::new();
        for event in order {
            match event {
                Some(index) => {
                    state.level(0).proofs.insert(index, index);
                }
                None => state.close(total, &shape()),
            }
            while let Some(node) = state.take(&shape()) {
                assert_eq!(node.level, 1);
                let end = (node.index * 3 + 3).min(total);
                assert_eq!(node.below, (node.index * 3..end).collect::<Vec<_>>());
                leaves.push(node.index);
            }
        }
        leaves
    }

    #[test]
    fn a_leaf_starts_when_its_segments_are_proved_whatever_the_others_do() {
        let in_order = (0..8).map(Some).chain([None]);
        assert_eq!(leaves(in_order, 8), [0, 1, 2]);
        let backwards = (0..8).rev().map(Some).chain([None]);
        assert_eq!(leaves(backwards, 8), [1, 0, 2]);
        let closed_first = [None, Some(7), Some(6), Some(3), Some(5), Some(4), Some(0)];
        assert_eq!(leaves(closed_first, 8), [2, 1]);
        assert_eq!(leaves([Some(0), None], 1), [0]);
    }

    /// Proves a whole tree: of the nodes that can be proved always the first, or always the last.
    fn whole(segments: usize, from_the_end: bool) -> Vec<(usize, usize, Vec<String>)> {
        let mut state = State::default();
        for index in 0..segments {
            state.level(0).proofs.insert(index, index.to_string());
        }
        state.close(segments, &shape());
        let (mut ready, mut done) = (Vec::new(), Vec::new());
        while state.result.is_none() {
            ready.extend(std::iter::from_fn(|| state.take(&shape())));
            let place = if from_the_end { ready.len() - 1 } else { 0 };
            let node: Node<String> = ready.remove(place);
            done.push((node.level, node.index, node.below.clone()));
            let name = format!("{}:{}", node.level, node.index);
            state.put(node, name);
        }
        done.sort();
        done
    }

    #[test]
    fn the_grouping_does_not_depend_on_the_order() {
        for segments in [1, 2, 3, 4, 19] {
            let nodes = whole(segments, false);
            assert_eq!(nodes, whole(segments, true));
            let last = nodes.last().unwrap();
            assert_eq!((last.1, last.2.len()), (0, 1), "the last node wraps one");
        }
        let levels: Vec<usize> = whole(19, false).iter().map(|node| node.0).collect();
        assert_eq!(levels, [1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5]);
    }

    /// The last node is the result of a tree without the wrapping node, whether it is proved before or after the number of segments is known.
    #[test]
    fn a_tree_that_is_not_wrapped_ends_in_its_last_node() {
        let shape = shape().unwrapped();
        for closed_first in [true, false] {
            let mut state = State::default();
            if closed_first {
                state.close(6, &shape);
            }
            for index in 0..6 {
                state.level(0).proofs.insert(index, index.to_string());
            }
            let mut done = Vec::new();
            loop {
                let Some(node) = state.take(&shape) else {
                    if state.level(0).total.is_some() {
                        break;
                    }
                    state.close(6, &shape);
                    continue;
                };
                done.push((node.level, node.index));
                let name = format!("{}:{}", node.level, node.index);
                state.put(node, name);
                state.settle(&shape);
            }
            assert_eq!(done, [(1, 0), (1, 1), (2, 0), (3, 0)]);
            assert_eq!(state.result, Some(("3:0".to_owned(), 1)));
        }
    }
}
