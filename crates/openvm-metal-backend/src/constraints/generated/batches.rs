//! Which rules are compiled together.

use openvm_metal_common::DeviceKind;

use super::text::Part;
use crate::programs::AirPrograms;

/// Most statements of a kernel, but for single rules that have more.
const KERNEL_STATEMENTS: usize = 1500;
/// Kernels are compiled together up to this many statements, so that compilers read what they call once.
const UNIT_STATEMENTS: usize = 3000;
/// A rule of more statements is left to the interpreter: compilers take too long for it.
const LONGEST_RULE: usize = 4000;

/// Points of a thread, by the number of accumulators.
fn points(kind: DeviceKind, accumulators: u32) -> u32 {
    match (kind, accumulators) {
        (DeviceKind::Cpu, _) => 1,
        (_, 1) => 4,
        _ => 2,
    }
}

/// An AIR, and which of its programs: zerocheck, LogUp.
pub type Owner = (usize, usize);

/// Parts that are compiled together.
pub type Batch<'a> = Vec<(Owner, Part<'a>)>;

/// All programs that kernels are made for, batch by batch.
pub fn batches<'a>(
    kind: DeviceKind,
    airs: impl IntoIterator<Item = &'a AirPrograms>,
) -> Vec<Batch<'a>> {
    let (mut done, mut open, mut open_statements) = (Vec::new(), Vec::new(), 0);
    for (a, air) in airs.into_iter().enumerate() {
        for (k, rules) in air.rules().into_iter().enumerate() {
            if rules.is_empty() || rules.longest() > LONGEST_RULE {
                continue;
            }
            for shapes in rules.parts(KERNEL_STATEMENTS) {
                let of_part = rules.shapes[shapes.clone()].iter();
                let statements: usize = of_part.map(|s| s.statements.len()).sum();
                if !open.is_empty() && open_statements + statements > UNIT_STATEMENTS {
                    done.push(std::mem::take(&mut open));
                    open_statements = 0;
                }
                open_statements += statements;
                let points = points(kind, rules.accumulators);
                let part = Part {
                    rules,
                    shapes,
                    points,
                };
                open.push(((a, k), part));
            }
        }
    }
    if !open.is_empty() {
        done.push(open);
    }
    done
}
