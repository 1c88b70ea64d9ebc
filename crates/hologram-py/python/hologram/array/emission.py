"""Expressions as Atlas programs, for devices with memory of their own.

Of elementwise expressions a lane computes an element. Folds are made in rounds, each a program: in a round several lanes, or
several blocks of lanes, fold parts of each element of the result, and the next round folds the parts, until there is one.

| a round | when | a part is folded by |
|---|---|---|
| of blocks | memory is contiguous along what is folded | the lanes of a block, neighbours reading neighbours, then through shared memory |
| of lanes | otherwise, or little is folded | a lane; lanes of neighbouring elements of the result are neighbours |

Types that the lanes do not compute in are converted by the steps themselves; halves are loaded and stored.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from .._hologram import Buffer, Program
from ..errors import UnsupportedError
from .atlas import ATLAS, FIRST_HANDLE, MOST_VALUES, Registers, Writer, address, bytes_of, constant, empty, type_of
from .devices import Device
from .layout import dense_strides, size_of

__all__ = ["Expression", "Fold", "View", "program_text", "run"]

_BLOCK = 256
# Columns that the values of a block stand in, and rows.
_SIDE = 16
# Blocks, and lanes, that keep a device busy.
_BLOCKS = 1024
_LANES = _BLOCKS * _BLOCK
# Elements that are worth a lane of a block, and a lane alone.
_WORTH = 8
_WORTH_ALONE = 32
# Parts of an element that are folded at once.
_FEW = 64
# Elements that a lane which folds loads before it uses one.
_AT_ONCE = 4
_COMBINE = {"sum": "add", "product": "mul"}


class View(NamedTuple):
    """A type, and the offset and strides of elements in memory, in elements."""

    type: str
    offset: int
    strides: tuple[int, ...]


class Expression(NamedTuple):
    """What is computed of each element of a shape: values are numbered, leaves, numbers, then steps."""

    shape: tuple[int, ...]
    leaves: tuple[View, ...]
    numbers: tuple[tuple[str, Any, str], ...]
    """Type, value, text."""
    steps: tuple[tuple[str, str, tuple[int, ...]], ...]
    outputs: tuple[tuple[int, View], ...]
    """Values that are stored, and where."""


class Fold(NamedTuple):
    """A round of a fold of an expression."""

    operation: str
    value: int
    folded: tuple[bool, ...]
    """Which dimensions."""
    target: View
    """Where results go if there is one part; its strides are over the dimensions that are kept. Otherwise the parts of an element
    stand one behind the other if blocks fold them, and part `p` of all elements behind part `p - 1` if lanes do."""
    parts: int
    blocks: bool


def program_text(expression: Expression, fold: Fold | None) -> str:
    """The program: handles of leaves, then of outputs, then of the fold's target are in r160, r161 and so on."""
    shape, leaves, numbers, steps, outputs = expression
    values = len(leaves) + len(numbers) + len(steps)
    if values > MOST_VALUES:
        raise UnsupportedError(f"an expression of more than {MOST_VALUES} values for one program")
    write = Writer()
    registers = Registers()
    leaf_handles = [registers.take() for _ in leaves]
    output_handles = [registers.take() for _ in outputs]
    constants = range(len(leaves), len(leaves) + len(numbers))

    def element(at: str, view: View) -> str:
        size = bytes_of(view.type)
        address(write, at, shape, [stride * size for stride in view.strides], view.offset * size, "r225")
        return ATLAS[view.type]

    def place(value: int, copy: int) -> int:
        return value if value in constants else copy * values + value

    def load(at: str, copy: int) -> None:
        for number, (leaf, handle) in enumerate(zip(leaves, leaf_handles)):
            write(f"ldg.{element(at, leaf)} r{place(number, copy)}, [r{handle} + r225]")

    def finish(at: str, copy: int) -> None:
        for number, (operation, of, args) in enumerate(steps):
            write.step(operation, of, place(constants.stop + number, copy), [place(arg, copy) for arg in args])
        for (value, view), handle in zip(outputs, output_handles):
            write(f"stg.{element(at, view)} r{place(value, copy)}, [r{handle} + r225]")

    for number, (type, value, _) in enumerate(numbers):
        write(f"mov_imm.{ATLAS[type]} r{len(leaves) + number}, {constant(type, value)}")
    if fold is not None:
        at_once = _AT_ONCE if values * _AT_ONCE <= MOST_VALUES else 1
        _fold(write, shape, fold, registers.take(), at_once, load, finish, place)
    else:
        write(f"mov_imm.u64 r226, {size_of(shape)}", "set.ge.u64 p0, r255, r226", "bra @end, p0")
        load("r255", 0)
        finish("r255", 0)
        write("@end:")
    return "\n".join(write.lines)


def _walk(
    write: Writer,
    length: int,
    step: int,
    at_once: int,
    index: Callable[[str], None],
    load: Callable[[str, int], None],
    finish: Callable[[str, int], None],
) -> None:
    """A lane goes from r229 on in steps through `length` elements; `index` writes the place of r229 into a register. The elements
    of several iterations are loaded before any is used: a load takes as long as hundreds of instructions."""
    write(f"mov_imm.u64 r232, {step}")
    if at_once > 1 and length > (at_once - 1) * step:
        write(f"mov_imm.u64 r231, {length - (at_once - 1) * step}", "@several:", "set.ge.u64 p0, r229, r231", "bra @next, p0")
        for copy in range(at_once):
            index(f"r{246 + copy}")
            load(f"r{246 + copy}", copy)
            write("add.u64 r229, r229, r232")
        for copy in range(at_once):
            finish(f"r{246 + copy}", copy)
        write("bra @several")
    write("@next:", f"mov_imm.u64 r231, {length}", "set.ge.u64 p0, r229, r231", "bra @done, p0")
    index("r246")
    load("r246", 0)
    finish("r246", 0)
    write("add.u64 r229, r229, r232", "bra @next", "@done:")


def _fold(
    write: Writer,
    shape: tuple[int, ...],
    fold: Fold,
    target: int,
    at_once: int,
    load: Callable[[str, int], None],
    finish: Callable[[str, int], None],
    place: Callable[[int, int], int],
) -> None:
    """r228 is the element of the result, r230 the part; r229 goes along the folded dimensions."""
    operation, value, folded, (type, offset, strides), parts, blocks = fold
    kept = [d for d, gone in enumerate(folded) if not gone]
    gone = [d for d, gone in enumerate(folded) if gone]
    count, length = size_of(tuple(shape[d] for d in kept)), size_of(tuple(shape[d] for d in gone))
    t, size = ATLAS[type], bytes_of(type)
    combine = _COMBINE.get(operation, operation)
    write(f"mov_imm.{t} r227, {empty(operation, type)}")
    if blocks:
        write("cvt.u64.u32 r236, r253", "cvt.u64.u32 r237, r252", f"mov_imm.u64 r226, {parts}", "div.u64 r228, r236, r226")
        write("mul.u64 r230, r228, r226", "sub.u64 r230, r236, r230")
        write(f"mov_imm.u64 r226, {_BLOCK}", "mul.u64 r229, r230, r226", "add.u64 r229, r229, r237")
    else:
        write(f"mov_imm.u64 r226, {count * parts}", "set.ge.u64 p0, r255, r226", "bra @end, p0", "mov.u64 r236, r255")
        write(f"mov_imm.u64 r226, {max(count, 1)}", "div.u64 r230, r255, r226", "mul.u64 r228, r230, r226")
        write("sub.u64 r228, r255, r228", "mov.u64 r229, r230")
    linear = dense_strides(shape)
    address(write, "r228", [shape[d] for d in kept], [linear[d] for d in kept], 0, "r233")

    def index(to: str) -> None:
        address(write, "r229", [shape[d] for d in gone], [linear[d] for d in gone], 0, "r234")
        write(f"add.u64 {to}, r233, r234")

    def folded_too(at: str, copy: int) -> None:
        finish(at, copy)
        write.step(combine, type, 227, (227, place(value, copy)))

    _walk(write, length, parts * (_BLOCK if blocks else 1), at_once, index, load, folded_too)
    if blocks:
        _together(write, operation, type)
    if parts == 1:
        address(write, "r228", [shape[d] for d in kept], [stride * size for stride in strides], offset * size, "r225")
    else:
        # The number of the block, or of the lane, is the place of the part.
        write(f"mov_imm.u64 r226, {size}", "mul.u64 r225, r236, r226")
    write(f"stg.{t} r227, [r{target} + r225]", "@end:")


def _together(write: Writer, operation: str, type: str) -> None:
    """Folds r227 of the lanes of a block: each lane folds the 16 values of its column of 16, then lane 0 what the columns gave, the
    only one that goes on. Two barriers: each costs as much as some hundred instructions."""
    t, size, combine = ATLAS[type], bytes_of(type), _COMBINE.get(operation, operation)

    def fold_from(step: int) -> None:
        """r227 from 16 values in shared memory, the first at r241, `step` bytes apart."""
        write(f"mov_imm.u64 r226, {step}", f"lds.{t} r227, [r240 + r241]")
        for _ in range(_SIDE - 1):
            write("add.u64 r241, r241, r226", f"lds.{t} r242, [r240 + r241]")
            write.step(combine, type, 227, (227, 242))

    write("mov_imm.u64 r240, 0", f"mov_imm.u64 r226, {size}", "mul.u64 r241, r237, r226", f"sts.{t} r227, [r240 + r241]")
    # The column begins at the lane's number modulo 16.
    write(f"mov_imm.u64 r226, {_SIDE * size - 1}", "and.u64 r241, r241, r226", "mov.u64 r243, r241", "bar_sync 0")
    fold_from(_SIDE * size)
    # What the columns gave stands behind the values; lanes of one column write the same.
    write(f"mov_imm.u64 r226, {_BLOCK * size}", "add.u64 r243, r243, r226", f"sts.{t} r227, [r240 + r243]", "bar_sync 1")
    write("mov_imm.u64 r226, 0", "set.ne.u64 p0, r237, r226", "bra @end, p0", f"mov_imm.u64 r241, {_BLOCK * size}")
    fold_from(size)


@lru_cache(maxsize=512)
def _program(text: str) -> Program:
    return Program(text)


def _parts(shape: tuple[int, ...], folded: tuple[bool, ...], strides: Sequence[tuple[int, ...]]) -> tuple[int, bool]:
    """Number of parts, and whether blocks fold them."""
    count = size_of(tuple(extent for extent, gone in zip(shape, folded) if not gone))
    length = size_of(tuple(extent for extent, gone in zip(shape, folded) if gone))
    # Whether neighbours in memory are folded with one another, by the leaf that is read most densely.
    steps = [(abs(stride), not gone) for view in strides for stride, extent, gone in zip(view, shape, folded) if extent > 1 and stride]
    contiguous = not steps or not min(steps)[1]
    if length <= _FEW and (count > 1 or length <= _WORTH_ALONE):
        return 1, False
    if contiguous and (length >= _BLOCK or count < _FEW * _FEW):
        return max(1, min(_BLOCKS // max(count, 1), length // (_BLOCK * _WORTH))), True
    return max(1, min(_LANES // max(count, 1), length // _WORTH_ALONE)), False


def _merged(
    shape: tuple[int, ...], folded: tuple[bool, ...], views: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], tuple[bool, ...], tuple[int, ...]]:
    """Dimensions that every view goes through as through one become one: extents, which are folded, and the dimension whose
    strides each has."""
    extents: list[int] = []
    dims: list[int] = []
    for d, extent in enumerate(shape):
        if extent == 1:
            continue
        if dims and folded[d] == folded[dims[-1]] and all(view[dims[-1]] == view[d] * extent for view in views):
            extents[-1] *= extent
            dims[-1] = d
        else:
            extents.append(extent)
            dims.append(d)
    return tuple(extents), tuple(folded[d] for d in dims), tuple(dims)


class _Round(NamedTuple):
    """A program and its launch; what it folds into is a buffer of `partial` elements of `type`, or the result."""

    program: Program
    groups: int
    shared_memory: int
    partial: int
    type: str


@lru_cache(maxsize=1024)
def _plan(
    shape: tuple[int, ...],
    leaves: tuple[tuple[str, int, tuple[int, ...]], ...],
    numbers: tuple[tuple[str, Any, str], ...],
    steps: tuple[tuple[str, str, tuple[int, ...]], ...],
    outputs: tuple[tuple[int, int, tuple[int, ...]], ...],
    fold: tuple[str, int, tuple[bool, ...], int, tuple[int, ...]] | None,
) -> tuple[_Round, ...]:
    """Launches of an expression: its programs. Views are (type, offset, strides), outputs (value, offset, strides), a fold is
    (operation, value, which dimensions, offset, strides)."""
    types = [*(leaf[0] for leaf in leaves), *(number[0] for number in numbers)]
    types += [type_of(operation, of) for operation, of, _ in steps]
    folded = fold[2] if fold else (False,) * len(shape)
    strides = [*(leaf[2] for leaf in leaves), *(output[2] for output in outputs), *([fold[4]] if fold else [])]
    shape, folded, dims = _merged(shape, folded, strides)

    def view(type: str, offset: int, strides: tuple[int, ...]) -> View:
        return View(type, offset, tuple(strides[d] for d in dims))

    written = tuple((value, view(types[value], *place)) for value, *place in outputs)
    expression = Expression(shape, tuple(view(*leaf) for leaf in leaves), numbers, steps, written)
    if fold is None:
        return (_Round(_program(program_text(expression, None)), -(-size_of(shape) // _BLOCK), 0, 0, ""),)
    operation, value, _, offset, over = fold
    type = types[value]
    target = View(type, offset, tuple(over[d] for d, gone in zip(dims, folded) if not gone))
    rounds = []
    while True:
        kept = tuple(extent for extent, gone in zip(expression.shape, folded) if not gone)
        count = size_of(kept)
        parts, blocks = _parts(expression.shape, folded, [leaf.strides for leaf in expression.leaves])
        text = program_text(expression, Fold(operation, value, folded, target, parts, blocks))
        groups = count * parts if blocks else -(-count * parts // _BLOCK)
        shared = (_BLOCK + _SIDE) * bytes_of(type) if blocks else 0
        rounds.append(_Round(_program(text), groups, shared, 0 if parts == 1 else count * parts, type))
        if parts == 1:
            return tuple(rounds)
        # The parts: the last dimension, or the first.
        value = 0
        others = (False,) * len(kept)
        shape, folded = ((*kept, parts), (*others, True)) if blocks else ((parts, *kept), (True, *others))
        expression = Expression(shape, (View(type, 0, dense_strides(shape)),), (), (), ())


def run(
    device: Device,
    shape: tuple[int, ...],
    leaves: tuple[tuple[str, int, tuple[int, ...]], ...],
    numbers: tuple[tuple[str, Any, str], ...],
    steps: tuple[tuple[str, str, tuple[int, ...]], ...],
    outputs: tuple[tuple[int, int, tuple[int, ...]], ...],
    fold: tuple[str, int, tuple[bool, ...], int, tuple[int, ...]] | None,
    buffers: list[Buffer],
    target: Buffer | None,
) -> None:
    """Computes an expression by programs, as `_plan` takes it; `buffers` are those of leaves and outputs, `target` the fold's."""
    executor = device.executor
    for program, groups, shared_memory, partial, type in _plan(shape, leaves, numbers, steps, outputs, fold):
        into: list[Buffer] = []
        if target is not None:
            into = [executor.allocate_unset(partial, type) if partial else target]
        if groups:
            executor.start(program, groups, _BLOCK, shared_memory, FIRST_HANDLE, buffers + into)
        buffers = into
