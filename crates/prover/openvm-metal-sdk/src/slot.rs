//! `Slot`: something that is made when it is first needed, and kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{error::SdkError, own_thread::on_own_thread};

/// Something that is made when it is first needed.
pub(crate) struct Slot<T>(Mutex<Option<Arc<T>>>);

impl<T: Send + Sync> Slot<T> {
    pub fn new(value: Option<T>) -> Self {
        Self(Mutex::new(value.map(Arc::new)))
    }

    /// Gives the value, or makes it by `make` and keeps it. Other threads wait meanwhile.
    pub fn get_or_try(
        &self,
        make: impl FnOnce() -> Result<T, SdkError> + Send,
    ) -> Result<Arc<T>, SdkError> {
        // A value that is made needs no other thread.
        let made = self.0.try_lock().ok().and_then(|slot| slot.clone());
        if let Some(value) = made {
            return Ok(value);
        }
        on_own_thread(|| {
            let mut slot = lock(&self.0);
            if let Some(value) = &*slot {
                return Ok(value.clone());
            }
            let value = Arc::new(make()?);
            *slot = Some(value.clone());
            Ok(value)
        })
    }
}

/// Locks a mutex whose data stay consistent even if a holder panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
