//! Nodes that read something, as long as they live.

use std::mem;
use std::sync::{Arc, Mutex, Weak};

use super::lock;
use super::node::Node;

/// Nodes that still have to read something and are not kept alive by it.
#[derive(Default)]
pub struct Readers(Mutex<Vec<Weak<Node>>>);

impl Readers {
    /// Notes a node. Where the list is full, dead ones leave it, and there is room for as many as are left.
    pub fn add(&self, node: &Arc<Node>) {
        let mut list = lock(&self.0);
        if list.len() == list.capacity() {
            list.retain(|reader| reader.strong_count() > 0);
            let alive = list.len();
            list.reserve(alive.max(4));
        }
        list.push(Arc::downgrade(node));
    }

    /// The reader that is alive, if there is exactly one.
    pub fn only(&self) -> Option<Arc<Node>> {
        let list = lock(&self.0);
        let mut alive = list.iter().filter_map(Weak::upgrade);
        let first = alive.next()?;
        alive
            .all(|other| Arc::ptr_eq(&other, &first))
            .then_some(first)
    }

    /// Readers that are alive; all are forgotten.
    pub fn take(&self) -> Vec<Arc<Node>> {
        let list = mem::take(&mut *lock(&self.0));
        list.iter().filter_map(Weak::upgrade).collect()
    }
}
