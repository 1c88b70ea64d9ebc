"""Recorded operations become one expression, which one pass over memory computes: a fused kernel on devices, vector code
on the processor."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .._hologram import Expression
from .devices import Device
from .graph import Leaf, Node, Number, Value
from .layout import dense_strides, size_of
from .storage import Storage

__all__ = ["Place", "Steps", "allocate", "linearise", "run"]

_MOST_KNOWN = 1024


class Place:
    """Where results go: elements of a storage over the shape of the expression."""

    __slots__ = ("offset", "storage", "strides")

    def __init__(self, storage: Storage, offset: int, strides: tuple[int, ...]):
        self.storage = storage
        self.offset = offset
        self.strides = strides


class Steps:
    """A graph in the order of computation. Values are numbered: leaves, numbers, then steps."""

    __slots__ = ("leaves", "numbers", "steps", "values")

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self.numbers: list[Number] = []
        self.steps: list[tuple[str, str, tuple[int, ...]]] = []
        self.values: dict[int, int] = {}
        """Number of the value of each node, by its identity."""

    @property
    def types(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Types of leaves and of numbers."""
        return tuple(leaf.type for leaf in self.leaves), tuple(number.type for number in self.numbers)


def linearise(roots: Sequence[Value]) -> tuple[Steps, list[int]]:
    """The steps to compute some values, and the numbers of these."""
    order: list[Node] = []
    seen: set[int] = set()
    found = Steps()
    leaves: dict[tuple[int, int, tuple[int, ...], str], int] = {}
    numbers: dict[tuple[str, str], int] = {}
    place: dict[int, tuple[str, int]] = {}

    def end(value: Leaf | Number) -> tuple[str, int]:
        if isinstance(value, Leaf):
            key = (id(value.storage), value.offset, value.strides, value.type)
            if key not in leaves:
                leaves[key] = len(found.leaves)
                found.leaves.append(value)
            return "leaf", leaves[key]
        name = (repr(value.value), value.type)
        if name not in numbers:
            numbers[name] = len(found.numbers)
            found.numbers.append(value)
        return "number", numbers[name]

    stack = [(root, False) for root in reversed(roots)]
    while stack:
        value, ready = stack.pop()
        if isinstance(value, Node) and value.leaf is None:
            if ready:
                order.append(value)
            elif id(value) not in seen:
                seen.add(id(value))
                stack.append((value, True))
                stack.extend((arg, False) for arg in reversed(value.args))
        else:
            place[id(value)] = end(value.leaf if isinstance(value, Node) else value)

    first_step = len(found.leaves) + len(found.numbers)

    def number(value: Value) -> int:
        at = place.get(id(value))
        if at is None:
            return found.values[id(value)]
        return at[1] if at[0] == "leaf" else len(found.leaves) + at[1]

    for node in order:
        if node.operation == "copy":
            found.values[id(node)] = number(node.args[0])
            continue
        found.values[id(node)] = first_step + len(found.steps)
        found.steps.append((node.operation, node.of, tuple(map(number, node.args))))
    return found, [number(root) for root in roots]


@lru_cache(maxsize=_MOST_KNOWN)
def _expression(
    leaves: tuple[str, ...],
    numbers: tuple[str, ...],
    steps: tuple[tuple[str, str, tuple[int, ...]], ...],
    outputs: tuple[int, ...],
    fold: tuple[str, int] | None,
) -> Expression:
    return Expression(leaves, numbers, steps, outputs, fold)


def run(
    device: Device,
    shape: tuple[int, ...],
    steps: Steps,
    outputs: Sequence[tuple[int, Place]],
    fold: tuple[str, int, Sequence[bool], Place] | None = None,
) -> None:
    """Computes values into places. A fold is (operation, value, which dimensions, place); the strides of its place are 0
    along these.
    """
    if size_of(shape) == 0 and fold is None:
        return
    leaf_types, number_types = steps.types
    expression = _expression(
        leaf_types,
        number_types,
        tuple(steps.steps),
        tuple(value for value, _ in outputs),
        None if fold is None else fold[:2],
    )
    operands = [(leaf.storage.buffer, leaf.offset, leaf.strides) for leaf in steps.leaves]
    numbers = [number.value for number in steps.numbers]
    written = [(place.storage.buffer, place.offset, place.strides) for _, place in outputs]
    extra: tuple[Any, ...] = ()
    if fold is not None:
        place = fold[3]
        extra = (list(fold[2]), (place.storage.buffer, place.offset, place.strides))
    expression.run(device.executor, shape, operands, numbers, written, *extra)


def allocate(device: Device, shape: tuple[int, ...], type: str) -> Place:
    """Memory for results, row-major, all of which is written next."""
    buffer = device.executor.allocate_unset(size_of(shape), type)
    return Place(Storage(buffer, device), 0, dense_strides(shape))
