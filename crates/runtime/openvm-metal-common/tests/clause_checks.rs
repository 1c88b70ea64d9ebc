//! `check_clauses` finds kernels that touch what their clauses do not state, and says which buffer and where.

mod support;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use openvm_metal_common::clause::{Amount, ClauseFn, Clauses};
use openvm_metal_common::kernel::{
    ArgKind, ArgSpec, CpuFn, CpuLaunch, KernelLibrary, KernelSpec, KernelUnit, Prepare,
};
use openvm_metal_common::{check_clauses, ClauseReport, Device, MetalContext};
use support::{arg, entry, AddParams, KERNEL};

/// Launches of each kernel: many of them have elements.
const ROUNDS: usize = 20;

static ARGS: [ArgSpec; 3] = [
    arg("in", 0, ArgKind::BufferRead { elem: 4 }),
    arg("out", 1, ArgKind::BufferWrite { elem: 4 }),
    arg("p", 2, ArgKind::Value { size: 8 }),
];

/// A kernel with `in`, `out` and `p` that safe code may launch.
fn kernel(name: &'static str, cpu: CpuFn, clauses: ClauseFn) -> KernelSpec {
    KernelSpec {
        name,
        ptx_entry: name,
        unit: "clauses",
        library: "clauses",
        args: &ARGS,
        max_threads: 256,
        cpu: vec![entry(cpu)].leak(),
        clauses: Some(clauses),
        safe: true,
        ..KERNEL
    }
}

fn n(c: &mut Clauses<'_>) -> Amount {
    c.field(2, std::mem::offset_of!(AddParams, n), |p: &AddParams| p.n)
}

/// Lengths: in, out p.n. Requires: p.n >= 1, p.n <= threads.
fn exact(c: &mut Clauses<'_>) {
    lengths(c, |n| n, |n| n);
}

/// The same with other lengths of `in` and `out`.
fn lengths(c: &mut Clauses<'_>, of_in: fn(Amount) -> Amount, of_out: fn(Amount) -> Amount) {
    let (n, threads) = (n(c), c.threads(None));
    c.length(0, of_in(n));
    c.length(1, of_out(n));
    c.require("p.n >= 1", &[(n, std::cmp::Ordering::is_ge, Amount::of(1))]);
    c.require("p.n <= threads", &[(n, std::cmp::Ordering::is_le, threads)]);
}

/// Runs `act` in a kernel's first thread: the other threads have nothing to do.
///
/// # Safety
/// `launch` is the driver's for a kernel of this file.
unsafe fn once(launch: *const CpuLaunch, begin: u64, act: unsafe fn(*mut u32, *mut u32, usize)) {
    if begin == 0 {
        // SAFETY: the driver gives the buffers of the launch.
        unsafe {
            let launch = &*launch;
            let p = *launch.buf[2].cast::<AddParams>();
            act(launch.buf[0].cast(), launch.buf[1].cast(), p.n as usize);
        }
    }
}

/// A kernel on the CPU that does `$act` with `in`, `out` and `p.n`.
macro_rules! cpu {
    ($name:ident, |$input:ident, $out:ident, $n:ident| $act:block) => {
        unsafe extern "C" fn $name(launch: *const CpuLaunch, _: *mut u8, begin: u64, _: u64) {
            unsafe fn act($input: *mut u32, $out: *mut u32, $n: usize) {
                // SAFETY: what lies past the buffers is a guard zone of the check.
                unsafe { $act }
            }
            // SAFETY: called by the driver.
            unsafe { once(launch, begin, act) }
        }
    };
}

cpu!(copies, |input, out, n| {
    input.copy_to(out, n);
});
cpu!(writes_past, |input, out, n| {
    input.copy_to(out, n);
    *out.add(n) ^= 1;
});
cpu!(reads_past, |input, out, n| {
    input.add(1).copy_to(out, n);
});
cpu!(reads_before, |input, out, n| {
    input.sub(1).copy_to(out, n);
});
cpu!(counts_launches, |_input, out, _n| {
    static LAUNCHES: AtomicU32 = AtomicU32::new(0);
    *out = LAUNCHES.fetch_add(1, Ordering::Relaxed);
});
static FORGETFUL_RAN: AtomicBool = AtomicBool::new(false);
unsafe extern "C" fn forgetful(_: *const CpuLaunch, _: *mut u8, _: u64, _: u64) {
    FORGETFUL_RAN.store(true, Ordering::Relaxed);
}

/// Checks kernels together; the text of the failure, if it fails.
fn check(kernels: Vec<KernelSpec>) -> Result<ClauseReport, String> {
    let library: &'static KernelLibrary = Box::leak(Box::new(KernelLibrary {
        name: "clauses",
        units: vec![KernelUnit {
            name: "clauses",
            msl: "",
            metallib: None,
            ptx: None,
            kernels: kernels.leak(),
            prepared: Prepare::AtStart,
        }]
        .leak(),
    }));
    let context = MetalContext::new(Device::Cpu, &[library]).expect("the CPU is always there");
    check_clauses(&context.stream(), library, ROUNDS, 1).map_err(|failure| failure.to_string())
}

/// The message for one kernel, which has to be found wrong.
fn message(name: &'static str, cpu: CpuFn, clauses: ClauseFn) -> String {
    check(vec![kernel(name, cpu, clauses)]).expect_err(name)
}

#[test]
fn right_clauses_are_accepted_and_every_kernel_is_reported() {
    let report = check(vec![
        kernel("right", copies, exact),
        // Threads that write one element in any order are no fault of the clauses.
        kernel("unsteady", counts_launches, exact),
        kernel("impossible", copies, |c| {
            exact(c);
            let n = n(c);
            c.require("p.n == 0", &[(n, std::cmp::Ordering::is_eq, Amount::of(0))]);
        }),
        KernelSpec {
            safe: false,
            ..kernel("unsafe", writes_past, exact)
        },
        KernelSpec {
            clauses: None,
            ..kernel("silent", writes_past, exact)
        },
    ])
    .expect("right clauses");
    assert_eq!(report.launched, ["right", "unsteady"]);
    assert_eq!(report.without_launch, ["impossible"]);
    assert_eq!(report.unchecked, ["unsafe", "silent"]);
}

#[test]
fn a_write_past_the_length_is_found() {
    let text = message("writes_past", writes_past, exact);
    assert!(text.starts_with("kernel writes_past: byte "), "{text}");
    assert!(text.contains(" is written; grid "), "{text}");
}

#[test]
fn a_read_past_or_before_the_length_is_found() {
    for (name, cpu) in [
        ("reads_past", reads_past as CpuFn),
        ("reads_before", reads_before),
    ] {
        let text = message(name, cpu, exact);
        let expected = format!("kernel {name}: `out` depends on what lies outside; grid ");
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn lengths_that_are_an_element_short_are_found() {
    fn less(n: Amount) -> Amount {
        n - Amount::of(1)
    }
    let of_in = message("short_in", copies, |c| lengths(c, less, |n| n));
    assert!(
        of_in.contains("`out` depends on what lies outside"),
        "{of_in}"
    );
    let of_out = message("short_out", copies, |c| lengths(c, |n| n, less));
    assert!(of_out.contains(" is written; "), "{of_out}");
}

#[test]
fn a_short_buffer_that_is_not_refused_is_found() {
    // Once it ran the clauses state nothing: the launch with a short buffer, which comes last, goes through.
    let text = message("forgetful", forgetful, |c| {
        let left = u64::from(!FORGETFUL_RAN.load(Ordering::Relaxed));
        let (n, left) = (n(c), Amount::of(left));
        c.length(0, n * left);
        c.length(1, Amount::of(0));
        c.require("p.n >= 1", &[(n, std::cmp::Ordering::is_ge, Amount::of(1))]);
    });
    assert!(text.starts_with("kernel forgetful: `in` of "), "{text}");
    assert!(text.contains(" elements gives Ok(())"), "{text}");
}

#[test]
fn each_wrong_kernel_has_its_line() {
    let text = check(vec![
        kernel("first", writes_past, exact),
        kernel("right", copies, exact),
        kernel("second", reads_past, exact),
    ])
    .expect_err("two are wrong");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("kernel first: "), "{text}");
    assert!(lines[1].starts_with("kernel second: "), "{text}");
}
