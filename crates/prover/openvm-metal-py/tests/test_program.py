"""Programs, inputs and execution."""

import os
import pickle

import guests
import pytest
from conftest import INPUT, ROUNDS

import openvm_metal as om
from openvm_metal import errors


def test_a_program_goes_through_bytes_and_pickles(program):
    for again in (
        om.Program.from_bytes(program.to_bytes(), program.config, program.name),
        pickle.loads(pickle.dumps(program)),
    ):
        assert (again.digest, again.config, again.name) == (program.digest, guests.CONFIG, "sums")
    assert om.Program.from_bytes(guests.sums(3), guests.CONFIG).digest != program.digest


def test_a_program_is_read_with_the_configuration_beside_it(tmp_path, program):
    file = tmp_path / "sums.elf"
    file.write_bytes(guests.sums(ROUNDS))
    beside = tmp_path / "openvm.toml"
    beside.write_text(guests.CONFIG)
    found = om.Program(file)
    assert (found.digest, found.name, found.config) == (program.digest, "sums", guests.CONFIG)
    # By the command's rule: everybody could have chosen the machine.
    beside.chmod(0o666)
    with pytest.raises(errors.ConfigError, match="everybody may write it"):
        om.Program(file)
    assert om.Program(file, beside).config == guests.CONFIG
    # The file that `build` stores comes first.
    stored = guests.CONFIG + "[app_vm_config.rv32m]\n"
    (tmp_path / "sums.openvm.toml").write_text(stored)
    assert om.Program(file).config == stored


def test_bad_programs_say_so(tmp_path):
    with pytest.raises(errors.FileError, match="missing.elf"):
        om.Program(tmp_path / "missing.elf")
    with pytest.raises(errors.DataError):
        om.Program.from_bytes(b"no executable")
    with pytest.raises(errors.ProgramError):
        om.Program.from_bytes(b"\x7fELF, but cut off")
    with pytest.raises(errors.ProgramError, match="add \\[app_vm_config.io\\]"):
        om.Program.from_bytes(guests.sums(3), "[app_vm_config.rv32i]")
    with pytest.raises(errors.ConfigError):
        om.Program.from_bytes(guests.sums(3), "[app_vm_config")


def test_traps_end_a_guest_unless_cargo_openvm_is_followed():
    words = [0x00100593, 0xC0001073, 0x0005A00B, 0x0000000B]  # li a1, 1; unimp; reveal a1; end
    elf = guests.elf(words)
    with pytest.raises(errors.GuestError) as caught:
        om.execute(om.Program.from_bytes(elf, guests.CONFIG))
    assert (caught.value.exit_code, caught.value.pc) == (2, guests.TEXT + 4)
    ignoring = om.Program.from_bytes(elf, guests.CONFIG, as_cargo_openvm=True)
    assert ignoring.ignored_traps == 1
    assert om.execute(ignoring)[0] == 1
    # An executable has its rule.
    with pytest.raises(errors.ConfigError):
        om.Program.from_bytes(ignoring.to_bytes(), guests.CONFIG, as_cargo_openvm=True)


def test_execution_reveals_and_fails_as_the_guest_does(prover):
    revealed = prover.execute(INPUT)
    assert int.from_bytes(revealed[:4], "little") == ROUNDS * (ROUNDS + 1) // 2
    assert revealed[4:8] == INPUT
    assert prover.plan([INPUT]).public_values == revealed
    with pytest.raises(errors.InputError) as caught:
        prover.execute()
    assert caught.value.pc is not None
    with pytest.raises(errors.InstructionBoundError):
        om.Prover(om.Program.from_bytes(guests.endless(), guests.CONFIG), device="cpu").execute(max_instructions=10_000)
    with pytest.raises(errors.GuestError) as caught:
        om.execute(om.Program.from_bytes(guests.exits(7), guests.CONFIG))
    assert caught.value.exit_code == 7
    assert caught.value.pc is not None
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), errors.GuestError)


def test_inputs_have_cargo_openvms_form(tmp_path):
    assert om.read_input("0x0102ff") == [b"\x02\xff"]
    file = tmp_path / "input.json"
    file.write_text('{"input": ["01", "0x0201000000"]}')
    assert om.read_input(file) == [b"", b"\x01\0\0\0"]
    typed = '{"input": [{"u64": 5}, {"text": "ab"}, {"(u8, bool)": [1, true]}]}'
    file.write_text(typed)
    values = [b"\x05" + bytes(7), b"ab", b"\x01\0\0\0\x01\0\0\0"]
    assert om.read_input(file) == om.read_input(typed) == values
    data = tmp_path / "data.bin"
    data.write_bytes(b"abc")
    assert om.read_input(data) == [b"abc"]
    for bad in ("0x", "0x1", "0x02010000", "0x03", "zz", "01 ff"):
        with pytest.raises(errors.InputError):
            om.read_input(bad)
    for text in ("[]", "[" * 100_000):
        file.write_text(text)
        with pytest.raises(errors.InputError, match="input.json"):
            om.read_input(file)
    with data.open("wb") as out:
        out.truncate((1 << 29) + 1)
    os.mkfifo(tmp_path / "pipe")
    for bad, why in (("/dev/zero", "regular file"), (tmp_path / "pipe", "regular file"), (tmp_path, "regular file"), (data, "at most 536870912 bytes")):
        with pytest.raises(errors.FileError, match=why):
            om.read_input(bad)
