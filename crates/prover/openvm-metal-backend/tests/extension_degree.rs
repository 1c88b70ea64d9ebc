//! Kernels over extensions of two degrees, of one text: the arithmetic, and phases that need none of OpenVM's types.

use std::{array, error::Error, path::Path};

use openvm_metal_backend::{
    params::StackedColumnJob,
    prelude::F,
    selftest::{compare, CheckRng},
};
use openvm_metal_builder::{SharedKernels, Toolchain};
use openvm_metal_common::{
    as_bytes, kernel::ArgKind, Device, DeviceElem, Grid, MetalBuffer, MetalContext, RuntimeArg,
    RuntimeKernel, RuntimeSource, RuntimeSymbols,
};
use p3_field::{
    extension::BinomialExtensionField, BasedVectorSpace, ExtensionField, Field,
    PrimeCharacteristicRing,
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Units whose kernels are compared.
const UNITS: [&str; 2] = ["gkr/gkr.metal", "openings/stacked_columns.metal"];

const OPERATIONS: &str = r"
// One element of x, y and z per thread. Result k of all n elements is row k of `out`.
kernel void extension_operations(device const FpExt* x [[buffer(0)]], device const FpExt* y [[buffer(1)]], device const Fp* z [[buffer(2)]],
                                 device FpExt* out [[buffer(3)]], constant uint& n [[buffer(4)]], gid_l gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    index_l i = index_l(gid);
    FpExtL a = lane_load(x, i), b = lane_load(y, i);
    FpL c = lane_load(z, i);
    FpExt same = y[0];
    FpExtL r[13] = {a + b, a - b, -a, a * b, a * same, same * c, a * c, a * z[0], a + c, a - c, c - a, fpext_square(a), fpext_inv(a)};
    for (uint k = 0; k < 13u; k++) lane_store(out, i + ulong(k) * ulong(n), r[k]);
}
";

fn degree<E: ExtensionField<F>>() -> usize {
    <E as BasedVectorSpace<F>>::DIMENSION
}

fn coefficients<E: ExtensionField<F>>(element: &E) -> &[F] {
    BasedVectorSpace::<F>::as_basis_coefficients_slice(element)
}

/// Words of elements, one element after the other.
fn words<E: ExtensionField<F>>(elements: &[E]) -> Vec<F> {
    elements.iter().flat_map(coefficients).copied().collect()
}

/// Words of elements, one coefficient after the other.
fn planes<E: ExtensionField<F>>(elements: &[E]) -> Vec<F> {
    let plane = |k: usize| elements.iter().map(move |e| coefficients(e)[k]);
    (0..degree::<E>()).flat_map(plane).collect()
}

/// An argument of a kernel, at the place of its index.
enum Argument {
    In(Vec<u8>),
    /// Words that are written.
    Out(usize),
    Value(Vec<u8>),
}
use Argument::{In, Out, Value};

/// A struct of parameters.
fn value(parts: &[&[u8]]) -> Argument {
    let mut bytes = parts.concat();
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    Value(bytes)
}

fn input<T: DeviceElem>(elements: &[T]) -> Argument {
    In(as_bytes(elements).to_vec())
}

/// An element with coefficients such as 0, 1, p - 1 and the one whose word is p - 1.
fn element<E: ExtensionField<F>>(rng: &mut CheckRng) -> E {
    E::from_basis_coefficients_fn(|_| match rng.below(8) {
        0 => -F::TWO.exp_u64(32).inverse(),
        _ => rng.f(),
    })
}

fn elements<E: ExtensionField<F>>(rng: &mut CheckRng, n: usize) -> Vec<E> {
    (0..n).map(|_| element(rng)).collect()
}

fn eq<E: Field>(x: E, one: bool) -> E {
    match one {
        true => x,
        false => E::ONE - x,
    }
}

/// The kernels of one degree on one device.
struct Kernels<'a> {
    context: MetalContext,
    library: &'a SharedKernels,
}

impl Kernels<'_> {
    /// The words that a kernel writes to each of its outputs. The kernel reaches no more than is in its arguments.
    fn run(&self, name: &str, grid: Grid, arguments: &[Argument]) -> Outcome<Vec<Vec<F>>> {
        let mut kernels = self.library.kernels.iter();
        let kernel = kernels.find(|kernel| kernel.name == name).ok_or(name)?;
        let describe = |(index, argument): (usize, &Argument)| RuntimeArg {
            name: format!("argument {index}"),
            index: index as u8,
            kind: match argument {
                In(_) => ArgKind::BufferRead { elem: 4 },
                Out(_) => ArgKind::BufferWrite { elem: 4 },
                Value(bytes) => ArgKind::Value {
                    size: bytes.len() as u32,
                },
            },
        };
        // Vectors of threads, and single threads.
        let run = match self.context.info().conformance {
            true => &kernel.scalar,
            false => &kernel.run,
        };
        let unit = self.context.load_unit(&RuntimeSource {
            name: "extension_degree".into(),
            cpu: Some(self.library.path.clone()),
            kernels: vec![RuntimeKernel {
                name: name.into(),
                args: arguments.iter().enumerate().map(describe).collect(),
                barriers: kernel.kind.barriers(),
                max_threads: 256,
                ptx_entry: String::new(),
                cpu: Some(RuntimeSymbols {
                    run: run.clone(),
                    fiber: kernel.fiber.clone(),
                }),
            }],
            ..RuntimeSource::default()
        })?;
        let stream = self.context.stream();
        let mut buffers = Vec::new();
        for argument in arguments {
            buffers.push(match argument {
                In(bytes) | Value(bytes) => MetalBuffer::<u8>::from_host(&stream, bytes)?,
                Out(words) => MetalBuffer::zeroed(&stream, 4 * words)?,
            });
        }
        let mut call = unit.encode(&stream, 0, grid)?;
        for (index, argument) in arguments.iter().enumerate() {
            call = match argument {
                Value(bytes) => call.value_bytes(index as u8, bytes),
                In(_) | Out(_) => call.buffer_range(index as u8, buffers[index].slice(..)),
            };
        }
        // SAFETY: callers give buffers of the lengths that the kernel's clauses ask for, in elements of this degree.
        unsafe { call.dispatch_unchecked()? };
        let mut outputs = Vec::new();
        for (argument, buffer) in arguments.iter().zip(&buffers) {
            if matches!(argument, Out(_)) {
                outputs.push(buffer.slice(..).cast::<F>()?.to_host(&stream)?);
            }
        }
        Ok(outputs)
    }
}

fn operations<E: ExtensionField<F>>(kernels: &Kernels<'_>, rng: &mut CheckRng) -> Outcome {
    for n in [1, 7, 1000, 65_537] {
        let (x, y): (Vec<E>, Vec<E>) = (elements(rng, n), elements(rng, n));
        let z = rng.fs(n);
        let results = |i: usize| {
            let (a, b, c) = (x[i], y[i], z[i]);
            [
                a + b,
                a - b,
                -a,
                a * b,
                a * y[0],
                y[0] * c,
                a * c,
                a * z[0],
                a + c,
                a - c,
                E::from(c) - a,
                a.square(),
                a.try_inverse().unwrap_or(E::ZERO),
            ]
        };
        let expected: Vec<_> = (0..n).map(results).collect();
        let arguments = [
            input(&words(&x)),
            input(&words(&y)),
            input(&z),
            Out(13 * n * degree::<E>()),
            value(&[as_bytes(&[n as u32])]),
        ];
        let out = kernels.run("extension_operations", Grid::threads(n), &arguments)?;
        let rows = E::reconstitute_from_base(out.concat());
        for (k, row) in rows.chunks(n).enumerate() {
            let expected: Vec<E> = expected.iter().map(|of| of[k]).collect();
            compare(|| format!("operation {k} of {n}"), row, &expected)?;
        }
    }
    Ok(())
}

fn eq_heaps<E: ExtensionField<F>>(kernels: &Kernels<'_>, rng: &mut CheckRng) -> Outcome {
    for (low_vars, high_vars) in [(0, 1), (3, 5), (2, 15)] {
        let vars = low_vars + high_vars;
        let x: Vec<E> = elements(rng, vars + 1);
        // Entry 2^j + y is eq(y) over the j coordinates up to `last`.
        let entry = |last: usize, e: usize| -> E {
            let j = e.max(1).ilog2() as usize;
            let factor = |k: usize| eq(x[last + 1 - j + k], (e >> k) & 1 == 1);
            (0..j).map(factor).product()
        };
        let low = (0..2usize << low_vars).map(|e| entry(low_vars, e));
        let high = (0..2usize << high_vars).map(|e| entry(vars, e));
        let expected: Vec<E> = low.chain(high).collect();
        let n = expected.len();
        let params = [0, 1, low_vars, high_vars, high_vars, 2 << low_vars, n, vars];
        let out = kernels.run(
            "gkr_eq_heaps",
            Grid::threads(n),
            &[
                input(&words(&x)),
                Out(n * degree::<E>()),
                value(&[as_bytes(&params.map(|x| x as u32))]),
            ],
        )?;
        let what = || format!("heaps of {low_vars} and {high_vars} variables");
        compare(what, &out[0], &words(&expected))?;
    }
    Ok(())
}

/// Sums of neighbouring fractions.
fn above<E: Field>(layer: &[(E, E)]) -> Vec<(E, E)> {
    let nodes = layer.chunks(2).map(|n| [n[0], n[1]]);
    nodes
        .map(|[a, b]| (a.0 * b.1 + b.0 * a.1, a.1 * b.1))
        .collect()
}

fn layers<E: ExtensionField<F>>(kernels: &Kernels<'_>, rng: &mut CheckRng) -> Outcome {
    for (quads, real) in [(1, 1), (17, 17), (71, 48), (16_387, 16_387)] {
        let padding: E = element(rng);
        let (p, q): (Vec<E>, Vec<E>) = (elements(rng, 4 * quads), elements(rng, 4 * quads));
        let base = rng.fs(4 * quads);
        let of_base: Vec<E> = base.iter().map(|&x| E::from(x)).collect();
        for (kernel, p_words, q_words, p) in [
            ("gkr_build_leaves", base, words(&q), of_base),
            ("gkr_build_planes", planes(&p), planes(&q), p),
        ] {
            let mut layer: Vec<(E, E)> = p.into_iter().zip(q.iter().copied()).collect();
            layer[4 * real..].fill((E::ZERO, padding));
            let out = kernels.run(
                kernel,
                Grid::threads(quads),
                &[
                    input(&p_words),
                    input(&q_words),
                    Out(4 * quads * degree::<E>()),
                    Out(2 * quads * degree::<E>()),
                    value(&[
                        as_bytes(&[quads as u64, real as u64]),
                        as_bytes(&words(&[padding])),
                    ]),
                ],
            )?;
            for (k, out) in out.iter().enumerate() {
                layer = above(&layer);
                let (p, q): (Vec<E>, Vec<E>) = layer.iter().copied().unzip();
                let what = || format!("{kernel}, {quads} quads, {k}");
                compare(what, out, &[planes(&p), planes(&q)].concat())?;
            }
        }
    }
    Ok(())
}

fn fold_round<E: ExtensionField<F>>(kernels: &Kernels<'_>, rng: &mut CheckRng) -> Outcome {
    let last = E::from_basis_coefficients_fn(|k| F::from_bool(k + 1 == degree::<E>()));
    for (groups, chunk, real_groups, xi) in [
        (1, 1, 1, E::TWO),
        (2, 4, 1, E::ZERO),
        (3, 64, 3, last),
        (33, 1024, 31, E::ZERO),
    ] {
        let (pairs, real) = (groups * chunk, real_groups * chunk);
        let columns: [Vec<E>; 4] = array::from_fn(|_| elements(rng, 4 * pairs));
        let weights: Vec<E> = elements(rng, pairs);
        let (lambda, r, padding): (E, E, E) = (element(rng), element(rng), element(rng));
        let of_padding = [lambda * padding, padding, E::ZERO, padding];
        let folded: [Vec<E>; 4] = array::from_fn(|k| {
            let rows = columns[k].chunks(2).map(|x| x[0] + (x[1] - x[0]) * r);
            let mut rows: Vec<E> = rows.collect();
            rows[2 * real..].fill(of_padding[k]);
            rows
        });
        let mut sums = vec![E::ZERO; 2 * groups];
        for (y, &weight) in weights.iter().enumerate() {
            let at = 2 * y + usize::from(xi == E::ZERO);
            let [a, b, c, d] = array::from_fn(|k| folded[k][at]);
            sums[y / chunk * 2] += weight * (a * b + c * d);
            let [a, b, c, d] = array::from_fn(|k| folded[k][2 * y + 1] - folded[k][2 * y]);
            sums[y / chunk * 2 + 1] += weight * (a * b + c * d);
        }
        let words_of = |columns: &[Vec<E>; 4]| columns.each_ref().map(|x| planes(x)).concat();
        let params = [chunk as u32, 0, 0, 0, 0, 0, 1, 2, 1, 0];
        let out = kernels.run(
            "gkr_fold_round",
            Grid::groups(groups as u32, 64u32),
            &[
                input(&words_of(&columns)),
                Out(8 * pairs * degree::<E>()),
                input(&words(&weights)),
                Out(2 * groups * degree::<E>()),
                input(&words(&[lambda, r, xi])),
                value(&[
                    as_bytes(&[pairs as u64]),
                    as_bytes(&params),
                    as_bytes(&[real as u64, 0]),
                    as_bytes(&words(&[padding])),
                ]),
            ],
        )?;
        let what = || format!("a round of {groups} times {chunk} pairs");
        compare(what, &out[0], &words_of(&folded))?;
        compare(what, &out[1], &words(&sums))?;
    }
    Ok(())
}

fn column_values<E: ExtensionField<F>>(kernels: &Kernels<'_>, rng: &mut CheckRng) -> Outcome {
    for (log_low, log_high, log_block, columns, quads) in [
        (0, 1, 0, 1, 0),
        (1, 3, 2, 3, 0),
        (5, 2, 6, 5, 1),
        (9, 4, 11, 9, 1),
    ] {
        let log_rows = log_low + log_high;
        let (low, high): (Vec<E>, Vec<E>) =
            (elements(rng, 1 << log_low), elements(rng, 1 << log_high));
        let cells = rng.fs(columns << log_rows);
        let product =
            |(i, &cell): (usize, &F)| low[i % low.len()] * high[(i >> log_low) % high.len()] * cell;
        let products: Vec<E> = cells.iter().enumerate().map(product).collect();
        let shares = products.chunks(1 << log_block);
        let expected: Vec<E> = shares.map(|share| share.iter().copied().sum()).collect();
        let groups = expected.len() as u32;
        let job = StackedColumnJob {
            log_rows: log_rows as u32,
            columns: columns as u32,
            log_block,
            ..Default::default()
        };
        let behind = StackedColumnJob {
            first_group: groups,
            ..job
        };
        let mut arguments = vec![
            input(&[job, behind]),
            input(&[0u32; 16]),
            input(&planes(&low)),
            input(&planes(&high)),
            Out(expected.len() * degree::<E>()),
            value(&[as_bytes(&[log_low as u32, quads])]),
        ];
        arguments.extend((0..8).map(|_| input(&cells)));
        let grid = Grid::groups(groups, 64u32);
        let out = kernels.run("stacked_column_values", grid, &arguments)?;
        let what = || format!("{columns} columns of 2^{log_rows} rows");
        compare(what, &out[0], &words(&expected))?;
    }
    Ok(())
}

fn equal_to_plonky3<E: ExtensionField<F>>() -> Outcome {
    let degree = degree::<E>();
    let includes = UNITS.map(|unit| format!("#include \"{unit}\"\n")).concat();
    let text = format!("#define EXT_DEGREE {degree}u\n{includes}{OPERATIONS}");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("extension-{degree}"));
    let metal = Path::new(env!("CARGO_MANIFEST_DIR")).join("metal");
    let tools = Toolchain::new(scratch)?.with_options(&["-O1"]);
    let library = tools.compile_cpu_shared(&metal, &text)?;
    for device in [Device::Cpu, Device::CpuConformance] {
        let kernels = Kernels {
            context: MetalContext::new(device, &[])?,
            library: &library,
        };
        let rng = &mut CheckRng::new(degree as u64);
        operations::<E>(&kernels, rng)?;
        eq_heaps::<E>(&kernels, rng)?;
        layers::<E>(&kernels, rng)?;
        fold_round::<E>(&kernels, rng)?;
        column_values::<E>(&kernels, rng)?;
    }
    Ok(())
}

#[test]
fn kernels_of_degree_4_equal_plonky3() -> Outcome {
    equal_to_plonky3::<BinomialExtensionField<F, 4>>()
}

#[test]
fn kernels_of_degree_5_equal_plonky3() -> Outcome {
    equal_to_plonky3::<BinomialExtensionField<F, 5>>()
}
