"""Changes of a valid block that break one rule."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from ethereum_rlp import rlp
from ethereum_rlp.exceptions import RLPException
from ethereum_types.bytes import Bytes8, Bytes20, Bytes32, Bytes256
from ethereum_types.numeric import U64, U256, Uint

from chain import Draft, transactions_root, withdrawals_root
from signing import SECP256K1_N

if TYPE_CHECKING:
    from random_blocks import Made


def broken(random: Random, made: Made) -> tuple[str, bytes]:
    """What is broken, and the block. The specification says whether the block is refused."""
    kinds: list[tuple[int, Any]] = [(4, header), (1, withdrawal), (2, encoding)]
    if made.drafts:
        kinds += [(5, transaction), (1, order), (2, transaction_encoding)]
    if made.refused:
        kinds.append((2, refused))
    return random.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0](random, made)


def header(random: Random, made: Made) -> tuple[str, bytes]:
    """A field of the header."""
    old = made.header
    bit = 1 << random.randrange(256)

    def flipped(name: str) -> Bytes32:
        return Bytes32((int.from_bytes(getattr(old, name), "big") ^ bit).to_bytes(32, "big"))

    gas_limit = random.choice([int(made.ancestors[-1].gas_limit) * 2, 4999, int(made.ancestors[-1].gas_limit) * 1025 // 1024 + 1])
    bloom = bytearray(old.bloom)
    bloom[random.randrange(256)] ^= 1 << random.randrange(8)
    less = random.choice([1, -1])
    changes: dict[str, Any] = {
        "parent_hash": flipped("parent_hash"),
        "ommers_hash": flipped("ommers_hash"),
        "coinbase": Bytes20(random.randbytes(20)),
        "state_root": flipped("state_root"),
        "transactions_root": flipped("transactions_root"),
        "receipt_root": flipped("receipt_root"),
        "bloom": Bytes256(bytes(bloom)),
        "difficulty": Uint(random.choice([1, 2**64])),
        "number": Uint(int(old.number) + less),
        "gas_limit": Uint(gas_limit),
        "gas_used": Uint(max(0, int(old.gas_used) + less * random.choice([1, 4800, 21000]))),
        "timestamp": U256(int(made.ancestors[-1].timestamp) - random.randrange(2)),
        "extra_data": random.randbytes(33),
        "prev_randao": Bytes32(random.randbytes(32)),
        "nonce": Bytes8(b"\0\0\0\0\0\0\0\1"),
        "base_fee_per_gas": Uint(max(0, int(old.base_fee_per_gas) + less)),
        "withdrawals_root": flipped("withdrawals_root"),
        "blob_gas_used": U64(max(0, int(old.blob_gas_used) + random.choice([131072, -131072, 1, 2**21]))),
        "excess_blob_gas": U64(max(0, int(old.excess_blob_gas) + random.choice([131072, -131072, 1, 2**32]))),
        "parent_beacon_block_root": flipped("parent_beacon_block_root"),
        "requests_hash": flipped("requests_hash"),
    }
    name = random.choice(list(changes))
    changed = replace(made, header=replace(old, **{name: changes[name]}))
    return f"header {name}", changed.encoded()


def with_drafts(made: Made, drafts: list[Draft]) -> bytes:
    """The block with other transactions, of which the header has the root."""
    changed = replace(made, drafts=drafts)
    root = transactions_root(made.fork, changed.transactions())
    return replace(changed, header=replace(made.header, transactions_root=root)).encoded()


def transaction(random: Random, made: Made) -> tuple[str, bytes]:
    """A rule of one transaction."""
    at = random.randrange(len(made.drafts))
    old = made.drafts[at]
    fields = old.fields
    fee = int(made.header.base_fee_per_gas)
    price = "gas_price" if old.kind <= 1 else "max_fee_per_gas"
    parity, r, s = 0, 0, 0
    signed = old.sign(made.fork)
    v = int(signed.v) if old.kind == 0 else int(signed.y_parity)
    r, s = int(signed.r), int(signed.s)
    if old.kind == 0:
        parity = (v - 27) % 2 if v < 35 else (v - 35) % 2
        other = v + 1 - 2 * parity
    else:
        other = 1 - v
    changes: dict[str, Draft] = {
        "nonce": old.changed(nonce=max(0, fields["nonce"] + random.choice([1, -1, 2**40]))),
        "gas": old.changed(gas=random.choice([20_999, int(max(made.fork.transactions.calculate_intrinsic_cost(signed))) - 1])),
        "block gas": old.changed(gas=int(made.header.gas_limit) + random.choice([1, 1, 2**40])),
        "price": old.changed(**{price: max(0, fee - 1)}),
        "value": old.changed(value=random.choice([10**22, 2**256 - 1])),
        "high s": replace(old, forged={"s": SECP256K1_N - s, "parity": other}),
        "signature": replace(old, forged=random.choice([{"r": 0}, {"s": 0}, {"r": SECP256K1_N}, {"r": 5}, {"r": r ^ 1}])),
        "parity": replace(old, forged={"parity": random.choice([other, v + 2, 26, 29, 34, 2**64 + v])}),
        "signer": old.changed(data=fields["data"] + b"\0"),
    }
    # The signature of another message has another signer, who cannot pay in nearly all cases.
    changes["signer"].forged = {"parity": v, "r": r, "s": s}
    if old.kind >= 2:
        changes["priority"] = old.changed(max_priority_fee_per_gas=fields["max_fee_per_gas"] + 1)
    if old.kind <= 2:
        init = old.changed(to=b"", data=bytes(0xC001), gas=1_500_000)
        changes["init code"] = init
    if old.kind == 3:
        hashes = fields["blob_versioned_hashes"]
        changes["no blobs"] = old.changed(blob_versioned_hashes=())
        changes["many blobs"] = old.changed(blob_versioned_hashes=hashes[:1] * random.choice([7, 10, 16, 22]))
        changes["blob version"] = old.changed(blob_versioned_hashes=(*hashes[1:], Bytes32(b"\x02" + bytes(31))))
        changes["blob price"] = old.changed(max_fee_per_blob_gas=fields["max_fee_per_blob_gas"] // 3)
    if old.kind >= 3:
        changes["creation"] = old.changed(to=b"")
    if old.kind == 4:
        changes["no authorizations"] = old.changed(authorizations=())
    if made.fork.osaka:
        changes["gas above 2^24"] = old.changed(gas=2**24 + 1)
    # Those that are only possible for some transactions are drawn as often as the others.
    name = random.choice(list(changes))
    drafts = [*made.drafts[:at], changes[name], *made.drafts[at + 1 :]]
    return f"transaction {name}", with_drafts(made, drafts)


def damaged(random: Random, items: list[Any]) -> list[Any]:
    """RLP items of which one has another form, is left out, or is added."""
    choice = random.randrange(4)
    at = random.randrange(len(items))
    if choice == 0:
        del items[at]
    elif choice == 1:
        items.insert(at, b"")
    elif isinstance(items[at], bytes):
        items[at] = b"\0" + items[at] if choice == 2 else [items[at]]
    else:
        items[at] = b""
    return items


def transaction_encoding(random: Random, made: Made) -> tuple[str, bytes]:
    """The encoding of one transaction, of which the header has the root."""
    encode = made.fork.transactions.encode_transaction
    items = [encode(transaction) for transaction in made.transactions()]
    items = [item if isinstance(item, bytes) else rlp.encode(item) for item in items]
    at = random.randrange(len(items))
    kind = made.drafts[at].kind
    payload = items[at][1:] if kind else items[at]
    choice = random.randrange(6)
    if choice == 0:
        # Another type, known or not.
        items[at] = bytes([random.choice([0, 1, 2, 3, 4, 5, 0x7F])]) + payload
    elif choice == 1:
        items[at] += b"\0"
    elif choice == 2 and kind:
        # Without its type, a legacy transaction or none.
        items[at] = payload
    elif choice == 3 and kind == 3:
        # The network's form, with blobs.
        items[at] = b"\3" + rlp.encode([rlp.decode(payload), [], [], []])
    else:
        items[at] = items[at][:1] * bool(kind) + rlp.encode(damaged(random, list(rlp.decode(payload))))
    trie = made.fork.trie.Trie(secured=False, default=None)
    for index, item in enumerate(items):
        made.fork.trie.trie_set(trie, rlp.encode(Uint(index)), item)
    root = made.fork.trie.root(trie)
    block: Any = rlp.decode(replace(made, header=replace(made.header, transactions_root=root)).encoded())
    # A list stays a list.
    block[1][:] = [rlp.decode(item) if index != at and item[0] >= 0xC0 else item for index, item in enumerate(items)]
    if items[at][0] >= 0xC0:
        try:
            block[1][at] = rlp.decode(items[at])
        except RLPException:
            # A string in which a list and more are.
            pass
    return "encoding", rlp.encode(block)


def refused(random: Random, made: Made) -> tuple[str, bytes]:
    """A transaction that could not follow the others."""
    return "transaction refused", with_drafts(made, [*made.drafts, random.choice(made.refused)])


def order(random: Random, made: Made) -> tuple[str, bytes]:
    """Transactions left out, doubled or exchanged; the header's root is theirs, or the old one."""
    drafts = list(made.drafts)
    at = random.randrange(len(drafts))
    choice = random.randrange(3)
    if choice == 0:
        del drafts[at]
    elif choice == 1:
        drafts.insert(at, drafts[at])
    else:
        drafts.append(drafts.pop(at))
    if random.random() < 0.5:
        return "list of transactions", replace(made, drafts=drafts).encoded()
    return "list of transactions", with_drafts(made, drafts)


def withdrawal(random: Random, made: Made) -> tuple[str, bytes]:
    """Withdrawals other than those that were executed; the header's root is theirs, or the old one."""
    withdrawals = list(made.withdrawals)
    new = made.fork.blocks.Withdrawal(U64(7), U64(7), Bytes20(random.randbytes(20)), U256(random.choice([1, 2**40])))
    choice = random.randrange(3)
    if choice == 0 or not withdrawals:
        withdrawals.append(new)
    elif choice == 1:
        withdrawals.pop()
    else:
        withdrawals[0] = replace(withdrawals[0], amount=withdrawals[0].amount + U256(1))
    changed = replace(made, withdrawals=withdrawals)
    if random.random() < 0.5:
        root = withdrawals_root(made.fork, withdrawals)
        changed = replace(changed, header=replace(made.header, withdrawals_root=root))
    return "withdrawals", changed.encoded()


def encoding(random: Random, made: Made) -> tuple[str, bytes]:
    """The RLP of the block."""
    block = made.encoded()
    parts: Any = rlp.decode(block)
    fields = list(parts[0])
    choice = random.randrange(7)
    if choice == 0:
        del fields[random.randrange(15, 21)]
    elif choice == 1:
        fields.append(random.choice([b"", bytes(32), b"\1"]))
    elif choice == 2:
        # A number with a zero before it.
        at = random.choice([7, 8, 9, 10, 11, 15, 17, 18])
        fields[at] = b"\0" + fields[at]
    elif choice == 3:
        at = random.choice([0, 1, 2, 3, 4, 5, 6, 13, 14, 16, 19, 20])
        fields[at] = random.choice([fields[at][:-1], fields[at] + b"\0", b""])
    elif choice == 4:
        # An uncle.
        return "encoding", rlp.encode([fields, parts[1], [fields], parts[3]])
    elif choice == 5 and made.withdrawals:
        withdrawal = damaged(random, list(parts[3][0]))
        return "encoding", rlp.encode([fields, parts[1], parts[2], [withdrawal, *parts[3][1:]]])
    else:
        # Any bit. The lengths before the payload stay, so that the block ends where its witness begins.
        changed = bytearray(block)
        changed[random.randrange(4, len(changed))] ^= 1 << random.randrange(8)
        return "encoding", bytes(changed)
    return "encoding", rlp.encode([fields, *parts[1:]])
