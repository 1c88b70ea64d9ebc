//! The entry points that are appended to the C++ of a unit.

use crate::{
    lexer::Tokens,
    literals, rewrite,
    scan::{Entry, KernelFn, Kind, Scan},
    shim,
    signature::{Param, ParamKind, BUILTINS},
};

/// Target of a translation unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// CPU, one thread at a time.
    Scalar,
    /// CPU, this many threads at a time.
    Lanes(u32),
    /// CPU, one fiber per thread.
    Fiber,
    /// NVIDIA.
    Ptx,
    /// Sizes of arguments and threadgroup arrays.
    Probe,
    /// The check of address spaces.
    Lint,
}

impl Flavour {
    /// Macro definitions, for the preprocessor as well as for the compiler.
    pub fn defines(self) -> Vec<String> {
        let target = match self {
            Self::Ptx => "-DMSL_PTX",
            Self::Lint => "-DMSL_LINT",
            _ => "-DMSL_HOST",
        };
        let lanes = if let Self::Lanes(w) = self { w } else { 1 };
        let mut out = vec![target.to_string(), format!("-DMSL_LANES={lanes}")];
        match self {
            Self::Fiber => out.push("-DMSL_FIBER".into()),
            Self::Probe => out.push("-DMSL_PROBE".into()),
            _ => {}
        }
        out
    }

    fn includes(self, kind: Kind) -> bool {
        match self {
            Self::Lanes(_) => kind.lanes(),
            Self::Fiber => kind.barriers(),
            _ => true,
        }
    }
}

/// Prefix of the PTX entries: PTX reserves words such as `add`.
pub const PTX_PREFIX: &str = "msl_";

/// Changes with the parameters of PTX entries: PTX that is kept for later is good for the same number only.
pub const PTX_ABI: u32 = 2;

/// Base of the symbols of entry `name`.
pub fn symbol(prefix: &str, name: &str) -> String {
    format!("mslk_{prefix}_{name}")
}

/// Prefixes of the symbols of a translation unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prefixes<'a> {
    /// Prefix of its definitions.
    pub own: &'a str,
    /// Prefix of the scalar tail kernels: its lane kernels call them for the threads that fill no vector. Where it differs from
    /// `own`, the unit defines no tail kernels: those of one instruction set serve all.
    pub tails: &'a str,
}

impl<'a> Prefixes<'a> {
    /// A unit that has its scalar versions itself.
    pub fn alone(own: &'a str) -> Self {
        Self { own, tails: own }
    }
}

/// The whole translation unit.
pub fn unit(t: &Tokens, scan: &Scan, flavour: Flavour, prefixes: Prefixes<'_>) -> String {
    let body = rewrite::rewrite(t, scan, matches!(flavour, Flavour::Lanes(_)));
    let body = literals::as_metal(body, t);
    let mut out =
        String::from("#include \"msl_outside.h\"\nnamespace {\n#include \"metal_stdlib\"\n");
    if matches!(flavour, Flavour::Lanes(_)) {
        out.push_str("#include \"lanes_vector.h\"\n");
    }
    for header in shim::on_demand(t) {
        out.push_str(&format!("#include \"{header}\"\n"));
    }
    out.push_str(&body);
    out.push_str("\n}  // namespace\n# 1 \"generated entry points\"\n");
    for (n, e) in scan.entries.iter().enumerate() {
        let f = &scan.functions[e.function];
        let elsewhere = flavour == Flavour::Scalar && prefixes.own != prefixes.tails;
        if !flavour.includes(f.kind) || (elsewhere && f.kind.lanes()) {
            continue;
        }
        let s = symbol(prefixes.own, &e.name);
        let tail = symbol(prefixes.tails, &e.name);
        out.push_str(&match flavour {
            Flavour::Scalar => host(e, f, &s, &tail, None),
            Flavour::Lanes(w) => host(e, f, &s, &tail, Some(w)),
            Flavour::Fiber => fiber(e, f, &s),
            Flavour::Ptx => ptx(e, f),
            Flavour::Probe => probe(e, f, n),
            Flavour::Lint => String::new(),
        });
    }
    out
}

fn arg_type(p: &Param) -> String {
    format!("msl_arg<{}, F>", p.position)
}

/// Declarations of the arguments that come from the launch.
fn bind(e: &Entry, f: &KernelFn) -> String {
    let mut out = format!("    typedef decltype(&{}) F;\n", e.reference);
    for p in &f.params {
        let (a, n, i) = (arg_type(p), p.position, p.index);
        match p.kind {
            ParamKind::Buffer { .. } => {
                out += &format!("    auto&& a{n} = msl_pass<{a}>(L.buf[{i}]);\n");
            }
            ParamKind::Value => {
                out += &format!(
                    "    const msl_target_t<{a}> a{n} = *(const msl_target_t<{a}>*)L.buf[{i}];\n"
                );
            }
            ParamKind::Threadgroup => {
                out += &format!("    auto&& a{n} = msl_pass<{a}>(msl_arena(L, arena, {i}));\n");
            }
            ParamKind::Builtin(_) => {}
        }
    }
    out
}

fn context_member(attribute: &str) -> &'static str {
    BUILTINS
        .iter()
        .find(|b| b.0 == attribute)
        .map_or("gpos", |b| b.1)
}

/// Argument list of the call; `builtin` gives the expression of each thread position.
fn call_args(f: &KernelFn, builtin: impl Fn(&Param, &str) -> String) -> String {
    let args = f.params.iter().map(|p| match &p.kind {
        ParamKind::Builtin(attribute) => builtin(p, attribute),
        _ => format!("a{}", p.position),
    });
    args.collect::<Vec<_>>().join(", ")
}

fn from_context(p: &Param, attribute: &str) -> String {
    format!(
        "msl_pos<{}>(X.{}())",
        arg_type(p),
        context_member(attribute)
    )
}

fn flat_builtin(p: &Param, attribute: &str) -> String {
    match attribute {
        "thread_position_in_grid" => format!("msl_pos<{}>(uint3{{x, y, z}})", arg_type(p)),
        _ => format!(
            "msl_pos<{}>(msl_ctx_at(L, uint3{{x, y, z}}).{}())",
            arg_type(p),
            context_member(attribute)
        ),
    }
}

fn lane_position(p: &Param, base: &str, y: &str, z: &str) -> String {
    match p.element.as_str() {
        "gid2_l" => format!("gid2_l{{index_l({base}, 1), {y}}}"),
        "gid3_l" => format!("gid3_l{{index_l({base}, 1), {y}, {z}}}"),
        _ => format!("index_l({base}, 1)"),
    }
}

fn bound(e: &Entry, f: &KernelFn, lanes: bool) -> String {
    let Some(_) = &f.guard else {
        return String::new();
    };
    let (path, args) = match e.reference.split_once('<') {
        Some((p, a)) => (p, format!("<{a}")),
        None => (e.reference.as_str(), String::new()),
    };
    let (space, name) = match path.rsplit_once("::") {
        Some((s, n)) => (format!("{s}::"), n),
        None => (String::new(), path),
    };
    let call = call_args(f, |p, attribute| {
        if p.is_lane() && lanes {
            lane_position(p, "0", "y", "z")
        } else {
            flat_builtin(p, attribute)
        }
    });
    format!("{{ const uint x = x0; (void)x; x1 = msl_least(x1, {space}msl_bound_{name}{args}({call})); }}")
}

/// Versions of a kernel whose symbols begin with `s`; those that begin with `tail` finish rows.
fn host(e: &Entry, f: &KernelFn, s: &str, tail: &str, lanes: Option<u32>) -> String {
    let bound = bound(e, f, lanes.is_some());
    let head = |suffix: &str| {
        format!(
            "extern \"C\" void {s}_{suffix}(const msl_launch* L_, unsigned char* arena, ulong gb, ulong ge) {{\n    \
             const msl_launch& L = *L_; (void)arena;\n{}",
            bind(e, f)
        )
    };
    let r = &e.reference;
    match (f.kind.barriers(), lanes) {
        (false, None) => {
            let vector = f.kind == Kind::Flat;
            let args = call_args(f, flat_builtin);
            let rows = |span: &str| {
                format!(
                    "    msl_rows(L, gb, ge, [&](uint x0, uint x1, uint y, uint z) {{ (void)y; (void)z; {bound}\n        {span}\n    }});\n}}\n"
                )
            };
            if vector {
                let span = format!("msl_span<true>(x0, x1, [&](uint x) {{ {r}({args}); }});");
                return head("s") + &rows(&span);
            }
            format!(
                "extern \"C\" void {s}_t(const msl_launch* L_, uint x0, uint x1, uint y, uint z) {{\n    \
                 const msl_launch& L = *L_; (void)y; (void)z;\n{}    \
                 msl_span<false>(x0, x1, [&](uint x) {{ {r}({args}); }});\n}}\n{}{}",
                bind(e, f),
                head("s"),
                rows(&format!("if (x0 < x1) {s}_t(L_, x0, x1, y, z);"))
            )
        }
        (false, Some(_)) => {
            let args = call_args(f, |p, attribute| {
                if p.is_lane() {
                    lane_position(p, "x", "y", "z")
                } else {
                    flat_builtin(p, attribute)
                }
            });
            format!(
                "extern \"C\" void {tail}_t(const msl_launch*, uint, uint, uint, uint);\n{}    \
                 msl_rows(L, gb, ge, [&](uint x0, uint x1, uint y, uint z) {{ (void)y; (void)z; {bound}\n        \
                 uint x = x0;\n        \
                 for (; x < x1 && x1 - x >= MSL_LANES; x += MSL_LANES) {{ {r}({args}); }}\n        \
                 if (x < x1) {tail}_t(L_, x, x1, y, z);\n    }});\n}}\n",
                head("r")
            )
        }
        (true, None) => format!(
            "{}    for (ulong g = gb; g < ge; g++) {{ const msl_ctx X = msl_ctx_solo(L, g); (void)X; {r}({}); }}\n}}\n",
            head("s"),
            call_args(f, from_context)
        ),
        (true, Some(_)) => {
            let args = call_args(f, |p, attribute| match attribute {
                _ if !p.is_lane() => from_context(p, attribute),
                "thread_position_in_grid" => {
                    lane_position(p, "(ulong)X.tgpos_.x * MSL_LANES", "X.tgpos_.y", "X.tgpos_.z")
                }
                _ => "index_l(0, 1)".into(),
            });
            format!(
                "extern \"C\" void {tail}_s(const msl_launch*, unsigned char*, ulong, ulong);\n{}    \
                 for (ulong g = gb; g < ge; g++) {{\n        const msl_ctx X = msl_ctx_solo(L, g); (void)X;\n        \
                 msl_lane_refused = false;\n        {r}({args});\n        \
                 if (msl_lane_refused) {tail}_s(L_, arena, g, g + 1);\n    }}\n}}\n",
                head("r")
            )
        }
    }
}

fn fiber(e: &Entry, f: &KernelFn, s: &str) -> String {
    format!(
        "extern \"C\" void {s}_f(const msl_launch* L_, unsigned char* arena, const msl_thread* T) {{\n    \
         const msl_launch& L = *L_; (void)arena;\n{}    const msl_ctx X = msl_ctx_fiber(L, *T); (void)X;\n    {}({});\n}}\n",
        bind(e, f),
        e.reference,
        call_args(f, from_context)
    )
}

fn ptx(e: &Entry, f: &KernelFn) -> String {
    let arg = |p: &Param| format!("msl_arg<{}, decltype(&{})>", p.position, e.reference);
    let mut params = vec!["uint msl_threads".to_string()];
    for p in &f.params {
        let (a, n) = (arg(p), p.position);
        match p.kind {
            ParamKind::Buffer { .. } => params.push(format!("msl_target_t<{a}>* b{n}")),
            ParamKind::Value => params.push(format!("msl_target_t<{a}> b{n}")),
            ParamKind::Threadgroup => params.push(format!("uint b{n}")),
            ParamKind::Builtin(_) => {}
        }
    }
    params.push("msl_slice S".to_string());
    let args = f.params.iter().map(|p| {
        let (a, n) = (arg(p), p.position);
        match &p.kind {
            ParamKind::Buffer { .. } => format!("msl_pass<{a}>(b{n})"),
            ParamKind::Value => format!("b{n}"),
            ParamKind::Threadgroup => format!("msl_dynamic<{a}>(b{n})"),
            ParamKind::Builtin(attribute) => {
                format!("msl_pos<{a}>(X.{}())", context_member(attribute))
            }
        }
    });
    // As on Apple GPUs, threads beyond the grid do not exist. Barriers need whole threadgroups.
    let guard = if f.kind.barriers() {
        ""
    } else {
        "if (X.gpos().x >= msl_threads) return; "
    };
    format!(
        "extern \"C\" __attribute__((nvptx_kernel)) void {PTX_PREFIX}{}({}) {{ const msl_ctx X{{msl_threads, S}}; {guard}{}({}); }}\n",
        e.name,
        params.join(", "),
        e.reference,
        args.collect::<Vec<_>>().join(", ")
    )
}

/// Sizes are read back from the assembly text, see [`crate::probe`].
fn probe(e: &Entry, f: &KernelFn, n: usize) -> String {
    let mut out = format!(
        "extern \"C\" void msl_probe_args_{n}() {{\n    typedef decltype(&{}) F;\n",
        e.reference
    );
    for p in &f.params {
        if !matches!(p.kind, ParamKind::Builtin(_)) {
            out += &format!(
                "    {{ typedef msl_target_t<{}> T; __asm__ volatile(\"#MSL_ARG {n} {} %c0 %c1\" : : \"i\"(sizeof(T)), \
                 \"i\"(alignof(T))); }}\n",
                arg_type(p),
                p.position
            );
        }
    }
    out += "}\n";
    if f.kind.barriers() {
        out += &format!(
            "extern \"C\" void msl_probe_body_{n}(const msl_launch& L, unsigned char* arena, const msl_ctx& X) {{\n    \
             (void)L; (void)arena; (void)X;\n    __asm__ volatile(\"#MSL_BODY {n}\");\n{}    {}({});\n    __asm__ volatile(\"#MSL_END\");\n}}\n",
            bind(e, f),
            e.reference,
            call_args(f, from_context)
        );
    }
    out
}
