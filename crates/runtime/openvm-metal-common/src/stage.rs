//! The stage that a thread is in: a tracing span, and a name for error messages.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;

thread_local! {
    static STAGES: RefCell<Vec<Arc<str>>> = const { RefCell::new(Vec::new()) };
}

/// Path of the stage that this thread is in, empty outside of all.
pub(crate) fn current_stage() -> Arc<str> {
    STAGES
        .with_borrow(|stages| stages.last().cloned())
        .unwrap_or_else(|| "".into())
}

/// Names the stage of this thread while it lives.
pub(crate) struct NamedStage {
    path: Arc<str>,
    _span: tracing::span::EnteredSpan,
    /// To be dropped on the thread that made it.
    _thread: PhantomData<*const ()>,
}

impl NamedStage {
    pub fn enter(path: Arc<str>) -> Self {
        STAGES.with_borrow_mut(|stages| stages.push(path.clone()));
        let span = tracing::info_span!("stage", %path).entered();
        Self {
            path,
            _span: span,
            _thread: PhantomData,
        }
    }
}

impl Drop for NamedStage {
    fn drop(&mut self) {
        STAGES.with_borrow_mut(|stages| {
            if let Some(position) = stages.iter().rposition(|path| *path == self.path) {
                stages.remove(position);
            }
        });
    }
}
