//! The text that only Apple GPUs run, on this processor: quotients whose division is one off, and memory without types.

mod compiled;

use compiled::{compiled, Outcome};
use hologram_backends::translate;
use openvm_metal_common::kernel::ArgKind;
use openvm_metal_common::{Grid, MetalBuffer};

/// Threads of each kernel.
const THREADS: usize = 4096;

/// Runs `body`, with its number in `i` and 16 words of its own at `out`, in [`THREADS`] threads; gives all words.
fn run(text: &str, body: &str) -> Outcome<Vec<u32>> {
    let text = format!(
        "{text}\nkernel void one(device uchar* all [[buffer(0)]], uint i [[thread_position_in_grid]]) {{\n\
         device uchar* out = all + 64ul * i;\n{body}\n}}\n"
    );
    let args = [("all", ArgKind::BufferWrite { elem: 1 })];
    let (unit, stream) = compiled(&text, &["-O3", "-ffp-contract=off"], &args)?;
    let all = MetalBuffer::<u8>::zeroed(&stream, 64 * THREADS)?;
    let call = unit.encode(&stream, 0, Grid::threads(THREADS))?;
    let call = call.buffer_range(0, all.as_slice());
    // SAFETY: the buffer has 64 bytes for each thread, which reaches no others.
    unsafe { call.dispatch_unchecked()? };
    let bytes = all.to_host(&stream)?;
    let words = bytes.as_chunks::<4>().0;
    Ok(words.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

fn as_apple() -> String {
    format!("#define HG_AS_APPLE 1\n{}", translate::unit([]))
}

/// Divisors are the thread's number + 1 and random ones, dividends those near the largest and random ones, and the division of the half
/// dividend is right, one too small or one too large: 57 million cases of each text.
#[test]
fn quotients_are_right_where_divisions_are_one_off() -> Outcome<()> {
    let body = |function: &str, signed: &str| {
        format!(
            "ulong s = 0x9e3779b97f4a7c15ul * (i + 1u), cases = 0, wrong = 0;\n\
             for (uint k = 0; k < 2400u; k++) {{\n\
             s ^= s << 13; s ^= s >> 7; s ^= s << 17;\n\
             const uint any = (uint)(s >> 32), shift = (uint)s & 31u;\n\
             const uint a[2] = {{~0u - k, (uint)s}}, b[2] = {{i + 1u, (any >> shift) | 1u}};\n\
             for (uint j = 0; j < 2u; j++) {{\n\
             const uint q = (a[j] >> 1) / b[j];\n\
             for (uint d = q == 0u ? 1u : 0u; d < 3u; d++) {{\n\
             cases += 1u; wrong += {function}(q + d - 1u, a[j], b[j]) != a[j] / b[j] ? 1u : 0u;\n\
             }}\n{signed}}}\n}}\n\
             *(device uint*)out = (uint)wrong; *(device uint*)(out + 4) = (uint)cases;"
        )
    };
    let signed = "const int x = (int)a[j], y = (int)b[j];\n\
                  if (y != -1) wrong += hg_quotient(x, y) != x / y || hg_quotient(a[j], b[j]) != a[j] / b[j] ? 1u : 0u;\n";
    let programs = (as_apple(), "hg_whole_quotient", signed);
    let operations = ("#include \"quotient.h\"\n".to_owned(), "whole_quotient", "");
    for (text, function, signed) in [programs, operations] {
        let words = run(&text, &body(function, signed))?;
        let sum = |at: usize| -> u64 {
            let of = words.iter().skip(at).step_by(16);
            of.map(|&word| u64::from(word)).sum()
        };
        println!("{function}: {} cases", sum(1));
        assert_eq!(sum(0), 0, "{function}");
        assert!(sum(1) > 55_000_000, "{} cases", sum(1));
    }
    Ok(())
}

/// Accesses of one size meet those of others at the same bytes, in a loop and in a line.
#[test]
fn memory_has_no_types() -> Outcome<()> {
    let body = "hg_st4(out, 0ul, 1u);\n\
                const ulong o = i & 0ul, p = i & 0ul;\n\
                for (uint k = 0; k < 9u; k++) { const uint v = hg_ld4(out, o); hg_st8(out, p, (ulong)(v * 2u)); }\n\
                hg_put<float>(out, 16ul + o, 1.0f);\n\
                const float before = hg_at<float>(out, 16ul + o);\n\
                hg_put<ulong>(out, 16ul + p, 0x4000000040400000ul);\n\
                hg_st4(out, 24ul, (uint)(before + hg_at<float>(out, 16ul + o)));\n\
                hg_st2(out, 32ul + o, 7u); hg_st4(out, 32ul + p, 0x00010009u); hg_put<ushort>(out, 34ul + o, (ushort)5u);\n\
                hg_st4(out, 36ul, (uint)hg_ld2(out, 32ul + p) + hg_ld4(out, 32ul + o));";
    let words = run(&as_apple(), body)?;
    for thread in words.chunks(16) {
        assert_eq!([thread[0], thread[1]], [512, 0]);
        assert_eq!(thread[6], 4);
        assert_eq!([thread[8], thread[9]], [0x0005_0009, 9 + 0x0005_0009]);
    }
    Ok(())
}
