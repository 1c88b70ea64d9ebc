"""Programs: text, bytes, runs, faults."""

import signal
import threading
import time

import numpy as np
import pytest

import hologram
from hologram import errors

ADD = """
    set.ge.u64 p0, r255, r4     ; lanes past the end
    bra @end, p0
    mul.u64 r5, r255, r6
    ldg.f32 r10, [r1 + r5]
    ldg.f32 r11, [r2 + r5]
    add.f32 r12, r10, r11
    stg.f32 r12, [r3 + r5]
@end:
"""


def test_text_and_bytes():
    program = hologram.Program(ADD)
    assert len(program) == 7
    assert hologram.Program(str(program)) == program
    assert hologram.Program.from_bytes(program.to_bytes()) == program
    assert hash(hologram.Program(str(program))) == hash(program)
    assert program != hologram.Program("exit")
    assert "7" in repr(program)


@pytest.mark.parametrize("n", [1, 255, 256, 1000])
def test_lanes(ex, n):
    x = np.arange(n, dtype=np.float32)
    a, b, c = ex.from_numpy(x), ex.from_numpy(x * 2), ex.allocate(n)
    ex.run(
        hologram.Program(ADD),
        grid=-(-n // 256),
        block=256,
        registers={1: a, 2: b, "r3": c, 4: n, 6: 4},
    )
    assert (c.to_numpy() == 3 * x).all()


def test_registers_of_types(ex):
    out = ex.allocate(2, "float64")
    program = hologram.Program(
        "cvt.f64.f32 r4, r2\n stg.f64 r4, [r1 + 0]\n cvt.f64.i8 r5, r3\n stg.f64 r5, [r1 + 8]"
    )
    ex.run(program, registers={1: out, 2: ("float32", 1.5), 3: (np.int8, -7)})
    assert out.to_numpy().tolist() == [1.5, -7]


def test_shared_memory_and_barriers(ex):
    # Each lane stores its number and reads that of the lane across the block.
    program = hologram.Program(
        """
        mov_imm.u64 r2, 8
        mul.u64 r3, r255, r2
        sts.u64 r255, [r0 + r3]
        bar_sync 0
        mov_imm.u64 r4, 63
        sub.u64 r4, r4, r255
        mul.u64 r5, r4, r2
        lds.u64 r6, [r0 + r5]
        stg.u64 r6, [r1 + r3]
        """
    )
    out = ex.allocate(64, "uint64")
    ex.run(program, block=(8, 4, 2), shared_memory=512, registers={1: out})
    assert out.to_numpy().tolist() == list(range(63, -1, -1))


def test_intrinsics_in_programs(ex):
    x = ex.from_numpy(np.arange(5, dtype=np.float32))
    ex.run(hologram.Program("map.neg.f32 r1, r1, 5"), registers={1: x})
    assert x.to_numpy().tolist() == [0, -1, -2, -3, -4]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("foo r1, r2", "line 1"),
        ("exit\nadd.f32 r1, r2", "line 2"),
        ("add.f32 r1, r2, r256", "line 1"),
        ("bra @nowhere", "nowhere"),
        ("@a:\n@a:\nexit", "line 2"),
    ],
)
def test_bad_text(text, match):
    with pytest.raises(errors.ProgramError, match=match):
        hologram.Program(text)


@pytest.mark.parametrize("data", [b"", b"atlas", b"\x00" * 100])
def test_bad_bytes(data):
    with pytest.raises(errors.ProgramError):
        hologram.Program.from_bytes(data)


def test_damaged_bytes():
    good = hologram.Program(ADD).to_bytes()
    for i in range(len(good)):
        damaged = good[:i] + bytes([good[i] ^ 0x5A]) + good[i + 1 :]
        try:
            str(hologram.Program.from_bytes(damaged))
        except errors.ProgramError:
            pass
        with pytest.raises(errors.ProgramError):
            hologram.Program.from_bytes(good[:i])


def test_float_constants_are_values(ex):
    out = ex.allocate(3)
    program = hologram.Program("""
        mov_imm.f32 r2, 2
        stg.f32 r2, [r1 + 0]
        mov_imm.f32 r2, -1.5
        stg.f32 r2, [r1 + 4]
        mov_imm.f32 r2, 0x40490fdb
        stg.f32 r2, [r1 + 8]
    """)
    ex.run(program, registers={1: out})
    assert out.to_numpy().tolist() == [2, -1.5, float(np.float32(np.pi))]
    assert hologram.Program(str(program)) == program and "mov_imm.f32 r2, 2.0" in str(program)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"grid": 2**40}, errors.LaunchError, f"grid: {2**40}, must be 1 to"),
        ({"block": (1, -1)}, errors.LaunchError, "block: -1, must be 1 to"),
        ({"grid": 1.5}, TypeError, "grid: 1.5 of .* is no integer"),
        ({"block": "x"}, TypeError, "block: x"),
        ({"shared_memory": -1}, errors.ArgumentError, "shared_memory: -1"),
        ({"step_budget": -1}, errors.ArgumentError, "step_budget: -1"),
        ({"block": 1025}, errors.LaunchError, "1025"),
        ({"block": (32, 33)}, errors.LaunchError, "1056"),
        ({"grid": 0}, errors.LaunchError, "grid: 0"),
        ({"grid": (1, 1, 70_000)}, errors.LaunchError, "70000"),
        ({"grid": (1, 1, 1, 1)}, errors.LaunchError, "4 sizes"),
        ({"grid": ()}, errors.LaunchError, "0 sizes"),
        ({"shared_memory": 1 << 20}, errors.LaunchError, "1048576"),
    ],
)
def test_launches_are_named(ex, arguments, error, match):
    with pytest.raises(error, match=match):
        ex.run(hologram.Program("exit"), **arguments)


def test_invalid_programs(ex):
    with pytest.raises(errors.ProgramError, match="r1 is not initialised"):
        ex.run(hologram.Program("mov.u64 r0, r1"))
    with pytest.raises(errors.ProgramError):
        ex.run(hologram.Program("exp.i32 r0, r1"), registers={1: ("int32", 1)})


def test_faults(ex):
    a = ex.allocate(4)
    program = hologram.Program("mov_imm.u64 r3, 4\n mul.u64 r4, r255, r3\n ldg.f32 r2, [r1 + r4]")
    with pytest.raises(errors.FaultError, match="4 bytes at 16 of buffer") as fault:
        ex.run(program, grid=2, block=4, registers={1: a})
    assert (fault.value.lane, fault.value.pc) == (4, 2)
    assert fault.value.instruction == "ldg.f32 r2, [r1 + r4]"
    with pytest.raises(errors.FaultError, match="does not exist"):
        ex.run(program, registers={1: 2**40})
    # The executor goes on.
    ex.run(program, registers={1: a})


def test_step_budget(ex):
    with pytest.raises(errors.FaultError, match="1000 steps"):
        ex.run(hologram.Program("@top:\nbra @top"), step_budget=1000)


@pytest.mark.parametrize("register", ["x1", "r256", "r", 256, -1, 1.5, None])
def test_bad_registers(ex, register):
    with pytest.raises(errors.ArgumentError):
        ex.run(hologram.Program("exit"), registers={register: 1})


def test_bad_register_values(ex):
    run = lambda value: ex.run(hologram.Program("exit"), registers={1: value})
    with pytest.raises(OverflowError):
        run(-1)
    with pytest.raises(TypeError):
        run("1")
    with pytest.raises(errors.DTypeError):
        run(("complex64", 1))
    with pytest.raises(errors.ArgumentError):
        run(hologram.Executor("cpu").allocate(1))
    freed = ex.allocate(1)
    freed.free()
    with pytest.raises(errors.ClosedError):
        run(freed)


def test_classes_of_blocks(ex):
    program = hologram.Program(
        "cls_get r2\n cvt.u64.u8 r3, r2\n mov_imm.u64 r4, 8\n mul.u64 r5, r255, r4\n stg.u64 r3, [r1 + r5]"
    )
    out = ex.allocate(100, "uint64")
    ex.run(program, grid=100, registers={1: out}, class_from_block=True)
    assert out.to_numpy().tolist() == [i % 96 for i in range(100)]
    ex.run(program, grid=100, registers={1: out})
    assert not out.to_numpy().any()


ENDLESS = "mov_imm.u32 r1, 3\n@again:\nadd.u32 r1, r1, r1\nbra @again"
NO_STEPS = 2**62


def test_time_limit(ex):
    program = hologram.Program(ENDLESS)
    for lanes in (1, 200):
        begin = time.monotonic()
        with pytest.raises(errors.TimeLimitError, match=r"time limit of 0\.2 s") as caught:
            ex.run(program, block=lanes, step_budget=NO_STEPS, time_limit=0.2)
        assert 0.2 <= time.monotonic() - begin < 30
        assert isinstance(caught.value, errors.FaultError) and isinstance(caught.value, TimeoutError)
        assert caught.value.pc in (1, 2) and caught.value.instruction
    # The next program has nothing of it.
    ex.run(hologram.Program("mov_imm.u32 r1, 3"), time_limit=30)
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(errors.ArgumentError, match="time_limit"):
            ex.run(program, time_limit=wrong)


def test_ctrl_c_ends_a_program(ex, heard):
    program = hologram.Program(ENDLESS)
    # Compiled before the time counts.
    with pytest.raises(errors.FaultError):
        ex.run(program, block=4, step_budget=NO_STEPS, time_limit=0.01)
    pressed = []

    def press():
        pressed.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.3, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ex.run(program, block=4, step_budget=NO_STEPS, time_limit=60)
    ended = time.monotonic()
    timer.join()
    # Some hundredths of a second, and a second at most is wanted. Where other tests keep all processors busy, threads of this one
    # may wait for seconds until they run.
    assert ended - pressed[0] < 10
    # The executor lives on.
    out = ex.allocate(1, "uint32")
    ex.run(hologram.Program("mov_imm.u32 r2, 7\nstg.u32 r2, [r1 + 0]"), registers={1: out})
    assert out.to_numpy().tolist() == [7]
