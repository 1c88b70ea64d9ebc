//! Loops whose iterations are independent.

use hologram_backends::{BackendError, ExecutionParams, FaultKind, Register, Ty};

use super::{Outcome, Pair};

const SIZES: [u64; 8] = [1, 2, 3, 16, 31, 1000, 3073, 65_537];
const BYTES: usize = 4 * 65_537;

/// Parameters with `r9` = iterations - 1.
fn times(count: u64) -> ExecutionParams {
    ExecutionParams::default().with_register(Register::new(9), Ty::U32, count - 1)
}

/// A loop over `r5` (`u64`), which starts at `start` and moves by `step`, behind handles in `r1` to `r3`.
fn over(start: u64, step: u64, body: &str) -> String {
    format!(
        "mov_imm.u64 r1, 1\nmov_imm.u64 r2, 2\nmov_imm.u64 r3, 3\nmov_imm.u64 r5, {start}\n\
         mov_imm.u64 r6, {step}\n@body:\n{body}\nadd.u64 r5, r5, r6\nloop r9, @body\n"
    )
}

fn rerolled(pair: &mut Pair, text: &str, count: u64) -> Outcome<bool> {
    let ended = pair.check(&text.parse()?, &times(count))?;
    assert!(!ended.reduced);
    assert_eq!(ended.fault, None, "{text}");
    Ok(ended.rerolled)
}

const ADD: &str =
    "ldg.f32 r10, [r1 + r5]\nldg.f32 r11, [r2 + r5]\nadd.f32 r12, r10, r11\nstg.f32 r12, [r3 + r5]";
const IN_PLACE: &str =
    "ldg.f32 r10, [r1 + r5]\nmov_imm.f32 r11, 0\nmax.f32 r12, r10, r11\nstg.f32 r12, [r1 + r5]";

#[test]
fn iterations_get_a_lane_each() -> Outcome {
    let mut pair = Pair::new(BYTES)?;
    let down = over(400, 4u64.wrapping_neg(), ADD);
    let texts = [over(0, 4, ADD), over(0, 4, IN_PLACE), down];
    pair.prepare(&texts, &[times(2), times(100)])?;
    for count in SIZES {
        for body in [ADD, IN_PLACE] {
            let many = rerolled(&mut pair, &over(0, 4, body), count)?;
            assert_eq!(many, count >= 16, "{count} iterations");
        }
        let down = over(4 * (count - 1), 4u64.wrapping_neg(), ADD);
        assert_eq!(rerolled(&mut pair, &down, count)?, count >= 16);
    }
    assert_eq!(pair.device.stats().faults, 0);
    Ok(())
}

#[test]
fn offsets_may_be_computed() -> Outcome {
    let mut pair = Pair::new(BYTES)?;
    // An index that is scaled and moved, the counter, other widths, a branch, a scalar from before the loop.
    let scaled = "mov_imm.u64 r1, 1\nmov_imm.u64 r3, 3\nmov_imm.u32 r5, 0\nmov_imm.u32 r6, 1\nmov_imm.u32 r7, 2\n\
        ldg.f32 r20, [r1 + 8]\nmov_imm.u64 r22, 40\nmov_imm.f32 r23, 0\n@next:\ncvt.u64.u32 r8, r5\nshl.u64 r8, r8, r7\n\
        add.u64 r21, r8, r22\nldg.f32 r10, [r1 + r21]\nset.lt.f32 p0, r10, r23\nbra @low, p0\n\
        mul.f32 r10, r10, r20\n@low:\ncvt.f32.u32 r11, r9\nadd.f32 r10, r10, r11\nstg.f32 r10, [r3 + r8]\n\
        add.u32 r5, r5, r6\nloop r9, @next\n\
        stg.f32 r10, [buf2 + 0]\nstg.u32 r5, [buf2 + 4]\nstg.u32 r9, [buf2 + 8]\nexit\n";
    for count in [2, 16, 1000, 65_527] {
        assert_eq!(rerolled(&mut pair, scaled, count)?, count >= 16);
    }
    // Two inductions of which one is used before and the other after it moved; fixed addresses are read.
    let two = over(
        0,
        8,
        "ldg.u32 r10, [buf1 + 12]\nadd.u64 r13, r13, r14\nldg.u16 r11, [r2 + r13]\ncvt.u32.u16 r11, r11\n\
         mad.u32 r12, r10, r11, r11\nstg.u32 r12, [r3 + r5]",
    );
    let two = format!("mov_imm.u64 r13, 100\nmov_imm.u64 r14, 2\n{two}");
    assert!(rerolled(&mut pair, &two, 5000)?);
    Ok(())
}

#[test]
fn many_constants_are_no_obstacle() -> Outcome {
    // More words of parameters than a kernel can have: registers to preset, and constants of the program.
    let mut pair = Pair::new(4096)?;
    let mut text = String::from("mov_imm.u64 r1, 1\nmov_imm.u64 r3, 3\n");
    for i in 0..90 {
        text += &format!(
            "mov_imm.u64 r{}, {}\nmov_imm.u64 r{}, 4\n",
            20 + i,
            4 * i,
            120 + i
        );
    }
    text += "@body:\nmov_imm.u32 r10, 0\n";
    for i in 0..90 {
        text += &format!(
            "ldg.u32 r11, [r1 + r{}]\nmov_imm.u32 r12, {}\n",
            20 + i,
            1000 + i
        );
        text += &format!(
            "mad.u32 r10, r11, r12, r10\nadd.u64 r{0}, r{0}, r{1}\n",
            20 + i,
            120 + i
        );
    }
    for i in 0..200 {
        text += &format!("mov_imm.u32 r12, {}\nxor.u32 r10, r10, r12\n", 5000 + 7 * i);
    }
    text += "stg.u32 r10, [r3 + r20]\nloop r9, @body\n";
    let ended = pair.check(&text.parse()?, &times(100))?;
    assert_eq!(ended.fault, None);
    Ok(())
}

#[test]
fn what_depends_on_order_stays_one_lane() -> Outcome {
    let mut pair = Pair::new(4096)?;
    let shift = "ldg.f32 r10, [r1 + r5]\nstg.f32 r10, [r1 + r7]\nadd.u64 r7, r7, r6";
    let cases = [
        ("each reads what the one before wrote", format!("mov_imm.u64 r7, 4\n{}", over(0, 4, shift))),
        ("stores overlap", over(0, 3, ADD)),
        ("all store to one place", over(0, 0, ADD)),
        ("the last value counts", over(0, 4, "ldg.f32 r10, [r1 + r5]\nstg.f32 r10, [buf2 + 0]")),
        ("an offset is carried", format!("mov_imm.u64 r13, 1\n{}", over(0, 4, "add.u64 r13, r13, r13\nstg.u64 r13, [r1 + r5]"))),
        ("an offset comes from memory", over(0, 8, "ldg.u8 r10, [r2 + 3]\ncvt.u64.u8 r11, r10\nstg.u8 r10, [r1 + r11]")),
        ("a value is carried", format!("mov_imm.f32 r12, 0\n{}", over(0, 4, "stg.f32 r12, [r1 + r5]\nldg.f32 r12, [r2 + r5]"))),
        (
            "a register keeps what an earlier iteration left",
            format!(
                "mov_imm.u32 r13, 7\nmov_imm.u32 r14, 40\n{}stg.u32 r13, [buf3 + 0]\n",
                over(0, 4, "set.ne.u32 p0, r9, r14\nbra @over, p0\nldg.u32 r13, [r1 + r5]\n@over:\nstg.u64 r5, [buf2 + 8]")
            ),
        ),
        ("what follows reads what was stored", format!("{}ldg.f32 r1, [buf3 + 4]\nstg.f32 r1, [buf1 + 0]\n", over(0, 4, ADD))),
        ("something is stored before", format!("mov_imm.u32 r30, 5\nstg.u32 r30, [buf1 + 0]\n{}", over(0, 4, ADD))),
    ];
    pair.prepare(cases.iter().map(|(_, text)| text), &[times(100)])?;
    for (why, text) in cases {
        assert!(!rerolled(&mut pair, &text, 100)?, "{why}");
    }
    Ok(())
}

#[test]
fn faults_stay_those_of_one_lane() -> Outcome {
    let mut pair = Pair::new(4096)?;
    assert!(rerolled(&mut pair, &over(0, 4, ADD), 1024)?, "it just fits");
    let past = pair.check(&over(0, 4, ADD).parse()?, &times(1025))?;
    assert!(!past.rerolled);
    let Some(BackendError::Fault(fault)) = past.fault else {
        return Err("no fault".into());
    };
    assert_eq!((fault.lane, fault.pc), (0, 5));
    let divided =
        "mov_imm.u32 r10, 5\ncvt.u32.u64 r11, r5\ndiv.u32 r10, r10, r11\nstg.u32 r10, [r1 + r5]";
    let ended = pair.check(&over(64, 4u64.wrapping_neg(), divided).parse()?, &times(17))?;
    assert!(
        matches!(ended.fault, Some(BackendError::Fault(fault)) if fault.kind == FaultKind::DivisionByZero)
    );
    let steps = ExecutionParams {
        step_budget: Some(5 + 6 * 100),
        ..times(100)
    };
    let short = pair.check(&over(0, 4, ADD).parse()?, &steps)?;
    assert!(short.fault.is_none());
    let tight = ExecutionParams {
        step_budget: Some(4 + 6 * 100),
        ..times(100)
    };
    assert!(pair
        .check(&over(0, 4, ADD).parse()?, &tight)?
        .fault
        .is_some());
    Ok(())
}
