"""Inputs of precompiles: most of them valid, others damaged."""

from functools import cache
from hashlib import sha256
from random import Random
from typing import Callable

from py_ecc import optimized_bls12_381 as bls
from py_ecc import optimized_bn128 as bn
from py_ecc.bls.point_compression import compress_G1

from signing import SECP256K1_N, Key, p256_signature

BLS_P = bls.field_modulus
BN_P = bn.field_modulus
MODULI = [bls.curve_order, BLS_P, bn.curve_order, BN_P, SECP256K1_N, 2**255 - 19, 2**256 - 189]


def word(number: int) -> bytes:
    """Number in 32 bytes."""
    return number.to_bytes(32, "big")


@cache
def bn_g1(scalar: int) -> bytes:
    """Multiple of BN254's first generator."""
    point = bn.multiply(bn.G1, scalar % bn.curve_order)
    if bn.is_inf(point):
        return bytes(64)
    return b"".join(word(int(coordinate)) for coordinate in bn.normalize(point))


@cache
def bn_g2(scalar: int) -> bytes:
    """Multiple of BN254's second generator; the imaginary parts are first."""
    point = bn.multiply(bn.G2, scalar % bn.curve_order)
    if bn.is_inf(point):
        return bytes(128)
    x, y = bn.normalize(point)
    return b"".join(word(int(part)) for value in (x, y) for part in reversed(value.coeffs))


@cache
def bls_g1(scalar: int) -> bytes:
    """Multiple of BLS12-381's first generator."""
    point = bls.multiply(bls.G1, scalar % bls.curve_order)
    if bls.is_inf(point):
        return bytes(128)
    return b"".join(int(coordinate).to_bytes(64, "big") for coordinate in bls.normalize(point))


@cache
def bls_g2(scalar: int) -> bytes:
    """Multiple of BLS12-381's second generator."""
    point = bls.multiply(bls.G2, scalar % bls.curve_order)
    if bls.is_inf(point):
        return bytes(256)
    x, y = bls.normalize(point)
    return b"".join(int(part).to_bytes(64, "big") for value in (x, y) for part in value.coeffs)


def bls_g1_outside(random: Random) -> bytes:
    """Point of the curve, which is not in the first group."""
    while True:
        x = random.randrange(BLS_P)
        square = (x**3 + 4) % BLS_P
        y = pow(square, (BLS_P + 1) // 4, BLS_P)
        if y * y % BLS_P == square:
            return x.to_bytes(64, "big") + y.to_bytes(64, "big")


def small(random: Random) -> int:
    """Factor of a generator; few of them, so that their multiples are computed once."""
    return random.choice([0, 1, 1, 2, 3, 5, 7, 11, -1, -2, -3])


def scalar(random: Random, order: int) -> int:
    """Scalar of 32 bytes: small, near the group's order, or any."""
    choice = random.randrange(5)
    if choice == 0:
        return random.randrange(4)
    if choice == 1:
        return order + random.randrange(-2, 3)
    if choice == 2:
        return 2**256 - 1 - random.randrange(2)
    return random.getrandbits(random.choice([8, 64, 128, 256]))


def ecrecover(random: Random) -> bytes:
    """Digest and signature, some with a wrong v, r or s."""
    digest = random.randbytes(32)
    parity, r, s = Key(random).sign(digest)
    if random.random() < 0.2:
        # The other signature of the same key, which the precompile allows.
        parity, s = 1 - parity, SECP256K1_N - s
    v = random.choice([27 + parity] * 8 + [parity, 29, 28 - parity, 2**128 + 27])
    r, s = random.choice([(r, s)] * 8 + [(0, s), (r, 0), (SECP256K1_N, s), (r, SECP256K1_N)])
    return digest + word(v) + word(r) + word(s)


def any_bytes(random: Random) -> bytes:
    """Bytes of lengths beside the blocks of digests."""
    return random.randbytes(random.choice([0, 1, 31, 32, 33, 55, 56, 63, 64, 65, 119, 120, 200]))


def modexp(random: Random, osaka: bool) -> bytes:
    """Lengths and numbers of a power."""
    lengths = [0, 1, 2, 8, 31, 32, 32, 32, 33, 48, 64, 96]
    base_length, exponent_length, modulus_length = (random.choice(lengths) for _ in range(3))
    choice = random.randrange(24)
    if choice == 0:
        base_length = random.choice([256, 512, 1024, 1025])
    elif choice == 1:
        modulus_length = random.choice([256, 512, 1024, 1025])
    elif choice == 2 and osaka:
        exponent_length = random.choice([256, 1024, 1025])
    elif choice == 3:
        base_length = random.choice([2**32, 2**64 - 1, 2**64, 2**255])
    elif choice == 4:
        modulus_length = random.choice([2**32, 2**64 - 1, 2**64, 2**255])
    elif choice == 5:
        exponent_length = random.choice([2**32, 2**64 - 1, 2**64, 2**255])
    lengths_all = word(base_length) + word(exponent_length) + word(modulus_length)
    if max(base_length, exponent_length, modulus_length) > 2**16:
        return lengths_all + random.randbytes(random.choice([0, 32, 96]))
    modulus = random.getrandbits(8 * modulus_length)
    if random.random() < 0.5:
        modulus = random.choice([*MODULI, 0, 1, 2, 3, 2**128, 2**255, 2**256 - 1])
        modulus %= 256**modulus_length
    base = random.getrandbits(8 * base_length)
    if random.random() < 0.2:
        base = (modulus + random.randrange(-1, 2)) % 256**base_length
    exponent = random.getrandbits(8 * exponent_length)
    if random.random() < 0.4:
        exponent = random.choice([0, 1, 2, 3, 5, 65537, (modulus + 1) // 4, max(modulus - 2, 0)])
        exponent %= 256**exponent_length
    return (
        lengths_all
        + base.to_bytes(base_length, "big")
        + exponent.to_bytes(exponent_length, "big")
        + modulus.to_bytes(modulus_length, "big")
    )


def bn_pairing(random: Random) -> bytes:
    """Pairs whose product is one, or not."""
    if random.random() < 0.1:
        return b""
    left, right = small(random), small(random)
    last = -left * right + random.choice([0, 0, 0, 1])
    return bn_g1(left) + bn_g2(right) + bn_g1(last) + bn_g2(1)


def bls_pairing(random: Random) -> bytes:
    """Pairs whose product is one, or not."""
    left, right = small(random), small(random)
    last = -left * right + random.choice([0, 0, 0, 1])
    first = bls_g1(left) if random.random() < 0.9 else bls_g1_outside(random)
    return first + bls_g2(right) + bls_g1(last) + bls_g2(1)


def blake2f(random: Random) -> bytes:
    """Rounds, state, message, counters and the final flag."""
    rounds = random.choice([0, 1, 2, 12, 12, 50, 2**32 - 1])
    final = random.choice([0, 1, 1, 2])
    return rounds.to_bytes(4, "big") + random.randbytes(208) + bytes([final])


def opening(random: Random) -> bytes:
    """Opening of a constant polynomial, whose proof is the point at infinity; or a false one."""
    value = random.choice([0, 1, 2, 3, 7])
    commitment = compress_G1(bls.multiply(bls.G1, value)).to_bytes(48, "big")
    digest = b"\x01" + sha256(commitment).digest()[1:]
    if random.random() < 0.3:
        value += random.choice([1, bls.curve_order])
    at = random.choice([0, 1, random.randrange(bls.curve_order), bls.curve_order])
    proof = compress_G1(bls.multiply(bls.G1, random.choice([0, 0, 0, 1]))).to_bytes(48, "big")
    return digest + word(at) + word(value) + commitment + proof


def bls_g1_sum(random: Random) -> bytes:
    """Two points of the first group, at times one outside."""
    first = bls_g1(small(random)) if random.random() < 0.8 else bls_g1_outside(random)
    return first + bls_g1(small(random))


def bls_g1_multiples(random: Random) -> bytes:
    """Points of the first group with scalars."""
    pairs = []
    for _ in range(random.choice([1, 1, 2, 3])):
        point = bls_g1(small(random)) if random.random() < 0.9 else bls_g1_outside(random)
        pairs.append(point + word(scalar(random, bls.curve_order)))
    return b"".join(pairs)


def bls_g2_multiples(random: Random) -> bytes:
    """Points of the second group with scalars."""
    pairs = random.choice([1, 1, 2])
    return b"".join(
        bls_g2(small(random)) + word(scalar(random, bls.curve_order)) for _ in range(pairs)
    )


def field(random: Random) -> bytes:
    """Element of BLS12-381's field in 64 bytes, or a number above."""
    number = random.choice([0, 1, BLS_P - 1, random.randrange(BLS_P), random.randrange(BLS_P), BLS_P])
    return number.to_bytes(64, "big")


def damage(random: Random, data: bytes) -> bytes:
    """Input that is cut off, longer, or has another byte."""
    choice = random.randrange(4)
    if choice == 0:
        return data[: random.randrange(len(data) + 1)]
    if choice == 1:
        return data + random.randbytes(random.choice([1, 32]))
    if choice == 2:
        return random.randbytes(len(data))
    changed = bytearray(data)
    if changed:
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def precompile_input(random: Random, osaka: bool) -> tuple[int, bytes]:
    """Address of a precompile and an input. Those that take long by the specification are rarer."""
    makers: list[tuple[int, float, Callable[[Random], bytes]]] = [
        (0x01, 4, ecrecover),
        (0x02, 2, any_bytes),
        (0x03, 2, any_bytes),
        (0x04, 2, any_bytes),
        (0x05, 10, lambda random: modexp(random, osaka)),
        (0x06, 3, lambda random: bn_g1(small(random)) + bn_g1(small(random))),
        (0x07, 3, lambda random: bn_g1(small(random)) + word(scalar(random, bn.curve_order))),
        (0x08, 0.5, bn_pairing),
        (0x09, 2, blake2f),
        (0x0A, 0.5, opening),
        (0x0B, 3, bls_g1_sum),
        (0x0C, 2, bls_g1_multiples),
        (0x0D, 3, lambda random: bls_g2(small(random)) + bls_g2(small(random))),
        (0x0E, 1, bls_g2_multiples),
        (0x0F, 0.4, bls_pairing),
        (0x10, 1.5, field),
        (0x11, 1, lambda random: field(random) + field(random)),
        # Without Osaka an account without code.
        (0x100, 4, p256_signature),
    ]
    address, _, make = random.choices(makers, [weight for _, weight, _ in makers])[0]
    data = make(random)
    if random.random() < 0.2:
        data = damage(random, data)
    if address == 0x09 and data[:4] > b"\x00\x00\xff":
        # More rounds than the specification computes in a second; the gas does not suffice for so many.
        data = b"\xff\xff" + data[2:]
    return address, data
