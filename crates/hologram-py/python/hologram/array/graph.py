"""Operations that are recorded and not computed yet: a graph of elementwise steps.

A node is one step on nodes, on elements in memory (leaves) and on numbers. All nodes of a graph have one shape: what has
another is computed first and becomes a leaf that is broadcast. A node that was computed is a leaf from then on.
"""

import weakref
from typing import TYPE_CHECKING, Any

from .storage import Storage

if TYPE_CHECKING:
    from .core import Array

__all__ = ["MOST_STEPS", "Leaf", "Node", "Number", "Value"]

# Steps that are recorded before they are computed.
MOST_STEPS = 64


class Leaf:
    """Elements in memory: the one with all indices 0, and elements along each dimension of the graph's shape."""

    __slots__ = ("offset", "storage", "strides", "type")

    def __init__(self, storage: Storage, offset: int, strides: tuple[int, ...], type: str):
        self.storage = storage
        self.offset = offset
        self.strides = strides
        self.type = type


class Number:
    """A Python number as an element of a type."""

    __slots__ = ("type", "value")

    def __init__(self, value: float, type: str):
        self.value = value
        self.type = type


class Node:
    """A step: `operation` on elements of type `of`, which gives elements of type `type` in
    `shape`. Truths are uint8, 0 or 1; the step "copy" is its value."""

    __slots__ = (
        "__weakref__", "_users", "args", "array", "eager", "folds", "leaf", "of", "operation", "shape", "steps",
        "type",
    )  # fmt: skip

    def __init__(self, operation: str, of: str, args: "tuple[Value, ...]", type: str, shape: tuple[int, ...]):
        self.shape = shape
        self.operation = operation
        self.of = of
        self.args = args
        self.type = type
        self.array: weakref.ref[Array] | None = None
        """The array that shows it."""
        self.leaf: Leaf | None = None
        """Where it is, once it was computed."""
        self.folds = 0
        """How often it was computed for a fold, and not kept."""
        self.steps = 1
        """Steps to compute it; shared ones count for each use."""
        self.eager = False
        """Whether it reads memory that may change at any time."""
        self._users: list[weakref.ref[Node]] = []
        for arg in args:
            if isinstance(arg, Node) and arg.leaf is not None:
                arg = arg.leaf
            if isinstance(arg, Node):
                self.steps += arg.steps
                self.eager = self.eager or arg.eager
                arg._users.append(weakref.ref(self))
            elif isinstance(arg, Leaf):
                arg.storage.read_by(self)
                self.eager = self.eager or arg.storage.exported

    def settle(self, leaf: Leaf) -> None:
        """Notes where it was computed to: whoever still reads it reads this memory."""
        self.leaf = leaf
        for user in self._users:
            reader = user()
            if reader is not None and reader.leaf is None:
                leaf.storage.read_by(reader)
        self.args, self._users = (), []

    def shown(self) -> Any:
        """The array that shows it, if it is alive."""
        return self.array() if self.array is not None else None


Value = Node | Leaf | Number
