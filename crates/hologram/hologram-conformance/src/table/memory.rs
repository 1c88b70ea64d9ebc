//! Loads, stores and moves of every type through every address mode.

use hologram_backends::Ty;

use super::case::{Case, Expected};
use super::{floats, integers};

pub fn cases(doubles: bool) -> Vec<Case> {
    let types = Ty::ALL.into_iter();
    types
        .filter(|&ty| doubles || ty != Ty::F64)
        .map(case)
        .collect()
}

fn case(ty: Ty) -> Case {
    let values = if ty.is_int() {
        integers::edges(ty)
    } else {
        floats::edges(ty)
    };
    let rows = values.len();
    let same = || values.iter().map(|&v| Expected::Bits(v));
    let mut case = Case::new(format!("memory of {ty}"), rows);
    case.load(10, ty, &values);
    case.check(&format!("mov.{ty} r20, r10"), ty, same());
    // Shared memory, each lane its own word, at multiples of the size.
    let size = ty.size();
    case.line(&format!(
        "mov_imm.u64 r30, {size}\ncvt.u64.u32 r31, r252\nmul.u64 r32, r31, r30\nsts.{ty} r10, [r0 + r32]"
    ));
    case.check(&format!("lds.{ty} r20, [r0 + r32]"), ty, same());
    // The boundary pool by class handles, at odd bytes: rows do not overlap.
    case.line(&format!(
        "mov_imm.u64 r33, 9\nmul.u64 r34, r255, r33\nmov_imm.u64 r35, {}\nstg.{ty} r10, [r35 + r34]",
        u64::MAX - 94
    ));
    case.check(&format!("ldg.{ty} r20, [r35 + r34]"), ty, same());
    // The same bytes through handle 0.
    case.line("mov_imm.u64 r36, 12288\nadd.u64 r37, r34, r36\nmov_imm.u64 r38, 0");
    case.check(&format!("ldg.{ty} r20, [r38 + r37]"), ty, same());
    // Fixed places: what lane 0 stored.
    let first = || values.iter().map(|_| Expected::Bits(values[0]));
    case.line("bar_sync 0");
    case.check(&format!("ldg.{ty} r20, [phi 1:0:0]"), ty, first());
    case.check(&format!("ldg.{ty} r20, [buf0 + 12288]"), ty, first());
    case.check(&format!("ldg.{ty} r20, [r35 + 0]"), ty, first());
    case.check(&format!("lds.{ty} r20, [buf7 + 0]"), ty, first());
    case.line(&format!(
        "set.eq.u64 p1, r255, r255\nmov_imm.{ty} r21, 0x1234567890abcdef"
    ));
    case.check(&format!("sel.{ty} r20, p1, r10, r21"), ty, same());
    case.line("set.ne.u64 p1, r255, r255");
    let immediate = 0x1234_5678_90ab_cdef & ty.mask();
    let other = values.iter().map(|_| Expected::Bits(immediate));
    case.check(&format!("sel.{ty} r20, p1, r10, r21"), ty, other);
    case
}
