//! Checks that Apple's compiler accepts the translator's output: the rules of the kernel lint, those on clang's tree and the
//! census over programs of every instruction and type.

use std::{collections::BTreeSet, path::Path};

use hologram_backends::translate::{apple_unit, translate, Options, Plan};
use hologram_backends::{BackendError, Instruction, Program, Ty};
use hologram_conformance::random::{generate, Features};
use hologram_conformance::table;
use hologram_conformance::Promise;
use openvm_metal_builder::census::{self, Input};
use openvm_metal_builder::lexer::Tokens;
use openvm_metal_builder::{lint, scan, target_apple, Toolchain};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Random programs, at least.
const RANDOM: usize = 600;
/// Opcode of the first whole-buffer instruction.
const FIRST_INTRINSIC: u8 = 128;
/// Kernels of a unit: the preprocessor runs once for each unit.
const TOGETHER: usize = 40;

/// Programs in the census, at least.
const COUNTED: usize = 200;
/// Kernels of a unit there: its tree has a hundred times the bytes of the text.
const COUNTED_TOGETHER: usize = 10;

/// A program with a kernel of it.
struct Emitted {
    program: Program,
    plan: Plan,
}

/// Random programs in every form of a kernel, the instruction table, and reductions of every length with every type.
fn emitted() -> Result<Vec<Emitted>, BackendError> {
    let features = Features {
        doubles: false,
        ..Features::default()
    };
    let mut programs = Vec::new();
    for seed in 0..RANDOM as u64 {
        let case = generate(seed, &features)?;
        let initial = case.params.initial_registers;
        let typed = initial.iter().map(|&(r, ty, _)| (r, ty)).collect();
        programs.push((case.program, typed));
    }
    for case in table::cases(Promise {
        doubles: false,
        ..Promise::ALL
    }) {
        programs.push((case.program()?, case.initial()));
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
    let plan = |(n, (program, initial)): (usize, (Program, Vec<_>))| {
        let options = Options {
            apple: true,
            linear: n % 2 == 0,
            tight_budget: n % 3 == 0,
            unlimited: n % 5 == 0,
            in_bounds: false,
            initial,
        };
        let plan = translate(&program, &options)?;
        Ok(Emitted { program, plan })
    };
    programs.into_iter().enumerate().map(plan).collect()
}

/// The unit of some kernels, as Apple's compiler gets it.
fn unit_of<'a>(kernels: impl Iterator<Item = &'a Emitted>) -> String {
    let named: Vec<(String, &Plan)> = kernels
        .enumerate()
        .map(|(n, e)| (format!("program_{n}"), &e.plan))
        .collect();
    apple_unit(named.iter().map(|(name, plan)| (name.as_str(), *plan)))
}

#[test]
fn emitted_programs_keep_the_rules() -> Outcome {
    let all = emitted()?;
    let seen: BTreeSet<(&str, Option<Ty>)> = all
        .iter()
        .flat_map(|e| e.program.instructions())
        .map(|i| (i.mnemonic(), i.def().map(|(_, ty)| ty)))
        .collect();
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
    for unit in all.chunks(TOGETHER) {
        let text = unit_of(unit.iter());
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
    let t = Tokens::new(text.replace("_Pragma(\"clang loop unroll(full)\")", ""));
    (0..t.len())
        .map(|i| t.at(i).to_string())
        .filter(|w| !w.starts_with("#include"))
        .collect()
}

/// A long reduction in one expression, as it once was: a bracket is open for each of its terms.
#[test]
fn a_reduction_in_one_expression_is_refused_with_its_line() -> Outcome {
    let text = "reduce_add.u32 r7, r0, 200\nstg.u32 r7, [buf1 + 8]\n";
    let program: Program = text.parse().map_err(BackendError::from)?;
    let options = Options {
        apple: true,
        ..Options::default()
    };
    let plan = translate(&program, &options)?;
    let text = apple_unit([("program", &plan)]);
    let mut part = text.lines().filter(|l| l.contains("uint part = "));
    let (Some(line), None) = (part.next(), part.next()) else {
        return Err("not one long reduction".into());
    };
    let (target, sum) = line
        .trim_end_matches(';')
        .split_once(" = ")
        .ok_or("no sum")?;
    let deep = (0..64).fold(sum.to_owned(), |sum, _| {
        format!("(uint)((uint){sum} + (uint)1)")
    });
    let found = |text: String| {
        let t = Tokens::new(text);
        lint::tokens(&t, &scan::scan(&t))
    };
    let whole = found(text.clone());
    assert!(whole.is_empty(), "{whole:#?}");
    let refused = found(text.replace(line, &format!("{target} = {deep};")));
    // Lines of a program are counted behind the library that it calls.
    let before = text.split(line).next().unwrap_or_default();
    let of_program = before.rsplit("#line 1 \"program\"\n").next();
    let at = of_program.map_or(0, |lines| lines.matches('\n').count() as u32 + 1);
    let [finding] = &refused[..] else {
        return Err(format!("{refused:#?}").into());
    };
    assert_eq!((finding.rule, finding.line), ("nesting", at), "{finding}");
    assert_eq!(finding.file, "program");
    Ok(())
}

/// Shape of each instruction of a kernel: its words with their types, its kind of address, and the kind of kernel.
fn shapes(e: &Emitted) -> BTreeSet<String> {
    let kind = (e.plan.cooperative, e.plan.switched);
    let shape = |i: &Instruction| {
        let text = i.to_string();
        let (words, operands) = text.split_once(' ').unwrap_or((&text, ""));
        let address: String = operands
            .chars()
            .skip_while(|&c| c != '[')
            .filter(|c| !c.is_ascii_digit())
            .collect();
        format!("{words} {address} {kind:?}")
    };
    e.program.instructions().iter().map(shape).collect()
}

/// Little text that has every shape of an instruction, and short programs beside it.
fn few(all: &[Emitted]) -> Vec<&Emitted> {
    let mut rest: Vec<(&Emitted, BTreeSet<String>)> = all.iter().map(|e| (e, shapes(e))).collect();
    rest.sort_by_key(|(e, _)| e.plan.text.len());
    let mut chosen = Vec::new();
    loop {
        // The most that is new for its length.
        let gain =
            |(e, shapes): &(&Emitted, BTreeSet<String>)| (shapes.len() << 20) / e.plan.text.len();
        let best = (0..rest.len()).max_by_key(|&i| gain(&rest[i]));
        let Some(best) = best.filter(|&i| !rest[i].1.is_empty()) else {
            break;
        };
        let (emitted, new) = rest.remove(best);
        chosen.push(emitted);
        for (_, shapes) in &mut rest {
            shapes.retain(|shape| !new.contains(shape));
        }
    }
    let more = COUNTED.saturating_sub(chosen.len());
    chosen.extend(rest.into_iter().take(more).map(|(e, _)| e));
    chosen
}

#[test]
fn emitted_programs_have_no_construct_without_a_proof() -> Outcome {
    let tools = Toolchain::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("apple-census"))?;
    if !census::available(tools.compiler()) {
        eprintln!("left out: only clang prints its syntax tree");
        return Ok(());
    }
    let all = emitted()?;
    let chosen = few(&all);
    assert!(chosen.len() >= COUNTED);
    let input = |(n, kernels): (usize, &[&Emitted])| Input::Text {
        name: format!("unit {n}"),
        text: unit_of(kernels.iter().copied()),
    };
    let inputs: Vec<Input> = chosen
        .chunks(COUNTED_TOGETHER)
        .enumerate()
        .map(input)
        .collect();
    let report = census::check(&tools, &inputs)?;
    assert!(report.findings.is_empty(), "{report}");
    assert_eq!(report.proven(), report.keys.len());
    // What only emitted programs have.
    for key in ["statement: do", "operator: << >> on long"] {
        assert!(report.keys.iter().any(|k| k.key == key), "no `{key}`");
    }
    // Would a construct without a proof, and a rule broken in the tree, be seen in such a text?
    let Some(Input::Text { name, text }) = inputs.into_iter().next() else {
        return Err("no unit".into());
    };
    let text = text
        + "\nstruct plus { uint x; };\nkernel void late(threadgroup uchar* s [[threadgroup(0)]], device ulong* d [[buffer(0)]]) \
           { d[0] = (ulong)s; }\n";
    let report = census::check(&tools, &[Input::Text { name, text }])?;
    let rules: BTreeSet<&str> = report.findings.iter().map(|f| f.rule.as_str()).collect();
    assert_eq!(rules, BTreeSet::from(["census", "std-name"]), "{report}");
    Ok(())
}
