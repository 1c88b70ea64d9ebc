"""Text of Atlas programs: the steps of an expression, addresses of elements, constants.

| register | holds |
|---|---|
| r0.. | values of the expression |
| r160.. | handles of buffers |
| r200 to r249, p1 to p4 | what a step, an address or a fold needs |
| r252, r253, r255 | number of the lane in its block, of the block, of the lane |
"""

from collections.abc import Sequence
from typing import Any

from ..errors import UnsupportedError

__all__ = ["ATLAS", "FIRST_HANDLE", "MOST_VALUES", "Registers", "Writer", "address", "bytes_of", "constant", "empty", "type_of"]

# Registers of values; results of steps take them up.
MOST_VALUES = 150
# The register of the first handle, and the one behind the last.
FIRST_HANDLE, _END_OF_HANDLES = 160, 200
ATLAS = {
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
}  # fmt: skip
_SIZE = {"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4}
# Values of folds of nothing.
_EMPTY = {"sum": "0", "product": "1"}


def bytes_of(type: str) -> int:
    """Bytes of an element."""
    return _SIZE.get(type, 8)


def _least(type: str, largest: bool) -> str:
    """The smallest or the largest value of a type, as a constant."""
    if type.startswith("float"):
        return "inf" if largest else "-inf"
    bits = 8 * bytes_of(type)
    if type.startswith("u"):
        return str((1 << bits) - 1) if largest else "0"
    return str((1 << bits - 1) - 1) if largest else str(-(1 << bits - 1))


class Writer:
    """Lines of a program; temporary registers r200 to r219, predicates p1 to p4."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, *lines: str) -> None:
        self.lines.extend(lines)

    def step(self, operation: str, of: str, to: int, args: Sequence[int]) -> None:
        """Writes a step's instructions."""
        t = ATLAS[of]
        d, a, b, c = f"r{to}", *(f"r{arg}" for arg in [*args, *([args[0]] * (3 - len(args)))])
        floats = of.startswith("float")
        if operation.startswith("convert."):
            self(f"cvt.{ATLAS[operation[8:]]}.{t} {d}, {a}")
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
        bits = 8 * bytes_of(of)
        self(f"mov.{t} r211, {a}", f"cvt.u32.{t} r212, {b}", f"mov_imm.u32 r213, {bits}", "set.ge.u32 p1, r212, r213")
        self(f"{operation}.{t} r214, r211, r212", f"mov_imm.{t} r215, 0")
        if operation == "shr" and not of.startswith("u"):
            self(f"mov_imm.u32 r216, {bits - 1}", f"shr.{t} r215, r211, r216")
        self(f"sel.{t} {d}, p1, r215, r214")


class Registers:
    """Where the launch presets the handles of buffers: one register for each, from r160 on."""

    def __init__(self) -> None:
        self.next = FIRST_HANDLE

    def take(self) -> int:
        if self.next >= _END_OF_HANDLES:
            raise UnsupportedError("an expression of too many operands for one program")
        self.next += 1
        return self.next - 1


def address(write: Writer, at: str, shape: Sequence[int], strides: Sequence[int], offset: int, to: str) -> None:
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


# Bits of a NaN of each type.
_NAN = {"float16": "0x7e00", "bfloat16": "0x7fc0", "float32": "0x7fc00000", "float64": "0x7ff8000000000000"}


def constant(type: str, value: Any) -> str:
    """A number as `mov_imm` takes it."""
    if type in _NAN:
        return repr(float(value)) if value == value else _NAN[type]
    return str(int(value))


def empty(operation: str, type: str) -> str:
    """What a fold of nothing gives, as a constant."""
    return _EMPTY.get(operation) or _least(type, operation == "minimum")


def type_of(operation: str, of: str) -> str:
    """The type of a step's result; `of` is that of its operands."""
    if operation.startswith("convert."):
        return operation[8:]
    return "uint8" if operation in ("eq", "ne", "lt", "le") else of
