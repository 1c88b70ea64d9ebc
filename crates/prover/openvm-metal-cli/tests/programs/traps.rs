//! Guests that end by a trap, and failures with a place, as the command says them.

use crate::{
    support::{command, elf, fails, guest, text, Folder},
    terminal::program,
};

/// Words of RISC-V: `addi a1, zero, 1`, `unimp`, OpenVM's `reveal a1, 0` and its end with code 0.
const ONE: u32 = 0x0010_0593;
const UNIMP: u32 = 0xc000_1073;
const REVEAL: u32 = 0x0005_a00b;
const END: u32 = 0x0000_000b;

/// An executable that ignores a trap proves what a guest that refused reveals: it has to be asked for, and is told.
#[test]
fn trap_ends_the_guest_by_default() {
    let folder = Folder::new();
    let trap = program(&folder, "trap.elf", &[ONE, UNIMP, REVEAL, END]);
    for mode in ["pure", "meter"] {
        let args = ["run", &trap, "--mode", mode, "--device", "cpu", "--toy"];
        fails(&args, 1, "exit code 2 at pc 0x00200804: it called abort");
    }
    let prove = ["prove", "app", &trap, "--device", "cpu", "--toy"];
    fails(&prove, 1, "exit code 2 at pc 0x00200804");

    let told = |args: &[&str], said: &str| {
        let mut run = command(args);
        let output = run
            .current_dir(&folder.0)
            .output()
            .expect("the binary runs");
        let notes = text(&output.stderr);
        assert!(output.status.success(), "{args:?}: {notes}");
        let (text, is_said) = match said {
            "" => ("that do nothing", false),
            said => (said, true),
        };
        assert_eq!(notes.contains(text), is_said, "{args:?}: {notes}");
    };
    let as_cargo = ["run", &trap, "--as-cargo-openvm"];
    told(
        &as_cargo,
        "--as-cargo-openvm: traps (unimp) of the ELF that do nothing: 1;",
    );
    // The executable of a guest that never aborts, in one folder with those that follow.
    told(
        &["build", &trap, "--as-cargo-openvm"],
        "that do nothing: 1;",
    );
    told(
        &["run", "trap.vmexe"],
        "warning: trap.vmexe: traps (unimp) of its code that do nothing: 1;",
    );
    let twice = ["run", "trap.vmexe", "--as-cargo-openvm"];
    let output = command(&twice).current_dir(&folder.0).output();
    let output = output.expect("the binary runs");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    told(&["build", &trap], "");
    let output = command(&["run", "trap.vmexe"])
        .current_dir(&folder.0)
        .output();
    let said = text(&output.expect("the binary runs").stderr);
    assert!(said.contains("exit code 2 at pc 0x00200804"), "{said}");
    assert!(!said.contains("warning: trap.vmexe"), "{said}");
    // A guest of the repository that has some.
    let evm = [
        "build",
        &elf("evm"),
        "--as-cargo-openvm",
        "--config",
        &guest("evm", "openvm.toml"),
    ];
    told(&evm, "that do nothing: 21;");
}

/// Failures name pc and address in hexadecimal, and no panic of OpenVM's libraries comes before.
#[test]
fn guest_failures_name_a_line() {
    let folder = Folder::new();
    let lw = |imm: u32| 0x0000_2583 | imm << 20;
    let jalr = |imm: u32| 0x0000_0067 | imm << 20;
    for (code, said) in [
        (
            vec![ONE, lw(1), END],
            "failed at pc 0x00200804: it reads 4 bytes at address 0x00000001, which is no multiple of 4",
        ),
        (
            vec![ONE, lw(0xffc), END],
            "failed at pc 0x00200804: it reads 4 bytes at address 0xfffffffc, outside its memory of 0x20000000 bytes",
        ),
        (
            vec![ONE, jalr(6), END],
            "failed at pc 0x00200804: it jumps to 0x00000006, which is no multiple of 4",
        ),
        (
            vec![ONE, jalr(0), END],
            "failed at pc 0x00200804: it jumps to 0x00000000, where it has no code",
        ),
        (
            vec![ONE, ONE],
            "failed at pc 0x00200808: it ran past its last instruction",
        ),
        (
            vec![ONE, REVEAL | 32 << 20, END],
            "reveals 4 bytes at byte 32 of the public values, of which there are 32",
        ),
        (
            vec![ONE, 0x0000_0073, END],
            "exit code 2 at pc 0x00200804",
        ),
        (
            vec![ONE, 0x1000_000b, END],
            "the word 0x1000000b at pc 0x00200804 ends the guest with an exit code that is not from 0 to 255",
        ),
        (
            vec![ONE, 0x0215_9593, END],
            "the word 0x02159593 at pc 0x00200804 shifts by more bits",
        ),
    ] {
        let file = program(&folder, "guest.elf", &code);
        for mode in ["pure", "meter"] {
            let args = ["run", &file, "--mode", mode, "--device", "cpu", "--toy"];
            fails(&args, 1, said);
        }
    }
}
