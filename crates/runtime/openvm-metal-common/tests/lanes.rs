//! Loads, stores, gathers and scatters of lanes, for elements of 1 to 32 words, on the CPU.

use openvm_metal_builder::Toolchain;
use openvm_metal_common::kernel::ArgKind;
use openvm_metal_common::{
    Device, Grid, MetalBuffer, MetalContext, RuntimeArg, RuntimeKernel, RuntimeSource,
    RuntimeSymbols,
};

/// Words of an element.
const SIZES: [usize; 6] = [1, 2, 4, 8, 16, 32];

const HEAD: &str = r"
#include <metal_stdlib>
#include <lanes.h>
using namespace metal;
template <typename U, uint N> struct RunT { U c[N]; };
template <uint N> struct lane_type<RunT<uint, N>> { typedef RunT<uint_l, N> type; };
// Element i of `out` is that of `in` at `at[i]`, word k of it with 5 k added; element at[i] of `back` is what is in `out`.
template <uint N> inline void pick(device const uint* in, device const uint* at, device uint* out, device uint* back, index_l i) {
    typedef RunT<uint, N> Run;
    uint_l from = lane_load(at, i);
    RunT<uint_l, N> x = lane_gather((device const Run*)in, from);
    for (uint k = 0; k < N; k++) x.c[k] = x.c[k] + uint_l(5u * k);
    lane_store((device Run*)out, i, x);
    lane_scatter((device Run*)back, from, lane_load((device const Run*)out, i));
}
// Word i of `out` is that of `in`, past the caches on CPUs. An odd first word is not where a vector begins.
kernel void stream(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint2& p [[buffer(2)]],
                   gid_l gid [[thread_position_in_grid]]) {
    if (gid >= p.x) return;
    index_l i = index_l(gid) + ulong(p.y);
#if LANE_WIDTH > 1
    lane_stream(out, i, lane_load(in, i));
    lane_stream_end();
#else
    lane_store(out, i, lane_load(in, i));
#endif
}
";

fn source() -> Result<RuntimeSource, Box<dyn std::error::Error>> {
    let mut text = HEAD.to_owned();
    for n in SIZES {
        text += &format!(
            "kernel void pick_{n}(device const uint* in [[buffer(0)]], device const uint* at [[buffer(1)]], \
             device uint* out [[buffer(2)]], device uint* back [[buffer(3)]], constant uint2& p [[buffer(4)]], \
             gid_l gid [[thread_position_in_grid]]) {{\n    if (gid >= p.x) return;\n    pick<{n}u>(in, at, out, back, index_l(gid));\n}}\n"
        );
    }
    let scratch = std::env::temp_dir().join("openvm-metal-lanes");
    let library = Toolchain::new(&scratch)?.compile_cpu_shared(&scratch, &text)?;
    let kernel = |name: &str, kinds: &[ArgKind]| {
        let arg = |(index, kind): (usize, &ArgKind)| RuntimeArg {
            name: format!("argument {index}"),
            index: index as u8,
            kind: *kind,
        };
        let found = library.kernels.iter().find(|k| k.name == name);
        RuntimeKernel {
            name: name.into(),
            args: kinds.iter().enumerate().map(arg).collect(),
            barriers: false,
            max_threads: 1024,
            ptx_entry: String::new(),
            cpu: found.map(|k| RuntimeSymbols {
                run: k.run.clone(),
                fiber: None,
            }),
        }
    };
    let (read, write) = (
        ArgKind::BufferRead { elem: 4 },
        ArgKind::BufferWrite { elem: 4 },
    );
    let value = ArgKind::Value { size: 8 };
    let picks = SIZES.map(|n| kernel(&format!("pick_{n}"), &[read, read, write, write, value]));
    let mut kernels = picks.to_vec();
    kernels.push(kernel("stream", &[read, write, value]));
    Ok(RuntimeSource {
        name: "lanes".into(),
        cpu: Some(library.path),
        kernels,
        ..RuntimeSource::default()
    })
}

fn bytes(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn elements_are_moved_whole() -> Result<(), Box<dyn std::error::Error>> {
    let ctx = MetalContext::new(Device::Cpu, &[])?;
    let unit = ctx.load_unit(&source()?)?;
    let stream = ctx.stream();
    for (k, n) in SIZES.into_iter().enumerate() {
        for count in [1usize, 7, 16, 33, 1000] {
            let word = |i: usize| (i as u32).wrapping_mul(2_654_435_761);
            // A permutation: 7 has no factor in common with these counts but for itself.
            let at = |i: usize| {
                if count == 7 {
                    6 - i
                } else {
                    (7 * i + 3) % count
                }
            };
            let input = MetalBuffer::from_host(&stream, &bytes((0..count * n).map(word)))?;
            let places = MetalBuffer::from_host(&stream, &bytes((0..count).map(|i| at(i) as u32)))?;
            let poison = vec![0xa5u8; 4 * count * n];
            let out = MetalBuffer::from_host(&stream, &poison)?;
            let back = MetalBuffer::from_host(&stream, &poison)?;
            let params = bytes([count as u32, 0]);
            let call = unit
                .encode(&stream, k, Grid::threads(count))?
                .buffer_range(0, input.slice(..))
                .buffer_range(1, places.slice(..))
                .buffer_range(2, out.slice(..))
                .buffer_range(3, back.slice(..))
                .value_bytes(4, &params);
            // SAFETY: a thread has an element of `out` and one of `back`, no other writes it, and places are below `count`.
            unsafe { call.dispatch_unchecked()? };
            let changed = |i: usize| word(i).wrapping_add(5 * (i % n) as u32);
            let picked = (0..count * n).map(|i| changed(at(i / n) * n + i % n));
            assert_eq!(out.to_host(&stream)?, bytes(picked), "{count} of {n} words");
            let all = bytes((0..count * n).map(changed));
            assert_eq!(back.to_host(&stream)?, all, "{count} of {n} words");
        }
    }
    Ok(())
}

#[test]
fn streamed_words_arrive() -> Result<(), Box<dyn std::error::Error>> {
    let ctx = MetalContext::new(Device::Cpu, &[])?;
    let unit = ctx.load_unit(&source()?)?;
    let stream = ctx.stream();
    for (count, first) in [(1u32, 0u32), (64, 0), (64, 1), (100_003, 16), (65_537, 5)] {
        let words = || (0..count + first).map(|i| i ^ 0x5a5a_0000);
        let input = MetalBuffer::from_host(&stream, &bytes(words()))?;
        let out = MetalBuffer::from_host(&stream, &bytes(words().map(|_| 7)))?;
        let params = bytes([count, first]);
        let call = unit
            .encode(&stream, SIZES.len(), Grid::threads(count as usize))?
            .buffer_range(0, input.slice(..))
            .buffer_range(1, out.slice(..))
            .value_bytes(2, &params);
        // SAFETY: a thread has a word of both.
        unsafe { call.dispatch_unchecked()? };
        let mut expected: Vec<u32> = words().collect();
        expected[..first as usize].fill(7);
        assert_eq!(
            out.to_host(&stream)?,
            bytes(expected),
            "{count} from {first}"
        );
    }
    Ok(())
}
