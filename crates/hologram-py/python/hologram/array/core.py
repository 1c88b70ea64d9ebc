"""`hologram.Array`: a shape over memory, or over operations that are not computed yet."""

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

from . import fusion
from .devices import Device
from .dtypes import DType
from .graph import MOST_STEPS, Leaf, Node, Value
from .layout import broadcast_strides, dense_strides, is_dense, size_of
from .storage import Storage

__all__ = ["Array", "adopt", "assign", "copied", "dense", "fold", "leaf_of", "new", "over", "recorded", "value_of"]


_P = ParamSpec("_P")
_R = TypeVar("_R")

# One thread at a time changes graphs and the memory that they read.
_changes = threading.RLock()


def _renew() -> None:
    """A forked process has no thread that would let go a lock that another one held."""
    global _changes
    _changes = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def _alone(function: Callable[_P, _R]) -> Callable[_P, _R]:
    @wraps(function)
    def alone(*args: _P.args, **named: _P.kwargs) -> _R:
        with _changes:
            return function(*args, **named)

    return alone


class Array:
    """Elements of one type in a shape, on a device; made by `hologram.asarray` and the functions of `hologram.array`.

    Elementwise operations are recorded and computed together when a value is needed. Slices, transposes, broadcasts and most
    reshapes are views: they share memory, and what is written through one is seen through the others.
    """

    __slots__ = ("__weakref__", "_device", "_dtype", "_node", "_offset", "_shape", "_storage", "_strides")

    _shape: tuple[int, ...]
    _dtype: DType
    _device: Device
    _node: Node | None
    _storage: Storage | None
    _offset: int
    _strides: tuple[int, ...]

    def __init__(self, *_: object):
        raise TypeError("Array: made by hologram.asarray and the functions of hologram.array")

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._dtype

    @property
    def device(self) -> Device:
        """Where they are."""
        return self._device

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return size_of(self._shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self._dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one index to the next along each dimension, as NumPy's; computes the array."""
        _, _, strides = self.data()
        return tuple(stride * self._dtype.itemsize for stride in strides)

    @property
    def pending(self) -> bool:
        """Whether operations are recorded that were not computed yet."""
        return self._node is not None

    def data(self) -> tuple[Storage, int, tuple[int, ...]]:
        """Memory, offset and strides in elements, computed now if they were not."""
        if self._node is not None:
            compute(self)
        assert self._storage is not None
        return self._storage, self._offset, self._strides

    def compute(self) -> "Array":
        """Computes what is recorded; the array itself."""
        self.data()
        return self

    def view(self, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> "Array":
        """The same memory in another shape; offset and strides in elements."""
        storage, _, _ = self.data()
        return over(storage, shape, self._dtype, offset, strides)


def over(
    storage: Storage, shape: tuple[int, ...], dtype: DType, offset: int = 0, strides: tuple[int, ...] | None = None
) -> Array:
    """An array over memory; row-major unless strides are given."""
    made = Array.__new__(Array)
    made._node = None
    made._storage, made._offset = storage, offset
    made._strides = dense_strides(shape) if strides is None else strides
    made._shape, made._dtype, made._device = shape, dtype, storage.device
    return made


def new(device: Device, shape: tuple[int, ...], dtype: DType, zeroed: bool = False) -> Array:
    """A new row-major array, whose elements are all written next unless they are `zeroed`."""
    count = size_of(shape) * dtype.lanes
    if zeroed:
        buffer = device.executor.allocate(count, dtype.buffer)
    else:
        buffer = device.executor.allocate_unset(count, dtype.buffer)
    return over(Storage(buffer, device), shape, dtype)


def recorded(value: Value, shape: tuple[int, ...], dtype: DType, device: Device) -> Array:
    """An array that shows a value; computed at once where the graph is large or reads memory that may change."""
    made = Array.__new__(Array)
    made._shape, made._dtype, made._device = shape, dtype, device
    made._storage, made._offset, made._strides = None, 0, ()
    if not isinstance(value, Node) or value.leaf is not None or value.shown() is not None:
        # A copy of elements or a number is a step, too.
        value = Node("copy", value.type, (value,), value.type, shape)
    made._node = value
    value.array = weakref.ref(made)
    if value.eager or value.steps > MOST_STEPS:
        compute(made)
    return made


def leaf_of(array: Array, shape: tuple[int, ...]) -> Leaf:
    """The array's memory, broadcast to a shape."""
    storage, offset, strides = array.data()
    return Leaf(storage, offset, broadcast_strides(array.shape, strides, shape), array.dtype.buffer)


def value_of(array: Array, shape: tuple[int, ...]) -> Node | Leaf:
    """The array as part of a graph of a shape: its own graph, if the shape is its own."""
    node = array._node
    if node is not None and array._shape == shape:
        return node
    return leaf_of(array, shape)


def _kept(root: Node) -> list[Node]:
    """The node and all below it whose arrays are alive: they are computed in the same pass."""
    found, stack, seen = [root], list(root.args), {id(root)}
    while stack:
        value = stack.pop()
        if not isinstance(value, Node) or value.leaf is not None or id(value) in seen:
            continue
        seen.add(id(value))
        if value.shown() is not None:
            found.append(value)
        stack.extend(value.args)
    return found


def _settle(node: Node, place: fusion.Place) -> None:
    """A node that was computed is a leaf, for its array and for others that read it."""
    node.settle(Leaf(place.storage, place.offset, place.strides, node.type))
    array = node.shown()
    if array is not None:
        array._storage, array._offset, array._strides = place.storage, place.offset, place.strides
        array._node = None


@_alone
def compute(array: Array) -> None:
    """Computes a recorded array, and arrays that are alive on the way."""
    root = array._node
    if root is None:
        return
    if root.leaf is not None:
        # Computed for another.
        leaf = root.leaf
        array._storage, array._offset, array._strides = leaf.storage, leaf.offset, leaf.strides
        array._node = None
        return
    nodes = _kept(root)
    steps, values = fusion.linearise(nodes)
    places = [fusion.allocate(array._device, array._shape, node.type) for node in nodes]
    fusion.run(array._device, array._shape, steps, list(zip(values, places)))
    for node, place in zip(nodes, places):
        _settle(node, place)


@_alone
def fold(operation: str, value: Value, array: Array, axes: Sequence[int], keepdims: bool, dtype: DType) -> Array:
    """The fold of a value, made from `array`'s graph, along axes of the array's shape. Elements of the result are `dtype`'s
    buffer type.

    A recorded array is computed on the way and not kept the first time; the second time it is kept.
    """
    shape = array._shape
    folded = [d in axes for d in range(len(shape))]
    kept = tuple(1 if gone else extent for extent, gone in zip(shape, folded))
    place = fusion.allocate(array._device, kept, dtype.buffer)
    target = fusion.Place(place.storage, 0, tuple(0 if gone else s for s, gone in zip(place.strides, folded)))
    outputs: list[Node] = []
    node = array._node
    if node is not None:
        node.folds += 1
        outputs = [kept_node for kept_node in _kept(node) if kept_node is not node or node.folds > 1]
    steps, values = fusion.linearise([value, *outputs])
    places = [fusion.allocate(array._device, shape, output.type) for output in outputs]
    written = list(zip(values[1:], places))
    fusion.run(array._device, shape, steps, written, (operation, values[0], folded, target))
    for output, at in zip(outputs, places):
        _settle(output, at)
    result = kept if keepdims else tuple(extent for extent, gone in zip(shape, folded) if not gone)
    return over(place.storage, result, dtype)


def copied(array: Array) -> Array:
    """The elements in memory of their own, row-major."""
    made = new(array._device, array._shape, array._dtype)
    assign(made, array)
    return made


def dense(array: Array) -> Array:
    """The array, or a copy if its elements do not lie row-major, one after the other."""
    _, _, strides = array.data()
    return array if is_dense(array._shape, strides) else copied(array)


@_alone
def adopt(target: Array, source: Array) -> None:
    """Replaces what a recorded array is by an array of the same shape and type that nobody else sees. No view shows it, since
    views compute it."""
    old, node = target._node, source._node
    if old is not None:
        old.array = None
    target._storage, target._offset, target._strides = source._storage, source._offset, source._strides
    target._node = node
    if node is not None:
        node.array = weakref.ref(target)


@_alone
def assign(target: Array, source: Array, consume: bool = False) -> None:
    """Writes the elements of an array of the same type, which broadcasts, into the memory of another.

    `consume`: nobody else sees the source, so that it need not be computed apart.
    """
    storage, offset, strides = target.data()
    shape, lanes, device = target._shape, target._dtype.lanes, target._device
    if target.size == 0:
        broadcast_strides(source._shape, (0,) * source.ndim, shape)
        return
    value = value_of(source, shape)
    # What still has to read the old elements does it now.
    for reader in storage.take_readers():
        if reader.leaf is None and not (consume and reader is value):
            place = fusion.allocate(device, reader.shape, reader.type)
            steps, values = fusion.linearise([reader])
            fusion.run(device, reader.shape, steps, [(values[0], place)])
            _settle(reader, place)
    if isinstance(value, Node) and value.leaf is not None:
        value = value.leaf
    steps, values = fusion.linearise([value])
    here = (offset, strides)
    if any(leaf.storage is storage and (leaf.offset, leaf.strides) != here for leaf in steps.leaves):
        apart = copied(source) if isinstance(value, Leaf) else source.compute()
        value = leaf_of(apart, shape)
        steps, values = fusion.linearise([value])
    place = fusion.Place(storage, offset, strides)
    if lanes == 2:
        # Complex numbers are moved as pairs; they are never recorded.
        assert isinstance(value, Leaf)
        pair = Leaf(value.storage, value.offset * 2, (*(s * 2 for s in value.strides), 1), value.type)
        steps, values = fusion.linearise([pair])
        shape = (*shape, 2)
        place = fusion.Place(storage, offset * 2, (*(s * 2 for s in strides), 1))
    fusion.run(device, shape, steps, [(values[0], place)])
