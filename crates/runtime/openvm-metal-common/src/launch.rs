//! Calls of kernels, and the checks made before anything reaches the device.

use crate::argument::{Bound, KernelArg, KernelArgMut};
use crate::clause::{defined, Clauses, ValueBytes, Values};
use crate::cost::Cost;
use crate::elem::DeviceElem;
use crate::error::{MetalError, Result};
use crate::grid::{Grid, Shape};
use crate::kernel::{ArgKind, KernelSpec, MAX_BUFFERS, MAX_GIVEN, MAX_THREADGROUP_ARGS};
use crate::memory::Span;
use crate::signal::Signal;
use crate::slice::MetalSlice;
use crate::stream::{Call, CommandStream};

/// Largest value argument, as `setBytes` allows.
const MAX_VALUE_BYTES: usize = 4096;

/// Length of a `threadgroup T*` argument in elements of `T`.
pub type ThreadgroupLen = u32;

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
    /// Access with which each buffer was lent.
    access: [Access; MAX_BUFFERS],
    values: Values<'a>,
    threadgroup: [Option<ThreadgroupLen>; MAX_THREADGROUP_ARGS],
    bound_bytes: u64,
    given: [u64; MAX_GIVEN],
    cost: Option<Cost>,
    stop: Option<&'a Signal>,
    reached: Vec<Span>,
    mistake: Option<MetalError>,
}

/// Access with which a buffer is lent to a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Others may read it meanwhile.
    Read,
    /// Nobody else has it.
    Exclusive,
    /// Others have it too, and it may be written.
    Shared,
}

impl CommandStream {
    /// A call of a kernel, to be given its arguments; used by generated launchers.
    pub fn encode(&self, kernel: &'static KernelSpec, grid: Grid) -> KernelCall<'_> {
        KernelCall::new(self, kernel, grid)
    }
}

impl<'a> KernelCall<'a> {
    fn new(stream: &'a CommandStream, kernel: &'static KernelSpec, grid: Grid) -> Self {
        Self {
            stream,
            kernel,
            grid,
            buffers: [None; MAX_BUFFERS],
            access: [Access::Read; MAX_BUFFERS],
            values: [None; MAX_BUFFERS],
            threadgroup: [None; MAX_THREADGROUP_ARGS],
            bound_bytes: 0,
            given: [0; MAX_GIVEN],
            cost: None,
            stop: None,
            reached: Vec::new(),
            mistake: None,
        }
    }

    /// Binds device memory to `[[buffer(index)]]`, to be read.
    pub fn buffer<T: DeviceElem>(mut self, index: u8, argument: &'a impl KernelArg<T>) -> Self {
        self.bind(index, argument.bound(), Access::Read);
        self
    }

    /// Binds device memory to `[[buffer(index)]]`, to be written.
    pub fn buffer_mut<T: DeviceElem>(
        mut self,
        index: u8,
        argument: &'a mut impl KernelArgMut<T>,
    ) -> Self {
        self.bind(index, argument.bound_mut(), Access::Exclusive);
        self
    }

    /// Sets the `constant T&` at `[[buffer(index)]]`.
    pub fn value<P: Copy + 'static>(mut self, index: u8, value: &'a P) -> Self {
        // SAFETY: the bytes of a live value, `size_of::<P>()` of them, which live as long as the reference. Those between
        // fields may be undefined, as the slice's type says.
        let bytes: &ValueBytes =
            unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<P>()) };
        match self.values.get_mut(index as usize) {
            Some(slot) => *slot = Some(bytes),
            None => self.note_no_such_argument(index),
        }
        self
    }

    /// Sets the bytes of the value at `[[buffer(index)]]`, laid out as the kernel's struct.
    pub fn value_bytes(mut self, index: u8, bytes: &'a [u8]) -> Self {
        match self.values.get_mut(index as usize) {
            Some(slot) => *slot = Some(defined(bytes)),
            None => self.note_no_such_argument(index),
        }
        self
    }

    /// Binds a range of device memory to `[[buffer(index)]]`, to be read and written. A range that is written shares
    /// no byte with other arguments, since Apple's compiler assumes so; the only exception is one and the same range for
    /// arguments that the `InPlace:` clause of the kernel names ([`MetalError::OverlappingArguments`]).
    pub fn buffer_range(mut self, index: u8, range: MetalSlice<'a, u8>) -> Self {
        self.bind(index, KernelArg::<u8>::bound(&range), Access::Shared);
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

    /// Number `index` of the kernel's `Given:` clause: what only the caller knows.
    pub fn given(mut self, index: usize, number: u64) -> Self {
        match self.given.get_mut(index) {
            Some(slot) => *slot = number,
            None => self.note_no_such_argument(u8::MAX),
        }
        self
    }

    /// States what the threads of this call do together, in place of the cost clause of the kernel; without both
    /// little is assumed of each.
    pub fn cost(mut self, cost: Cost) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Binds a signal to `[[buffer(index)]]`: a kernel that reads something else than 0 there should end.
    pub fn signal(mut self, index: u8, signal: &'a Signal) -> Self {
        if !signal.context().same_as(self.stream.context()) {
            let what = self.kernel.name;
            self.mistake
                .get_or_insert(MetalError::WrongContext { what });
            return self;
        }
        match self.buffers.get_mut(index as usize) {
            Some(slot) => {
                *slot = Some(signal.span());
                self.access[index as usize] = Access::Read;
            }
            None => self.note_no_such_argument(index),
        }
        self
    }

    /// Says that the kernel may read and write a range through its [address](MetalSlice::address), for the order of operations.
    pub fn reaches(mut self, range: MetalSlice<'a, u8>) -> Self {
        let bound = KernelArg::<u8>::bound(&range);
        if bound.allocation.context.same_as(self.stream.context()) {
            self.reached.push(bound.span());
        } else {
            let what = self.kernel.name;
            self.mistake
                .get_or_insert(MetalError::WrongContext { what });
        }
        self
    }

    /// Ends the dispatch between two of its slices when the signal is set: [`MetalError::Stopped`]. A slice is then waited
    /// for before the next is encoded.
    pub fn stop(mut self, signal: &'a Signal) -> Self {
        self.stop = Some(signal);
        self
    }

    /// Checks everything, the clauses of the kernel among it, and encodes the kernel.
    ///
    /// # Errors
    /// A typed error for an empty or too large grid, too many threads per threadgroup, too much
    /// threadgroup memory, an argument that is missing, of the wrong size, shorter than the launch needs
    /// or of another context, parameters that the kernel does not allow, or a lost device;
    /// [`MetalError::UncheckedKernel`] if the kernel's clauses do not bound all that it touches.
    pub fn dispatch(self) -> Result<()> {
        if !self.kernel.safe {
            let kernel = self.kernel.name;
            return Err(MetalError::UncheckedKernel { kernel });
        }
        // SAFETY: the clauses of the kernel, which are checked now, say how long every buffer must be, and
        // nothing else decides about its addresses.
        unsafe { self.dispatch_unchecked() }
    }

    /// Does the work of [`KernelCall::dispatch`] for kernels that can reach memory beyond what their clauses say.
    ///
    /// # Safety
    /// With these arguments and this grid the kernel touches nothing but the elements of its buffers.
    ///
    /// # Errors
    /// Those of [`KernelCall::dispatch`].
    pub unsafe fn dispatch_unchecked(self) -> Result<()> {
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        let profile = self.stream.context().device_profile();
        let limit = profile
            .max_threads_per_threadgroup
            .min(self.kernel.max_threads);
        let shape = Shape::new(self.kernel.name, self.grid, limit)?;
        let threadgroup_bytes = self.check_arguments(profile.max_threadgroup_memory)?;
        let (stated, in_place) = self.check_clauses(&shape)?;
        self.check_apart(in_place)?;
        let cost = self
            .cost
            .or(stated)
            .unwrap_or_else(|| Cost::assumed(shape.total_threads(), self.bound_bytes));
        self.stream.dispatch(
            Call {
                kernel: self.kernel,
                shape,
                cost,
                buffers: &self.buffers,
                values: &self.values,
                threadgroup_bytes: &threadgroup_bytes,
                stop: self.stop,
                reached: &self.reached,
            },
            self.bound_bytes,
        )
    }

    fn bind(&mut self, index: u8, bound: Bound<'_>, access: Access) {
        if !bound.allocation.context.same_as(self.stream.context()) {
            self.mistake.get_or_insert(MetalError::WrongContext {
                what: self.kernel.name,
            });
            return;
        }
        let span = bound.span();
        self.bound_bytes += span.bytes;
        match self.buffers.get_mut(index as usize) {
            Some(slot) => {
                *slot = Some(span);
                self.access[index as usize] = access;
            }
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
        MetalError::argument_mismatch(self.kernel.name, argument, expected, actual)
    }

    /// Checks the requirements of the clauses; returns the cost that they state and the arguments that may be one range.
    /// All arguments are set.
    fn check_clauses(&self, shape: &Shape) -> Result<(Option<Cost>, u32)> {
        let Some(clauses) = self.kernel.clauses else {
            return Ok((None, 0));
        };
        let launch = Clauses::of(clauses, shape, &self.values, &self.given);
        launch.requirement(self.kernel.name)?;
        for arg in self.kernel.args {
            let (ArgKind::BufferRead { elem } | ArgKind::BufferWrite { elem }) = arg.kind else {
                continue;
            };
            let (slot, kernel) = (arg.index as usize, self.kernel.name);
            let bytes = self.buffers[slot].map_or(0, |span| span.bytes);
            let (actual, required) = (bytes / elem.max(1) as u64, launch.lengths[slot]);
            if actual < required {
                return Err(MetalError::BufferTooShort {
                    kernel,
                    argument: arg.name,
                    required,
                    actual,
                });
            }
        }
        Ok((launch.cost, launch.in_place))
    }

    /// Checks that what is written lies apart from all other arguments. Buffers that are lent exclusively do.
    fn check_apart(&self, in_place: u32) -> Result<()> {
        let args = self.kernel.args;
        for written in args {
            let (ArgKind::BufferWrite { .. }, Access::Shared, Some(span)) = (
                written.kind,
                self.access[written.index as usize],
                self.buffers[written.index as usize],
            ) else {
                continue;
            };
            for other in args {
                if other.index == written.index
                    || !matches!(
                        other.kind,
                        ArgKind::BufferRead { .. } | ArgKind::BufferWrite { .. }
                    )
                {
                    continue;
                }
                let Some(beside) = self.buffers[other.index as usize] else {
                    continue;
                };
                let bytes = span.overlap(&beside);
                let both = 1 << written.index | 1 << other.index;
                if bytes > 0 && !(span == beside && in_place & both == both) {
                    return Err(MetalError::OverlappingArguments {
                        kernel: self.kernel.name,
                        written: written.name,
                        other: other.name,
                        bytes,
                    });
                }
            }
        }
        Ok(())
    }

    /// Every argument is set and fits; returns the threadgroup memory in bytes.
    fn check_arguments(&self, limit: u32) -> Result<[u32; MAX_THREADGROUP_ARGS]> {
        let mut bytes = [0u32; MAX_THREADGROUP_ARGS];
        let mut total = self.kernel.static_threadgroup_bytes as u64;
        for arg in self.kernel.args {
            let slot = arg.index as usize;
            match arg.kind {
                ArgKind::BufferRead { elem } | ArgKind::BufferWrite { elem } => {
                    let Some(span) = self.buffers.get(slot).copied().flatten() else {
                        return Err(self.mismatch(arg.name, "a buffer", "nothing"));
                    };
                    let writes = matches!(arg.kind, ArgKind::BufferWrite { .. });
                    if writes && self.access[slot] == Access::Read {
                        return Err(self.mismatch(arg.name, "a buffer to write", "one to read"));
                    }
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
                    let given = self.values.get(slot).copied().flatten().map(<[_]>::len);
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
