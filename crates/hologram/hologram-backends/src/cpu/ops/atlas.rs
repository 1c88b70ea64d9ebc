//! Classes, neighbours, phase.

use crate::atlas;
use crate::cpu::step::Step;
use crate::error::FaultKind;

/// `d` = mirror of class `a`.
pub(in crate::cpu) fn mirror() -> Step {
    Step::plain(|l, s, _| l.map1(s.d, s.a, atlas::mirror))
}

/// Predicate `d` = class `a` is one of unity.
pub(in crate::cpu) fn unity() -> Step {
    Step::plain(|l, s, _| l.map1(s.d, s.a, |class: u8| u8::from(atlas::is_unity(class))))
}

/// `d` = number of neighbours of class `a`.
pub(in crate::cpu) fn neighbour_count() -> Step {
    Step::plain(|l, s, _| {
        l.map1(s.d, s.a, |class: u8| {
            atlas::neighbours(class).count() as u32
        });
    })
}

/// `d` = a neighbour of class `a`, 0 past the last.
pub(in crate::cpu) fn neighbour(index: u8) -> Step {
    let step = Step::plain(|l, s, _| {
        l.map1(s.d, s.a, |class: u8| {
            atlas::neighbours(class).nth(s.value as usize).unwrap_or(0)
        });
    });
    Step {
        value: u64::from(index),
        ..step
    }
}

/// Class `a` must exist; the sums are nowhere to be seen.
pub(in crate::cpu) fn accumulate() -> Step {
    Step::fallible(|l, s, _| {
        let class = l.column::<u8>(s.a);
        l.each_while(|i| {
            let class = class[i].get();
            if class < atlas::CLASSES {
                return true;
            }
            l.fail(i, FaultKind::InvalidClassIndex { class });
            false
        });
    })
}

/// The phase, columns `d` and `a`, moves on.
pub(in crate::cpu) fn advance(delta: u16) -> Step {
    let step = Step::plain(|l, s, _| {
        l.map1(s.d, s.a, |phase: u32| {
            (phase + s.value as u32) % atlas::PHASES
        });
    });
    Step {
        value: u64::from(delta),
        ..step
    }
}

/// `d` = byte of the boundary pool of class `a`, page `b`, byte `c`.
pub(in crate::cpu) fn boundary() -> Step {
    Step::fallible(|l, s, _| {
        let d = l.column::<u64>(s.d);
        let [class, page, byte] = [s.a, s.b, s.c].map(|c| l.column::<u8>(c));
        l.each_while(|i| {
            let (class, page, byte) = (class[i].get(), page[i].get(), byte[i].get());
            if class >= atlas::CLASSES {
                l.fail(i, FaultKind::InvalidClassIndex { class });
                return false;
            }
            match atlas::boundary_offset(class, page, byte) {
                Some(offset) => {
                    d[i].set(offset as u64);
                    true
                }
                None => {
                    l.fail(i, FaultKind::InvalidBoundaryCoordinates { page, byte });
                    false
                }
            }
        });
    })
}
