"""A guest in RISC-V words, as an ELF: small enough for toy parameters without the table of multiplication."""

import struct

TEXT = 0x0020_0800
DATA = 0x100

CONFIG = """
[app_vm_config.rv32i]
[app_vm_config.io]
"""


def _i(opcode, funct3, rd, rs1, imm):
    return opcode | rd << 7 | funct3 << 12 | rs1 << 15 | (imm & 0xFFF) << 20


def addi(rd, rs1, imm):
    return _i(0x13, 0, rd, rs1, imm)


def lui(rd, upper):
    return 0x37 | rd << 7 | (upper & 0xFFFFF) << 12


def lw(rd, rs1, imm):
    return _i(0x03, 2, rd, rs1, imm)


def sw(rs2, rs1, imm):
    return 0x23 | (imm & 0x1F) << 7 | 2 << 12 | rs1 << 15 | rs2 << 20 | (imm >> 5 & 0x7F) << 25


def add(rd, rs1, rs2):
    return 0x33 | rd << 7 | rs1 << 15 | rs2 << 20


def bne(rs1, rs2, offset):
    low = (offset >> 11 & 1) << 7 | (offset >> 1 & 0xF) << 8
    high = (offset >> 5 & 0x3F) << 25 | (offset >> 12 & 1) << 31
    return 0x63 | 1 << 12 | rs1 << 15 | rs2 << 20 | low | high


def reveal(value, offset):
    return _i(0x0B, 2, 0, value, offset)


def terminate(code=0):
    return _i(0x0B, 0, 0, 0, code)


def hint_input():
    return _i(0x0B, 3, 0, 0, 0)


def print_text(address, length):
    """Prints as many bytes as one register says from where another points to."""
    return _i(0x0B, 3, address, length, 1)


def hint_word(rd):
    return _i(0x0B, 1, rd, 0, 0)


def elf(code):
    """One executable segment."""
    text = b"".join(struct.pack("<I", word) for word in code)
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    head += struct.pack("<HHIIIII", 2, 243, 1, TEXT, 52, 0, 0)
    head += struct.pack("<HHHHHH", 52, 32, 1, 0, 0, 0)
    return head + struct.pack("<IIIIIIII", 1, 84, TEXT, TEXT, len(text), len(text), 5, 4) + text


def sums(n, times=1):
    """Adds n, n - 1, ... 1 through memory as many times as told, 5 instructions a round; reveals the sum and an input of 4 bytes."""
    assert 0 < n < 2047 and 0 < times < 2047
    loop = [lw(12, 11, 0), add(12, 12, 10), sw(12, 11, 0), addi(10, 10, -1)]
    loop.append(bne(10, 0, -4 * len(loop)))
    again = [addi(10, 0, n), *loop]
    if times > 1:
        again = [addi(15, 0, times), *again, addi(15, 15, -1), bne(15, 0, -4 * (len(again) + 1))]
    return elf(
        [
            addi(11, 0, DATA),
            sw(0, 11, 0),
            *again,
            lw(12, 11, 0),
            reveal(12, 0),
            hint_input(),
            addi(13, 0, DATA + 16),
            hint_word(13),
            hint_word(13),
            lw(14, 13, 0),
            reveal(14, 4),
            terminate(),
        ]
    )


def prints(text):
    """Prints a text and ends. It reads no input and reveals nothing."""
    data = text.encode()
    code = [addi(11, 0, DATA), addi(12, 0, len(data))]
    for offset in range(0, len(data), 4):
        word = int.from_bytes(data[offset : offset + 4], "little")
        low = (word & 0xFFF) - (0x1000 if word & 0x800 else 0)
        code += [lui(13, (word - low) >> 12), addi(13, 13, low), sw(13, 11, offset)]
    return elf([*code, print_text(11, 12), terminate()])


def endless():
    return elf([addi(10, 0, 1), bne(10, 0, 0), terminate()])


def exits(code):
    return elf([terminate(code)])
