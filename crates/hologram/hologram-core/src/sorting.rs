//! Sorts of rows of elements, and the indices that sort them.

pub use hologram_backends::backend::sorting::Sorted;
use hologram_backends::backend::sorting::{on_host, Rows, Sorting};
use hologram_backends::Ty;

use crate::buffer::DynBuffer;
use crate::error::{Error, Result};
use crate::executor::Executor;

/// Rows of a buffer, one behind the other.
#[derive(Clone, Copy)]
pub struct RowsOf<'a> {
    /// The buffer.
    pub buffer: &'a DynBuffer,
    /// The first element that is used.
    pub offset: usize,
}

impl RowsOf<'_> {
    fn rows(&self) -> Rows {
        Rows {
            buffer: self.buffer.handle(),
            offset: self.offset * self.buffer.element_size(),
        }
    }
}

/// Sorts each of `rows` rows of `cols` elements of `source`, and writes the elements, or the indices that put them in order
/// (`i64`), to `target`. Equal elements keep their order; floats are in the order of numbers, zeros of both signs are equal, and a NaN
/// stands behind all, or before all where the sort descends. Elements may be sorted where they are. Devices with memory of their own
/// are given kernels, which are started and not waited for.
///
/// # Errors
/// Rows past the end of a buffer; a target of another type; a target that lies on the source, but for elements in place; another
/// executor's buffers; on a device with memory of its own elements of less than 32 bits and rows of 2^31 elements and more; what went
/// wrong before.
pub fn sort(
    exec: &Executor,
    sorted: Sorted,
    descending: bool,
    (rows, cols): (usize, usize),
    source: RowsOf<'_>,
    target: RowsOf<'_>,
) -> Result<()> {
    let ty = source.buffer.ty();
    let wanted = match sorted {
        Sorted::Values => ty,
        Sorted::Order => Ty::I64,
    };
    let count = rows.saturating_mul(cols);
    for (argument, of) in [("source", source), ("target", target)] {
        if !of.buffer.belongs_to(exec) {
            return Err(Error::ForeignBuffer { argument });
        }
        let needed = count.saturating_add(of.offset);
        if needed > of.buffer.len() {
            let len = of.buffer.len();
            return Err(Error::BufferTooSmall {
                argument,
                needed,
                len,
            });
        }
    }
    if target.buffer.ty() != wanted {
        return Err(Error::TypeMismatch {
            argument: "target",
            expected: wanted,
            actual: target.buffer.ty(),
        });
    }
    let in_place = sorted == Sorted::Values && source.offset == target.offset;
    if target.buffer.same_memory(source.buffer) && !in_place {
        return Err(Error::Aliased {
            output: "target",
            input: "source",
        });
    }
    let sorting = Sorting {
        ty,
        rows: rows as u64,
        cols: cols as u64,
        descending,
    };

    let mut state = exec.shared().lock();
    if exec.backend_type().is_host() {
        state.synchronize()?;
    }
    state.stats.expressions += 1;
    let (from, to) = (source.rows(), target.rows());
    let handle = target.buffer.handle();
    if state.backend.host_pointer(handle)?.is_none() {
        return Ok(state.backend.sort(&sorting, sorted, from, to)?);
    }
    let mut read = vec![0; count * ty.size()];
    state
        .backend
        .copy_from_buffer_at(from.buffer, from.offset, &mut read)?;
    let written = match sorted {
        Sorted::Values => {
            let mut written = vec![0; read.len()];
            on_host::sort(&sorting, &read, &mut written);
            written
        }
        Sorted::Order => {
            let mut order = vec![0; count];
            on_host::order(&sorting, &read, &mut order);
            order.into_iter().flat_map(i64::to_le_bytes).collect()
        }
    };
    Ok(state
        .backend
        .copy_to_buffer_at(handle, to.offset, &written)?)
}
