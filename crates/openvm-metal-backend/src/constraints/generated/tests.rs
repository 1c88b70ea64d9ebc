//! Kernels of rules: their text is what Apple's compiler takes, and what they compute is what the interpreter computes.

use std::path::Path;

use openvm_metal_builder::{
    census::{self, Input},
    lint, scan, target_apple, Toolchain,
};
use openvm_stark_backend::keygen::types::StarkVerifyingKey;

use super::text::{apple_unit, unit, Part};
use crate::{
    constraints::tests::{keccak_key, random_keys, scratch},
    prelude::{Digest, F},
    programs::AirPrograms,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Programs of random AIRs, of every width, and of keccakf.
fn programs() -> Vec<AirPrograms> {
    let of = |vk: &StarkVerifyingKey<F, Digest>| AirPrograms::new("test", vk).expect("a program");
    let mut all: Vec<AirPrograms> = random_keys(24).iter().map(of).collect();
    all.push(of(&keccak_key()));
    all
}

fn parts(programs: &AirPrograms, points: u32) -> Vec<Part<'_>> {
    let mut all = Vec::new();
    for rules in programs.rules() {
        let shapes = rules.parts(1000).into_iter();
        all.extend(shapes.map(|shapes| Part {
            rules,
            shapes,
            points,
        }));
    }
    all
}

#[test]
fn emitted_kernels_keep_the_rules() -> Outcome {
    let tools = Toolchain::new(scratch("rules-text"))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (i, programs) in programs().iter().enumerate() {
        let parts = parts(programs, [1, 2, 4][i % 3]);
        let text = apple_unit(&parts);
        let p = tools.apple_text_of(root, &text)?;
        let mut scan = scan::scan(&p.tokens);
        assert_eq!(scan.entries.len(), parts.len());
        scan.findings.extend(p.findings.iter().cloned());
        let found = lint::tokens(&p.tokens, &scan);
        assert!(found.is_empty(), "{found:#?}");
        assert!(!text.contains("#if") && !text.contains("#define"));
    }
    Ok(())
}

#[test]
fn emitted_kernels_have_no_construct_without_a_proof() -> Outcome {
    let tools = Toolchain::new(scratch("rules-census"))?;
    if !census::available(tools.compiler()) {
        eprintln!("left out: only clang prints its syntax tree");
        return Ok(());
    }
    let programs = programs();
    let all: Vec<Part<'_>> = programs[..programs.len() - 1]
        .iter()
        .flat_map(|programs| parts(programs, 2))
        .collect();
    let text = apple_unit(&all);
    let name = "rules".to_owned();
    let report = census::check(&tools, &[Input::Text { name, text }])?;
    assert!(report.findings.is_empty(), "{report}");
    assert_eq!(report.proven(), report.keys.len());
    Ok(())
}

/// The text for Apple and that for the toolchain are one: the second, preprocessed, is the first.
#[test]
fn there_is_one_text() -> Outcome {
    let tools = Toolchain::new(scratch("rules-one"))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let programs = programs();
    let parts = parts(&programs[0], 4);
    let words = |text: &str| {
        let t = openvm_metal_builder::lexer::Tokens::new(text.to_owned());
        let all = (0..t.len()).map(|i| t.at(i).to_string());
        all.filter(|w| !w.starts_with('#')).collect::<Vec<_>>()
    };
    let p = tools.apple_text_of(root, &unit(&parts))?;
    let flat = target_apple::embedded(&p.tokens);
    assert_eq!(words(&apple_unit(&parts)), words(&flat));
    Ok(())
}
