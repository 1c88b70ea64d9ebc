//! Programs of whole-buffer instructions without any fallback.

use hologram_backends::metal::Fallback;
use hologram_backends::{BackendError, Dim3, FaultKind, LaunchConfig};

use crate::support::{Outcome, Pair};

#[test]
fn scalars_on_the_host_operations_on_the_device() -> Outcome {
    let mut pair = Pair::new(Fallback::Never)?;
    // Exact in every order, so that both backends give the same bits.
    let text = "
        mov_imm.u64 r10, 1
        add.u64 r11, r10, r10
        set.lt.u64 p0, r10, r11
        bra @more, p0
        fill.f32 r1, f32(9.0), 1000
        @more:
        sel.u64 r12, p0, r11, r10
        map2.add.f32 r1, r1, r12, 1000
        map_scalar.mul.f32 r2, r1, f32(0.5), 900
        map.neg.f32 r3, r2, 77
        clip.f32 r3, r3, f32(-1.0), f32(2.0), 50
        reduce.max.f32 r10, r2, 300
        fill.u16 r12, 0x1234, 11
        gemm.f32 r1, r2, r3, 8, 8, 4
        bar_sync 0
        map2.div.u32 r2, r1, r1, 5
        exit
        fill.u8 r3, 1, 4096";
    assert_eq!(pair.run(text)?, None);
    let stats = pair.device.stats();
    assert_eq!((stats.operation_programs, stats.intrinsics), (1, 8));
    assert_eq!(
        (stats.launches, stats.interpreted, stats.units_compiled),
        (0, 0, 0)
    );
    Ok(())
}

#[test]
fn classes_of_the_boundary_pool_are_operands() -> Outcome {
    let mut pair = Pair::new(Fallback::Never)?;
    let class = u64::MAX - 95 + 5;
    let text = format!("mov_imm.u64 r10, {class}\nmap.abs.f32 r10, r1, 1000\nfill.u8 r10, 3, 17");
    assert_eq!(pair.run(&text)?, None);
    Ok(())
}

#[test]
fn faults_have_their_lane_pc_and_text() -> Outcome {
    let mut pair = Pair::new(Fallback::Never)?;
    let cases: [(&str, usize, &str); 9] = [
        (
            "mov_imm.u64 r9, 44\nfill.u8 r1, 0, 1\nfill.u8 r9, 0, 1",
            2,
            "Invalid",
        ),
        ("fill.u32 r1, 7, 1025", 0, "BufferOutOf"),
        ("gemm.f32 r1, r2, r1, 2, 2, 2", 0, "Overlapping"),
        (
            "fill.u32 r2, 0, 3\nmap2.div.u32 r3, r1, r2, 5\nfill.u8 r1, 0, 4097",
            1,
            "DivisionByZero",
        ),
        (
            "fill.u8 r1, 0, 4097\nmap2.div.u32 r3, r1, r2, 5",
            0,
            "BufferOutOf",
        ),
        (
            "fill.u8 r3, 1, 8\nmap_scalar.div.i16 r1, r1, 0, 2\nexit",
            1,
            "DivisionByZero",
        ),
        (
            "mov_imm.u32 r9, 0\nfill.u8 r1, 0, 1\ndiv.u32 r9, r9, r9",
            2,
            "DivisionByZero",
        ),
        (
            "mov_imm.u8 r9, 99\nfill.u8 r1, 0, 1\nbound_map r10, r9, r9, r9",
            2,
            "InvalidClass",
        ),
        // Two divisions: the earlier one counts.
        (
            "fill.u32 r2, 0, 9\nmap2.div.u32 r3, r1, r2, 5\nmap2.div.u32 r1, r2, r2, 5",
            1,
            "Division",
        ),
    ];
    for (text, pc, kind) in cases {
        let result = pair.run(text)?;
        match &result {
            Some(BackendError::Fault(fault)) => {
                assert_eq!((fault.lane, fault.pc), (0, pc), "{text}");
                assert!(
                    format!("{:?}", fault.kind).starts_with(kind),
                    "{text}: {fault}"
                );
                assert!(text.contains(&fault.instruction), "{fault}");
            }
            other => return Err(format!("{text}: {other:?}").into()),
        }
    }
    assert_eq!(pair.device.stats().faults, 9);
    assert_eq!(pair.device.stats().interpreted, 0);
    let short = Pair::params().with_step_budget(2);
    let result = pair.run_with(
        "fill.u8 r1, 5, 1\nfill.u8 r1, 6, 2\nfill.u8 r1, 7, 3",
        &short,
    )?;
    let budget = FaultKind::StepBudgetExceeded { budget: 2 };
    assert!(matches!(result, Some(BackendError::Fault(f)) if f.pc == 2 && f.kind == budget));
    Ok(())
}

#[test]
fn launches_of_several_lanes_are_not_valid() -> Outcome {
    let mut pair = Pair::new(Fallback::Never)?;
    let mut params = Pair::params();
    params.launch = LaunchConfig::new(Dim3::linear(1), Dim3::linear(2));
    let result = pair.run_with("fill.u8 r1, 5, 1", &params)?;
    assert!(
        matches!(result, Some(BackendError::Validation(_))),
        "{result:?}"
    );
    assert_eq!(pair.device.stats().intrinsics, 0);
    Ok(())
}

#[test]
fn other_programs_need_the_interpreter() -> Outcome {
    let cases = [
        "ldg.u64 r9, [r1 + 0]\nfill.u8 r2, 0, 9\nstg.u64 r9, [r2 + 8]",
        "mov_imm.u32 r9, 2\n@l:\nmap2.add.u32 r1, r1, r2, 9\nloop r9, @l",
        "call @f\nexit\n@f:\nmap.neg.f32 r1, r2, 9\nret",
        "pool_alloc r9, 9\nfill.u8 r1, 0, 9",
        "fill.f32 r1, f32(2.0), 64\nldg.f32 r9, [r1 + 8]\nmul.f32 r9, r9, r9\nstg.f32 r9, [r2 + 0]\n\
         map_scalar.add.f32 r3, r2, f32(1.0), 8",
    ];
    let mut pair = Pair::new(Fallback::WhenUnsupported)?;
    for (count, text) in (1..).zip(cases) {
        assert_eq!(pair.run(text)?, None);
        assert_eq!(pair.device.stats().interpreted, count, "{text}");
        pair.device.set_fallback(Fallback::Never);
        let launch = Pair::params();
        let refused = hologram_backends::Backend::submit(&mut pair.device, &text.parse()?, &launch);
        assert!(
            matches!(&refused, Err(BackendError::UnsupportedInstruction { reason, .. }) if reason.contains("when-unsupported")),
            "{text}: {refused:?}"
        );
        pair.device.set_fallback(Fallback::WhenUnsupported);
    }
    Ok(())
}
