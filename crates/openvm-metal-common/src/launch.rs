//! Calls of kernels: grid, arguments and the checks made before anything reaches the device.

use crate::buffer::{Allocation, MetalBuffer};
use crate::driver::{Dispatch, Span};
use crate::elem::DeviceElem;
use crate::error::{MetalError, Result};
use crate::kernel::{ArgKind, KernelSpec, MAX_BUFFERS, MAX_THREADGROUP_ARGS};
use crate::slice::{MetalSlice, MetalSliceMut};
use crate::stream::CommandStream;

use std::sync::Arc;

/// Threads in a threadgroup unless the caller says otherwise.
const DEFAULT_THREADS_PER_GROUP: u32 = 256;
/// Threadgroup memory that every device of the family has.
const PORTABLE_THREADGROUP_MEMORY: u32 = 32 << 10;
/// Largest value argument, as `setBytes` allows.
const MAX_VALUE_BYTES: usize = 4096;

/// Length of a `threadgroup T*` argument in elements of `T`.
pub type ThreadgroupLen = u32;

/// How many threads run a kernel, and in which threadgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    extent: GridExtent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GridExtent {
    Threads {
        count: u64,
        per_group: Option<u32>,
    },
    Groups {
        count: [u32; 3],
        per_group: [u32; 3],
    },
}

/// A size in one, two or three dimensions.
pub trait Extent {
    fn extent(self) -> [u32; 3];
}

impl Extent for u32 {
    fn extent(self) -> [u32; 3] {
        [self, 1, 1]
    }
}

impl Extent for [u32; 2] {
    fn extent(self) -> [u32; 3] {
        [self[0], self[1], 1]
    }
}

impl Extent for [u32; 3] {
    fn extent(self) -> [u32; 3] {
        self
    }
}

impl Grid {
    /// `count` threads in one dimension, in threadgroups of 256 or of as many as the kernel allows.
    pub fn threads(count: usize) -> Self {
        Self {
            extent: GridExtent::Threads {
                count: count as u64,
                per_group: None,
            },
        }
    }

    /// `count` threads in one dimension, in threadgroups of `per_group`; the last may be cut short.
    pub fn threads_per_group(count: usize, per_group: u32) -> Self {
        Self {
            extent: GridExtent::Threads {
                count: count as u64,
                per_group: Some(per_group),
            },
        }
    }

    /// `count` whole threadgroups of `per_group` threads, each a number or `[x, y]` or `[x, y, z]`.
    pub fn groups(count: impl Extent, per_group: impl Extent) -> Self {
        Self {
            extent: GridExtent::Groups {
                count: count.extent(),
                per_group: per_group.extent(),
            },
        }
    }
}

/// A grid that fits a kernel and a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub threads: [u32; 3],
    pub threads_per_group: [u32; 3],
    pub groups: [u32; 3],
    /// Given as a number of threads, so that the last threadgroup may be cut short.
    pub by_threads: bool,
}

impl Shape {
    fn new(kernel: &'static KernelSpec, grid: Grid, device_limit: u32) -> Result<Self> {
        let name = kernel.name;
        let limit = kernel.max_threads.min(device_limit);
        let shape = match grid.extent {
            GridExtent::Threads { count, per_group } => {
                let per_group = per_group.unwrap_or(DEFAULT_THREADS_PER_GROUP.min(limit));
                if count == 0 || per_group == 0 {
                    return Err(MetalError::EmptyGrid { kernel: name });
                }
                let groups = count.div_ceil(per_group as u64);
                let Ok(threads) = u32::try_from(count) else {
                    let limit = (u32::MAX / per_group) as u64;
                    return Err(MetalError::GridTooLarge {
                        kernel: name,
                        threadgroups: [groups, 1, 1],
                        limit: [limit, 1, 1],
                    });
                };
                Self {
                    threads: [threads, 1, 1],
                    threads_per_group: [per_group, 1, 1],
                    groups: [groups as u32, 1, 1],
                    by_threads: true,
                }
            }
            GridExtent::Groups { count, per_group } => {
                if count.contains(&0) || per_group.contains(&0) {
                    return Err(MetalError::EmptyGrid { kernel: name });
                }
                let mut threads = [0; 3];
                for axis in 0..3 {
                    threads[axis] = count[axis].checked_mul(per_group[axis]).ok_or_else(|| {
                        MetalError::GridTooLarge {
                            kernel: name,
                            threadgroups: count.map(u64::from),
                            limit: per_group.map(|p| (u32::MAX / p) as u64),
                        }
                    })?;
                }
                Self {
                    threads,
                    threads_per_group: per_group,
                    groups: count,
                    by_threads: false,
                }
            }
        };
        let requested = shape.threads_per_group.iter().map(|&t| t as u64).product();
        if requested > limit as u64 {
            return Err(MetalError::TooManyThreads {
                kernel: name,
                requested,
                limit,
            });
        }
        Ok(shape)
    }

    /// Threads of the whole grid.
    pub fn total_threads(&self) -> u64 {
        self.threads
            .iter()
            .map(|&t| t as u64)
            .fold(1, u64::saturating_mul)
    }
}

/// Device memory bound to an argument.
#[doc(hidden)]
pub struct Bound<'a> {
    pub(crate) allocation: &'a Arc<Allocation>,
    pub(crate) offset: u64,
    /// Elements, and how many the launch needs.
    pub(crate) len: u64,
    pub(crate) required: u64,
    elem: u64,
}

impl Bound<'_> {
    pub(crate) fn span(&self) -> Span {
        self.allocation.span(self.offset, self.len * self.elem)
    }
}

/// Something a kernel can read elements of `T` from: a buffer or a slice.
pub trait KernelArg<T: DeviceElem> {
    #[doc(hidden)]
    fn bound(&self) -> Bound<'_>;

    /// The same argument, with the length the launch needs: if it is shorter the dispatch is
    /// [`MetalError::BufferTooShort`].
    fn at_least(self, len: usize) -> AtLeast<Self>
    where
        Self: Sized,
    {
        AtLeast {
            argument: self,
            len,
        }
    }
}

/// Something a kernel can write elements of `T` to: a mutable buffer or slice.
pub trait KernelArgMut<T: DeviceElem> {
    #[doc(hidden)]
    fn bound_mut(&mut self) -> Bound<'_>;

    /// The same argument with the length the launch needs, see [`KernelArg::at_least`].
    fn at_least_mut(self, len: usize) -> AtLeast<Self>
    where
        Self: Sized,
    {
        AtLeast {
            argument: self,
            len,
        }
    }
}

/// An argument with the length that a launch needs.
#[derive(Clone, Copy, Debug)]
pub struct AtLeast<A> {
    argument: A,
    len: usize,
}

impl<T: DeviceElem, A: KernelArg<T>> KernelArg<T> for AtLeast<A> {
    fn bound(&self) -> Bound<'_> {
        Bound {
            required: self.len as u64,
            ..self.argument.bound()
        }
    }
}

impl<T: DeviceElem, A: KernelArgMut<T>> KernelArgMut<T> for AtLeast<A> {
    fn bound_mut(&mut self) -> Bound<'_> {
        Bound {
            required: self.len as u64,
            ..self.argument.bound_mut()
        }
    }
}

fn bind<T>(allocation: &Arc<Allocation>, offset: u64, len: usize) -> Bound<'_> {
    Bound {
        allocation,
        offset,
        len: len as u64,
        required: 0,
        elem: size_of::<T>() as u64,
    }
}

impl<T: DeviceElem> KernelArg<T> for &MetalBuffer<T> {
    fn bound(&self) -> Bound<'_> {
        bind::<T>(&self.allocation, self.offset, self.len)
    }
}

impl<T: DeviceElem> KernelArg<T> for &Arc<MetalBuffer<T>> {
    fn bound(&self) -> Bound<'_> {
        bind::<T>(&self.allocation, self.offset, self.len)
    }
}

impl<T: DeviceElem> KernelArg<T> for MetalSlice<'_, T> {
    fn bound(&self) -> Bound<'_> {
        bind::<T>(self.allocation, self.offset, self.len())
    }
}

impl<T: DeviceElem> KernelArg<T> for &MetalSlice<'_, T> {
    fn bound(&self) -> Bound<'_> {
        bind::<T>(self.allocation, self.offset, self.len())
    }
}

impl<T: DeviceElem> KernelArg<T> for &MetalSliceMut<'_, T> {
    fn bound(&self) -> Bound<'_> {
        bind::<T>(self.allocation, self.offset, self.len())
    }
}

impl<T: DeviceElem> KernelArgMut<T> for &mut MetalBuffer<T> {
    fn bound_mut(&mut self) -> Bound<'_> {
        bind::<T>(&self.allocation, self.offset, self.len)
    }
}

impl<T: DeviceElem> KernelArgMut<T> for MetalSliceMut<'_, T> {
    fn bound_mut(&mut self) -> Bound<'_> {
        bind::<T>(self.allocation, self.offset, self.len())
    }
}

impl<T: DeviceElem> KernelArgMut<T> for &mut MetalSliceMut<'_, T> {
    fn bound_mut(&mut self) -> Bound<'_> {
        bind::<T>(self.allocation, self.offset, self.len())
    }
}

/// A kernel with its arguments; made by [`CommandStream::encode`], ended by [`KernelCall::dispatch`].
///
/// Generated launchers are the only intended users: they make sure at compile time that every
/// argument has the right type. Mistakes are kept and reported by `dispatch`.
#[must_use = "a call does nothing until it is dispatched"]
pub struct KernelCall<'a> {
    stream: &'a CommandStream,
    kernel: &'static KernelSpec,
    grid: Grid,
    buffers: [Option<Span>; MAX_BUFFERS],
    values: [Option<&'a [u8]>; MAX_BUFFERS],
    threadgroup: [Option<ThreadgroupLen>; MAX_THREADGROUP_ARGS],
    bound_bytes: u64,
    mistake: Option<MetalError>,
}

impl<'a> KernelCall<'a> {
    pub(crate) fn new(stream: &'a CommandStream, kernel: &'static KernelSpec, grid: Grid) -> Self {
        Self {
            stream,
            kernel,
            grid,
            buffers: [None; MAX_BUFFERS],
            values: [None; MAX_BUFFERS],
            threadgroup: [None; MAX_THREADGROUP_ARGS],
            bound_bytes: 0,
            mistake: None,
        }
    }

    /// Binds device memory to `[[buffer(index)]]`, to be read.
    pub fn buffer<T: DeviceElem>(mut self, index: u8, argument: &'a impl KernelArg<T>) -> Self {
        self.bind(index, argument.bound());
        self
    }

    /// Binds device memory to `[[buffer(index)]]`, to be written.
    pub fn buffer_mut<T: DeviceElem>(
        mut self,
        index: u8,
        argument: &'a mut impl KernelArgMut<T>,
    ) -> Self {
        self.bind(index, argument.bound_mut());
        self
    }

    /// Sets the `constant T&` at `[[buffer(index)]]`.
    pub fn value<P: Copy + 'static>(mut self, index: u8, value: &'a P) -> Self {
        // SAFETY: a live value; its bytes are only copied, and the builder asserts that `P` has the
        // layout of the MSL struct. Padding, if any, is copied without being interpreted.
        let bytes = unsafe {
            std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of::<P>())
        };
        match self.values.get_mut(index as usize) {
            Some(slot) => *slot = Some(bytes),
            None => self.note_no_such_argument(index),
        }
        self
    }

    /// Sets the length in elements of `[[threadgroup(index)]]`.
    pub fn threadgroup(mut self, index: u8, len: ThreadgroupLen) -> Self {
        match self.threadgroup.get_mut(index as usize) {
            Some(slot) => *slot = Some(len),
            None => self.note_no_such_argument(index),
        }
        self
    }

    /// Checks everything and encodes the kernel.
    ///
    /// # Errors
    /// A typed error for an empty or too large grid, too many threads per threadgroup, too much
    /// threadgroup memory, an argument that is missing, of the wrong size or of another context, or a
    /// lost device.
    pub fn dispatch(self) -> Result<()> {
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        let info = self.stream.context().info();
        let shape = Shape::new(self.kernel, self.grid, info.max_threads_per_threadgroup)?;
        let threadgroup_bytes = self.check_arguments(info.max_threadgroup_memory)?;
        self.stream.dispatch(
            &Dispatch {
                kernel: self.kernel,
                shape,
                buffers: &self.buffers,
                values: &self.values,
                threadgroup_bytes: &threadgroup_bytes,
            },
            self.bound_bytes,
        )
    }

    fn bind(&mut self, index: u8, bound: Bound<'_>) {
        if !bound.allocation.context.same_as(self.stream.context()) {
            self.mistake.get_or_insert(MetalError::WrongContext {
                what: self.kernel.name,
            });
            return;
        }
        if bound.len < bound.required {
            let spec = self
                .kernel
                .args
                .iter()
                .find(|a| a.index == index && !matches!(a.kind, ArgKind::Threadgroup { .. }));
            self.mistake.get_or_insert(MetalError::BufferTooShort {
                kernel: self.kernel.name,
                argument: spec.map_or("?", |a| a.name),
                required: bound.required,
                actual: bound.len,
            });
        }
        let span = bound.span();
        self.bound_bytes += span.bytes;
        match self.buffers.get_mut(index as usize) {
            Some(slot) => *slot = Some(span),
            None => self.note_no_such_argument(index),
        }
    }

    fn note_no_such_argument(&mut self, index: u8) {
        let error = self.mismatch("?", "an index of the kernel", format!("index {index}"));
        self.mistake.get_or_insert(error);
    }

    fn mismatch(
        &self,
        argument: &'static str,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) -> MetalError {
        let (expected, actual) = (expected.into(), actual.into());
        MetalError::ArgumentMismatch {
            kernel: self.kernel.name,
            argument,
            expected,
            actual,
        }
    }

    /// Every argument is set and fits; returns the threadgroup memory in bytes.
    fn check_arguments(&self, device_memory: u32) -> Result<[u32; MAX_THREADGROUP_ARGS]> {
        let mut bytes = [0u32; MAX_THREADGROUP_ARGS];
        let mut total = self.kernel.static_threadgroup_bytes as u64;
        let limit = device_memory.min(PORTABLE_THREADGROUP_MEMORY);
        for arg in self.kernel.args {
            let slot = arg.index as usize;
            match arg.kind {
                ArgKind::BufferRead { elem } | ArgKind::BufferWrite { elem } => {
                    let Some(span) = self.buffers.get(slot).copied().flatten() else {
                        return Err(self.mismatch(arg.name, "a buffer", "nothing"));
                    };
                    let alignment = if elem.is_power_of_two() {
                        elem.min(16) as u64
                    } else {
                        4
                    };
                    if !span.offset.is_multiple_of(alignment) {
                        let actual = format!("byte offset {}", span.offset);
                        return Err(self.mismatch(
                            arg.name,
                            format!("alignment {alignment}"),
                            actual,
                        ));
                    }
                }
                ArgKind::Value { size } => {
                    let given = self.values.get(slot).copied().flatten().map(<[u8]>::len);
                    if given != Some(size as usize) || size as usize > MAX_VALUE_BYTES {
                        let actual = given.map_or("nothing".into(), |n| format!("{n} bytes"));
                        let expected = format!("{size} bytes (at most {MAX_VALUE_BYTES})");
                        return Err(self.mismatch(arg.name, expected, actual));
                    }
                }
                ArgKind::Threadgroup { elem } => {
                    let Some(len) = self.threadgroup.get(slot).copied().flatten() else {
                        return Err(self.mismatch(arg.name, "a length", "nothing"));
                    };
                    let wanted = (elem as u64 * len as u64).next_multiple_of(16);
                    total += wanted;
                    bytes[slot] = wanted.min(u32::MAX as u64) as u32;
                }
            }
        }
        if total > limit as u64 {
            let kernel = self.kernel.name;
            return Err(MetalError::ThreadgroupMemory {
                kernel,
                requested: total,
                limit,
            });
        }
        Ok(bytes)
    }
}
