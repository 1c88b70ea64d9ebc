"""Nodes of Merkle-Patricia tries, written without the specification's code, whose roots are compared with these."""

from ethereum.crypto.hash import keccak256
from ethereum_rlp import rlp

Pair = tuple[list[int], bytes]


def trie(items: dict[bytes, bytes]) -> tuple[bytes, list[bytes]]:
    """Root of a trie and all its nodes that have a digest. The keys are hashed here."""
    pairs = sorted(
        ([nibble for byte in keccak256(key) for nibble in (byte >> 4, byte & 15)], value)
        for key, value in items.items()
    )
    nodes: list[bytes] = []
    root = rlp.encode(structure(pairs, 0, nodes))
    if pairs:
        nodes.append(root)
    return bytes(keccak256(root)), nodes


def structure(pairs: list[Pair], depth: int, nodes: list[bytes]) -> bytes | list:
    """Node of the pairs, whose keys agree up to `depth`, before its RLP."""
    if not pairs:
        return b""
    if len(pairs) == 1:
        key, value = pairs[0]
        return [compact(key[depth:], True), value]
    first, last = pairs[0][0], pairs[-1][0]
    end = depth
    while first[end] == last[end]:
        end += 1
    if end > depth:
        return [compact(first[depth:end], False), reference(pairs, end, nodes)]
    children = [
        reference([pair for pair in pairs if pair[0][depth] == nibble], depth + 1, nodes)
        for nibble in range(16)
    ]
    return [*children, b""]


def reference(pairs: list[Pair], depth: int, nodes: list[bytes]) -> bytes | list:
    """Digest of a node, or the node itself if its RLP is shorter."""
    node = structure(pairs, depth, nodes)
    encoded = rlp.encode(node)
    if len(encoded) < 32:
        return node
    nodes.append(encoded)
    return bytes(keccak256(encoded))


def compact(nibbles: list[int], leaf: bool) -> bytes:
    """Path of a leaf or an extension."""
    flag = 2 if leaf else 0
    nibbles = [flag + 1, *nibbles] if len(nibbles) % 2 else [flag, 0, *nibbles]
    return bytes(high << 4 | low for high, low in zip(nibbles[::2], nibbles[1::2]))
