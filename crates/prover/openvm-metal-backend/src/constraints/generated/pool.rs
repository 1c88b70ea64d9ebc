//! Units on their way: threads compile them beside everything else, and units of one text are shared.

use std::{
    collections::VecDeque,
    panic::{catch_unwind, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
};

use openvm_metal_common::{MetalContext, RuntimeUnit};
use serde::Serialize;

use super::compile::{key, Compiler};

/// Threads that compile at the same time, at most.
const MAX_COMPILERS: usize = 8;

/// A unit that is compiled, or will be.
pub struct Unit {
    context: MetalContext,
    key: String,
    state: Mutex<State>,
    ended: Condvar,
}

enum State {
    Waiting,
    Ready(Arc<RuntimeUnit>),
    Failed(String),
}

impl std::fmt::Debug for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unit")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// State of the compilation of a key's kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KernelReport {
    /// Units that are ready, and those that are still compiled.
    pub ready: usize,
    pub pending: usize,
    /// Reasons why other kernels will never be ready: their rules are interpreted.
    pub failed: Vec<String>,
}

impl KernelReport {
    /// Counts all these units, each once.
    pub fn of<'a>(units: impl IntoIterator<Item = &'a Arc<Unit>>) -> Self {
        let (mut report, mut seen) = (Self::default(), Vec::new());
        for unit in units {
            if seen.iter().any(|known| Arc::ptr_eq(known, unit)) {
                continue;
            }
            seen.push(unit.clone());
            match &*lock(&unit.state) {
                State::Ready(_) => report.ready += 1,
                State::Waiting => report.pending += 1,
                State::Failed(reason) => report.failed.push(reason.clone()),
            }
        }
        report
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unit {
    /// The unit if it is ready; with `wait` not before its compilation has ended.
    pub fn get(&self, wait: bool) -> Option<Arc<RuntimeUnit>> {
        let mut state = lock(&self.state);
        loop {
            match &*state {
                State::Ready(unit) => return Some(unit.clone()),
                State::Failed(_) => return None,
                State::Waiting if !wait => return None,
                State::Waiting => {
                    state = self
                        .ended
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn end(&self, result: Result<RuntimeUnit, String>) {
        *lock(&self.state) = match result {
            Ok(unit) => State::Ready(Arc::new(unit)),
            Err(reason) => {
                tracing::warn!(%reason, "rules are interpreted");
                State::Failed(reason)
            }
        };
        self.ended.notify_all();
    }
}

/// Work that is not begun yet, the number of threads at work, and the units that are held.
#[derive(Default)]
struct Pool {
    waiting: VecDeque<Box<dyn FnOnce() + Send>>,
    threads: usize,
    units: Vec<Weak<Unit>>,
}

static POOL: Mutex<Option<Pool>> = Mutex::new(None);

/// The unit of a text with so many kernels on a device: known, or begun now if there is a compiler for it.
pub fn unit(
    context: &MetalContext,
    compiler: Result<Compiler, String>,
    text: String,
    kernels: usize,
) -> Arc<Unit> {
    let key = key(&text);
    let mut pool = lock(&POOL);
    let pool = pool.get_or_insert_with(Pool::default);
    pool.units.retain(|unit| unit.strong_count() > 0);
    let mut known = pool.units.iter().filter_map(Weak::upgrade);
    let same = known.find(|unit| unit.key == key && unit.context.same_as(context));
    if let Some(unit) = same {
        return unit;
    }
    let unit = Arc::new(Unit {
        context: context.clone(),
        key,
        state: Mutex::new(State::Waiting),
        ended: Condvar::new(),
    });
    let compiler = match compiler {
        Ok(compiler) => compiler,
        Err(reason) => {
            unit.end(Err(reason));
            return unit;
        }
    };
    pool.units.push(Arc::downgrade(&unit));
    // A key that is dropped is not compiled any more.
    let wanted = Arc::downgrade(&unit);
    pool.waiting.push_back(Box::new(move || {
        let Some(unit) = wanted.upgrade() else {
            return;
        };
        let context = unit.context.clone();
        // The compiler, and with it a temporary folder, is gone before anybody is told of the end.
        let load = move || {
            let source = compiler.compile(&text, kernels)?;
            let loaded = context.load_unit(&source);
            loaded.map_err(|error| error.to_string())
        };
        let panicked = |_| Err("the compilation of rules panicked".into());
        unit.end(catch_unwind(AssertUnwindSafe(load)).unwrap_or_else(panicked));
    }));
    let most = thread::available_parallelism().map_or(1, usize::from);
    if pool.threads < most.min(MAX_COMPILERS) {
        let spawned = thread::Builder::new().name("rules".into()).spawn(work);
        pool.threads += usize::from(spawned.is_ok());
    }
    if pool.threads == 0 {
        // The system gives no thread: the rules stay with the interpreter.
        pool.waiting.clear();
        unit.end(Err("no thread to compile rules".into()));
    }
    unit
}

fn work() {
    loop {
        let next = {
            let mut pool = lock(&POOL);
            let Some(pool) = pool.as_mut() else { return };
            match pool.waiting.pop_front() {
                Some(next) => next,
                None => {
                    pool.threads -= 1;
                    return;
                }
            }
        };
        next();
    }
}
