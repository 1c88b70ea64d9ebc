"""Inputs in cargo-openvm's form."""

import os
from pathlib import Path

from ._openvm_metal import values_from_json
from .errors import FileError, InputError

# The guest's whole memory.
_MAX_VALUE = 1 << 29


def _value(text: str) -> bytes:
    digits = text.removeprefix("0x")
    try:
        data = bytes.fromhex(digits) if digits == digits.strip() else None
    except ValueError:
        data = None
    if data is None or " " in digits:
        raise InputError(f"{text!r}: not an even number of hexadecimal digits")
    match data[:1]:
        case b"\x01":
            return data[1:]
        case b"\x02" if len(data) % 4 == 1:
            return data[1:]
        case b"\x02":
            raise InputError(f"{text!r}: after 02 come words of 4 bytes")
    raise InputError(f"{text!r}: a value begins with 01 (bytes) or 02 (words)")


def _read(path: Path, most: int) -> bytes:
    try:
        # Nobody waits for a pipe's other end, and a device may have none.
        if not path.is_file():
            raise FileError(f"{path}: it is no regular file")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise FileError(f"{path}: {error}") from error
    if len(data) > most:
        raise FileError(f"{path}: an input has at most {most} bytes, the memory of a program in bytes or hexadecimal digits")
    return data


def read_input(source: str | os.PathLike[str]) -> list[bytes]:
    """The values that a program reads, as `openvm-metal --input` takes them: one value in hexadecimal, JSON
    `{"input": [VALUES]}` (a file `*.json`, or its text), or any other file, whose bytes are the value. In hexadecimal a value is `01` and
    bytes, or `02` and little-endian words; in JSON it may also have a type of Rust: `{"u64": 5}`, `{"Vec<String>": ["a"]}`.

    Raises:
        InputError: it is none of these.
        FileError: the file cannot be read.
    """
    path = Path(source)
    try:
        exists = path.exists()
    except OSError:  # A long value is no file's name.
        exists = False
    if not exists:
        text = os.fspath(source)
        if text.lstrip().startswith("{"):
            try:
                return values_from_json(text.encode())
            except ValueError as error:
                raise InputError(str(error)) from None
        try:
            return [_value(os.fspath(source))]
        except InputError as error:
            raise InputError(f"no such file, and as a value: {error}") from None
    is_json = path.suffix == ".json"
    data = _read(path, 2 * _MAX_VALUE if is_json else _MAX_VALUE)
    if not is_json:
        return [data]
    try:
        return values_from_json(data)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
