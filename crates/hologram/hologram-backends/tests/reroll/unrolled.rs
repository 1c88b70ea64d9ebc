//! Unrolled programs of one lane that run with many.

use hologram_backends::{ExecutionParams, Program};

use super::{Outcome, Pair};

fn unrolled(count: usize, group: impl Fn(usize) -> String) -> Outcome<Program> {
    Ok((0..count).map(group).collect::<String>().parse()?)
}

/// Runs a program on both backends; whether it was rerolled.
fn rerolled(program: &Program) -> Outcome<bool> {
    let ended = Pair::new(4096)?.check(program, &ExecutionParams::default())?;
    assert!(!ended.reduced);
    Ok(ended.rerolled)
}

#[test]
fn independent_repetitions_get_a_lane_each() -> Outcome {
    let add = unrolled(500, |i| {
        let at = 4 * i;
        format!("ldg.f32 r0, [buf1 + {at}]\nldg.f32 r1, [buf2 + {at}]\nadd.f32 r2, r0, r1\nstg.f32 r2, [buf3 + {at}]\n")
    })?;
    assert!(rerolled(&add)?);
    // In place, backwards, with a constant, a predicate and an element that all read.
    let clamp = unrolled(100, |i| {
        let at = 2000 - 4 * i;
        format!(
            "ldg.f32 r0, [buf1 + {at}]\nmov_imm.f32 r1, 0\nldg.f32 r5, [buf2 + 8]\nset.lt.f32 p0, r0, r1\n\
             sel.f32 r0, p0, r5, r0\nstg.f32 r0, [buf1 + {at}]\n"
        )
    })?;
    assert!(rerolled(&clamp)?);
    // Two stores that interleave.
    let pairs = unrolled(64, |i| {
        let at = 8 * i;
        format!(
            "ldg.f32 r0, [buf2 + {at}]\nstg.f32 r0, [buf3 + {at}]\nstg.f32 r0, [buf3 + {}]\n",
            at + 4
        )
    })?;
    assert!(rerolled(&pairs)?);
    Ok(())
}

#[test]
fn what_depends_on_order_stays_one_lane() -> Outcome {
    let chain = format!(
        "mov_imm.f32 r1, 0\n{}",
        unrolled(64, |i| format!(
            "ldg.f32 r0, [buf1 + {}]\nadd.f32 r1, r1, r0\nstg.f32 r1, [buf2 + {}]\n",
            4 * i,
            4 * i
        ))?
    );
    assert!(!rerolled(&chain.parse()?)?, "a sum is carried");
    let shift = unrolled(64, |i| {
        format!(
            "ldg.f32 r0, [buf1 + {}]\nstg.f32 r0, [buf1 + {}]\n",
            4 * i,
            4 * i + 4
        )
    })?;
    assert!(!rerolled(&shift)?, "each reads what the one before wrote");
    let same = unrolled(64, |i| {
        format!("ldg.f32 r0, [buf1 + {}]\nstg.f32 r0, [buf2 + 0]\n", 4 * i)
    })?;
    assert!(!rerolled(&same)?, "the last one counts");
    let over = unrolled(64, |i| {
        format!(
            "ldg.f32 r0, [buf1 + {}]\nstg.f32 r0, [buf2 + {}]\n",
            4 * i,
            64 * i + 60
        )
    })?;
    assert!(rerolled(&over)?, "it just fits");
    let past = unrolled(64, |i| {
        format!(
            "ldg.f32 r0, [buf1 + {}]\nstg.f32 r0, [buf2 + {}]\n",
            4 * i,
            64 * i + 64
        )
    })?;
    assert!(!rerolled(&past)?, "it ends with a fault");
    Ok(())
}

#[test]
fn what_stands_around_is_kept() -> Outcome {
    // Constants before, the last values behind.
    let scaled = format!(
        "mov_imm.f32 r3, f32(2.5)\nldg.f32 r4, [buf2 + 4000]\n{}stg.f32 r2, [buf3 + 4000]\nexit\n",
        unrolled(100, |i| {
            format!(
            "ldg.f32 r0, [buf1 + {}]\nmul.f32 r1, r0, r3\nadd.f32 r2, r1, r4\nstg.f32 r2, [buf3 + {}]\n",
            4 * i,
            8 * i
        )
        })?
    );
    assert!(rerolled(&scaled.parse()?)?);
    // Offsets that a register counts.
    let counted = format!(
        "mov_imm.u64 r1, 1\nmov_imm.u64 r2, 2\nmov_imm.u64 r5, 8\nmov_imm.u64 r6, 4\n{}stg.u64 r5, [buf3 + 0]\n",
        unrolled(50, |_| "ldg.u32 r0, [r1 + r5]\nadd.u64 r5, r5, r6\nstg.u32 r0, [r2 + r5]\n".into())?
    );
    assert!(rerolled(&counted.parse()?)?);
    let swapped = counted.replace("[r2 + r5]", "[r1 + r5]");
    assert!(
        !rerolled(&swapped.parse()?)?,
        "each reads what the one before wrote"
    );
    Ok(())
}

#[test]
fn values_are_collected() -> Outcome {
    let mut pair = Pair::new(4096)?;
    for count in [100, 255, 256, 1000] {
        let body = unrolled(count, |i| {
            format!("ldg.i32 r1, [buf1 + {}]\nmin.i32 r2, r2, r1\n", 4 + 4 * i)
        })?;
        let least = format!("ldg.i32 r2, [buf1 + 0]\n{body}stg.i32 r2, [buf3 + 4]\n");
        let ended = pair.check(&least.parse()?, &ExecutionParams::default())?;
        assert_eq!((ended.fault, ended.reduced), (None, count >= 256));
    }
    Ok(())
}
