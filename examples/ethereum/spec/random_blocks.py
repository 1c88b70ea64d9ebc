"""Makes random blocks, executes them by the specification of Ethereum, and writes them with the specification's verdicts.

    python random_blocks.py --seed 1 --count 1000 --out blocks.jsonl

A block depends on the seed and its index alone: --first and --count choose blocks. README.md describes the lines.
"""

import argparse
import json
import multiprocessing
import sys
import threading
from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Iterator

from ethereum.crypto.hash import keccak256
from ethereum.exceptions import EthereumException
from ethereum_rlp import rlp
from ethereum_types.bytes import Bytes8, Bytes20, Bytes32, Bytes256
from ethereum_types.numeric import U64, U256, Uint

import breaks
import system
from chain import (
    CHAIN_ID,
    FORKS,
    Account,
    Accounts,
    Draft,
    Fork,
    access_list,
    authorization,
    hash_of,
    spec_state,
    state_nodes,
    verdict,
)
from inputs import precompile_input
from programs import World, initcode, program
from signing import SECP256K1_N, Key

GWEI = 10**9
ETHER = 10**18


@dataclass
class Made:
    """Block with all that it was made of."""

    fork: Fork
    accounts: Accounts
    ancestors: list[Any]
    header: Any
    drafts: list[Draft]
    withdrawals: list[Any]
    # Transactions that could not follow those in the block.
    refused: list[Draft]
    # Requests or a system contract by which the block is invalid.
    fails: bool

    def transactions(self) -> list[Any]:
        """Signed transactions."""
        return [draft.sign(self.fork) for draft in self.drafts]

    def encoded(self) -> bytes:
        """RLP of the block."""
        encode = self.fork.transactions.encode_transaction
        transactions = tuple(encode(transaction) for transaction in self.transactions())
        block = self.fork.blocks.Block(self.header, transactions, (), tuple(self.withdrawals))
        return rlp.encode(block)


class Maker:
    """Maker of one block."""

    def __init__(self, random: Random, fork: Fork, small: bool) -> None:
        self.random = random
        self.fork = fork
        # Less code and fewer accounts and transactions.
        self.small = small
        self.senders = [Key(random) for _ in range(random.randint(2, 2 if small else 4))]
        # Keys whose accounts do not exist before the block.
        self.strangers = [Key(random) for _ in range(2)]
        self.contracts = [random.randbytes(20) for _ in range(random.randint(2, 2 if small else 5))]
        self.coinbase = random.choice(
            [random.randbytes(20)] * 3 + [bytes(20), self.senders[0].address, self.contracts[0], b"\1".rjust(20, b"\0")]
        )
        self.world = World(random, fork.osaka, self.targets(), self.system_calls())
        self.accounts = self.state()

    def targets(self) -> list[bytes]:
        """Addresses that programs and transactions name."""
        keys = [key.address for key in self.senders + self.strangers]
        return [
            *self.contracts * 4,
            *keys,
            self.coinbase,
            system.BEACON_ROOTS,
            system.HISTORY,
            system.WITHDRAWALS,
            system.DEPOSITS,
            bytes(20),
            self.random.randbytes(20),
            self.random.randint(1, 0x12).to_bytes(20, "big"),
            (0x100).to_bytes(20, "big"),
        ]

    def system_calls(self) -> list[tuple[bytes, bytes, int]]:
        """Calls that the contracts of the system and of deposits understand."""
        random = self.random
        deposit = system.deposit(random.randbytes(192))
        if random.random() < 0.05:
            changed = bytearray(deposit)
            changed[random.randrange(len(changed))] ^= 1
            deposit = random.choice([bytes(changed), deposit[:-1], deposit + bytes(32), b""])
        fee = random.choice([0, 1, 5, 1000])
        return [
            (system.BEACON_ROOTS, random.choice([0, 1000, 2**200]).to_bytes(32, "big"), 0),
            (system.HISTORY, random.randrange(300).to_bytes(32, "big"), 0),
            (system.WITHDRAWALS, random.randbytes(random.choice([56, 56, 56, 55])), fee),
            (system.WITHDRAWALS, b"", 0),
            (system.CONSOLIDATIONS, random.randbytes(random.choice([96, 96, 96, 97])), fee),
            (system.DEPOSITS, deposit, 0),
        ]

    def storage(self) -> dict[int, int]:
        """Random storage, with more of the keys that programs use."""
        random = self.random
        keys = [*range(6), random.getrandbits(256), *(random.getrandbits(16) for _ in range(3))]
        most = 4 if self.small else 8
        if random.random() < 0.05 and not self.small:
            keys += range(6, 70)
            most = 60
        chosen = random.sample(keys, random.randrange(most))
        return {key: random.choice([1, 2, random.getrandbits(255) + 1]) for key in chosen}

    def state(self) -> Accounts:
        """Accounts before the block."""
        random = self.random
        accounts: Accounts = {}
        # At times tries of more than two levels.
        for _ in range(random.randrange(2 if self.small else 6 if random.random() < 0.9 else 100)):
            accounts[random.randbytes(20)] = Account(random.randrange(3), random.randrange(1, ETHER))
        for key in self.senders:
            balance = random.choice([1000 * ETHER, 10 * ETHER, ETHER // 10])
            account = Account(random.choice([0, 0, 1, 5, 127, 128, 2**20]), balance)
            if random.random() < 0.2:
                account.code = b"\xef\x01\x00" + random.choice(self.world.targets)
                account.nonce += 1
                account.storage = self.storage()
            elif random.random() < 0.02:
                account.code = program(self.world, 2)
            accounts[key.address] = account
        for _ in range(random.randrange(4)):
            self.world.inits.append(initcode(self.world))
        for address in self.contracts:
            most = random.choice([1, 2, 3, 4] if self.small else [2, 4, 8, 12])
            account = Account(1, random.choice([0, 1, 1000, ETHER]), program(self.world, most))
            if random.random() < 0.01:
                account.nonce = 2**64 - 1
            if account.code:
                account.storage = self.storage()
            accounts[address] = account
        accounts |= self.system_contracts()
        return accounts

    def system_contracts(self) -> Accounts:
        """Contracts of the system, some with requests that wait; few are absent or have another code."""
        random = self.random
        accounts: Accounts = {}
        for address, code in (
            (system.BEACON_ROOTS, system.BEACON_ROOTS_CODE),
            (system.HISTORY, system.HISTORY_CODE),
            (system.WITHDRAWALS, system.WITHDRAWALS_CODE),
            (system.CONSOLIDATIONS, system.CONSOLIDATIONS_CODE),
            (system.DEPOSITS, system.DEPOSITS_CODE),
        ):
            choice = random.randrange(100)
            if choice == 0:
                continue
            if choice == 1:
                # Ends at once, reverts, halts, or lacks the gas for memory.
                code = bytes.fromhex(random.choice(["00", "5f5ffd", "fe", "5f64ffffffffff52"]))
            accounts[address] = Account(1, 0, code)
        for address, words in ((system.WITHDRAWALS, 3), (system.CONSOLIDATIONS, 4)):
            if address in accounts and random.random() < 0.3:
                waiting = random.randint(1, 1 if self.small else 4)
                head = random.choice([0, 0, 3])
                storage = {0: random.randrange(60), 1: random.randrange(4), 2: head, 3: head + waiting}
                for slot in range(4 + head * words, 4 + (head + waiting) * words):
                    storage[slot] = random.getrandbits(255) + 1
                accounts[address].storage = {slot: value for slot, value in storage.items() if value}
        return accounts

    def ancestors(self, state_root: bytes) -> list[Any]:
        """Headers up to the parent's, from block 0 on or as many as the specification keeps."""
        random = self.random
        number = random.choice([0, 1, 1, 2] if self.small else [0, 1, 2, 2, 3, 4])
        first = 0
        if random.random() < 0.003 and not self.small:
            number = random.choice([255, 256, 300])
            first = max(0, number - 254)
        schedule = self.fork.gas
        limit = random.choice([30_000_000, 36_000_000, 45_000_000, 60_000_000, 5_000_000, 500_000])
        blob = int(schedule.GAS_PER_BLOB)
        header = self.fork.blocks.Header(
            parent_hash=Bytes32(random.randbytes(32)),
            ommers_hash=self.fork.fork.EMPTY_OMMER_HASH,
            coinbase=Bytes20(random.randbytes(20)),
            state_root=Bytes32(random.randbytes(32)),
            transactions_root=Bytes32(random.randbytes(32)),
            receipt_root=Bytes32(random.randbytes(32)),
            bloom=Bytes256(bytes(256)),
            difficulty=Uint(0),
            number=Uint(first),
            gas_limit=Uint(limit),
            gas_used=Uint(random.choice([0, limit // 2, limit, random.randrange(limit)])),
            timestamp=U256(random.randrange(1, 2**31)),
            extra_data=b"",
            prev_randao=Bytes32(random.randbytes(32)),
            nonce=Bytes8(bytes(8)),
            base_fee_per_gas=Uint(random.choice([7, 8, 1000, GWEI, 20 * GWEI])),
            withdrawals_root=Bytes32(random.randbytes(32)),
            blob_gas_used=U64(blob * random.randrange(int(self.fork.fork.MAX_BLOB_GAS_PER_BLOCK) // blob + 1)),
            excess_blob_gas=U64(blob * random.choice([0, 0, 1, 5, 20, 100, 500, random.randrange(600)])),
            parent_beacon_block_root=Bytes32(random.randbytes(32)),
            requests_hash=Bytes32(random.randbytes(32)),
        )
        headers: list[Any] = []
        for at in range(first, number + 1):
            header = replace(header, number=Uint(at), timestamp=header.timestamp + U256(12))
            if headers:
                header = replace(header, parent_hash=hash_of(headers[-1]))
            if at == number:
                header = replace(header, state_root=Bytes32(state_root))
            headers.append(header)
        return headers

    def data(self) -> bytes:
        """Data of a transaction."""
        random = self.random
        choice = random.randrange(12)
        if choice <= 3:
            return b""
        if choice <= 8:
            return random.randbytes(random.randrange(100))
        if choice <= 10:
            return b"".join(random.choice([0, 1, random.getrandbits(256)]).to_bytes(32, "big") for _ in range(3))
        # The floor of EIP-7623 decides.
        return bytes(random.choice([0, 1]) for _ in range(random.randrange(1000)))

    def draft(self, state: Any, base_fee: int, blob_fee: int, gas_left: int) -> Draft:
        """A transaction that is valid in most cases."""
        random, fork = self.random, self.fork
        key = random.choice(self.senders)
        account = fork.state.get_account(state, Bytes20(key.address))
        kind = random.choices(range(5), [2, 2, 3, 2, 3])[0]
        to, data = random.choice(self.contracts), self.data()
        value = random.choice([0, 0, 0, 1, 1000, ETHER // 1000])
        choice = random.randrange(20)
        if choice <= 2 and kind < 3:
            # A contract is created.
            to = b""
            data = random.choice([initcode(self.world), *self.world.inits])
        elif choice <= 5:
            # An account that does not exist is touched, and may be an authority after that.
            to = random.choice([random.choice(self.strangers).address, *random.sample(self.world.targets, 3)])
        elif choice == 6:
            number, data = precompile_input(random, fork.osaka)
            to = number.to_bytes(20, "big")
        elif choice == 7:
            to, data, value = random.choice(self.world.requests)
        fields: dict[str, Any] = {"nonce": int(account.nonce), "to": to, "value": value, "data": data, "gas": 0}
        price = base_fee + random.choice([0, 1, base_fee // 3, GWEI])
        if kind <= 1:
            fields["gas_price"] = price
        else:
            fields["max_fee_per_gas"] = price
            fields["max_priority_fee_per_gas"] = random.choice([0, 1, price, price // 7])
        if kind >= 1:
            fields["chain_id"] = CHAIN_ID
            entries = []
            for _ in range(random.choice([0, 0, 1, 2, 4])):
                slots = [random.randrange(6) for _ in range(random.randrange(4))]
                entries.append((random.choice(self.world.targets), slots))
            fields["access_list"] = access_list(fork, entries)
        if kind == 3:
            hashes = [b"\x01" + random.randbytes(31) for _ in range(random.choice([1, 1, 2, 3, 6]))]
            fields["blob_versioned_hashes"] = tuple(Bytes32(value) for value in hashes)
            fields["max_fee_per_blob_gas"] = blob_fee * random.choice([1, 2])
        if kind == 4:
            count = random.choice([1, 1, 2, 3])
            fields["authorizations"] = tuple(self.authorization(state, key) for _ in range(count))
        draft = Draft(kind, key, fields, protected=random.random() < 0.8)
        costs = fork.transactions.calculate_intrinsic_cost(draft.sign(fork))
        extra = random.choices(
            [0, random.randrange(3000), random.randrange(100_000), 200_000, 600_000, 1_500_000], [1, 1, 3, 4, 8, 3]
        )[0]
        gas = int(max(costs)) + extra
        if gas > gas_left and random.random() < 0.8:
            gas = max(int(max(costs)), gas_left)
        draft.fields["gas"] = gas
        return draft

    def authorization(self, state: Any, sender: Key) -> Any:
        """An authorization; one in four has a fault, so that it is skipped."""
        random = self.random
        key = random.choice(self.senders + self.strangers * 2)
        nonce = int(self.fork.state.get_account(state, Bytes20(key.address)).nonce)
        if key is sender:
            nonce += 1
        address = random.choice([*self.world.targets, *self.contracts * 4, bytes(20), key.address])
        chain = random.choice([CHAIN_ID, CHAIN_ID, 0])
        forged: dict[str, int] = {}
        choice = random.randrange(28)
        if choice == 0:
            chain = random.choice([2, 2**64, 2**256 - 1])
        elif choice <= 2:
            nonce = random.choice([nonce + 1, max(nonce - 1, 0), 2**64 - 1, 2**64 - 2])
        elif choice == 3:
            forged = {"y_parity": random.choice([2, 27, 255])}
        elif choice == 4:
            forged = {"r": random.choice([0, 1, 5, SECP256K1_N, 2**256 - 1])}
        elif choice == 5:
            forged = {"s": random.choice([0, 1, SECP256K1_N // 2, SECP256K1_N // 2 + 1, SECP256K1_N - 1, 2**256 - 1])}
        elif choice == 6:
            forged = {"y_parity": random.randrange(2)}
        return authorization(self.fork, key, chain, address, nonce, forged)

    def withdrawals(self) -> list[Any]:
        """Withdrawals of the block, some of nothing."""
        random = self.random
        first = random.choice([0, 5, 2**40])
        return [
            self.fork.blocks.Withdrawal(
                index=U64(first + index),
                validator_index=U64(random.choice([0, random.getrandbits(20), 2**64 - 1])),
                address=Bytes20(random.choice(self.world.targets)),
                amount=U256(random.choice([0, 1, 32 * GWEI, random.getrandbits(30)])),
            )
            for index in range(random.choice([0, 0, 1, 2] if self.small else [0, 0, 1, 2, 3, 16]))
        ]

    def make(self) -> Made:
        """Executes transactions one after another, each made for the state before it."""
        random, fork = self.random, self.fork
        state_root, _ = state_nodes(self.accounts)
        ancestors = self.ancestors(state_root)
        parent = ancestors[-1]
        state = spec_state(fork, self.accounts)
        assert fork.state.state_root(state) == state_root
        bound = int(parent.gas_limit) // 1024 - 1
        gas_limit = max(5000, int(parent.gas_limit) + random.choice([0, bound, -bound, random.randint(-bound, bound)]))
        base_fee = fork.fork.calculate_base_fee_per_gas(
            Uint(gas_limit), parent.gas_limit, parent.gas_used, parent.base_fee_per_gas
        )
        excess = fork.gas.calculate_excess_blob_gas(parent)
        header = replace(
            parent,
            parent_hash=hash_of(parent),
            coinbase=Bytes20(self.coinbase),
            number=parent.number + Uint(1),
            gas_limit=Uint(gas_limit),
            timestamp=parent.timestamp + U256(random.choice([1, 12, 12, 24, 100_000])),
            extra_data=random.randbytes(random.choice([0, 4, 32])),
            prev_randao=Bytes32(random.randbytes(32)),
            base_fee_per_gas=base_fee,
            excess_blob_gas=excess,
            parent_beacon_block_root=Bytes32(random.randbytes(32)),
        )
        chain = fork.fork.BlockChain([fork.blocks.Block(each, (), (), ()) for each in ancestors], state, U64(CHAIN_ID))
        environment = fork.vm.BlockEnvironment(
            chain_id=U64(CHAIN_ID),
            state=state,
            block_gas_limit=header.gas_limit,
            block_hashes=fork.fork.get_last_256_block_hashes(chain),
            coinbase=header.coinbase,
            number=header.number,
            base_fee_per_gas=header.base_fee_per_gas,
            time=header.timestamp,
            prev_randao=header.prev_randao,
            excess_blob_gas=header.excess_blob_gas,
            parent_beacon_block_root=header.parent_beacon_block_root,
        )
        output = fork.vm.BlockOutput()
        call = fork.fork.process_unchecked_system_transaction
        call(environment, Bytes20(system.BEACON_ROOTS), header.parent_beacon_block_root)
        call(environment, Bytes20(system.HISTORY), header.parent_hash)

        drafts: list[Draft] = []
        refused: list[Draft] = []
        blob_fee = int(fork.gas.calculate_blob_gas_price(excess))
        for _ in range(random.choice([1, 2] if self.small else [0, 1, 2, 3, 4, 5, 6, 8])):
            draft = self.draft(state, int(base_fee), blob_fee, gas_limit - int(output.block_gas_used))
            transaction = draft.sign(fork)
            try:
                fork.transactions.validate_transaction(transaction)
                fork.fork.check_transaction(environment, output, transaction)
            except EthereumException:
                refused.append(draft)
                continue
            fork.fork.process_transaction(environment, output, transaction, Uint(len(drafts)))
            drafts.append(draft)
        withdrawals = self.withdrawals()
        fork.fork.process_withdrawals(environment, output, tuple(withdrawals))
        fails = False
        try:
            fork.fork.process_general_purpose_requests(environment, output)
        except EthereumException:
            fails = True
        header = replace(
            header,
            state_root=fork.state.state_root(state),
            transactions_root=fork.trie.root(output.transactions_trie),
            receipt_root=fork.trie.root(output.receipts_trie),
            bloom=fork.bloom.logs_bloom(output.block_logs),
            gas_used=output.block_gas_used,
            withdrawals_root=fork.trie.root(output.withdrawals_trie),
            blob_gas_used=output.blob_gas_used,
            requests_hash=Bytes32(fork.requests.compute_requests_hash(output.requests)),
        )
        return Made(fork, self.accounts, ancestors, header, drafts, withdrawals, refused, fails)


def with_witness(made: Made, block: bytes) -> bytes:
    """RLP of a block, all trie nodes, codes, and the ancestors' headers."""
    _, nodes = state_nodes(made.accounts)
    codes = sorted({account.code for account in made.accounts.values() if account.code})
    headers = [rlp.encode(header) for header in made.ancestors]
    parts = rlp.encode(sorted(set(nodes))), rlp.encode(codes), rlp.encode(headers)
    return list_of(block, *parts)


def list_of(*items: bytes) -> bytes:
    """RLP list of items that are RLP already."""
    payload = b"".join(items)
    if len(payload) < 56:
        return bytes([0xC0 + len(payload)]) + payload
    length = len(payload).to_bytes((len(payload).bit_length() + 7) // 8, "big")
    return bytes([0xF7 + len(length)]) + length + payload


def line(seed: str, index: int, forks: list[str], small: bool) -> dict[str, Any] | str:
    """Line of one block; or why there is none, if the specification gives no verdict."""
    random = Random(f"{seed}/{index}")
    fork = Fork(random.choice(forks))
    try:
        made = Maker(random, fork, small).make()
        broken, block = None, made.encoded()
        if made.fails:
            broken = "requests"
        elif random.random() < 0.25:
            broken, block = breaks.broken(random, made)
        exception = verdict(fork, made.ancestors, made.accounts, block)
    except Exception as error:  # Whatever it is, it is no verdict.
        return f"{type(error).__name__}: {error}"
    if broken is None and exception is not None:
        # Made by the specification's functions, and refused by them: a fault of this program.
        return f"refused: {exception}"
    digest = None
    if exception is None:
        # A change that breaks no rule leaves the block valid.
        broken = None
        parts: Any = rlp.decode(block)
        digest = "0x" + keccak256(rlp.encode(parts[0])).hex()
    return {
        "name": f"{fork.name}-{seed}-{index}",
        "source": f"seed {seed}, block {index}",
        "fork": FORKS[fork.name],
        "valid": exception is None,
        "exception": exception,
        "broken": broken,
        "hash": digest,
        "input": "0x" + with_witness(made, block).hex(),
    }


def work(task: tuple[str, int, list[str], bool]) -> dict[str, Any] | str:
    """Makes a line on a thread with room for the specification's deep calls."""
    results: list[dict[str, Any] | str] = []
    thread = threading.Thread(target=lambda: results.append(line(*task)))
    thread.start()
    thread.join()
    return results[0] if results else "the thread ended"


def lines(arguments: argparse.Namespace) -> Iterator[dict[str, Any] | str]:
    """Lines of all blocks in their order."""
    forks = arguments.forks.split(",")
    indices = range(arguments.first, arguments.first + arguments.count)
    tasks = ((arguments.seed, index, forks, arguments.small) for index in indices)
    threading.stack_size(256 << 20)
    if arguments.jobs == 1:
        yield from map(work, tasks)
        return
    with multiprocessing.Pool(arguments.jobs, threading.stack_size, (256 << 20,)) as pool:
        yield from pool.imap(work, tasks, chunksize=4)


def main() -> None:
    """Writes the lines to a file, and their counts to the standard error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="index of the first block")
    parser.add_argument("--count", type=int, default=100, help="number of indices")
    parser.add_argument("--forks", default=",".join(FORKS), help="forks to draw from")
    parser.add_argument("--small", action="store_true", help="less code and fewer accounts and transactions")
    parser.add_argument("--largest", type=int, help="leave out blocks whose input has more bytes")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    with open(arguments.out, "w", encoding="utf-8") as out:
        for index, made in enumerate(lines(arguments), arguments.first):
            if isinstance(made, str):
                counts["no verdict"] += 1
                print(f"block {index}: no verdict: {made}", file=sys.stderr)
            elif arguments.largest and len(made["input"]) // 2 > arguments.largest:
                counts["too large"] += 1
            else:
                counts[f"{made['fork']}, {made['broken'] or 'valid'}"] += 1
                out.write(json.dumps(made) + "\n")
    for name, count in sorted(counts.items()):
        print(f"{count:6} {name}", file=sys.stderr)


if __name__ == "__main__":
    main()
