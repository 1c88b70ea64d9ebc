//! `SharedArray`: a sparse array whose clones share everything that is the same in both.

use std::sync::Arc;

/// Bits of an index that one level of nodes decides.
const BITS: u32 = 5;
/// Slots of a node.
const SLOTS: usize = 1 << BITS;

/// A sparse array of shared values, as a tree of nodes with 32 slots each.
///
/// A clone takes constant time. A change copies the nodes on the way to it, if a clone shares them, and nothing else.
pub struct SharedArray<T: ?Sized> {
    root: Option<Arc<Node<T>>>,
    /// Levels of inner nodes.
    depth: u32,
    len: usize,
}

// Leaves of fat pointers are twice as large as inner nodes, and most of all nodes.
#[expect(clippy::large_enum_variant)]
enum Node<T: ?Sized> {
    Inner([Option<Arc<Node<T>>>; SLOTS]),
    Leaf([Option<Arc<T>>; SLOTS]),
}

impl<T: ?Sized> Clone for Node<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Inner(children) => Self::Inner(children.clone()),
            Self::Leaf(values) => Self::Leaf(values.clone()),
        }
    }
}

impl<T: ?Sized> Node<T> {
    fn new(depth: u32) -> Self {
        match depth {
            0 => Self::Leaf([const { None }; SLOTS]),
            _ => Self::Inner([const { None }; SLOTS]),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Inner(children) => children.iter().all(Option::is_none),
            Self::Leaf(values) => values.iter().all(Option::is_none),
        }
    }

    fn entry(&mut self, index: u64, depth: u32, value: impl FnOnce() -> Arc<T>) -> &mut Arc<T> {
        match self {
            Self::Inner(children) => {
                let child = children[slot(index, depth)]
                    .get_or_insert_with(|| Arc::new(Self::new(depth - 1)));
                Arc::make_mut(child).entry(index, depth - 1, value)
            }
            Self::Leaf(values) => values[slot(index, 0)].get_or_insert_with(value),
        }
    }

    /// Removes a value, which is there. True if the node is empty now.
    fn remove(&mut self, index: u64, depth: u32) -> bool {
        match self {
            Self::Inner(children) => {
                let child = &mut children[slot(index, depth)];
                let node = child.as_mut().expect("the value is there");
                if Arc::make_mut(node).remove(index, depth - 1) {
                    *child = None;
                }
            }
            Self::Leaf(values) => values[slot(index, 0)] = None,
        }
        self.is_empty()
    }

    fn visit(&self, prefix: u64, visit: &mut impl FnMut(u64)) {
        let below = |slot: usize| prefix << BITS | slot as u64;
        match self {
            Self::Inner(children) => {
                for (i, child) in children.iter().enumerate() {
                    if let Some(child) = child {
                        child.visit(below(i), visit);
                    }
                }
            }
            Self::Leaf(values) => {
                let held = values
                    .iter()
                    .enumerate()
                    .filter(|(_, value)| value.is_some());
                held.for_each(|(i, _)| visit(below(i)));
            }
        }
    }
}

/// Slot of an index in a node above `depth` levels.
fn slot(index: u64, depth: u32) -> usize {
    (index >> (BITS * depth)) as usize % SLOTS
}

fn is_same<T: ?Sized>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn differences<T: ?Sized>(
    new: Option<&Arc<Node<T>>>,
    old: Option<&Arc<Node<T>>>,
    prefix: u64,
    visit: &mut impl FnMut(u64, Option<&Arc<T>>),
) {
    if is_same(new, old) {
        return;
    }
    for i in 0..SLOTS {
        let index = prefix << BITS | i as u64;
        match (new.map(Arc::as_ref), old.map(Arc::as_ref)) {
            (Some(Node::Leaf(_)), _) | (_, Some(Node::Leaf(_))) => {
                let value = |node: Option<&'_ Arc<Node<T>>>| match node.map(Arc::as_ref) {
                    Some(Node::Leaf(values)) => values[i].clone(),
                    _ => None,
                };
                let (new, old) = (value(new), value(old));
                if !is_same(new.as_ref(), old.as_ref()) {
                    visit(index, new.as_ref());
                }
            }
            (new, old) => differences(child(new, i), child(old, i), index, visit),
        }
    }
}

fn child<T: ?Sized>(node: Option<&Node<T>>, slot: usize) -> Option<&Arc<Node<T>>> {
    match node? {
        Node::Inner(children) => children[slot].as_ref(),
        Node::Leaf(_) => None,
    }
}

impl<T: ?Sized> Clone for SharedArray<T> {
    fn clone(&self) -> Self {
        Self {
            root: self.root.clone(),
            ..*self
        }
    }
}

impl<T: ?Sized> std::fmt::Debug for SharedArray<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedArray of {} values", self.len)
    }
}

impl<T: ?Sized> SharedArray<T> {
    /// An empty array for indices below `bound`.
    pub fn new(bound: u64) -> Self {
        let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
        Self {
            root: None,
            depth: bits.div_ceil(BITS).max(1) - 1,
            len: 0,
        }
    }

    /// Values that are held.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, index: u64) -> Option<&Arc<T>> {
        self.check(index);
        let mut node = self.root.as_deref()?;
        let mut depth = self.depth;
        loop {
            match node {
                Node::Inner(children) => node = children[slot(index, depth)].as_deref()?,
                Node::Leaf(values) => return values[slot(index, 0)].as_ref(),
            }
            depth -= 1;
        }
    }

    /// Refuses an index that would be another one's slot.
    fn check(&self, index: u64) {
        let above = index.checked_shr(BITS * (self.depth + 1)).unwrap_or(0);
        debug_assert!(above == 0, "index {index} in {} levels", self.depth + 1);
    }

    /// The value at an index, or `value` if there is none.
    pub fn entry(&mut self, index: u64, value: impl FnOnce() -> Arc<T>) -> &mut Arc<T> {
        self.check(index);
        let depth = self.depth;
        let root = self.root.get_or_insert_with(|| Arc::new(Node::new(depth)));
        let len = &mut self.len;
        Arc::make_mut(root).entry(index, depth, || {
            *len += 1;
            value()
        })
    }

    pub fn insert(&mut self, index: u64, value: Arc<T>) {
        *self.entry(index, || value.clone()) = value.clone();
    }

    pub fn remove(&mut self, index: u64) {
        if self.get(index).is_none() {
            return;
        }
        self.len -= 1;
        if let Some(root) = &mut self.root {
            if Arc::make_mut(root).remove(index, self.depth) {
                self.root = None;
            }
        }
    }

    /// Indices of the values that are held, ascending.
    pub fn indices(&self) -> Vec<u64> {
        let mut indices = Vec::with_capacity(self.len);
        if let Some(root) = &self.root {
            root.visit(0, &mut |index| indices.push(index));
        }
        indices
    }

    /// Calls `visit` with each index, ascending, at which this array and `old` do not share a value, and with this one's. Both have the same
    /// bound. It takes as long as there are differences, however much is the same.
    pub fn differences(&self, old: &Self, mut visit: impl FnMut(u64, Option<&Arc<T>>)) {
        assert_eq!(self.depth, old.depth, "arrays of the same bound");
        differences(self.root.as_ref(), old.root.as_ref(), 0, &mut visit);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::{rngs::StdRng, Rng, SeedableRng};

    use super::*;

    type Model = BTreeMap<u64, u32>;

    fn check(array: &SharedArray<u32>, model: &Model, bound: u64) {
        assert_eq!(array.len(), model.len());
        assert!(array.indices().into_iter().eq(model.keys().copied()));
        for index in (0..bound).take(200).chain(model.keys().copied()) {
            assert_eq!(
                array.get(index).map(|value| **value),
                model.get(&index).copied()
            );
        }
        assert_eq!(
            array.root.is_none(),
            model.is_empty(),
            "empty nodes are not held"
        );
    }

    /// Arrays and clones of them under random changes, with a map of each.
    #[test]
    fn clones_change_apart_and_their_differences_are_found() {
        for seed in 0..30 {
            let mut rng = StdRng::seed_from_u64(seed);
            let bound = [1, 31, 32, 33, 1 << 10, 1 << 25][rng.random_range(0..6)];
            let mut all = vec![(SharedArray::new(bound), Model::new())];
            for _ in 0..12 {
                let (mut array, mut model) = all[rng.random_range(0..all.len())].clone();
                for _ in 0..rng.random_range(0..100) {
                    let most = 1 << rng.random_range(0..26);
                    let index = rng.random_range(0..bound.min(most));
                    let value = rng.random();
                    match rng.random_range(0..3) {
                        0 => {
                            array.remove(index);
                            model.remove(&index);
                        }
                        1 => {
                            array.insert(index, Arc::new(value));
                            model.insert(index, value);
                        }
                        _ => {
                            *Arc::make_mut(array.entry(index, || Arc::new(7))) ^= value;
                            *model.entry(index).or_insert(7) ^= value;
                        }
                    }
                }
                all.push((array, model));
            }
            for (array, model) in &all {
                check(array, model, bound);
                for (old, old_model) in &all {
                    // The differences make one the other, and name nothing that both share.
                    let mut made = old_model.clone();
                    let mut last = None;
                    array.differences(old, |index, value| {
                        assert!(last < Some(index));
                        last = Some(index);
                        assert!(!is_same(array.get(index), old.get(index)));
                        match value {
                            Some(value) => made.insert(index, **value),
                            None => made.remove(&index),
                        };
                    });
                    assert_eq!(&made, model, "seed {seed}");
                }
                array.differences(&array.clone(), |index, _| panic!("{index} is shared"));
            }
        }
    }
}
