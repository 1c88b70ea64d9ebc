//! What a driver prepared for each kernel, found by the kernel's description.

use std::collections::HashMap;

use crate::kernel::KernelSpec;

/// Prepared kernels of a context.
pub(crate) struct KernelTable<P> {
    /// By address of the `static` description: what launchers pass.
    by_address: HashMap<usize, P>,
    /// By library, unit and name, should the compiler have copied the description.
    by_name: HashMap<(&'static str, &'static str, &'static str), P>,
}

impl<P: Clone> KernelTable<P> {
    pub fn new() -> Self {
        Self {
            by_address: HashMap::new(),
            by_name: HashMap::new(),
        }
    }

    pub fn insert(&mut self, kernel: &'static KernelSpec, prepared: P) {
        self.by_address
            .insert(std::ptr::from_ref(kernel) as usize, prepared.clone());
        self.by_name
            .insert((kernel.library, kernel.unit, kernel.name), prepared);
    }

    /// Forgets a kernel and gives back what was prepared.
    pub fn remove(&mut self, kernel: &KernelSpec) -> Option<P> {
        let address = std::ptr::from_ref(kernel) as usize;
        self.by_name
            .remove(&(kernel.library, kernel.unit, kernel.name));
        self.by_address.remove(&address)
    }

    pub fn get(&self, kernel: &'static KernelSpec) -> Option<&P> {
        let address = std::ptr::from_ref(kernel) as usize;
        self.by_address.get(&address).or_else(|| {
            self.by_name
                .get(&(kernel.library, kernel.unit, kernel.name))
        })
    }
}
