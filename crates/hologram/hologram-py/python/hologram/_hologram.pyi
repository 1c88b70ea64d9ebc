"""Types of the native module."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Buffer as SupportsBuffer

from .array.devices import Device
from .array.dtypes import DType

# The other operand of an operator.
_Operand: TypeAlias = Array | complex | NDArray[Any] | np.generic
_BackendName = Literal["auto", "cpu", "interpreter", "metal", "cuda"]
_Dimensions = int | tuple[int] | tuple[int, int] | tuple[int, int, int]

def backends() -> list[tuple[str, bool, str]]:
    """Each backend as (name, whether it computes everything, its device or what is missing). A GPU that is there and for which no
    compiler makes code computes no arrays and programs: it is False, and `Executor("auto")` passes it over."""

def passed_over() -> list[str]:
    """Reasons why devices that are there cannot compute arrays."""

def set_indexing(get: Callable[[Array, Any], Array], put: Callable[[Array, Any, Any], None], /) -> None:
    """Sets what `x[key]` and `x[key] = value` do where that takes more than a view, once."""

def retype(capsule: Any, code: int, to: int, /) -> bool:
    """Says of a capsule of elements of 16 bits that their type has another code of DLPack; False of other elements."""

def before_write(array: Array, /) -> None:
    """Computes an array, and what still has to read its memory, which is written next; in a `with` of the lock of all arrays."""

def listed(list: list[Any], device: Device, types: tuple[DType, DType, DType], /) -> Array | None:
    """A new array of a list of floats, integers or bools alone, of these types; None of other lists, and of integers that int64
    does not have."""

def taken(values: NDArray[Any], device: Device, dtype: DType, /) -> Array | None:
    """A new array with the elements of NumPy's, dense and of the same type; None where they are not."""

@final
class Executor:
    """A device: its memory and what runs on it. Usable from many threads, and in the process that made it: in one forked
    from it everything raises `ForkError`."""

    def __new__(
        cls,
        backend: _BackendName | str = "auto",
        fallback: Literal["never", "when-unsupported", "adaptive"] | str = "never",
        compile_limit: int | None = None,
    ) -> Self:
        """
        Args:
            backend: "auto" is metal, else cuda, else cpu. On "cpu" programs are compiled kernels; the reference interpreter runs
                those that no kernel can, small ones instead of compiling them, and all where there is no C++ compiler or no folder
                for kernels (`HOLOGRAM_CACHE`):
                `stats()["backend_interpreted"]` and `["backend_without_compiler"]` count. "interpreter" interprets all.
            fallback: when programs that a Metal or CUDA device cannot run are interpreted on the processor, on the
                device's buffers; "adaptive": also small ones instead of compiling them. Each time counts in
                `stats()["backend_interpreted"]`.
            compile_limit: most seconds of processor time that compiling one kernel may take; 60, or 5 where `fallback` lets
                a program that takes longer be interpreted. More is a `CompilationError`.

        Raises:
            BackendUnavailableError: the backend's device is missing; no other takes its place.
            ArgumentError: no backend or policy has this name.
        """
    @property
    def backend(self) -> Literal["cpu", "interpreter", "metal", "cuda"]:
        """Where it runs."""
    @property
    def device(self) -> str:
        """Name of the device."""
    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
    def stats(self) -> dict[str, int]:
        """Counters since it was made: operations, programs, waits, allocations, bytes; with the prefix
        `backend_` those of the backend itself, such as launches and compilations."""
    def synchronize(self) -> None:
        """Waits for everything that was started; raises what went wrong."""
    def allocate(self, size: int, dtype: DTypeLike | None = None) -> Buffer:
        """A zeroed buffer; float32 unless said otherwise.

        Raises:
            OutOfMemoryError: the device has no such memory.
        """
    def allocate_boundary(
        self, class_index: int, width: int, height: int, dtype: DTypeLike | None = None
    ) -> Buffer:
        """`width` (up to 48) x `height` (up to 256) bytes of a class (up to 95) of the boundary pool."""
    def from_numpy(self, array: ArrayLike, dtype: DTypeLike | None = None) -> Buffer:
        """A new buffer with the elements of an array, in row-major order: one copy if it is dense."""
    def run(
        self,
        program: Program,
        *,
        grid: _Dimensions | None = None,
        block: _Dimensions | None = None,
        shared_memory: int = 0,
        registers: Mapping[int | str, Buffer | int | tuple[DTypeLike, float]] | None = None,
        step_budget: int | None = None,
        time_limit: float | None = None,
        class_from_block: bool = False,
        allow_reassociation: bool = False,
    ) -> None:
        """Runs a program and waits for it. Ctrl-C ends the program; the `KeyboardInterrupt` comes when it has ended.

        Args:
            grid: blocks; one by default.
            block: lanes of a block; one by default.
            shared_memory: bytes of each block.
            registers: what registers begin with: a buffer is its handle, an integer is uint64.
            step_budget: most instructions of a lane; 2**30 by default.
            time_limit: most seconds that it may run, from when it begins; compiling does not count.
            class_from_block: a lane's class is its block mod 96.
            allow_reassociation: sums and products of floats that a loop of one lane collects may be computed in any
                order, which changes their last bits.

        Raises:
            ProgramError: the program is not valid.
            FaultError: a lane's fault, with `lane`, `pc` and `instruction`.
            TimeLimitError: it was still running at its time limit; these say where a lane was then.
            KeyboardInterrupt: Ctrl-C was pressed.
            LaunchError: a launch over the limits.
        """
    def count_host_operation(self) -> None:
        """Counts an operation on its arrays that was computed on the host, in `stats()["host_operations"]`."""
    def close(self) -> None:
        """Ends its use; buffers stay valid until they are freed."""
    def cleanup(self) -> None:
        """The same as `close`."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

@final
class Buffer:
    """Elements of one type in a device's memory, freed with the last reference.

    On the CPU it is also a view: of the buffer protocol, of DLPack and of `numpy.asarray`, without a
    copy; the buffer protocol has no bfloat16. Do not run operations on a buffer while another thread uses such a view.
    """

    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def dtype(self) -> np.dtype[Any] | str:
        """Type of the elements; the name "bfloat16" where `ml_dtypes` is not installed."""
    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
    @property
    def handle(self) -> int:
        """Its number in programs."""
    @property
    def class_index(self) -> int | None:
        """Class of the boundary pool."""
    @property
    def freed(self) -> bool:
        """Whether `free` was called."""
    def from_numpy(self, array: ArrayLike) -> None:
        """Copies an array of the same type and size."""
    def to_numpy(self) -> NDArray[Any]:
        """A copy as an array.

        Raises:
            DTypeError: bfloat16, and `ml_dtypes` is not installed.
        """
    def from_bytes(self, data: SupportsBuffer) -> None:
        """Copies bytes: as many as the buffer has."""
    def to_bytes(self) -> bytes:
        """All elements as bytes, little-endian."""
    def fill(self, value: float) -> None:
        """Sets all elements."""
    def copy_from(self, other: Buffer) -> None:
        """Copies a buffer of the same type and size, of any executor."""
    def astype(self, dtype: DTypeLike) -> Buffer:
        """A new buffer with the elements converted as `ops.cast` does, on the device."""
    def free(self) -> None:
        """Frees the memory now.

        Raises:
            BufferError: views of it exist.
            ClosedError: it is freed.
        """
    def __len__(self) -> int: ...
    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[Any]: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

@final
class Program:
    """Instructions with labels, in the Atlas instruction set."""

    def __new__(cls, text: str) -> Self:
        """Reads assembly.

        Raises:
            ProgramError: with the line.
        """
    @staticmethod
    def from_bytes(data: bytes) -> Program:
        """Reads what `to_bytes` gave."""
    def to_bytes(self) -> bytes:
        """The serialised form."""
    def __len__(self) -> int: ...

@final
class Storage:
    """A buffer that arrays and recorded operations share."""

    exported: bool
    """Whether something outside of this package sees the memory and may change it at any time; operations on it are then
    computed at once."""

    @property
    def buffer(self) -> Buffer:
        """The buffer."""
    @property
    def device(self) -> Device:
        """Where it is."""
    def host_bytes(self) -> NDArray[np.uint8]:
        """All bytes: the memory itself where the device's is the host's, else a copy."""

@final
class Array:
    """Elements of one type in a shape, on a device; made by `hologram.asarray` and the functions of `hologram.array`.

    Elementwise operations are recorded and computed together when a value is needed. Slices, transposes, broadcasts and most
    reshapes are views: they share memory, and what is written through one is seen through the others.
    `hologram.array.operators` gives it its operators and further methods.
    """

    __hash__: None  # type: ignore[assignment]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
    @property
    def dtype(self) -> DType:
        """Type of the elements."""
    @property
    def device(self) -> Device:
        """Where they are."""
    @property
    def ndim(self) -> int:
        """Number of dimensions."""
    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one index to the next along each dimension, as NumPy's; computes the array."""
    @property
    def readonly(self) -> bool:
        """True for a broadcast view that shows elements several times, or a part of one: these are not written."""
    @property
    def pending(self) -> bool:
        """Whether operations are recorded that were not computed yet."""
    @property
    def T(self) -> Array:
        """Rows and columns exchanged, as a view; of two dimensions."""
    @property
    def mT(self) -> Array:
        """The last two dimensions exchanged, as a view."""
    @property
    def real(self) -> Array:
        """The real part, of complex numbers as a view."""
    @property
    def imag(self) -> Array:
        """The imaginary part; zeros of real numbers."""
    def data(self) -> tuple[Storage, int, tuple[int, ...]]:
        """Memory, offset and strides in elements, computed now if they were not."""
    def compute(self) -> Self:
        """Computes what is recorded; the array itself."""
    def view(self, shape: tuple[int, ...], offset: int, strides: tuple[int, ...], dtype: DType | None = None) -> Array:
        """The same memory in another shape, and as another type if one is given; offset and strides in elements."""
    def basic_view(self, key: tuple[Any, ...], /) -> Array | None:
        """The view of a key of integers, slices, `...` and `None`; None of other keys."""
    def broadcast(self, shape: tuple[int, ...], /) -> Array:
        """The elements repeated along new and single dimensions, as a view.

        Raises:
            ShapeError: they do not broadcast to the shape.
        """
    def item(self) -> Any:
        """The one element as a number of Python.

        Raises:
            TypeError: there are several.
        """
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
    def astype(self, dtype: Any, *, copy: bool = True) -> Array:
        """The elements converted."""
    def copy(self) -> Array:
        """The elements in memory of their own, row-major."""
    def conj(self) -> Array:
        """The complex conjugate."""
    def squeeze(self, axis: int | Sequence[int] | None = None) -> Array:
        """The array without dimensions of one element, as a view."""
    def reshape(self, *shape: Any) -> Array:
        """The elements in another shape, given as numbers or as a tuple."""
    def transpose(self, *axes: int) -> Array:
        """Dimensions in another order, reversed unless it is given."""
    def to_device(self, device: str | Device, /, *, stream: Any = None) -> Array:
        """The array on a device: itself, or a copy where it is elsewhere."""
    def sum(
        self, axis: int | Sequence[int] | None = None, dtype: Any = None, out: Array | None = None, *, keepdims: bool = False
    ) -> Array:
        """Sum along axes."""
    def prod(
        self, axis: int | Sequence[int] | None = None, dtype: Any = None, out: Array | None = None, *, keepdims: bool = False
    ) -> Array:
        """Product along axes."""
    def mean(
        self, axis: int | Sequence[int] | None = None, dtype: Any = None, out: Array | None = None, *, keepdims: bool = False
    ) -> Array:
        """Mean along axes."""
    def std(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: Any = None,
        out: Array | None = None,
        ddof: float = 0.0,
        *,
        correction: float | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Standard deviation along axes."""
    def var(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: Any = None,
        out: Array | None = None,
        ddof: float = 0.0,
        *,
        correction: float | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Variance along axes."""
    def max(self, axis: int | Sequence[int] | None = None, out: Array | None = None, *, keepdims: bool = False) -> Array:
        """The largest element along axes."""
    def min(self, axis: int | Sequence[int] | None = None, out: Array | None = None, *, keepdims: bool = False) -> Array:
        """The smallest element along axes."""
    def all(self, axis: int | Sequence[int] | None = None, out: Array | None = None, *, keepdims: bool = False) -> Array:
        """Whether all elements are true."""
    def any(self, axis: int | Sequence[int] | None = None, out: Array | None = None, *, keepdims: bool = False) -> Array:
        """Whether one element is true."""
    def argmax(self, axis: int | None = None, out: Array | None = None, *, keepdims: bool = False) -> Array:
        """Index of the first largest element."""
    def argmin(self, axis: int | None = None, out: Array | None = None, *, keepdims: bool = False) -> Array:
        """Index of the first smallest element."""
    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __array_ufunc__(self, function: np.ufunc, method: str, /, *inputs: Any, out: tuple[Any, ...] = ..., **options: Any) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __getitem__(self, key: Any, /) -> Array: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __contains__(self, value: Any, /) -> bool: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __format__(self, spec: str, /) -> str: ...
    def __round__(self, digits: int | None = None, /) -> Any: ...
    def __divmod__(self, other: _Operand, /) -> tuple[Array, Array]: ...
    def __rdivmod__(self, other: _Operand, /) -> tuple[Array, Array]: ...
    def __abs__(self, /) -> Array: ...
    def __neg__(self, /) -> Array: ...
    def __pos__(self, /) -> Array: ...
    def __invert__(self, /) -> Array: ...
    def __eq__(self, other: _Operand, /) -> Array: ...  # type: ignore[override]
    def __ne__(self, other: _Operand, /) -> Array: ...  # type: ignore[override]
    def __lt__(self, other: _Operand, /) -> Array: ...
    def __le__(self, other: _Operand, /) -> Array: ...
    def __gt__(self, other: _Operand, /) -> Array: ...
    def __ge__(self, other: _Operand, /) -> Array: ...
    def __add__(self, other: _Operand, /) -> Array: ...
    def __radd__(self, other: _Operand, /) -> Array: ...
    def __iadd__(self, other: _Operand, /) -> Self: ...
    def __sub__(self, other: _Operand, /) -> Array: ...
    def __rsub__(self, other: _Operand, /) -> Array: ...
    def __isub__(self, other: _Operand, /) -> Self: ...
    def __mul__(self, other: _Operand, /) -> Array: ...
    def __rmul__(self, other: _Operand, /) -> Array: ...
    def __imul__(self, other: _Operand, /) -> Self: ...
    def __truediv__(self, other: _Operand, /) -> Array: ...
    def __rtruediv__(self, other: _Operand, /) -> Array: ...
    def __itruediv__(self, other: _Operand, /) -> Self: ...
    def __floordiv__(self, other: _Operand, /) -> Array: ...
    def __rfloordiv__(self, other: _Operand, /) -> Array: ...
    def __ifloordiv__(self, other: _Operand, /) -> Self: ...
    def __mod__(self, other: _Operand, /) -> Array: ...
    def __rmod__(self, other: _Operand, /) -> Array: ...
    def __imod__(self, other: _Operand, /) -> Self: ...
    def __pow__(self, other: _Operand, /) -> Array: ...
    def __rpow__(self, other: _Operand, /) -> Array: ...
    def __ipow__(self, other: _Operand, /) -> Self: ...
    def __and__(self, other: _Operand, /) -> Array: ...
    def __rand__(self, other: _Operand, /) -> Array: ...
    def __iand__(self, other: _Operand, /) -> Self: ...
    def __or__(self, other: _Operand, /) -> Array: ...
    def __ror__(self, other: _Operand, /) -> Array: ...
    def __ior__(self, other: _Operand, /) -> Self: ...
    def __xor__(self, other: _Operand, /) -> Array: ...
    def __rxor__(self, other: _Operand, /) -> Array: ...
    def __ixor__(self, other: _Operand, /) -> Self: ...
    def __lshift__(self, other: _Operand, /) -> Array: ...
    def __rlshift__(self, other: _Operand, /) -> Array: ...
    def __ilshift__(self, other: _Operand, /) -> Self: ...
    def __rshift__(self, other: _Operand, /) -> Array: ...
    def __rrshift__(self, other: _Operand, /) -> Array: ...
    def __irshift__(self, other: _Operand, /) -> Self: ...
    def __matmul__(self, other: _Operand, /) -> Array: ...
    def __rmatmul__(self, other: _Operand, /) -> Array: ...
    def __imatmul__(self, other: _Operand, /) -> Self: ...

@final
class Value:
    """Elements in memory, a number, or the result of a step, over the shape of a graph of recorded operations."""

    @property
    def type(self) -> str:
        """Type of the elements."""

@final
class Elementwise:
    """An elementwise function that is one step on elements of some kinds; of complex numbers sums, differences, negatives and choices
    are steps on their parts, which are computed at once."""

    def __new__(cls, operation: str, kinds: Sequence[str], truth: bool = False) -> Self: ...
    def unary(self, x: Any, /) -> Array | None:
        """Records the step of one array; None where that takes more: another kind, halves."""
    def binary(self, x1: Any, x2: Any, /) -> Array | None:
        """Records the step of two arrays of one type and device, or of an array and a number of its kind; None where that takes
        more: other kinds, halves, types that are promoted, shapes that do not broadcast."""
    def choice(self, condition: Any, x1: Any, x2: Any, /) -> Array | None:
        """Records the choice of one of two values by truths, as `binary` does."""

@final
class Fold:
    """A fold of elements of some kinds that gives their type."""

    def __new__(cls, operation: str, kinds: Sequence[str]) -> Self: ...
    def of(self, x: Any, axis: Any, keepdims: Any, /) -> Array | None:
        """The fold of all elements, or along one axis; None where that takes more: another kind, halves, no elements, several
        axes."""

@final
class Alone:
    """The lock of all arrays: in a `with`, no other thread computes one or writes its memory."""

    def __enter__(self) -> None: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

def set_element_types(types: Sequence[DType], /) -> None:
    """Says which element types there are, once."""

def number(value: float, type: str, /) -> Value:
    """A number as an element of a type, by the buffer's name."""

def rounded(value: float, type: str, /) -> float:
    """The number that an element of a type is, by the buffer's name: rounded to the nearest one."""

def rolled(array: Array, shifts: Sequence[int], /) -> Array:
    """A new array: along each axis the last elements, as many as its shift, come first."""

def stacked(arrays: list[Any], axis: Any, /) -> Array | None:
    """Arrays along a new axis; None of arrays that differ in shape, type or device, of complex ones, and where there is no such axis."""

def step(operation: str, of: str, args: Sequence[Value], type: str, shape: tuple[int, ...], /) -> Value:
    """A step: `operation` on elements of type `of`, which gives elements of a type in a shape. Truths are uint8, 0 or 1; the
    operation "convert.float32" converts to float32."""

def value_of(array: Array, shape: tuple[int, ...], /) -> Value:
    """The array as part of a graph of a shape: its own graph, if the shape is its own, else its memory, broadcast.

    Raises:
        ShapeError: it does not broadcast to it.
    """

def recorded(value: Value, shape: tuple[int, ...], dtype: DType, device: Device, /) -> Array:
    """An array that shows a value; computed at once where the graph is large or reads memory that may change."""

def new(device: Device, shape: tuple[int, ...], dtype: DType, zeroed: bool = False) -> Array:
    """A new row-major array, whose elements are all written next unless they are `zeroed`.

    Raises:
        OutOfMemoryError: the device has no such memory.
    """

def fold(operation: str, value: Value, array: Array, axes: Sequence[int], keepdims: bool, dtype: DType, /) -> Array:
    """The fold of a value, made from `array`'s graph, along axes of the array's shape. Elements of the result are `dtype`'s
    buffer type.

    A recorded array is computed on the way and not kept the first time; the second time it is kept.
    """

def copied(array: Array, /) -> Array:
    """The elements in memory of their own, row-major."""

def assign(target: Array, source: Array, /) -> None:
    """Writes the elements of an array of the same type, which broadcasts, into the memory of another. What was recorded before
    and reads that memory is computed first.

    Raises:
        ShapeError: the source does not broadcast to the target.
    """

def replace(target: Array, source: Array, /) -> None:
    """Makes an array what another of the same shape, type and device is, which nobody else sees: written into its memory, or
    recorded where both are."""

def recorded_operations() -> int:
    """Number of recorded operations that something still needs, for tests."""

def product(a: Array, b: Array, c: Array, /) -> None:
    """Writes the product of two matrices to a third; the elements of each lie row-major, one after the other."""

def positions(extreme: str, array: Array, axis: int | None, target: Array, /) -> None:
    """Writes the index of the first "minimum" or "maximum" along an axis, or of all elements in row-major order, to int64s."""

def scan(operation: str, array: Array, axis: int, target: Array, /) -> None:
    """Writes the "sum", "product", "minimum" or "maximum" of the elements up to each along an axis, converted to the target's type."""

def sort_rows(order: bool, descending: bool, array: Array, target: Array, /) -> None:
    """Writes the elements of each row in order, or the int64 indices that put them in order; equal elements keep theirs."""

def operations() -> list[tuple[str, list[str], str]]:
    """The table of operations on buffers: instruction, names of the operation that it may have, what it computes."""

def unary(ex: Executor, op: str, a: Buffer, c: Buffer, n: int | None = None) -> None: ...
def binary(
    ex: Executor, op: str, a: Buffer, b: Buffer, c: Buffer, n: int | None = None
) -> None: ...
def scalar(
    ex: Executor, op: str, a: Buffer, c: Buffer, scalar: float, n: int | None = None
) -> None: ...
def clip(
    ex: Executor, a: Buffer, c: Buffer, low: float, high: float, n: int | None = None
) -> None: ...
def copy(ex: Executor, src: Buffer, dst: Buffer, n: int | None = None) -> None: ...
def cast(ex: Executor, src: Buffer, dst: Buffer, n: int | None = None) -> None: ...
def reduce(
    ex: Executor, op: str, input: Buffer, output: Buffer | None = None, n: int | None = None
) -> float: ...
def loss(
    ex: Executor,
    op: str,
    predicted: Buffer,
    target: Buffer,
    output: Buffer | None = None,
    n: int | None = None,
) -> float: ...
def softmax(ex: Executor, input: Buffer, output: Buffer, rows: int, cols: int) -> None: ...
def layer_norm(
    ex: Executor,
    input: Buffer,
    gamma: Buffer,
    beta: Buffer,
    output: Buffer,
    rows: int,
    cols: int,
    epsilon: float,
) -> None: ...
def gemm(
    ex: Executor, a: Buffer, b: Buffer, c: Buffer, m: int, n: int, k: int
) -> None: ...
def matvec(ex: Executor, a: Buffer, x: Buffer, y: Buffer, m: int, n: int) -> None: ...
