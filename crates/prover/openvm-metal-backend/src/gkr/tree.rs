//! The layers above the leaves.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice};
use p3_field::PrimeCharacteristicRing;

use super::{host, layer::Padding, FracLayer};
use crate::error::MetalProverError;
use crate::kernels;
use crate::params::GkrBuildParams;
use crate::prelude::{EF, F};

/// Numerators and denominators of a layer in device memory.
pub(super) enum LayerNodes<'a> {
    /// The leaves: numerators in the base field.
    Leaves(MetalSlice<'a, F>, MetalSlice<'a, EF>),
    /// A layer above the leaves: four planes of coefficients each.
    Planes(MetalSlice<'a, F>, MetalSlice<'a, F>),
}

impl<'a> LayerNodes<'a> {
    fn of_leaves(leaves: &'a FracLayer) -> Self {
        Self::Leaves(
            leaves.numerators().as_slice(),
            leaves.denominators().as_slice(),
        )
    }

    fn of_slot(slot: &'a MetalBuffer<F>) -> Self {
        let half = slot.len() / 2;
        Self::Planes(slot.slice(..half), slot.slice(half..))
    }

    /// Reads both columns and, before them, another slice, with one wait.
    #[allow(clippy::type_complexity)]
    pub fn read_with(
        &self,
        s: &CommandStream,
        first: MetalSlice<'_, F>,
    ) -> Result<(Vec<F>, Vec<EF>, Vec<EF>), MetalProverError> {
        let (p, q) = match self {
            Self::Leaves(p, q) => (*p, q.cast()?),
            Self::Planes(p, q) => (*p, *q),
        };
        let mut words = s.read_many(&[first, p, q])?.into_iter();
        let [first, p, q] = std::array::from_fn(|_| words.next().unwrap_or_default());
        let (p, q) = match self {
            Self::Leaves(..) => (p.into_iter().map(EF::from).collect(), host::from_words(&q)),
            Self::Planes(..) => (host::from_planes(&p), host::from_planes(&q)),
        };
        Ok((first, p, q))
    }
}

/// The binary tree of fraction sums over `2^n` leaves.
///
/// Layer `m` has `2^m` nodes. The leaves keep their own buffers; a layer `m < n` on the device is slot
/// `m`, `2^(m+1)` extension elements: numerators, then denominators, each as four planes, one per
/// coefficient (the word of element `i` and coefficient `c` is `c 2^m + i`). The table of the sumcheck of layer `m`
/// after `j` folds takes slot `m - j`, whose layer is not needed any more: columns `a, b, c, d`, each
/// as four planes of `2^(m-1-j)` rows. So all slots together take 32 bytes per leaf, and nothing else
/// grows with the leaves.
pub(super) struct FracTree {
    leaves: FracLayer,
    log_len: usize,
    /// Slots `lowest..log_len`.
    slots: Vec<MetalBuffer<F>>,
    lowest: usize,
    /// Layers `0..=log_host`.
    host: Vec<(Vec<EF>, Vec<EF>)>,
}

impl FracTree {
    /// Sums up, on the device as long as a layer has more than `2^log_host` nodes, two layers per
    /// dispatch; layers `0..=log_host` end on the host, with one wait. If there are slots, they begin at `below` at the latest.
    pub fn build(
        s: &CommandStream,
        leaves: FracLayer,
        log_host: usize,
        below: usize,
    ) -> Result<Self, MetalProverError> {
        let log_len = leaves.log_len();
        let log_host = log_host.clamp(1, log_len);
        let lowest = if log_len > log_host {
            below.min(log_host - 1)
        } else {
            log_len
        };
        let slots = (lowest..log_len).map(|m| MetalBuffer::uninit(s.context(), 8 << m));
        let slots = slots.collect::<Result<Vec<_>, _>>()?;
        let mut tree = Self {
            leaves,
            log_len,
            slots,
            lowest,
            host: Vec::new(),
        };

        let mut layer = log_len;
        while layer > log_host {
            tree.build_two(s, layer)?;
            layer -= 2;
        }
        let layer = tree.layer(log_host);
        let (_, p, q) = layer.read_with(s, tree.leaves.denominators().slice(..1).cast()?)?;
        let mut top = (p, q);
        s.count_host_work("gkr: outer layers of the tree", 1 << log_host);
        for _ in 0..log_host {
            let above = host::parents(&top.0, &top.1);
            tree.host.push(std::mem::replace(&mut top, above));
        }
        tree.host.push(top);
        tree.host.reverse();
        Ok(tree)
    }

    /// Layers `m - 1` and `m - 2` from layer `m`, `m >= 2`.
    fn build_two(&mut self, s: &CommandStream, m: usize) -> Result<(), MetalProverError> {
        let quads = 1usize << (m - 2);
        let mut params = GkrBuildParams {
            quads: quads as u64,
            real: quads as u64,
            padding: EF::ZERO,
        };
        let mut threads = quads;
        if let Some(padding) = self.padding_of(m) {
            let real = padding.real(quads);
            params.real = real as u64;
            params.padding = padding.denominator(m);
            if padding.is_left_out(m - 2) {
                threads = real;
            }
        }
        let grid = Grid::threads(threads);
        let (below, above) = self.slots.split_at_mut(m - self.lowest);
        // Layer m - 2 may lie below the lowest slot that is kept; then it is written and forgotten.
        let mut forgotten = None;
        let (grandparents, parents) = match below {
            [.., grandparents, parents] => (grandparents, parents),
            [parents] => {
                let scratch = MetalBuffer::uninit(s.context(), 8 * quads)?;
                (forgotten.insert(scratch), parents)
            }
            [] => return Ok(()),
        };
        let input = match above.first() {
            None => LayerNodes::of_leaves(&self.leaves),
            Some(slot) => LayerNodes::of_slot(slot),
        };
        match input {
            LayerNodes::Leaves(p, q) => {
                kernels::gkr_build_leaves(s, grid, p, q, parents, grandparents, &params)?
            }
            LayerNodes::Planes(p, q) => {
                kernels::gkr_build_planes(s, grid, p, q, parents, grandparents, &params)?
            }
        }
        Ok(())
    }

    /// The padding of layer `m`, if it is left out there.
    pub fn padding_of(&self, m: usize) -> Option<Padding> {
        let padding = self.leaves.padding();
        padding.filter(|padding| padding.is_left_out(m))
    }

    /// Log of the number of leaves.
    pub fn log_len(&self) -> usize {
        self.log_len
    }

    /// Node `i` of layer `m`, which is 0 or 1: these layers are always on the host.
    pub fn host_node(&self, m: usize, i: usize) -> (EF, EF) {
        (self.host[m].0[i], self.host[m].1[i])
    }

    /// Layer `m`, if it is on the host.
    pub fn host_layer(&self, m: usize) -> Option<(&[EF], &[EF])> {
        self.host.get(m).map(|(p, q)| (&p[..], &q[..]))
    }

    /// Layer `m`, one that was built on the device or the leaves.
    pub fn layer(&self, m: usize) -> LayerNodes<'_> {
        match self.slots.get(m - self.lowest) {
            None => LayerNodes::of_leaves(&self.leaves),
            Some(slot) => LayerNodes::of_slot(slot),
        }
    }

    /// Layer `m`, to be read, and slot `m - 1`, to be written.
    pub fn layer_and_slot_below(&mut self, m: usize) -> (LayerNodes<'_>, &mut MetalBuffer<F>) {
        let (below, above) = self.slots.split_at_mut(m - self.lowest);
        let layer = match above.first() {
            None => LayerNodes::of_leaves(&self.leaves),
            Some(slot) => LayerNodes::of_slot(slot),
        };
        (layer, &mut below[m - 1 - self.lowest])
    }

    /// Slot `j`, to be read, and slot `j - 1`, to be written.
    pub fn slots(&mut self, j: usize) -> (&MetalBuffer<F>, &mut MetalBuffer<F>) {
        let (below, above) = self.slots.split_at_mut(j - self.lowest);
        (&above[0], &mut below[j - 1 - self.lowest])
    }

    /// Slot `j`, to be read.
    pub fn slot(&self, j: usize) -> &MetalBuffer<F> {
        &self.slots[j - self.lowest]
    }
}
