//! Nested calls and recursion: return addresses in words and in arrays, and both ends of the stack.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Effort, MetalBackend, LIBRARY};
use hologram_backends::translate::{translate, Options};
use hologram_backends::{Backend, BackendError, FaultKind, Program, Register, Ty};
use openvm_metal_common::{Device, DeviceProfile, MetalContext};

use super::support::{linear, words, Outcome};

/// r0 = a hash of the lane, over which `body` goes on; then the lane's word is r0.
fn program(body: &str, routines: &str) -> String {
    format!(
        "mov_imm.u32 r2, 31\nadd.u32 r0, r252, r2\n{body}\nmov_imm.u64 r11, 4\nmul.u64 r11, r255, r11\n\
         stg.u32 r0, [r10 + r11]\nexit\n{routines}"
    )
}

/// r0 = 31 r0 + `value`: a hash that depends on the order.
fn hashed(value: usize) -> String {
    format!("mov_imm.u32 r3, {value}\nmad.u32 r0, r0, r2, r3\n")
}

/// Routines, each of which calls the next one and, behind it, another: `depth` + 1 addresses of `2 depth + 2` places at most.
fn chain(depth: usize) -> String {
    let mut routines = String::new();
    for i in 0..depth {
        let (before, behind) = (hashed(3 * i), hashed(3 * i + 1));
        routines += &format!("@f{i}:\n{before}call @f{}\n{behind}call @g\nret\n", i + 1);
    }
    routines += &format!(
        "@f{depth}:\n{}ret\n@g:\nadd.u32 r0, r0, r2\nret\n",
        hashed(7)
    );
    program("call @f0\ncall @f0", &routines)
}

/// Routines that call each other in a circle until the lane's number, counted down, is 0.
fn circle(routines: usize) -> String {
    let mut text = String::new();
    for i in 0..routines {
        let next = (i + 1) % routines;
        text += &format!(
            "@f{i}:\n{}set.eq.u32 p0, r1, r5\nbra @out{i}, p0\nsub.u32 r1, r1, r4\ncall @f{next}\n{}@out{i}:\nret\n",
            hashed(2 * i),
            hashed(2 * i + 1)
        );
    }
    program(
        "mov.u32 r1, r252\nmov_imm.u32 r4, 1\nmov_imm.u32 r5, 0\ncall @f0",
        &text,
    )
}

/// Text, words of the stack on Apple GPUs and elsewhere; `None` for an array.
fn samples() -> Vec<(String, Option<usize>, Option<usize>)> {
    let one = "call @f";
    let once = |depth: usize| (0..depth).map(|i| format!("@g{i}:\ncall @g{}\nret\n", i + 1));
    vec![
        // One place behind calls is no number.
        (
            program(one, &format!("@f:\n{}ret", hashed(5))),
            Some(0),
            Some(0),
        ),
        (chain(1), Some(1), Some(1)),
        (chain(10), Some(1), Some(1)),
        (chain(20), Some(2), None),
        (chain(60), Some(7), None),
        (chain(100), None, None),
        // As deep as may be, of 8 bits.
        (
            program(
                "call @g0",
                &format!("{}@g255:\n{}ret", once(255).collect::<String>(), hashed(9)),
            ),
            None,
            None,
        ),
        (circle(1), Some(4), None),
        (circle(2), Some(8), None),
        (circle(3), Some(8), None),
        (circle(4), None, None),
    ]
}

#[test]
fn return_addresses_are_words_where_they_fit() -> Outcome {
    for (text, on_apple, elsewhere) in samples() {
        for (apple, expected) in [(true, on_apple), (false, elsewhere)] {
            let options = Options {
                apple,
                linear: true,
                initial: vec![(Register::new(10), Ty::U64)],
                ..Options::default()
            };
            let plan = translate(&text.parse()?, &options)?.text;
            let words = (0..).take_while(|i| plan.contains(&format!("ra{i} = 0ul")));
            let found = (!plan.contains("stack[")).then(|| words.count());
            assert_eq!(found, expected, "apple {apple}: {text}");
        }
    }
    Ok(())
}

/// The device in `OPENVM_METAL_DEVICE`, else the CPU in both modes; and the processor as an Apple GPU. Compiled soon, because long chains of calls
/// take compilers long; but for the last one if `optimised`.
fn all(optimised: bool) -> Outcome<Vec<MetalBackend>> {
    let scratch = std::env::temp_dir().join("hologram-metal-test");
    let devices = match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(name) => vec![name.parse()?],
        Err(_) => vec![Device::Cpu, Device::CpuConformance],
    };
    let library: &[_] = &[&LIBRARY];
    let mut contexts = Vec::new();
    for device in devices {
        contexts.push((MetalContext::shared_on(device, library)?, Effort::Least));
    }
    let profile = DeviceProfile::named("m1-8gb")?;
    let apple = MetalContext::builder(Device::Cpu).profile(profile);
    let effort = match optimised {
        true => Effort::Usual,
        false => Effort::Least,
    };
    contexts.push((apple.libraries(library).open()?, effort));
    let open = |(context, effort)| MetalBackend::on(&context, scratch.clone(), effort);
    Ok(contexts.into_iter().map(open).collect::<Result<_, _>>()?)
}

/// The words that lanes wrote, or the lane, pc and kind of the fault.
type Ended = Result<Vec<u32>, (u64, usize, FaultKind)>;

fn run(backend: &mut dyn Backend, text: &str, lanes: u32) -> Outcome<Ended> {
    let program: Program = text.parse()?;
    let out = backend.allocate_buffer(4 * lanes as usize)?;
    let params = linear(1, lanes).with_u64(Register::new(10), out.raw());
    let ended = match backend.execute_program_with_params(&program, &params) {
        Ok(()) => Ok(words(backend, out, lanes as usize)?),
        Err(BackendError::Fault(fault)) => Err((fault.lane, fault.pc, fault.kind)),
        Err(error) => return Err(error.into()),
    };
    backend.free_buffer(out)?;
    Ok(ended)
}

#[test]
fn nested_calls_return_to_where_they_came_from() -> Outcome {
    let mut reference = CpuBackend::new();
    let (mut plain, mut optimised) = (all(false)?, all(true)?);
    for (text, ..) in samples() {
        let is_short = text.lines().count() < 200;
        let devices = if is_short { &mut optimised } else { &mut plain };
        // In recursions lane 255 needs all of the stack.
        let expected = run(&mut reference, &text, 256)?;
        assert!(expected.is_ok(), "{expected:?}: {text}");
        for device in devices {
            assert_eq!(run(device, &text, 256)?, expected, "{text}");
        }
    }
    Ok(())
}

#[test]
fn the_stack_has_both_ends() -> Outcome {
    let mut reference = CpuBackend::new();
    let mut devices = all(true)?;
    let empty = |text: String| text.replace("exit\n", "ret\n");
    let under = |routines| empty(circle(routines));
    for (text, lanes, kind) in [
        (circle(1), 300, FaultKind::CallStackOverflow),
        (circle(3), 300, FaultKind::CallStackOverflow),
        (circle(4), 300, FaultKind::CallStackOverflow),
        ("@f:\ncall @f".to_owned(), 1, FaultKind::CallStackOverflow),
        ("ret".to_owned(), 1, FaultKind::CallStackUnderflow),
        (empty(chain(10)), 3, FaultKind::CallStackUnderflow),
        (under(1), 20, FaultKind::CallStackUnderflow),
        (under(4), 20, FaultKind::CallStackUnderflow),
    ] {
        let expected = run(&mut reference, &text, lanes)?;
        let found = expected
            .as_ref()
            .err()
            .map(|(lane, _, found)| (*lane, found));
        assert_eq!(
            found,
            Some((if lanes == 300 { 256 } else { 0 }, &kind)),
            "{text}"
        );
        for device in &mut devices {
            assert_eq!(run(device, &text, lanes)?, expected, "{text}");
        }
    }
    Ok(())
}
