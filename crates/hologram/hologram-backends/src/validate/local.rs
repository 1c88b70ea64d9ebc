//! Rules of single instructions.

use hologram_kernels::Operation;

use crate::atlas;
use crate::error::validation::{at, ValidationError, ValidationErrorKind as Kind};
use crate::isa::{legality, Address, Epsilon, Instruction, Ty};
use crate::program::Program;

/// Checks every instruction by itself, and that its label is bound.
pub(super) fn check(program: &Program) -> Result<(), ValidationError> {
    for (pc, instruction) in program.instructions().iter().enumerate() {
        let fail = |kind| Err(at(program, pc, kind));
        if let Some(label) = instruction.target() {
            match program.resolve_label(label.name()) {
                Some(index) if index <= program.len() => {}
                _ => return fail(Kind::UndefinedLabel(label.name().to_owned())),
            }
        }
        if let Err((ty, allowed)) = legality::check_types(instruction) {
            return fail(Kind::UnsupportedType { ty, allowed });
        }
        if let Err(kind) = check_operands(instruction) {
            return fail(kind);
        }
    }
    Ok(())
}

fn check_operands(instruction: &Instruction) -> Result<(), Kind> {
    use Instruction as I;
    match *instruction {
        I::Ldg { ty, addr, .. } | I::Stg { ty, addr, .. } => phi_in_class(addr, ty),
        I::Lds {
            addr: Address::PhiCoordinate { .. },
            ..
        }
        | I::Sts {
            addr: Address::PhiCoordinate { .. },
            ..
        } => Err(Kind::SharedPhi),
        I::ReduceAdd {
            src_base, count, ..
        }
        | I::ReduceMin {
            src_base, count, ..
        }
        | I::ReduceMax {
            src_base, count, ..
        }
        | I::ReduceMul {
            src_base, count, ..
        } => {
            if u64::from(src_base.index()) + u64::from(count) > 256 {
                return Err(Kind::ReduceRange {
                    base: src_base,
                    count,
                });
            }
            Ok(())
        }
        I::UnityTest { epsilon, .. } => tolerance(epsilon),
        _ => match instruction.operation() {
            Some(operation) => whole_buffer(&operation),
            None => Ok(()),
        },
    }
}

/// Sizes and constants of a whole-buffer operation; empty ones write nothing, or the identity.
fn whole_buffer(operation: &Operation) -> Result<(), Kind> {
    match operation.wrong_tolerance() {
        _ if !operation.sizes_fit() => Err(Kind::IntrinsicSize),
        Some(epsilon) => Err(Kind::Epsilon(epsilon.to_string())),
        None => Ok(()),
    }
}

fn phi_in_class(addr: Address, ty: Ty) -> Result<(), Kind> {
    let Address::PhiCoordinate { class, page, byte } = addr else {
        return Ok(());
    };
    let within = usize::from(page) * atlas::PAGE_BYTES + usize::from(byte) + ty.size();
    if atlas::boundary_offset(class, page, byte).is_none() || within > atlas::CLASS_BYTES {
        return Err(Kind::BoundaryCoordinates {
            class,
            page,
            byte,
            size: ty.size(),
        });
    }
    Ok(())
}

fn tolerance(epsilon: Epsilon) -> Result<(), Kind> {
    match epsilon.is_tolerance() {
        true => Ok(()),
        false => Err(Kind::Epsilon(epsilon.to_string())),
    }
}
