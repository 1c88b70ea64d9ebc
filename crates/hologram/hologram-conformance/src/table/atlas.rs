//! Classes by their labels, boundary coordinates, phases.

use hologram_backends::Ty;

use super::case::{Case, Expected};

/// e1, e2, e3, e6, e7 and d + 1 of a class.
fn label(class: u64) -> [u64; 6] {
    [
        class / 48,
        class / 24 % 2,
        class / 12 % 2,
        class / 6 % 2,
        class / 3 % 2,
        class % 3,
    ]
}

fn class(label: [u64; 6]) -> u64 {
    let [e1, e2, e3, e6, e7, d] = label;
    48 * e1 + 24 * e2 + 12 * e3 + 6 * e6 + 3 * e7 + d
}

fn neighbours(of: u64) -> Vec<u64> {
    if of >= 96 {
        return Vec::new();
    }
    // Classes whose labels differ in one place, not in e7, and by one.
    (0..96)
        .filter(|&other| {
            let (a, b) = (label(of), label(other));
            let apart: u64 = a.iter().zip(b).map(|(&x, y)| x.abs_diff(y)).sum();
            apart == 1 && a[4] == b[4]
        })
        .collect()
}

pub fn cases(doubles: bool) -> Vec<Case> {
    let all: Vec<u64> = (0..256).collect();
    let mut case = Case::new("classes", all.len());
    case.load(10, Ty::U8, &all);
    let bits = Expected::Bits;
    let mirror = |c: u64| {
        let [e1, e2, e3, e6, e7, d] = label(c);
        if c < 96 {
            class([e1, e2, e3, e6, 1 - e7, d])
        } else {
            255
        }
    };
    case.check(
        "mirror r20, r10",
        Ty::U8,
        all.iter().map(|&c| bits(mirror(c))),
    );
    let counts = all.iter().map(|&c| bits(neighbours(c).len() as u64));
    case.check("nbr_count r20, r10", Ty::U32, counts);
    for index in [0, 1, 2, 3, 4, 5, 6, 255] {
        let nth = |c: u64| neighbours(c).get(index).copied().unwrap_or(0);
        let line = format!("nbr_get r20, r10, {index}");
        case.check(&line, Ty::U8, all.iter().map(|&c| bits(nth(c))));
    }
    case.check("cls_get r20", Ty::U8, all.iter().map(|_| bits(0)));
    case.line("mov_imm.u8 r21, 1\nmov_imm.u8 r22, 0\nunity_test p0, 0.5");
    case.check(
        "sel.u8 r20, p0, r21, r22",
        Ty::U8,
        all.iter().map(|_| bits(0)),
    );
    case.check("phase_get r20", Ty::U32, all.iter().map(|_| bits(0)));
    case.line("phase_adv 767");
    case.check("phase_get r20", Ty::U32, all.iter().map(|_| bits(767)));
    case.line("phase_adv 65535");
    let phase = (767 + 65535) % 768;
    case.check("phase_get r20", Ty::U32, all.iter().map(|_| bits(phase)));

    let mut places = Case::new("boundary", 96 * 3);
    let rows: Vec<[u64; 3]> = (0..96 * 3)
        .map(|i| [i / 3, [0, 17, 47][i as usize % 3], i * 37 % 256])
        .collect();
    for place in 0..3 {
        let values: Vec<u64> = rows.iter().map(|row| row[place]).collect();
        places.load(10 + place as u8, Ty::U8, &values);
    }
    let at = |&[class, page, byte]: &[u64; 3]| bits((class * 48 + page) * 256 + byte);
    places.check("bound_map r20, r10, r11, r12", Ty::U64, rows.iter().map(at));
    if doubles {
        places.line("mov_imm.f64 r13, 0x3ff0000000000000\nres_accum r10, r13");
    }
    vec![case, places]
}
