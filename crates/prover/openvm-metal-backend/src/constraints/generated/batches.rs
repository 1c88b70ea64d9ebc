//! Batches of rules that are compiled together.

use std::collections::BTreeSet;

use openvm_metal_common::{DeviceProfile, Execution};

use super::text::KernelGroup;
use crate::{constraints::eval_field::EvalField, programs::AirPrograms};

/// Most statements of a kernel, but for single rules that have more.
const KERNEL_STATEMENTS: usize = 1500;
/// Kernels are compiled together up to this many statements, so that compilers read what they call once.
const UNIT_STATEMENTS: usize = 3000;
/// A rule of more statements is left to the interpreter: compilers take too long for it.
const LONGEST_RULE: usize = 4000;

/// Points of a thread, by the field and the number of accumulators.
fn points(profile: &DeviceProfile, field: EvalField, accumulators: u32) -> u32 {
    match (profile.execution, field, accumulators) {
        (Execution::MultiCore, ..) | (_, EvalField::Extension, _) => 1,
        (_, _, 1) => 4,
        _ => 2,
    }
}

/// An AIR, which of its sums, and over which field.
pub type Owner = (usize, usize, EvalField);

/// Groups of rules that are compiled together.
pub type Batch<'a> = Vec<(Owner, KernelGroup<'a>)>;

/// All programs that kernels are made for, batch by batch: first those of round 0.
pub fn batches<'a>(
    profile: &DeviceProfile,
    airs: impl IntoIterator<Item = &'a AirPrograms>,
) -> Vec<Batch<'a>> {
    let airs: Vec<&AirPrograms> = airs.into_iter().collect();
    let mut done = Vec::new();
    for field in EvalField::ALL {
        of_field(profile, &airs, field, &mut done);
    }
    done
}

fn of_field<'a>(
    profile: &DeviceProfile,
    airs: &[&'a AirPrograms],
    field: EvalField,
    done: &mut Vec<Batch<'a>>,
) {
    let (mut open, mut open_statements) = (Vec::new(), 0);
    for (a, air) in airs.iter().enumerate() {
        for (k, rules) in air.rules().enumerate() {
            if rules.is_empty() || rules.longest() > LONGEST_RULE {
                continue;
            }
            for members in rules.kernel_groups(KERNEL_STATEMENTS) {
                let of_group = rules.list[members.clone()].iter();
                let statements: usize = of_group.map(|rule| rule.statements.len()).sum();
                if !open.is_empty() && open_statements + statements > UNIT_STATEMENTS {
                    done.push(std::mem::take(&mut open));
                    open_statements = 0;
                }
                open_statements += statements;
                let points = points(profile, field, rules.accumulators);
                let group = KernelGroup {
                    rules,
                    members,
                    field,
                    points,
                };
                open.push(((a, k, field), group));
            }
        }
    }
    if !open.is_empty() {
        done.push(open);
    }
}

/// The programs of which every group is in a batch that is there. The others are interpreted: a program is evaluated by
/// all its kernels, or by none.
pub fn complete(batches: &[Batch<'_>], there: &[bool]) -> BTreeSet<Owner> {
    let owners = |wanted: bool| {
        let batches = batches.iter().zip(there);
        let batches = batches.filter(move |(_, &there)| there == wanted);
        batches.flat_map(|(batch, _)| batch.iter().map(|&(owner, _)| owner))
    };
    let missing: BTreeSet<Owner> = owners(false).collect();
    owners(true).filter(|o| !missing.contains(o)).collect()
}
