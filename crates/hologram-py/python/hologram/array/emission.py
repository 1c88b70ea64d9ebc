"""Expressions as Atlas programs, for devices with memory of their own: a lane for each element, or for each part of a fold.

| register | holds |
|---|---|
| r0.. | values of the expression |
| r160.. | handles of buffers; behind them extents and strides |
| r255 | number of the lane |

A fold is a loop in each lane. Where few elements are folded into, several lanes fold parts of one first, and a second program
folds the parts. Types that the lanes do not compute in are converted by the steps themselves; halves are loaded and stored.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .._hologram import Program
from ..errors import UnsupportedError
from .devices import Device
from .layout import dense_strides, size_of

__all__ = ["program_text", "run"]

_BLOCK = 256
# Registers of values; results of steps take them up.
_MOST_VALUES = 150
_ATLAS = {
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
}  # fmt: skip
_SIZE = {"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4}
# Values of folds of nothing.
_EMPTY = {"sum": "0", "product": "1"}


def _bytes(type: str) -> int:
    return _SIZE.get(type, 8)


def _least(type: str, largest: bool) -> str:
    """The smallest or the largest value of a type, as a constant."""
    if type.startswith("float"):
        return "inf" if largest else "-inf"
    bits = 8 * _bytes(type)
    if type.startswith("u"):
        return str((1 << bits) - 1) if largest else "0"
    return str((1 << bits - 1) - 1) if largest else str(-(1 << bits - 1))


class _Writer:
    """Lines of a program; temporary registers r200 to r219, predicates p1 to p4."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, *lines: str) -> None:
        self.lines.extend(lines)

    def step(self, operation: str, of: str, to: int, args: Sequence[int]) -> None:
        """Writes a step's instructions."""
        t = _ATLAS[of]
        d, a, b, c = f"r{to}", *(f"r{arg}" for arg in [*args, *([args[0]] * (3 - len(args)))])
        floats = of.startswith("float")
        if operation.startswith("convert."):
            self(f"cvt.{_ATLAS[operation[8:]]}.{t} {d}, {a}")
        elif operation in ("eq", "ne", "lt", "le"):
            self("mov_imm.u8 r200, 1", "mov_imm.u8 r201, 0", f"set.{operation}.{t} p1, {a}, {b}", f"sel.u8 {d}, p1, r200, r201")
        elif operation == "select":
            self("mov_imm.u8 r200, 0", f"set.ne.u8 p1, {a}, r200", f"sel.{t} {d}, p1, {b}, {c}")
        elif operation in ("maximum", "minimum"):
            self(f"mov.{t} r202, {a}", f"mov.{t} r203, {b}", f"{operation[:3]}.{t} {d}, r202, r203")
            if floats:
                # Of a NaN and a number the lanes' own give the number.
                self(f"set.ne.{t} p1, r202, r202", f"set.ne.{t} p2, r203, r203")
                self(f"sel.{t} {d}, p1, r202, {d}", f"sel.{t} {d}, p2, r203, {d}")
        elif operation == "reciprocal":
            self(f"mov_imm.{t} r200, 1", f"div.{t} {d}, r200, {a}")
        elif operation == "abs" and of.startswith("u"):
            self(f"mov.{t} {d}, {a}")
        elif operation == "neg" and of.startswith("u"):
            self(f"mov_imm.{t} r200, 0", f"sub.{t} {d}, r200, {a}")
        elif operation == "sign":
            self._sign(t, of, d, a)
        elif operation in ("trunc", "floor", "ceil", "round"):
            self._rounded(operation, t, d, a)
        elif operation in ("floor_div", "remainder"):
            self._division(operation, of, t, d, a, b)
        elif operation in ("shl", "shr"):
            self._shift(operation, of, t, d, a, b)
        elif operation in ("relu", "gelu", "erf", "atan2", "sigmoid", "rsqrt"):
            raise UnsupportedError(f"{operation}: lanes have no such instruction")
        elif operation in ("not", "neg", "abs", "sqrt", "exp", "log", "sin", "cos", "tan", "tanh"):
            self(f"{operation}.{t} {d}, {a}")
        else:
            self(f"{operation}.{t} {d}, {a}, {b}")

    def _sign(self, t: str, of: str, d: str, a: str) -> None:
        self(f"mov_imm.{t} r200, 0", f"mov_imm.{t} r201, 1", f"mov.{t} r202, {a}")
        self(f"set.gt.{t} p1, r202, r200", f"sel.{t} {d}, p1, r201, r202")
        if not of.startswith("u"):
            self(f"mov_imm.{t} r201, -1", f"set.lt.{t} p1, r202, r200", f"sel.{t} {d}, p1, r201, {d}")

    def _rounded(self, operation: str, t: str, d: str, a: str) -> None:
        # Numbers from 2^23 or 2^52 on are whole, and so are infinities and NaN.
        whole, integer = ("8388608", "i32") if t == "f32" else ("4503599627370496", "i64")
        self(f"mov.{t} r202, {a}", f"mov_imm.{t} r200, {whole}", f"abs.{t} r203, r202", f"set.lt.{t} p1, r203, r200")
        self(f"mov_imm.{t} r201, 0", f"sel.{t} r204, p1, r202, r201")
        self(f"cvt.{integer}.{t} r205, r204", f"cvt.{t}.{integer} r206, r205", f"mov_imm.{t} r207, 1")
        if operation == "floor":
            self(f"sub.{t} r208, r206, r207", f"set.lt.{t} p2, r204, r206", f"sel.{t} r206, p2, r208, r206")
        elif operation == "ceil":
            self(f"add.{t} r208, r206, r207", f"set.gt.{t} p2, r204, r206", f"sel.{t} r206, p2, r208, r206")
        elif operation == "round":
            # Of a number below 2^23 the sum with 2^23 has no bits behind the point; the sum is rounded, halves to even.
            self(f"add.{t} r208, r203, r200", f"sub.{t} r206, r208, r200")
            self(f"neg.{t} r208, r206", f"set.lt.{t} p2, r202, r201", f"sel.{t} r206, p2, r208, r206")
        # A zero has the number's sign.
        self(f"abs.{t} r208, r206", f"neg.{t} r209, r208", f"set.eq.{t} p2, r206, r201", f"set.lt.{t} p3, r202, r201")
        self(f"sel.{t} r210, p3, r209, r208", f"sel.{t} r206, p2, r210, r206")
        self(f"set.eq.{t} p3, r202, r206", f"sel.{t} r206, p3, r202, r206", f"sel.{t} {d}, p1, r206, r202")

    def _division(self, operation: str, of: str, t: str, d: str, a: str, b: str) -> None:
        zero, one = "r200", "r201"
        self(f"mov_imm.{t} {zero}, 0", f"mov_imm.{t} {one}, 1", f"mov.{t} r211, {a}", f"mov.{t} r212, {b}")
        if of.startswith("float"):
            raise UnsupportedError(f"{operation}: of floats lanes have no exact remainder")
        self(f"set.eq.{t} p1, r212, {zero}", f"sel.{t} r213, p1, {one}, r212")
        self(f"div.{t} r214, r211, r213", f"mul.{t} r215, r214, r213", f"sub.{t} r215, r211, r215")
        if not of.startswith("u"):
            # Towards zero became down: one less where the rest has not the divisor's sign.
            self(f"xor.{t} r216, r215, r213", f"set.lt.{t} p2, r216, {zero}", f"sub.{t} r217, r214, {one}")
            self(f"sel.{t} r217, p2, r217, r214", f"add.{t} r218, r215, r213", f"sel.{t} r218, p2, r218, r215")
            self(f"set.eq.{t} p3, r215, {zero}", f"sel.{t} r214, p3, r214, r217", f"sel.{t} r215, p3, r215, r218")
        found = "r214" if operation == "floor_div" else "r215"
        self(f"sel.{t} {d}, p1, {zero}, {found}")

    def _shift(self, operation: str, of: str, t: str, d: str, a: str, b: str) -> None:
        bits = 8 * _bytes(of)
        self(f"mov.{t} r211, {a}", f"cvt.u32.{t} r212, {b}", f"mov_imm.u32 r213, {bits}", "set.ge.u32 p1, r212, r213")
        self(f"{operation}.{t} r214, r211, r212", f"mov_imm.{t} r215, 0")
        if operation == "shr" and not of.startswith("u"):
            self(f"mov_imm.u32 r216, {bits - 1}", f"shr.{t} r215, r211, r216")
        self(f"sel.{t} {d}, p1, r215, r214")


class _Registers:
    """Where the launch presets what a program is given: one register for each, from r160 on."""

    def __init__(self) -> None:
        self.next = 160

    def take(self) -> int:
        if self.next >= 200:
            raise UnsupportedError("an expression of too many operands and dimensions for one program")
        self.next += 1
        return self.next - 1


def _address(write: _Writer, at: str, shape: Sequence[int], strides: Sequence[int], offset: int, to: str) -> None:
    """The byte of the element with linear index `at`: extents and strides, in bytes, are constants."""
    write(f"mov_imm.u64 {to}, {offset}", f"mov.u64 r220, {at}")
    for d in reversed(range(len(shape))):
        step = strides[d] % (1 << 64)
        if d > 0:
            write(f"mov_imm.u64 r221, {shape[d]}", "div.u64 r222, r220, r221", "mul.u64 r223, r222, r221")
            write("sub.u64 r223, r220, r223", "mov.u64 r220, r222")
        else:
            write("mov.u64 r223, r220")
        if step:
            write(f"mov_imm.u64 r224, {step}", "mul.u64 r223, r223, r224", f"add.u64 {to}, {to}, r223")


Viewed = tuple[str, int, tuple[int, ...]]
"""A type, the offset and the strides of a view, in elements."""


@lru_cache(maxsize=512)
def program_text(
    shape: tuple[int, ...],
    leaves: tuple[Viewed, ...],
    numbers: tuple[tuple[str, Any], ...],
    steps: tuple[tuple[str, str, tuple[int, ...]], ...],
    outputs: tuple[tuple[int, Viewed], ...],
    fold: tuple[str, int, tuple[bool, ...], Viewed, int] | None,
) -> str:
    """The program: handles of leaves, then of outputs, then of the fold's target are in r160, r161 and so on.

    A fold is (operation, value, which dimensions, view of the target over all dimensions, parts): part number p of each
    element folds every `parts`-th of its elements from p on, and is stored behind all elements of the parts before.
    """
    if len(leaves) + len(numbers) + len(steps) > _MOST_VALUES:
        raise UnsupportedError(f"an expression of more than {_MOST_VALUES} values for one program")
    write = _Writer()
    registers = _Registers()
    leaf_handles = [registers.take() for _ in leaves]
    output_handles = [registers.take() for _ in outputs]
    types = [leaf[0] for leaf in leaves] + [number[0] for number in numbers]
    for operation, of, _ in steps:
        types.append(
            operation[8:] if operation.startswith("convert.") else "uint8" if operation in ("eq", "ne", "lt", "le") else of
        )

    def body(index: str) -> None:
        for number, (type, offset, strides) in enumerate(leaves):
            size = _bytes(type)
            _address(write, index, shape, [s * size for s in strides], offset * size, "r225")
            write(f"ldg.{_ATLAS[type]} r{number}, [r{leaf_handles[number]} + r225]")
        first = len(leaves) + len(numbers)
        for number, (operation, of, args) in enumerate(steps):
            write.step(operation, of, first + number, args)
        for (value, (type, offset, strides)), handle in zip(outputs, output_handles):
            size = _bytes(type)
            _address(write, index, shape, [s * size for s in strides], offset * size, "r225")
            write(f"stg.{_ATLAS[type]} r{value}, [r{handle} + r225]")

    for number, (type, value) in enumerate(numbers):
        write(f"mov_imm.{_ATLAS[type]} r{len(leaves) + number}, {_constant(type, value)}")
    if fold is None:
        write(f"mov_imm.u64 r226, {size_of(shape)}", "set.ge.u64 p0, r255, r226", "bra @end, p0")
        body("r255")
        write("@end:")
        return "\n".join(write.lines)
    operation, value, folded, (type, offset, strides), parts = fold
    target = registers.take()
    kept = [d for d, gone in enumerate(folded) if not gone]
    gone = [d for d, gone in enumerate(folded) if gone]
    count, length = size_of(tuple(shape[d] for d in kept)), size_of(tuple(shape[d] for d in gone))
    t, size = _ATLAS[type], _bytes(type)
    empty = _EMPTY.get(operation) or _least(type, operation == "minimum")
    write(f"mov_imm.u64 r226, {count * parts}", "set.ge.u64 p0, r255, r226", "bra @end, p0", f"mov_imm.{t} r227, {empty}")
    # r228: the element that is folded into; r229: the part, and then each index along the folded dimensions.
    write(f"mov_imm.u64 r226, {max(count, 1)}", "div.u64 r229, r255, r226", "mul.u64 r228, r229, r226")
    write("sub.u64 r228, r255, r228", "mov.u64 r230, r229", f"mov_imm.u64 r231, {length}", f"mov_imm.u64 r232, {parts}")
    linear = dense_strides(shape)
    write("@next:", "set.ge.u64 p0, r229, r231", "bra @done, p0")
    _address(write, "r228", [shape[d] for d in kept], [linear[d] for d in kept], 0, "r233")
    _address(write, "r229", [shape[d] for d in gone], [linear[d] for d in gone], 0, "r234")
    write("add.u64 r235, r233, r234")
    body("r235")
    write.step({"sum": "add", "product": "mul"}.get(operation, operation), type, 227, (227, value))
    write("add.u64 r229, r229, r232", "bra @next", "@done:")
    _address(write, "r228", [shape[d] for d in kept], [strides[d] * size for d in kept], offset * size, "r225")
    if parts > 1:
        write(f"mov_imm.u64 r226, {count * size}", "mul.u64 r230, r230, r226", "add.u64 r225, r225, r230")
    write(f"stg.{t} r227, [r{target} + r225]", "@end:")
    return "\n".join(write.lines)


# Bits of a NaN of each type.
_NAN = {"float16": "0x7e00", "bfloat16": "0x7fc0", "float32": "0x7fc00000", "float64": "0x7ff8000000000000"}


def _constant(type: str, value: Any) -> str:
    if type in _NAN:
        return repr(float(value)) if value == value else _NAN[type]
    return str(int(value))


@lru_cache(maxsize=512)
def _program(text: str) -> Program:
    return Program(text)


# Lanes that keep a device busy, and elements that are worth one.
_LANES = 1 << 16
_WORTH = 64


def _parts(count: int, length: int) -> int:
    """Parts of each fold, so that there are enough lanes."""
    return max(1, min(_LANES // max(count, 1), length // _WORTH))


def run(
    device: Device,
    shape: tuple[int, ...],
    steps: Any,
    outputs: Sequence[tuple[int, Any]],
    fold: tuple[str, int, Sequence[bool], Any] | None = None,
) -> None:
    """As `fusion.run`, by programs."""
    leaves = tuple((leaf.type, leaf.offset, leaf.strides) for leaf in steps.leaves)
    numbers = tuple((number.type, number.value) for number in steps.numbers)
    types = _types(steps)
    written = tuple((value, (types[value], place.offset, place.strides)) for value, place in outputs)
    buffers = [leaf.storage.buffer for leaf in steps.leaves] + [place.storage.buffer for _, place in outputs]
    code = tuple(steps.steps)
    if fold is None:
        text = program_text(shape, leaves, numbers, code, written, None)
        _launch(device, text, size_of(shape), buffers)
        return
    operation, value, folded, place = fold
    kept = tuple(extent for extent, gone in zip(shape, folded) if not gone)
    count = size_of(kept)
    length = size_of(tuple(extent for extent, gone in zip(shape, folded) if gone))
    parts = _parts(count, length)
    type = types[value]
    if parts == 1:
        target = (type, place.offset, place.strides)
        text = program_text(shape, leaves, numbers, code, written, (operation, value, tuple(folded), target, 1))
        _launch(device, text, count, [*buffers, place.storage.buffer])
        return
    partial = device.executor.allocate_unset(count * parts, type)
    dense = iter(dense_strides(kept))
    over = tuple(0 if gone else next(dense) for gone in folded)
    text = program_text(shape, leaves, numbers, code, written, (operation, value, tuple(folded), (type, 0, over), parts))
    _launch(device, text, count * parts, [*buffers, partial])
    # The parts of all elements, one behind the other, folded along the parts.
    inner = tuple(stride for stride, gone in zip(place.strides, folded) if not gone)
    leaf = (type, 0, dense_strides((parts, *kept)))
    second = (operation, 0, (True, *(False for _ in kept)), (type, place.offset, (0, *inner)), 1)
    text = program_text((parts, *kept), (leaf,), (), (), (), second)
    _launch(device, text, count, [partial, place.storage.buffer])


def _types(steps: Any) -> list[str]:
    types = [leaf.type for leaf in steps.leaves] + [number.type for number in steps.numbers]
    for operation, of, _ in steps.steps:
        types.append(
            operation[8:] if operation.startswith("convert.") else "uint8" if operation in ("eq", "ne", "lt", "le") else of
        )
    return types


def _launch(device: Device, text: str, lanes: int, buffers: Sequence[Any]) -> None:
    if lanes == 0:
        return
    registers = {160 + i: buffer for i, buffer in enumerate(buffers)}
    device.executor.run(_program(text), grid=-(-lanes // _BLOCK), block=_BLOCK, registers=registers)
