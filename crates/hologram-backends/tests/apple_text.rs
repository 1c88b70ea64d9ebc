//! What the translator emits is what Apple's compiler takes: the rules of the kernel lint over programs of every
//! instruction and type.

use std::{collections::BTreeSet, path::Path};

use hologram_backends::random::{generate, Features};
use hologram_backends::translate::{apple_unit, translate, Options, Plan};
use hologram_backends::{BackendError, Instruction, Program, Ty};
use openvm_metal_builder::{lint, scan, target_apple, Toolchain};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Random programs, at least.
const RANDOM: usize = 600;
/// Opcode of the first whole-buffer instruction.
const FIRST_INTRINSIC: u8 = 128;
/// Kernels of a unit: the preprocessor runs once for each unit.
const TOGETHER: usize = 40;

/// Instructions by name and type of result.
type Seen = BTreeSet<(&'static str, Option<Ty>)>;

/// Random programs in every form of a kernel, and reductions of every length with every type.
fn plans() -> Result<(Vec<Plan>, Seen), BackendError> {
    let features = Features {
        doubles: false,
        ..Features::default()
    };
    let mut programs = Vec::new();
    for seed in 0..RANDOM as u64 {
        let case = generate(seed, &features)?;
        programs.push((case.program, case.params.initial_registers));
    }
    for name in ["reduce_add", "reduce_mul", "reduce_min", "reduce_max"] {
        for ty in Ty::ALL.into_iter().filter(|&t| t.is_int() || t == Ty::F32) {
            let mut text = String::new();
            for count in [1, 16, 17, 200] {
                text += &format!("{name}.{ty} r7, r0, {count}\nstg.{ty} r7, [buf1 + 8]\n");
            }
            let program: Program = text.parse().map_err(BackendError::from)?;
            programs.push((program, Vec::new()));
        }
    }
    let mut plans = Vec::new();
    let mut seen = BTreeSet::new();
    for (n, (program, initial)) in programs.iter().enumerate() {
        let options = Options {
            apple: true,
            linear: n % 2 == 0,
            tight_budget: n % 3 == 0,
            unlimited: n % 5 == 0,
            initial: initial.iter().map(|&(r, ty, _)| (r, ty)).collect(),
        };
        plans.push(translate(program, &options)?);
        for i in program.instructions() {
            seen.insert((i.mnemonic(), i.def().map(|(_, ty)| ty)));
        }
    }
    Ok((plans, seen))
}

#[test]
fn emitted_programs_keep_the_rules() -> Outcome {
    let (plans, seen) = plans()?;
    assert!(plans.len() >= 200);
    // Every type that Apple GPUs have, in arithmetic and in conversions.
    for ty in Ty::ALL.into_iter().filter(|&t| t != Ty::F64) {
        for name in ["ldg", "cvt"] {
            assert!(
                seen.contains(&(name, Some(ty))),
                "{name}.{ty} is never emitted"
            );
        }
    }
    let names: BTreeSet<&str> = seen.iter().map(|s| s.0).collect();
    for &(code, name) in Instruction::ALL {
        // Whole-buffer instructions and pools that programs make are not part of kernels, f64 not of Apple GPUs.
        let left_out =
            code >= FIRST_INTRINSIC || matches!(name, "pool_alloc" | "pool_free" | "res_accum");
        assert!(left_out || names.contains(name), "{name} is never emitted");
    }
    let tools = Toolchain::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("apple-text"))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for unit in plans.chunks(TOGETHER) {
        let names: Vec<String> = (0..unit.len()).map(|n| format!("program_{n}")).collect();
        let text = apple_unit(names.iter().map(String::as_str).zip(unit));
        let p = tools.apple_text_of(root, &text)?;
        let mut scan = scan::scan(&p.tokens);
        assert_eq!(scan.entries.len(), unit.len());
        scan.findings.extend(p.findings.iter().cloned());
        let found = lint::tokens(&p.tokens, &scan);
        assert!(found.is_empty(), "{found:#?}");
        // Nothing is left to expand: the text is its own.
        assert!(!text.contains("#if") && !text.contains("#define"));
        let again = target_apple::embedded(&p.tokens);
        assert_eq!(words(&again), words(&text));
    }
    Ok(())
}

/// Tokens of a text, without lines and comments.
fn words(text: &str) -> Vec<String> {
    let t = openvm_metal_builder::lexer::Tokens::new(
        text.replace("_Pragma(\"clang loop unroll(full)\")", ""),
    );
    (0..t.len())
        .map(|i| t.at(i).to_string())
        .filter(|w| !w.starts_with("#include"))
        .collect()
}
