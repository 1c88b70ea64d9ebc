"""Keys and signatures that depend on their seed alone."""

from random import Random

import coincurve
from ethereum.crypto.hash import keccak256

# The curve P-256: its prime, coefficient, order and generator.
P256_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
P256_A = P256_P - 3
P256_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
P256_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

SECP256K1_N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141

Point = tuple[int, int] | None


class Key:
    """Key of secp256k1 with its address."""

    def __init__(self, random: Random) -> None:
        self.key = coincurve.PrivateKey(random.randbytes(31).rjust(32, b"\x01"))
        public = self.key.public_key.format(compressed=False)[1:]
        self.address = bytes(keccak256(public))[12:]

    def sign(self, digest: bytes) -> tuple[int, int, int]:
        """Parity, r and s of a signature."""
        signature = self.key.sign_recoverable(bytes(digest), hasher=None)
        r = int.from_bytes(signature[:32], "big")
        s = int.from_bytes(signature[32:64], "big")
        return signature[64], r, s


def p256_add(left: Point, right: Point) -> Point:
    """Sum of two points."""
    if left is None or right is None:
        return left or right
    (x1, y1), (x2, y2) = left, right
    if x1 == x2:
        if (y1 + y2) % P256_P == 0:
            return None
        slope = (3 * x1 * x1 + P256_A) * pow(2 * y1, -1, P256_P)
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, P256_P)
    x = (slope * slope - x1 - x2) % P256_P
    return x, (slope * (x1 - x) - y1) % P256_P


def p256_multiply(scalar: int) -> tuple[int, int]:
    """Multiple of the generator; the scalar is below the order and not zero."""
    result: Point = None
    power: Point = P256_G
    while scalar:
        if scalar & 1:
            result = p256_add(result, power)
        power = p256_add(power, power)
        scalar >>= 1
    assert result is not None
    return result


def p256_signature(random: Random) -> bytes:
    """Digest, r, s and public key: the input of the precompile."""
    secret = random.randrange(1, P256_N)
    nonce = random.randrange(1, P256_N)
    digest = random.randbytes(32)
    r = p256_multiply(nonce)[0] % P256_N
    number = int.from_bytes(digest, "big")
    s = pow(nonce, -1, P256_N) * (number + r * secret) % P256_N
    x, y = p256_multiply(secret)
    return digest + b"".join(word.to_bytes(32, "big") for word in (r, s, x, y))
