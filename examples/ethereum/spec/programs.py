"""Random EVM programs that mostly make sense."""

from dataclasses import dataclass, field
from random import Random

from inputs import precompile_input

# Instructions by the number of words that they take; each leaves one.
NULLARY = (
    "ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE RETURNDATASIZE COINBASE TIMESTAMP NUMBER PREVRANDAO "
    "GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBBASEFEE PC MSIZE GAS"
).split()
UNARY = "ISZERO NOT CALLDATALOAD BALANCE EXTCODESIZE EXTCODEHASH SLOAD TLOAD BLOBHASH BLOCKHASH CLZ".split()
BINARY = (
    "ADD MUL SUB DIV SDIV MOD SMOD EXP SIGNEXTEND LT GT SLT SGT EQ AND OR XOR BYTE SHL SHR SAR"
).split()
TERNARY = "ADDMOD MULMOD".split()
OPCODES = {
    name: 0x01 + index
    for index, name in enumerate("ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND".split())
}
OPCODES |= {
    name: 0x10 + index
    for index, name in enumerate("LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ".split())
}
OPCODES |= {
    name: 0x30 + index
    for index, name in enumerate(
        (
            "ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE CODECOPY GASPRICE "
            "EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH BLOCKHASH COINBASE TIMESTAMP NUMBER "
            "PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH BLOBBASEFEE"
        ).split()
    )
}
OPCODES |= {
    name: 0x50 + index
    for index, name in enumerate(
        "POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0".split()
    )
}
OPCODES |= {
    "STOP": 0x00,
    "KECCAK256": 0x20,
    "CREATE": 0xF0,
    "CALL": 0xF1,
    "CALLCODE": 0xF2,
    "RETURN": 0xF3,
    "DELEGATECALL": 0xF4,
    "CREATE2": 0xF5,
    "STATICCALL": 0xFA,
    "REVERT": 0xFD,
    "INVALID": 0xFE,
    "SELFDESTRUCT": 0xFF,
}


@dataclass
class World:
    """What programs refer to."""

    random: Random
    osaka: bool
    # Addresses with and without accounts, drawn with equal chance.
    targets: list[bytes]
    # Calls that contracts of the system or of deposits understand: address, data, value.
    requests: list[tuple[bytes, bytes, int]]
    # Codes that CREATE and CREATE2 run.
    inits: list[bytes] = field(default_factory=list)


class Program:
    """Program under construction. A statement leaves the stack as it finds it, unless it ends the program."""

    def __init__(self, world: World, nesting: int = 0) -> None:
        self.world = world
        self.random = world.random
        self.nesting = nesting
        self.code = bytearray()
        # Data behind the code, each with the position of the two bytes that become its offset.
        self.data: list[tuple[int, bytes]] = []

    def op(self, *names: str) -> None:
        """Appends instructions."""
        for name in names:
            self.code.append(OPCODES[name])

    def push(self, value: int) -> None:
        """Pushes a number, at times with zeros before it."""
        length = (value.bit_length() + 7) // 8
        if self.random.random() < 0.05:
            length = self.random.randint(length, 32)
        self.code.append(0x5F + length)
        self.code += value.to_bytes(length, "big")

    def address(self) -> None:
        """Pushes an address; at times with bits above it, which are ignored."""
        target = int.from_bytes(self.random.choice(self.world.targets), "big")
        if self.random.random() < 0.05:
            target |= self.random.getrandbits(96) << 160
        self.push(target)

    def number(self) -> None:
        """Pushes a number: small, near a power of two or its negative, or any."""
        choice = self.random.randrange(6)
        if choice <= 1:
            self.push(self.random.randrange(300))
        elif choice == 2:
            self.push((1 << self.random.randrange(256)) + self.random.randrange(-1, 1))
        elif choice == 3:
            self.push((1 << 256) - (1 << self.random.randrange(256)))
        elif choice == 4:
            self.push(self.random.getrandbits(self.random.randrange(1, 257)))
        else:
            self.address()

    def offset(self) -> None:
        """Pushes an offset of memory: mostly small, at times one that costs much or too much."""
        choice = self.random.randrange(400)
        if choice == 0:
            self.push(self.random.choice([2**24, 2**32 - 1, 2**32, 2**64 - 1, 2**64, 2**255, 2**256 - 1]))
        elif choice <= 8:
            self.push(self.random.randrange(2 ** self.random.randrange(10, 18)))
        elif choice <= 200:
            self.push(32 * self.random.randrange(9))
        else:
            self.push(self.random.randrange(300))

    def length(self) -> None:
        """Pushes a length of memory."""
        choice = self.random.randrange(400)
        if choice == 0:
            self.push(self.random.choice([2**20, 2**32, 2**63, 2**256 - 1]))
        elif choice <= 8:
            self.push(self.random.randrange(2 ** self.random.randrange(8, 14)))
        elif choice <= 200:
            self.push(self.random.choice([0, 1, 4, 20, 32, 32, 64, 96]))
        else:
            self.push(self.random.randrange(130))

    def slot(self) -> None:
        """Pushes a key of storage; most are among few, so that they meet again."""
        if self.random.random() < 0.9:
            self.push(self.random.randrange(6))
        else:
            self.number()

    def expression(self, depth: int = 0) -> None:
        """Pushes a word."""
        choice = self.random.randrange(12 if depth < 3 else 6)
        if choice <= 2:
            self.number()
        elif choice <= 4:
            self.op(self.random.choice(NULLARY))
        elif choice == 5:
            self.offset()
            self.op("MLOAD")
        elif choice <= 7:
            self.unary(depth)
        elif choice <= 10:
            name = self.random.choice(BINARY)
            self.expression(depth + 1)
            if name in ("BYTE", "SHL", "SHR", "SAR", "SIGNEXTEND") and self.random.random() < 0.7:
                self.push(self.random.randrange(300))
            elif name == "EXP" and self.random.random() < 0.7:
                self.push(self.random.randrange(2**self.random.randrange(1, 60)))
            else:
                self.expression(depth + 1)
            self.op(name)
        else:
            for _ in range(3):
                self.expression(depth + 1)
            self.op(self.random.choice(TERNARY))

    def unary(self, depth: int) -> None:
        """Pushes the result of an instruction that takes one word."""
        name = self.random.choice(UNARY)
        if name == "CLZ" and not self.world.osaka and self.random.random() < 0.95:
            name = "NOT"
        if name in ("SLOAD", "TLOAD"):
            self.slot()
        elif name in ("BALANCE", "EXTCODESIZE", "EXTCODEHASH"):
            self.address()
        elif name == "BLOBHASH":
            self.push(self.random.randrange(8))
        elif name == "BLOCKHASH" and self.random.random() < 0.9:
            self.push(self.random.choice([0, 1, 1, 2, 3, 5, 255, 256, 257]))
            self.op("NUMBER", "SUB")
        elif name == "CALLDATALOAD":
            self.push(self.random.randrange(70))
        else:
            self.expression(depth + 1)
        self.op(name)

    def statement(self) -> None:
        """One of the statements below."""
        makers = {
            self.store: 8,
            self.transient: 4,
            self.memory: 6,
            self.copy: 3,
            self.hash: 2,
            self.log: 3,
            self.call: 7,
            self.precompile: 5,
            self.request: 1,
            self.create: 3 if self.nesting < 2 else 0,
            self.branch: 3,
            self.loop: 1.5,
            self.shuffle: 3,
            self.spend: 0.3,
            self.fault: 0.3,
        }
        self.random.choices(list(makers), list(makers.values()))[0]()

    def block(self, most: int) -> None:
        """At most as many statements."""
        for _ in range(self.random.randint(1, most)):
            self.statement()

    def store(self) -> None:
        """Writes storage; zeros are frequent, so that slots are freed."""
        if self.random.random() < 0.3:
            self.push(self.random.choice([0, 0, 1, 2]))
        else:
            self.expression()
        self.slot()
        self.op("SSTORE")

    def transient(self) -> None:
        """Writes transient storage, or copies a word of it to storage."""
        if self.random.random() < 0.5:
            self.expression()
            self.slot()
            self.op("TSTORE")
        else:
            self.slot()
            self.op("TLOAD")
            self.slot()
            self.op("SSTORE")

    def memory(self) -> None:
        """Writes a word or a byte of memory."""
        self.expression()
        self.offset()
        self.op(self.random.choice(["MSTORE", "MSTORE", "MSTORE8"]))

    def copy(self) -> None:
        """Copies data of one of all kinds to memory."""
        name = self.random.choice(["MCOPY", "MCOPY", "CALLDATACOPY", "CODECOPY", "EXTCODECOPY", "RETURNDATACOPY"])
        if name == "RETURNDATACOPY" and self.random.random() < 0.8:
            self.op("RETURNDATASIZE", "PUSH0")
        else:
            # Beyond the end of what is returned the call ends; beyond other data are zeros.
            self.length() if name != "RETURNDATACOPY" or self.random.random() < 0.2 else self.push(0)
            self.offset()
        self.offset()
        if name == "EXTCODECOPY":
            self.address()
        self.op(name)

    def hash(self) -> None:
        """Stores the digest of a part of memory."""
        self.length()
        self.offset()
        self.op("KECCAK256")
        self.slot()
        self.op("SSTORE")

    def log(self) -> None:
        """Makes a log."""
        topics = self.random.randrange(5)
        for _ in range(topics):
            self.expression(2)
        self.length()
        self.offset()
        self.code.append(0xA0 + topics)

    def copy_data(self, data: bytes, to: int) -> None:
        """Copies data from behind the code to memory."""
        self.push(len(data))
        self.code.append(0x61)
        self.data.append((len(self.code), data))
        self.code += b"\0\0"
        self.push(to)
        self.op("CODECOPY")

    def gas(self) -> None:
        """Pushes the gas of a call."""
        choice = self.random.randrange(10)
        if choice <= 5:
            self.op("GAS")
        elif choice <= 8:
            self.push(self.random.randrange(2 ** self.random.randrange(1, 18)))
        else:
            self.number()

    def value(self) -> None:
        """Pushes the value of a call or a creation."""
        choice = self.random.randrange(12)
        if choice <= 6:
            self.push(0)
        elif choice <= 9:
            self.push(self.random.randrange(100))
        elif choice == 10:
            self.op("SELFBALANCE")
        else:
            self.number()

    def result(self) -> None:
        """Uses or drops the word that a call leaves."""
        choice = self.random.randrange(4)
        if choice == 0:
            self.op("POP")
        elif choice == 1:
            self.op("RETURNDATASIZE", "ADD")
            self.slot()
            self.op("SSTORE")
        else:
            self.slot()
            self.op("SSTORE")

    def call(self) -> None:
        """Calls any address with any data."""
        name = self.random.choice(["CALL", "CALL", "CALL", "CALLCODE", "DELEGATECALL", "DELEGATECALL", "STATICCALL"])
        for _ in range(2):
            self.length()
            self.offset()
        if name in ("CALL", "CALLCODE"):
            self.value()
        if self.random.random() < 0.1:
            self.op("ADDRESS")
        else:
            self.address()
        self.gas()
        self.op(name)
        self.result()

    def precompile(self) -> None:
        """Calls a precompile, and stores the digest of what it returns."""
        address, data = precompile_input(self.random, self.world.osaka)
        self.copy_data(data, 0)
        name = self.random.choice(["CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "STATICCALL", "STATICCALL"])
        out = self.random.choice([0, 32, 64, 256])
        self.push(out)
        self.push(self.random.choice([0, 64]))
        self.push(len(data))
        self.push(0)
        if name in ("CALL", "CALLCODE"):
            self.push(self.random.choice([0, 0, 0, 1]))
        self.push(address)
        if self.random.random() < 0.85:
            self.op("GAS")
        else:
            self.push(self.random.choice([0, 15, 100, 150, 500, 600, 3000, 6000, 6900, 12000, 50000]))
        self.op(name)
        self.result()
        if self.random.random() < 0.8:
            self.op("RETURNDATASIZE", "PUSH0", "PUSH0", "RETURNDATACOPY")
            self.op("RETURNDATASIZE", "PUSH0", "KECCAK256")
            self.slot()
            self.op("SSTORE")

    def request(self) -> None:
        """Calls a contract of the system with data that it understands."""
        address, data, value = self.random.choice(self.world.requests)
        self.copy_data(data, 0)
        self.push(32)
        self.push(0)
        self.push(len(data))
        self.push(0)
        self.push(value)
        self.push(int.from_bytes(address, "big"))
        self.op("GAS", "CALL")
        self.result()

    def create(self) -> None:
        """Creates a contract, and calls it at times."""
        if self.world.inits and self.random.random() < 0.7:
            init = self.random.choice(self.world.inits)
        else:
            init = initcode(self.world, self.nesting + 1)
        self.copy_data(init, 0)
        second = self.random.random() < 0.5
        if second:
            self.push(self.random.randrange(2))
        self.push(len(init))
        self.push(0)
        self.value()
        self.op("CREATE2" if second else "CREATE")
        if self.random.random() < 0.6:
            self.code += b"\x80"  # DUP1
            self.slot()
            self.op("SSTORE")
            for _ in range(self.random.choice([1, 1, 2])):
                # The address stays under the words of the call.
                self.op("PUSH0", "PUSH0", "PUSH0", "PUSH0")
                self.push(self.random.choice([0, 0, 1]))
                self.code += b"\x85"  # DUP6
                self.op("GAS", "CALL")
                self.result()
        self.result()

    def branch(self) -> None:
        """A jump over statements."""
        self.expression()
        at = self.jump("JUMPI")
        self.block(2)
        self.land(at)

    def jump(self, name: str) -> int:
        """Appends a jump forward, and returns the position of its target."""
        self.code.append(0x61)
        at = len(self.code)
        self.code += b"\0\0"
        self.op(name)
        return at

    def land(self, at: int) -> None:
        """Makes this place the target of a jump."""
        self.code[at : at + 2] = len(self.code).to_bytes(2, "big")
        self.op("JUMPDEST")

    def again(self, start: int) -> None:
        """Takes 1 from the counter, and jumps back unless it is 0; removes it then."""
        self.push(1)
        self.code += b"\x90"  # SWAP1
        self.op("SUB")
        self.code += b"\x80"  # DUP1
        self.code += b"\x61" + start.to_bytes(2, "big")
        self.op("JUMPI", "POP")

    def loop(self) -> None:
        """Statements that run a few times; the counter is below their words."""
        self.push(self.random.randint(2, 6))
        start = len(self.code)
        self.op("JUMPDEST")
        self.block(2)
        self.again(start)

    def shuffle(self) -> None:
        """Many words on the stack, copied, exchanged and combined."""
        depth = self.random.randint(2, 17)
        for _ in range(depth):
            self.expression(2)
        for _ in range(self.random.randint(1, 12)):
            choice = self.random.randrange(3)
            if choice == 0:
                self.code.append(0x80 + self.random.randrange(min(depth, 16)))
                depth += 1
            elif choice == 1 and depth > 1:
                self.code.append(0x90 + self.random.randrange(min(depth - 1, 16)))
            elif choice == 2 and depth > 1:
                self.op(self.random.choice(["ADD", "XOR", "SUB", "MUL", "LT", "DIV"]))
                depth -= 1
        while depth > 1:
            self.op("XOR")
            depth -= 1
        self.slot()
        self.op("SSTORE")

    def spend(self) -> None:
        """Uses much gas: a long loop, deep memory, or a deep stack."""
        choice = self.random.randrange(3)
        if choice == 0:
            self.push(self.random.randrange(1000))
            start = len(self.code)
            self.op("JUMPDEST")
            self.again(start)
        elif choice == 1:
            self.push(self.random.randrange(256))
            self.push(self.random.randrange(2**19))
            self.op("MSTORE8")
        else:
            start = len(self.code)
            # Copies of the program's position until the stack is full.
            self.op("JUMPDEST", "PC")
            self.code += b"\x61" + start.to_bytes(2, "big")
            self.op("JUMP")

    def fault(self) -> None:
        """Ends the call in most cases."""
        choice = self.random.randrange(5)
        if choice == 0:
            self.op("INVALID")
        elif choice == 1:
            self.code += self.random.randbytes(self.random.randint(1, 8))
        elif choice == 2:
            # A jump to any place.
            self.push(self.random.randrange(len(self.code) + 10))
            self.op("JUMP")
        elif choice == 3:
            self.op("POP", "POP", "ADD")
        else:
            self.op("PUSH0", "PUSH0", "REVERT")

    def end(self) -> None:
        """Ends the program."""
        choice = self.random.randrange(12)
        if choice <= 4:
            self.length()
            self.offset()
            self.op("RETURN")
        elif choice <= 6:
            self.length()
            self.offset()
            self.op("REVERT")
        elif choice == 7:
            if self.random.random() < 0.3:
                self.op("ADDRESS")
            else:
                self.address()
            self.op("SELFDESTRUCT")
        elif choice == 8:
            self.statement()
        else:
            self.op("STOP")

    def finish(self) -> bytes:
        """Puts the data behind the code."""
        for at, data in self.data:
            self.code[at : at + 2] = len(self.code).to_bytes(2, "big")
            self.code += data
        return bytes(self.code)


def program(world: World, most: int, nesting: int = 0) -> bytes:
    """Code of at most as many statements."""
    random = world.random
    if random.random() < 0.02:
        return random.randbytes(random.randrange(60))
    made = Program(world, nesting)
    made.block(most)
    made.end()
    return made.finish()


def initcode(world: World, nesting: int = 0) -> bytes:
    """Code that runs when a contract is created."""
    random = world.random
    made = Program(world, nesting)
    if random.random() < 0.6:
        made.block(2)
    choice = random.randrange(14)
    if choice == 0:
        made.end()
        return made.finish()
    if choice == 1:
        # Code too long, or the longest; or one that costs more than there is.
        made.push(random.choice([0x6000, 0x6001, 0x4000]))
        made.op("PUSH0", "RETURN")
        return made.finish()
    if choice == 2:
        runtime = random.choice([b"", b"\xef", b"\xef\x00", b"\xef\x01\x00" + random.randbytes(20), b"\x00", b"\xfe"])
    elif choice <= 4:
        # Sends its balance to the caller.
        runtime = b"\x33\xff"
    elif choice == 5:
        runtime = b"\x30\xff"
    else:
        runtime = program(world, 3, nesting + 1)
    made.copy_data(runtime, 0)
    made.push(len(runtime))
    made.op("PUSH0", "RETURN")
    return made.finish()
