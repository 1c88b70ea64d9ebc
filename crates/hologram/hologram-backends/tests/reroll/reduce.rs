//! Loops that collect values.

use hologram_backends::{ExecutionParams, Register, Ty};

use super::{Outcome, Pair};

const SIZES: [u64; 9] = [1, 2, 3, 31, 256, 1000, 3073, 65_537, 100_000];
const BYTES: usize = 8 * 100_000;

fn times(count: u64) -> ExecutionParams {
    ExecutionParams::default().with_register(Register::new(9), Ty::U32, count - 1)
}

/// `r12 = r12 op element` over buffer 1, stored to buffer 2 after the value before, `begin`.
fn collect(ty: &str, size: u64, op: &str, begin: &str) -> String {
    format!(
        "mov_imm.u64 r1, 1\nmov_imm.u64 r5, 0\nmov_imm.u64 r6, {size}\nmov_imm.{ty} r12, {begin}\n@body:\n\
         ldg.{ty} r10, [r1 + r5]\n{op}.{ty} r12, r12, r10\nadd.u64 r5, r5, r6\nloop r9, @body\n\
         stg.{ty} r12, [buf2 + 0]\nstg.u64 r5, [buf2 + 8]\nstg.u32 r9, [buf2 + 16]\n"
    )
}

#[test]
fn integers_fold_by_a_tree() -> Outcome {
    let mut pair = Pair::new(BYTES)?;
    let cases = [
        ("i64", 8, "mul"),
        ("i8", 1, "min"),
        ("u16", 2, "max"),
        ("u64", 8, "and"),
        ("i32", 4, "sub"),
    ];
    let texts = cases.map(|(ty, size, op)| collect(ty, size, op, "3"));
    pair.prepare(&texts, &[times(2), times(1000)])?;
    for (ty, size, op) in cases {
        for count in SIZES {
            let ended = pair.check(&collect(ty, size, op, "3").parse()?, &times(count))?;
            assert_eq!(
                (ended.fault, ended.reduced),
                (None, count >= 256),
                "{op}.{ty} of {count}"
            );
        }
    }
    Ok(())
}

/// Zeros of both signs and NaNs, with numbers between them.
fn zeros(size: u64, numbers: bool) -> Vec<u8> {
    let values = (0..BYTES as u64 / size).map(|i| match (i * 7919) % 5 {
        0 => f64::NAN,
        1 => -0.0,
        3 if numbers => i as f64,
        _ => 0.0,
    });
    if size == 4 {
        values.flat_map(|v| (v as f32).to_le_bytes()).collect()
    } else {
        values.flat_map(f64::to_le_bytes).collect()
    }
}

#[test]
fn extremes_of_floats_keep_their_bits() -> Outcome {
    let mut pair = Pair::new(BYTES)?;
    let cases = [
        ("f32", 4u64, "min", "r12, r10"),
        ("f32", 4, "min", "r10, r12"),
        ("f64", 8, "max", "r12, r10"),
    ];
    let texts = cases.map(|(ty, size, op, operands)| {
        let text = collect(ty, size, op, &format!("{ty}(3)"));
        text.replace("r12, r12, r10", &format!("r12, {operands}"))
    });
    pair.prepare(&texts, &[times(2), times(1000)])?;
    for (ty, size, op, operands) in cases {
        for begin in [format!("{ty}(nan)"), format!("{ty}(3)")] {
            let text = collect(ty, size, op, &begin);
            let text = text.replace("r12, r12, r10", &format!("r12, {operands}"));
            for count in [31, 300, 65_537] {
                let bytes = zeros(size, count == 300);
                pair.write(1, &bytes)?;
                let ended = pair.run(&text.parse()?, &times(count))?;
                assert_eq!((ended.fault, ended.reduced), (None, count >= 256));
                let [device, reference] = pair.memory()?;
                assert!(device == reference, "{text}");
            }
        }
    }
    Ok(())
}

#[test]
fn sums_of_floats_only_when_allowed() -> Outcome {
    let mut pair = Pair::new(BYTES)?;
    for count in [1000u64, 65_537] {
        for op in ["add", "mul"] {
            let program = collect("f64", 8, op, "f64(1)").parse()?;
            let values = (0..count).map(|i| 1.0 + (i % 89) as f64 / 1e7);
            let bytes: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
            pair.write(1, &bytes)?;
            assert!(!pair.run(&program, &times(count))?.rerolled);
            let [device, reference] = pair.memory()?;
            assert!(device == reference);

            assert!(
                pair.run(&program, &times(count).with_reassociation())?
                    .reduced
            );
            let at = BYTES;
            let [device, reference] = pair.memory()?.map(|bytes| {
                let mut value = [0; 8];
                value.copy_from_slice(&bytes[at..at + 8]);
                f64::from_le_bytes(value)
            });
            // Each of `count` operations rounds by at most 2^-53 of the largest value.
            let bound = count as f64 * f64::EPSILON * reference.abs();
            assert!(
                (device - reference).abs() <= bound,
                "{op}: {device} {reference}"
            );
        }
    }
    Ok(())
}

#[test]
fn several_values_and_stores_at_once() -> Outcome {
    let mut pair = Pair::new(BYTES)?;
    // A dot product of integers, a maximum, and an elementwise product; the mean is made behind.
    let text = "mov_imm.u64 r1, 1\nmov_imm.u64 r2, 2\nmov_imm.u64 r3, 3\nmov_imm.u64 r5, 0\nmov_imm.u64 r6, 4\n\
        ldg.u32 r12, [buf3 + 799996]\nmov_imm.u32 r13, 0\nmov_imm.u32 r14, 1\nmov_imm.u64 r15, 0\nadd.u32 r16, r9, r14\n@body:\n\
        ldg.u32 r10, [r1 + r5]\nldg.u32 r11, [r2 + r5]\nmad.u32 r12, r10, r11, r12\nmax.u32 r13, r13, r10\n\
        max.u32 r13, r13, r11\nmul.u32 r10, r10, r11\nstg.u32 r10, [r3 + r5]\nadd.u64 r5, r5, r6\ncvt.u64.u32 r17, r9\n\
        add.u64 r15, r15, r17\nloop r9, @body\n\
        mov_imm.u32 r30, 4\ndiv.u32 r31, r12, r30\nstg.u32 r31, [buf3 + 799996]\nstg.u32 r13, [buf3 + 799992]\nstg.u64 r15, [buf3 + 799984]\n";
    for count in [255, 256, 257, 4000, 100_000 - 4] {
        let ended = pair.check(&text.parse()?, &times(count))?;
        assert_eq!(
            (ended.fault, ended.reduced),
            (None, count >= 256),
            "{count}"
        );
    }
    Ok(())
}

#[test]
fn what_is_no_fold_stays_one_lane() -> Outcome {
    let mut pair = Pair::new(BYTES)?;
    let sum = collect("u32", 4, "add", "0");
    let cases = [
        (
            "a prefix sum",
            sum.replace("add.u64 r5", "stg.u32 r12, [buf3 + 0]\nadd.u64 r5"),
        ),
        (
            "a value that is used",
            sum.replace("add.u64 r5", "mov.u32 r13, r12\nadd.u64 r5"),
        ),
        (
            "two operations",
            sum.replace("add.u64 r5", "mul.u32 r12, r12, r10\nadd.u64 r5"),
        ),
        (
            "a difference the other way",
            collect("u32", 4, "sub", "0").replace("r12, r12, r10", "r12, r10, r12"),
        ),
        (
            "a square",
            collect("u32", 4, "mul", "3").replace("r12, r12, r10", "r12, r12, r12"),
        ),
        (
            "the last element",
            sum.replace("[buf2 + 8]", "[buf2 + 8]\nstg.u32 r10, [buf2 + 24]"),
        ),
    ];
    pair.prepare(cases.iter().map(|(_, text)| text), &[times(1000)])?;
    for (why, text) in cases {
        let ended = pair.check(&text.parse()?, &times(1000))?;
        assert_eq!((ended.fault, ended.rerolled), (None, false), "{why}");
    }
    let past = pair.check(&sum.parse()?, &times(BYTES as u64 / 4 + 1))?;
    assert!(past.fault.is_some() && !past.rerolled);
    Ok(())
}
