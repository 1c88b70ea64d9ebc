//! Translated programs: their shape, their text for all devices, and that compilers take it.

use hologram_backends::metal::compile_seconds;
use hologram_backends::metal::{Effort, UnitCompiler};
use hologram_backends::translate::{emit_msl, translate, Options, Slot};
use hologram_backends::{BackendError, Program, Register, Ty};
use openvm_metal_common::{Device, DeviceKind, MetalContext};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Programs that use every group of instructions and every form of control flow.
const SAMPLES: &[(&str, &str)] = &[
    ("empty", ""),
    (
        "vector_add",
        "mov_imm.u64 r10, 4\nset.ge.u64 p0, r255, r9\nbra @end, p0\nmul.u64 r11, r255, r10\n\
         ldg.f32 r0, [r1 + r11]\nldg.f32 r4, [r2 + r11]\nadd.f32 r5, r0, r4\nstg.f32 r5, [r3 + r11]\n@end:\nexit",
    ),
    (
        "loop",
        "mov_imm.u32 r0, 7\nmov_imm.i64 r1, 0\nmov_imm.i64 r2, 3\n@body:\nadd.i64 r1, r1, r2\n\
         loop r0, @body\nstg.i64 r1, [buf3 + 8]",
    ),
    (
        "nested",
        "mov_imm.u32 r1, 5\n@outer:\nmov_imm.u32 r0, 2\n@inner:\nset.eq.u32 p1, r0, r1\nbra @out, p1\n\
         loop r0, @inner\n@out:\nloop r1, @outer\nstg.u32 r1, [buf3 + 0]",
    ),
    (
        "irreducible",
        "set.lt.u64 p0, r255, r9\nmov_imm.u32 r0, 3\nbra @b, p0\n@a:\nstg.u32 r0, [buf3 + 0]\n@b:\n\
         stg.u32 r0, [buf3 + 4]\nloop r0, @a\nexit",
    ),
    (
        "calls",
        "mov_imm.u32 r0, 5\ncall @f\ncall @f\nstg.u32 r0, [buf3 + 0]\nexit\n@f:\nadd.u32 r0, r0, r0\nret",
    ),
    (
        "shared",
        "mov_imm.u64 r10, 4\nmul.u64 r11, r255, r10\nsts.u32 r252, [r10 + r11]\nbar_sync 0\n\
         lds.u32 r0, [r10 + 0]\nstg.u32 r0, [r1 + r11]",
    ),
    (
        "atlas",
        "cls_get r0\nmirror r1, r0\nunity_test p0, 0.5\nnbr_count r2, r1\nnbr_get r3, r1, 2\nphase_adv 700\n\
         phase_get r4\nmov_imm.f64 r5, f64(1.5)\nres_accum r1, r5\nmov_imm.u8 r6, 3\nbound_map r7, r1, r6, r6\n\
         stg.u8 r3, [phi 2:3:4]\nstg.u64 r7, [buf0 + 16]\nsel.u32 r8, p0, r2, r4\nstg.u32 r8, [r9 - 4]",
    ),
    (
        "floats",
        "ldg.f32 r0, [buf1 + 0]\nexp.f32 r1, r0\nlog.f32 r2, r1\npow.f32 r3, r0, r1\nsigmoid.f32 r4, r0\n\
         rsqrt.f32 r5, r0\nfma.f32 r6, r0, r1, r2\nmad.f32 r7, r0, r1, r2\nmin.f32 r8, r1, r2\nreduce_max.f32 r9, r1, 8\n\
         tanh.f32 r1, r9\nsin.f32 r2, r1\ncos.f32 r3, r1\ntan.f32 r4, r1\nreduce_mul.f32 r9, r1, 0\nstg.f32 r9, [buf1 + 4]",
    ),
    (
        "doubles",
        "ldg.f64 r0, [buf1 + 0]\nexp.f64 r1, r0\nlog2.f64 r2, r1\nsqrt.f64 r3, r0\nsigmoid.f64 r4, r0\nabs.f64 r5, r4\n\
         neg.f64 r6, r5\nlog10.f64 r7, r6\npow.f64 r1, r5, r2\nmax.f64 r8, r1, r2\nfma.f64 r9, r1, r2, r3\nstg.f64 r9, [buf1 + 4]",
    ),
    (
        "pools",
        "mov_imm.u64 r1, 2\nmov_imm.u64 r2, 5\npool_load.i16 r3, r1, r2\nneg.i16 r3, r3\npool_store.i16 r3, r1, r2\n\
         mem_fence.device",
    ),
    (
        "lookup",
        "ldg.u64 r1, [buf1 + 0]\nldg.u8 r2, [r1 + 3]\nstg.u8 r2, [r1 + 4]",
    ),
];

fn options() -> Options {
    let u64s = |registers: &[u8]| {
        let typed = |&r| (Register::new(r), Ty::U64);
        registers.iter().map(typed).collect()
    };
    Options {
        linear: true,
        initial: u64s(&[1, 2, 3, 9]),
        ..Options::default()
    }
}

fn program(name: &str) -> Result<Program, Box<dyn std::error::Error>> {
    let found = SAMPLES.iter().find(|(n, _)| *n == name);
    Ok(found.ok_or("no such sample")?.1.parse()?)
}

#[test]
fn compilers_take_every_form() -> Outcome {
    let mut plans = Vec::new();
    for (name, text) in SAMPLES {
        let program: Program = text.parse().map_err(|e| format!("{name}: {e}"))?;
        plans.push((format!("k_{name}"), translate(&program, &options())?));
    }
    // Every conversion there is, in one program.
    let mut text = String::new();
    for from in Ty::ALL {
        for to in Ty::ALL {
            text += &format!(
                "ldg.{from} r0, [buf1 + 0]\ncvt.{to}.{from} r1, r0\nstg.{to} r1, [buf1 + 8]\n"
            );
        }
    }
    let all: Program = text.parse()?;
    plans.push(("conversions".into(), translate(&all, &options())?));
    let kernels: Vec<_> = plans
        .iter()
        .map(|(name, plan)| (name.as_str(), plan))
        .collect();
    let scratch = std::env::temp_dir().join("hologram-translate-test");
    let native = UnitCompiler::new(DeviceKind::Cpu, scratch.clone(), Effort::Usual);
    let source = native.compile("samples", &kernels)?;
    let unit = MetalContext::new(Device::Cpu, &[])?.load_unit(&source)?;
    assert_eq!(unit.len(), kernels.len());
    let tools = openvm_metal_builder::Toolchain::new(&scratch)?;
    if openvm_metal_builder::target_ptx::available(tools.compiler()) {
        let ptx = UnitCompiler::new(DeviceKind::Cuda, scratch, Effort::Usual)
            .compile("samples", &kernels)?;
        let ptx = ptx.ptx.ok_or("PTX was asked for")?;
        for (name, _) in &kernels {
            assert!(ptx.contains(&format!(".entry msl_{name}(")), "{name}");
        }
        assert!(!ptx.contains(".extern .func"), "nothing is left to link");
    }
    Ok(())
}

#[test]
fn reducible_flow_is_structured() -> Outcome {
    for (name, switched) in [
        ("vector_add", false),
        ("loop", false),
        ("nested", false),
        ("irreducible", true),
        ("calls", true),
        ("shared", true),
    ] {
        let plan = translate(&program(name)?, &options())?;
        assert_eq!(plan.switched, switched, "{name}:\n{}", plan.text);
    }
    Ok(())
}

#[test]
fn shape_leaves_out_handles_and_large_constants() -> Outcome {
    let text = |handle: u64, constant: f32| -> Result<_, Box<dyn std::error::Error>> {
        let program: Program = format!(
            "mov_imm.u64 r1, {handle}\nmov_imm.f32 r2, f32({constant})\nldg.f32 r3, [r1 + 4]\n\
             mul.f32 r3, r3, r2\nstg.f32 r3, [buf{handle} + 8]"
        )
        .parse()?;
        Ok(translate(&program, &Options::default())?)
    };
    let (a, b) = (text(3, 2.5)?, text(900, -7.0)?);
    assert_eq!(a.text, b.text);
    assert_eq!(a.slots, b.slots);
    assert!(!a.table, "constant handles need no table");
    assert!(a.slots.contains(&Slot::Immediate(1)));
    let lookup = translate(&program("lookup")?, &Options::default())?;
    assert!(lookup.table);
    Ok(())
}

#[test]
fn what_a_kernel_cannot_do_is_named() -> Outcome {
    let apple = Options {
        apple: true,
        ..options()
    };
    let refused = translate(&program("doubles")?, &apple);
    assert!(
        matches!(&refused, Err(BackendError::UnsupportedInstruction { pc: 0, reason, .. }) if reason.contains("f64")),
        "{refused:?}"
    );
    for (text, at) in [
        ("pool_alloc r1, 16", 0),
        ("mov_imm.u64 r1, 1\npool_free r1", 1),
        ("mov_imm.u64 r1, 1\nsoftmax.f32 r1, r1, 2, 2", 1),
    ] {
        let program: Program = text.parse()?;
        let refused = translate(&program, &options());
        assert!(
            matches!(&refused, Err(BackendError::UnsupportedInstruction { pc, .. }) if *pc == at),
            "{text}: {refused:?}"
        );
    }
    let mut power: Program = "mov_imm.f64 r1, f64(2.5)\npow.f64 r2, r1, r1".parse()?;
    assert!(translate(&power, &options()).is_ok());
    while power.len() <= hologram_backends::translate::MAX_TRANSLATED {
        power.push("exit".parse::<Program>()?.instructions()[0].clone());
    }
    assert!(matches!(
        translate(&power, &options()),
        Err(BackendError::UnsupportedOperation(_))
    ));
    let apple = Options {
        apple: true,
        ..options()
    };
    let mut long: Program = "mov_imm.u32 r1, 2".parse()?;
    while long.len() <= hologram_backends::translate::MAX_TRANSLATED_APPLE {
        long.push("exit".parse::<Program>()?.instructions()[0].clone());
    }
    assert!(translate(&long, &options()).is_ok());
    assert!(matches!(
        translate(&long, &apple),
        Err(BackendError::UnsupportedOperation(_))
    ));
    for options in [options(), apple] {
        assert!(emit_msl(&program("loop")?, &options)?.contains("kernel void program("));
    }
    Ok(())
}

#[test]
fn long_programs_are_thought_to_compile_for_long() -> Outcome {
    let seconds = |text: &str| -> Result<f64, Box<dyn std::error::Error>> {
        let plan = translate(&text.parse()?, &options())?;
        Ok(compile_seconds(&plan, Effort::Usual))
    };
    let repeated = |line: &str, n: usize| line.repeat(n);
    let store = "stg.u32 r10, [r1 + 4]\n";
    // The usual ones are far below any limit.
    for name in ["vector_add", "loop", "nested", "lookup"] {
        let plan = translate(&program(name)?, &options())?;
        let seconds = compile_seconds(&plan, Effort::Usual);
        assert!((0.1..1.0).contains(&seconds), "{name}: {seconds}");
    }
    let start = "mov_imm.u32 r10, 1\n";
    let sums = |n| start.to_owned() + &repeated("add.u32 r10, r10, r10\n", n) + store;
    let stores = |n| start.to_owned() + &repeated(store, n);
    let (few, many) = (seconds(&sums(1000))?, seconds(&sums(10_000))?);
    assert!(few < 2.0 && many > 10.0 * few, "{few} {many}");
    assert!(seconds(&stores(1000))? > few);
    assert!(seconds(&stores(10_000))? > 30.0);
    let far = |n| format!("mov_imm.f32 r11, 1\n{}", repeated("exp.f32 r11, r11\n", n));
    assert!(seconds(&far(10_000))? < 5.0);
    Ok(())
}
