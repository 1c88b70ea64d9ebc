"""A fork of the specification, and the state, transactions and verdicts in its terms."""

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from ethereum.crypto.hash import Hash32, keccak256
from ethereum.exceptions import EthereumException
from ethereum_rlp import rlp
from ethereum_rlp.exceptions import RLPException
from ethereum_types.bytes import Bytes0, Bytes20, Bytes32
from ethereum_types.numeric import U8, U64, U256, Uint

from signing import Key
from witness import trie

# The forks' names in the package, and in the lines.
FORKS = {"prague": "Prague", "osaka": "Osaka", "bpo1": "BPO1", "bpo2": "BPO2"}

CHAIN_ID = 1


class Fork:
    """Modules of one fork."""

    def __init__(self, name: str) -> None:
        def module(part: str) -> Any:
            return import_module(f"ethereum.forks.{name}.{part}")

        self.name = name
        self.osaka = name != "prague"
        self.fork = module("fork")
        self.blocks = module("blocks")
        self.bloom = module("bloom")
        self.requests = module("requests")
        self.state = module("state")
        self.transactions = module("transactions")
        self.trie = module("trie")
        self.types = module("fork_types")
        self.vm = module("vm")
        self.gas = module("vm.gas")


@dataclass
class Account:
    """Account before the block."""

    nonce: int = 0
    balance: int = 0
    code: bytes = b""
    storage: dict[int, int] = field(default_factory=dict)


Accounts = dict[bytes, Account]


def spec_state(fork: Fork, accounts: Accounts) -> Any:
    """The specification's state of these accounts."""
    state = fork.state.State()
    for address, account in accounts.items():
        typed = fork.types.Account(Uint(account.nonce), U256(account.balance), account.code)
        fork.state.set_account(state, Bytes20(address), typed)
        for key, value in account.storage.items():
            fork.state.set_storage(state, Bytes20(address), U256(key).to_be_bytes32(), U256(value))
    return state


def state_nodes(accounts: Accounts) -> tuple[bytes, list[bytes]]:
    """Root of the state, and the nodes of all its tries."""
    leaves: dict[bytes, bytes] = {}
    nodes: list[bytes] = []
    for address, account in accounts.items():
        storage = {key.to_bytes(32, "big"): rlp.encode(Uint(value)) for key, value in account.storage.items()}
        root, below = trie(storage)
        nodes += below
        fields = (Uint(account.nonce), Uint(account.balance), root, bytes(keccak256(account.code)))
        leaves[address] = rlp.encode(fields)
    root, above = trie(leaves)
    return root, above + nodes


# Types of the fields of transactions.
TYPES: dict[str, Any] = {
    "chain_id": U64,
    "nonce": U256,
    "gas_price": Uint,
    "max_priority_fee_per_gas": Uint,
    "max_fee_per_gas": Uint,
    "gas": Uint,
    "value": U256,
    "max_fee_per_blob_gas": U256,
    "v": U256,
    "y_parity": U256,
    "r": U256,
    "s": U256,
}
CLASSES = (
    "LegacyTransaction",
    "AccessListTransaction",
    "FeeMarketTransaction",
    "BlobTransaction",
    "SetCodeTransaction",
)
HASHES = (
    "signing_hash_155",
    "signing_hash_2930",
    "signing_hash_1559",
    "signing_hash_4844",
    "signing_hash_7702",
)


@dataclass
class Draft:
    """Transaction before its signature."""

    kind: int
    key: Key
    fields: dict[str, Any]
    # A legacy transaction's signature may leave the chain out.
    protected: bool = True
    # Parts of the signature that replace the right ones.
    forged: dict[str, int] = field(default_factory=dict)

    def changed(self, **fields: Any) -> "Draft":
        """The same with other fields."""
        return replace(self, fields=self.fields | fields)

    def sign(self, fork: Fork) -> Any:
        """The specification's transaction."""
        typed: dict[str, Any] = {}
        for name, value in self.fields.items():
            if name == "to":
                typed[name] = Bytes20(value) if value else Bytes0(b"")
            elif name == "nonce" and self.kind == 4:
                typed[name] = U64(value)
            else:
                typed[name] = TYPES.get(name, lambda value: value)(value)
        cls = getattr(fork.transactions, CLASSES[self.kind])
        parity_name = "y_parity" if self.kind else "v"
        parts = {parity_name: U256(0), "r": U256(0), "s": U256(0)}
        unsigned = cls(**typed, **parts)
        if self.kind:
            digest = getattr(fork.transactions, HASHES[self.kind])(unsigned)
            base = 0
        elif self.protected:
            digest = fork.transactions.signing_hash_155(unsigned, U64(CHAIN_ID))
            base = 35 + 2 * CHAIN_ID
        else:
            digest = fork.transactions.signing_hash_pre155(unsigned)
            base = 27
        parity, r, s = self.key.sign(digest)
        signature = {parity_name: base + parity, "r": r, "s": s}
        for name, value in self.forged.items():
            signature[parity_name if name == "parity" else name] = value
        return cls(**typed, **{name: U256(value) for name, value in signature.items()})


def authorization(fork: Fork, key: Key, chain_id: int, address: bytes, nonce: int, forged: dict[str, int]) -> Any:
    """Signed authorization of EIP-7702."""
    digest = keccak256(b"\x05" + rlp.encode((Uint(chain_id), address, Uint(nonce))))
    parity, r, s = key.sign(digest)
    parts = {"y_parity": parity, "r": r, "s": s} | forged
    return fork.types.Authorization(
        U256(chain_id), Bytes20(address), U64(nonce), U8(parts["y_parity"]), U256(parts["r"]), U256(parts["s"])
    )


def access_list(fork: Fork, entries: list[tuple[bytes, list[int]]]) -> tuple[Any, ...]:
    """The specification's access list."""
    return tuple(
        fork.transactions.Access(Bytes20(address), tuple(Bytes32(slot.to_bytes(32, "big")) for slot in slots))
        for address, slots in entries
    )


def transactions_root(fork: Fork, transactions: list[Any]) -> Any:
    """Root of the specification's trie of transactions."""
    made = fork.trie.Trie(secured=False, default=None)
    for index, transaction in enumerate(transactions):
        fork.trie.trie_set(made, rlp.encode(Uint(index)), fork.transactions.encode_transaction(transaction))
    return fork.trie.root(made)


def withdrawals_root(fork: Fork, withdrawals: list[Any]) -> Any:
    """Root of the specification's trie of withdrawals."""
    made = fork.trie.Trie(secured=False, default=None)
    for index, withdrawal in enumerate(withdrawals):
        fork.trie.trie_set(made, rlp.encode(Uint(index)), rlp.encode(withdrawal))
    return fork.trie.root(made)


def verdict(fork: Fork, ancestors: list[Any], accounts: Accounts, block: bytes) -> str | None:
    """Name of the exception by which the specification refuses a block; none if the block is valid.

    Any other exception is no verdict, and is passed on.
    """
    blocks = [fork.blocks.Block(header, (), (), ()) for header in ancestors]
    chain = fork.fork.BlockChain(blocks, spec_state(fork, accounts), U64(CHAIN_ID))
    try:
        fork.fork.state_transition(chain, rlp.decode_to(fork.blocks.Block, block))
    except (EthereumException, RLPException) as error:
        return type(error).__name__
    return None


def hash_of(header: Any) -> Hash32:
    """Hash of a header."""
    return keccak256(rlp.encode(header))
