//! Kernels of rules: their text is what Apple's compiler takes, and what they compute is what the interpreter computes.

use std::{collections::BTreeSet, path::Path};

use itertools::iproduct;
use openvm_metal_builder::{
    census::{self, Input},
    lint, scan, target_apple, Toolchain,
};
use openvm_stark_backend::keygen::types::StarkVerifyingKey;
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::{
    batches::{complete, Batch, Owner},
    text::{apple_unit, unit, KernelGroup},
};
use crate::{
    constraints::eval_field::EvalField,
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

/// Groups over both fields.
fn groups(programs: &AirPrograms, points: u32) -> Vec<KernelGroup<'_>> {
    let mut all = Vec::new();
    for (rules, field) in iproduct!(programs.rules(), EvalField::ALL) {
        let members = rules.kernel_groups(1000).into_iter();
        all.extend(members.map(|members| KernelGroup {
            rules,
            members,
            field,
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
        let groups = groups(programs, [1, 2, 4][i % 3]);
        let text = apple_unit(&groups);
        let p = tools.apple_text_of(root, &text)?;
        let mut scan = scan::scan(&p.tokens);
        assert_eq!(scan.entries.len(), groups.len());
        scan.findings.extend(p.findings.iter().cloned());
        let found = lint::tokens(&p.tokens, &scan);
        assert!(found.is_empty(), "{found:#?}");
        assert!(!text.contains("#if") && !text.contains("#define"));
        // No path of the machine that built it.
        assert!(!text.contains("#line") || !text.contains(" \"/"), "{text}");
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
    let all: Vec<KernelGroup<'_>> = programs[..programs.len() - 1]
        .iter()
        .flat_map(|programs| groups(programs, 2))
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
    // Those of keccakf have loops.
    let programs = programs();
    let of_all = [&programs[0], programs.last().expect("keccakf")];
    let groups: Vec<_> = of_all.iter().flat_map(|p| groups(p, 4)).collect();
    let words = |text: &str| {
        let t = openvm_metal_builder::lexer::Tokens::new(text.to_owned());
        let all = (0..t.len()).map(|i| t.at(i).to_string());
        all.filter(|w| !w.starts_with('#')).collect::<Vec<_>>()
    };
    assert!(unit(&groups).contains("MSL_ROLLED for (uint k"));
    let p = tools.apple_text_of(root, &unit(&groups))?;
    let flat = target_apple::embedded(&p.tokens);
    assert_eq!(words(&apple_unit(&groups)), words(&flat));
    Ok(())
}

/// A program of which one kernel is missing is interpreted, whatever else is found; all others have their kernels.
#[test]
fn programs_that_are_found_in_part_are_interpreted() {
    let programs = programs();
    // Small groups, so that programs lie in several batches and batches hold several programs.
    let mut all_groups: Batch<'_> = Vec::new();
    for (a, air) in programs.iter().enumerate() {
        for (k, rules) in air.rules().enumerate() {
            let field = EvalField::Base;
            let group = |members| KernelGroup {
                rules,
                members,
                field,
                points: 4,
            };
            let members = rules.kernel_groups(10).into_iter();
            all_groups.extend(members.map(|members| ((a, k, field), group(members))));
        }
    }
    let batches: Vec<Batch<'_>> = all_groups.chunks(3).map(<[_]>::to_vec).collect();
    let owners = |n: usize| -> BTreeSet<Owner> { batches[n].iter().map(|b| b.0).collect() };
    let all: BTreeSet<Owner> = (0..batches.len()).flat_map(owners).collect();
    assert!(batches.len() > 10 && all.len() > 10);
    assert_eq!(complete(&batches, &vec![true; batches.len()]), all);
    assert!(complete(&batches, &vec![false; batches.len()]).is_empty());
    let mut rng = StdRng::seed_from_u64(1);
    let mut interpreted = 0;
    for round in 0..200 {
        let mut there = vec![true; batches.len()];
        let mut missing = BTreeSet::new();
        for (n, there) in there.iter_mut().enumerate() {
            // One that is missing, then a sixteenth of them.
            *there = match round < batches.len() {
                true => n != round,
                false => rng.random_ratio(15, 16),
            };
            if !*there {
                missing.extend(owners(n));
            }
        }
        interpreted += missing.len();
        let expected: BTreeSet<Owner> = all.difference(&missing).copied().collect();
        assert_eq!(complete(&batches, &there), expected, "{there:?}");
    }
    assert!(interpreted > 0);
}
