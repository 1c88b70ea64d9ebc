//! `OneThread`: where narrow traces are filled, and what rayon would divide too finely is done.

use std::sync::{Arc, OnceLock};

use openvm_circuit::{arch::MatrixRecordArena, primitives::AnyChip};
use openvm_cpu_backend::CpuBackend;
use openvm_stark_backend::prover::AirProvingContext;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::prelude::{F, SC};

/// Traces with fewer columns are filled on one thread (`docs/notebook/programs.md` has the times of both).
const WIDE: usize = 128;

type CpuChip = dyn AnyChip<MatrixRecordArena<F>, CpuBackend<SC>>;

/// A thread of one machine, on which it fills narrow traces.
///
/// A row of a narrow chip takes less than 100 ns and adds to a dozen counters of range and byte checks, which all chips
/// of a machine share. Threads that fill rows of one trace contend for the cache lines of these counters: two take longer
/// than one. Machines beside each other have counters of their own. Rows of wide chips compute more than they count, so
/// all of rayon's threads fill them. Chips that compute modulo a prime are not filled here, but [with tables of each thread](super::range_counts).
#[derive(Clone, Default)]
pub(crate) struct OneThread(Arc<OnceLock<Option<ThreadPool>>>);

/// A chip for another thread, while the one that has it waits.
struct Lent<'a>(&'a CpuChip);

// SAFETY: `ThreadPool::install` returns only when the other thread is done; until then nobody else reaches the chip,
// because the inventory is in an `Rc` of this machine. OpenVM's chips hold settings and, behind `Arc`, atomic counters and
// locked records: all are `Sync`, the trait object does not say so.
unsafe impl Send for Lent<'_> {}

impl Lent<'_> {
    fn generate(self, records: MatrixRecordArena<F>) -> AirProvingContext<CpuBackend<SC>> {
        self.0.generate_proving_ctx(records)
    }
}

impl OneThread {
    /// The trace of a chip. If the system gives no thread, a narrow one is filled like a wide one.
    pub fn generate(
        &self,
        chip: &CpuChip,
        records: MatrixRecordArena<F>,
    ) -> AirProvingContext<CpuBackend<SC>> {
        let narrow = records.width < WIDE;
        match narrow.then(|| self.pool()).flatten() {
            Some(pool) => {
                let chip = Lent(chip);
                pool.install(move || chip.generate(records))
            }
            None => chip.generate_proving_ctx(records),
        }
    }

    /// Does work on this thread, which is the only one of rayon's that the work sees; on all if the system gives no thread.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self.pool() {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    fn pool(&self) -> Option<&ThreadPool> {
        let build = || ThreadPoolBuilder::new().num_threads(1).build().ok();
        self.0.get_or_init(build).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use openvm_circuit::{
        arch::{Arena, MatrixRecordArena},
        primitives::Chip,
    };
    use openvm_cpu_backend::CpuBackend;
    use openvm_stark_backend::{p3_matrix::dense::RowMajorMatrix, prover::AirProvingContext};
    use p3_field::PrimeCharacteristicRing;

    use super::{OneThread, WIDE};
    use crate::prelude::{F, SC};

    /// The trace has one cell for each thread that could have filled it.
    struct Threads;

    impl Chip<MatrixRecordArena<F>, CpuBackend<SC>> for Threads {
        fn generate_proving_ctx(
            &self,
            _: MatrixRecordArena<F>,
        ) -> AirProvingContext<CpuBackend<SC>> {
            let cells = vec![F::ONE; rayon::current_num_threads()];
            AirProvingContext::simple_no_pis(RowMajorMatrix::new(cells, 1))
        }
    }

    #[test]
    fn narrow_traces_are_filled_on_one_thread_and_wide_ones_on_all() {
        let outer = rayon::ThreadPoolBuilder::new().num_threads(3).build();
        outer.expect("three threads").install(|| {
            let one = OneThread::default();
            let threads = |width| {
                let records = MatrixRecordArena::with_capacity(4, width);
                let ctx = one.generate(&Threads, records);
                ctx.common_main.values.len()
            };
            assert_eq!([1, 36, WIDE - 1].map(threads), [1, 1, 1]);
            assert_eq!([WIDE, 2634].map(threads), [3, 3]);
        });
    }
}
