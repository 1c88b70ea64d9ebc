#!/usr/bin/env python3
"""Writes input.json and expected.json of every example guest. What is expected is computed here, by nothing of the
guest's: Python's own integers and hashes, and the curves' formulas.  Usage: examples/guests/inputs.py [GUEST...]"""

import hashlib
import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent


def u32(value):
    return value.to_bytes(4, "little")


def u64(value):
    return value.to_bytes(8, "little")


def be(value):
    return value.to_bytes(32, "big")


def keccak256(data):
    rotations = [[0, 36, 3, 41, 18], [1, 44, 10, 45, 2], [62, 6, 43, 15, 61], [28, 55, 25, 21, 56], [27, 20, 39, 8, 14]]
    mask = (1 << 64) - 1

    def rol(x, n):
        return ((x << n) | (x >> (64 - n))) & mask if n else x

    def permute(a):
        lfsr = 1
        for _ in range(24):
            c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
            d = [c[(x - 1) % 5] ^ rol(c[(x + 1) % 5], 1) for x in range(5)]
            a = [[a[x][y] ^ d[x] for y in range(5)] for x in range(5)]
            b = [[0] * 5 for _ in range(5)]
            for x in range(5):
                for y in range(5):
                    b[y][(2 * x + 3 * y) % 5] = rol(a[x][y], rotations[x][y])
            a = [[b[x][y] ^ (~b[(x + 1) % 5][y] & b[(x + 2) % 5][y] & mask) for y in range(5)] for x in range(5)]
            for j in range(7):
                if lfsr & 1:
                    a[0][0] ^= 1 << ((1 << j) - 1)
                lfsr = (lfsr << 1) ^ (0x171 if lfsr >> 7 else 0)
        return a

    rate = 136
    padded = bytearray(data) + b"\x01"
    padded += bytes(-len(padded) % rate)
    padded[-1] |= 0x80
    state = [[0] * 5 for _ in range(5)]
    for start in range(0, len(padded), rate):
        for i in range(rate // 8):
            state[i % 5][i // 5] ^= int.from_bytes(padded[start + 8 * i : start + 8 * i + 8], "little")
        state = permute(state)
    return b"".join(u64(state[i % 5][i // 5]) for i in range(4))


class Curve:
    """y^2 = x^3 + b over a prime field, affine; None is the identity."""

    def __init__(self, p, order, generator):
        self.p, self.order, self.generator = p, order, generator

    def add(self, s, t):
        if s is None or t is None:
            return s or t
        if s[0] == t[0]:
            if (s[1] + t[1]) % self.p == 0:
                return None
            slope = 3 * s[0] * s[0] * pow(2 * s[1], -1, self.p)
        else:
            slope = (t[1] - s[1]) * pow(t[0] - s[0], -1, self.p)
        x = (slope * slope - s[0] - t[0]) % self.p
        return x, (slope * (s[0] - x) - s[1]) % self.p

    def multiple(self, k):
        result, addend = None, self.generator
        while k:
            if k & 1:
                result = self.add(result, addend)
            addend = self.add(addend, addend)
            k >>= 1
        return result


SECP256K1 = Curve(
    2**256 - 2**32 - 977,
    0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
    (
        0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
        0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
    ),
)
BN254 = Curve(
    21888242871839275222246405745257275088696311157297823662689037894645226208583,
    21888242871839275222246405745257275088548364400416034343698204186575808495617,
    (1, 2),
)
# The guest `kzg` has TAU times the generator of the second group in its source.
TAU = 0x2A5F0B7C61D94E8833A1C0DE5577AA9912345678


def fibonacci():
    n = 1000
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return [u64(n)], u64(a % 2**64)


def file():
    return random.Random("a file").randbytes(1000)


def sha256():
    return [file()], hashlib.sha256(file()).digest()


def keccak():
    return [file()], keccak256(file())


def bigint():
    # 2^127 - 1 is prime (Lucas, 1876).
    return [u32(127)], u32(127) + u32(1)


def ecdsa():
    message = b"openvm-metal proves programs"
    secret = int.from_bytes(hashlib.sha256(b"secret").digest(), "big") % SECP256K1.order
    nonce = int.from_bytes(hashlib.sha256(b"nonce").digest(), "big") % SECP256K1.order
    x, y = SECP256K1.multiple(secret)
    key = bytes([2 + (y & 1)]) + be(x)
    r = SECP256K1.multiple(nonce)[0] % SECP256K1.order
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    s = (digest + r * secret) * pow(nonce, -1, SECP256K1.order) % SECP256K1.order
    return [message, key, be(r) + be(s)], hashlib.sha256(key + message).digest()


def kzg():
    def point(p):
        return be(p[0]) + be(p[1])

    order = BN254.order
    coefficients = [random.Random("polynomial").randrange(order) for _ in range(8)]

    def polynomial(x):
        return sum(c * pow(x, i, order) for i, c in enumerate(coefficients)) % order

    z = 2026
    y = polynomial(z)
    commitment = point(BN254.multiple(polynomial(TAU)))
    opening = point(BN254.multiple((polynomial(TAU) - y) * pow(TAU - z, -1, order) % order))
    return [commitment, be(z), be(y), opening], hashlib.sha256(commitment + be(z) + be(y)).digest()


def json_document():
    people = [{"name": f"Ada {i}", "born": 1815 + i, "languages": ["English", "French"]} for i in range(12)]
    document = json.dumps({"register": "analysts", "people": people, "note": 'quotes " and \\ and é'}).encode()
    pointer, value = b"/people/7/born", b"1822"
    statement = hashlib.sha256(document).digest() + pointer + b"\0" + value
    return [document, pointer, value], hashlib.sha256(statement).digest()


def words():
    text = (
        "The prover takes a program and its input. The program runs, the prover writes down every step, and the steps "
        "become columns of numbers. Columns are committed to, constraints are checked at a random point, and what is "
        "left is a proof: small, and quick to verify. Whoever verifies the proof has not seen the input; whoever "
        "wrote the program has not seen the machine. The proof is the same on every device."
    )
    counts = Counter(w.lower() for w in re.findall(r"\w+", text))
    word, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
    public = u32(sum(counts.values())) + u32(len(counts)) + u32(count) + word.encode()[:20]
    return [text.encode()], public


def evm():
    rng = random.Random("transfers")
    balances = [rng.randrange(1000) for _ in range(8)]
    start, transfers, succeeded = b"".join(map(u64, balances)), b"", 0
    for _ in range(12):
        sender, receiver, amount = rng.randrange(8), rng.randrange(8), rng.randrange(700)
        transfers += sender.to_bytes(2, "little") + receiver.to_bytes(2, "little") + u64(amount)
        if balances[sender] >= amount:
            succeeded += 1
            balances[sender] -= amount
            balances[receiver] += amount
    assert 0 < succeeded < 12, "some transfers succeed and some revert"
    return [start, transfers], keccak256(u32(succeeded) + b"".join(map(be, balances)))


GUESTS = {
    "fibonacci": fibonacci,
    "sha256": sha256,
    "keccak256": keccak,
    "bigint": bigint,
    "ecdsa": ecdsa,
    "kzg": kzg,
    "json": json_document,
    "words": words,
    "evm": evm,
}


def main():
    for name in sys.argv[1:] or GUESTS:
        streams, public = GUESTS[name]()
        # 01: bytes; cargo-openvm's form of an input.
        streams = {"input": ["0x01" + stream.hex() for stream in streams]}
        public = {"public_values": "0x" + public.ljust(32, b"\0").hex()}
        for file_name, content in (("input.json", streams), ("expected.json", public)):
            (HERE / name / file_name).write_text(json.dumps(content, indent=2) + "\n")


main()
