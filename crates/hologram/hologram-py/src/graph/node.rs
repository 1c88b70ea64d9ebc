//! Steps that are not computed yet.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use hologram_backends::Ty;
use hologram_core::expression::StepOp;
use pyo3::prelude::*;

use super::array::Slot;
use super::lock;
use super::readers::Readers;
use super::shape::Shape;
use super::value::{Leaf, Value};
use crate::errors::exception;

/// Nodes that live.
static ALIVE: AtomicUsize = AtomicUsize::new(0);

/// Number of recorded operations that something still needs, for tests.
#[pyfunction]
pub fn recorded_operations() -> usize {
    ALIVE.load(Ordering::Relaxed)
}

/// Operation of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The value as it is.
    Copy,
    /// A step.
    Step(StepOp),
}

impl Operation {
    /// The step called `name`.
    ///
    /// # Errors
    /// None is.
    pub fn from_name(name: &str) -> PyResult<Self> {
        let found = StepOp::from_name(name).map(Self::Step);
        found.ok_or_else(|| exception("ArgumentError", format!("no operation `{name}`")))
    }

    /// Elements as another type.
    pub fn convert(to: Ty) -> Self {
        Self::Step(StepOp::Convert(to))
    }
}

/// A step over a shape.
pub struct Node {
    /// Operation of the node.
    pub operation: Operation,
    /// Type of what it reads.
    pub of: Ty,
    /// Type of its result.
    pub ty: Ty,
    /// Shape of its result and of all that it reads.
    pub shape: Arc<Shape>,
    /// Steps to compute it; shared ones count for each use.
    pub steps: usize,
    /// True if it reads memory that may change at any time.
    pub eager: bool,
    state: Mutex<State>,
    users: Readers,
}

#[derive(Default)]
struct State {
    args: Vec<Value>,
    /// Place of its value, once it was computed.
    leaf: Option<Leaf>,
    /// Number of times it was computed for a fold, and not kept.
    folds: usize,
    /// Contents of the array that shows it.
    shown: Weak<Slot>,
}

impl Drop for Node {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Node {
    /// A step on values, which notes with what these read that it does so, too.
    pub fn new(
        operation: Operation,
        of: Ty,
        args: Vec<Value>,
        ty: Ty,
        shape: Arc<Shape>,
    ) -> Arc<Self> {
        let args: Vec<Value> = args.into_iter().map(Value::settled).collect();
        let (mut steps, mut eager) = (1usize, false);
        for arg in &args {
            match arg {
                Value::Node(node) => {
                    steps = steps.saturating_add(node.steps);
                    eager |= node.eager;
                }
                Value::Leaf(leaf) => eager |= leaf.storage.is_exported(),
                Value::Number(_) => {}
            }
        }
        ALIVE.fetch_add(1, Ordering::Relaxed);
        let made = Arc::new(Self {
            operation,
            of,
            ty,
            shape,
            steps,
            eager,
            state: Mutex::new(State {
                args,
                ..State::default()
            }),
            users: Readers::default(),
        });
        for arg in &lock(&made.state).args {
            match arg {
                Value::Node(node) => node.users.add(&made),
                Value::Leaf(leaf) => leaf.storage.readers.add(&made),
                Value::Number(_) => {}
            }
        }
        made
    }

    /// Values that it reads; none once it was computed.
    pub fn args(&self) -> Vec<Value> {
        lock(&self.state).args.clone()
    }

    /// The node that reads it, if there is exactly one.
    pub fn only_user(&self) -> Option<Arc<Self>> {
        self.users.only()
    }

    /// Number of the values that it reads which are a given node.
    pub fn uses_of(&self, node: &Arc<Self>) -> usize {
        let is_it = |arg: &&Value| matches!(arg, Value::Node(below) if Arc::ptr_eq(below, node));
        lock(&self.state).args.iter().filter(is_it).count()
    }

    /// Place of its value, once it was computed.
    pub fn leaf(&self) -> Option<Leaf> {
        lock(&self.state).leaf.clone()
    }

    /// True if it was computed.
    pub fn is_computed(&self) -> bool {
        lock(&self.state).leaf.is_some()
    }

    /// True if an array that is alive shows it.
    pub fn is_shown(&self) -> bool {
        lock(&self.state).shown.strong_count() > 0
    }

    /// Says which array shows it; none if the reference is empty.
    pub fn show_by(&self, slot: Weak<Slot>) {
        lock(&self.state).shown = slot;
    }

    /// Counts that it is computed for a fold; how often it was.
    pub fn count_fold(&self) -> usize {
        let mut state = lock(&self.state);
        state.folds += 1;
        state.folds
    }

    /// Notes where it was computed to: whoever still reads it reads this memory, and so does the array that still shows it.
    pub fn settle(&self, leaf: &Leaf) {
        for user in self.users.take() {
            if !user.is_computed() {
                leaf.storage.readers.add(&user);
            }
        }
        let mut state = lock(&self.state);
        state.leaf = Some(leaf.clone());
        let args = mem::take(&mut state.args);
        let shown = state.shown.upgrade();
        drop(state);
        // What they held goes without a lock.
        drop(args);
        if let Some(slot) = shown {
            slot.settle_node(self, leaf.clone());
        }
    }
}
