"""A kernel's flattened text as LLVM IR in the form that Apple's compiler gives it (AIR), then as SPIR-V by metal2vulkan."""

import os
import re
import subprocess

from apple_static import mesa, opencl

HEADER = mesa.HERE / "metal_opencl.h"
# Threads of a SIMD-group: Apple's have 32, the driver's at most 16.
LANES = 16
TRIPLE = "air64-apple-macosx14.0.0"
LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64"
    "-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
)
PASSES = (
    "internalize,globaldce,function(sroa),cgscc(inline),function(sroa,infer-address-spaces,sroa),default<O2>,"
    "function(sroa,instcombine,simplifycfg,lowerswitch,fix-irreducible,unify-loop-exits,structurizecfg,simplifycfg),globaldce"
)
POINTER = re.compile(
    r"(?:%[\w.]+|%\"[^\"]+\"|i\d+|<\d+ x i\d+>|\[\d+ x (?:[^\[\]]|\[[^\[\]]*\])*\])(?: addrspace\((\d)\))?\*"
)
# What the front end calls, and Apple's names. The barrier's and the SIMD-group functions' arguments differ too.
NAMES = {
    "_Z6mul_hijj": "air.mul_hi.u.i32",
    "_Z18__spirv_BitReversej": "air.reverse_bits.i32",
    "llvm.umin.i32": "air.min.u.i32",
    "llvm.umax.i32": "air.max.u.i32",
    "llvm.umin.i64": "air.min.u.i64",
    "llvm.umax.i64": "air.max.u.i64",
    "llvm.ctlz.i32": "air.clz.i32",
}


STEPS = ("AIR", "translated", "valid")


def names(file):
    """Names of the kernels of a unit."""
    return opencl.kernels(opencl._without_comments(file.read_text()))


class Stopped(Exception):
    """A kernel that a step of the way does not carry: the step and why."""

    def __init__(self, step, why):
        super().__init__(f"{step}: {why}")
        self.step = step


class Unit:
    """One unit's text, compiled once."""

    def __init__(self, file, scratch, programs):
        self.clang, self.opt, self.translator = programs
        self.text = opencl._without_comments(file.read_text())
        self.stem = scratch / (file.parent.name if file.stem == "flat" else file.stem)
        source = self.stem.with_suffix(".cl")
        source.write_text(opencl.opencl(self.text, HEADER, _parameters))
        self.raw = self.stem.with_suffix(".raw.ll")
        _tool(
            "AIR",
            [
                self.clang,
                "-x",
                "cl",
                "-cl-std=clc++2021",
                "-cl-no-stdinc",
                "--target=nvptx64",
                "-Xclang",
                "-cl-ext=+all",
            ]
            + ["-D__METAL__=1", "-D__METAL_MACOS__=1", "-D__METAL_VERSION__=300", "-fno-discard-value-names"]
            + [
                "-O2",
                "-Xclang",
                "-disable-llvm-passes",
                "-Xclang",
                "-no-opaque-pointers",
                "-w",
                "-emit-llvm",
                "-S",
                source,
                "-o",
                self.raw,
            ],
        )
        ir = self.raw.read_text()
        ir = re.sub(r'target datalayout = ".*"', f'target datalayout = "{LAYOUT}"', ir)
        ir = re.sub(r'target triple = ".*"', 'target triple = "spir64"', ir)
        ir = re.sub(r'"target-(cpu|features)"="[^"]*"', "", ir)
        # Tables: NVIDIA's fourth address space is Apple's second.
        self.raw.write_text(ir.replace("addrspace(4)", "addrspace(2)").replace(".p4i8", ".p2i8"))

    def spirv(self, kernel, threads, shared=1024):
        """SPIR-V of a kernel for threadgroups of `threads`, with `shared` words of threadgroup memory by argument."""
        optimised = self.stem.with_name(f"{kernel}.opt.ll")
        _tool(
            "AIR",
            [
                self.opt,
                f"-passes={PASSES}",
                f"-internalize-public-api-list={kernel}",
                "-assume-default-is-flat-addrspace",
                "-opaque-pointers=0",
            ]
            + ["-inline-threshold=100000", "-vectorize-loops=0", "-vectorize-slp=0", "-disable-vector-combine"]
            + ["-replexitval=never", "-disable-loop-idiom-all", "-S", self.raw, "-o", optimised],
        )
        ir = self.stem.with_name(f"{kernel}.{threads}.ll")
        ir.write_text(_air(optimised.read_text(), kernel, self.arguments(kernel), threads, shared))
        out, note = ir.with_suffix(".spv"), ""
        environment = dict(os.environ, METAL2VULKAN_REPRO_DIR=str(self.stem.parent / "repro"))
        command = [self.translator, ir, out, "--stage", "kernel"]
        try:
            _tool("translated", command, environment)
        except Stopped as e:
            if "cannot reinterpret load" not in str(e):
                raise
            # It knows no vector that is loaded from an array of structs of one word.
            _tool(
                "AIR",
                [
                    self.opt,
                    "-passes=scalarizer,instcombine",
                    "-scalarize-load-store",
                    "-opaque-pointers=0",
                    "-S",
                    optimised,
                    "-o",
                    optimised,
                ],
            )
            ir.write_text(_air(optimised.read_text(), kernel, self.arguments(kernel), threads, shared))
            _tool("translated", command, environment)
            note = "vectors loaded word by word"
        return _with_threads(out, threads), note

    def arguments(self, kernel):
        """Type, name, attribute and index of each argument."""
        return list(opencl.attributes(_declaration(self.text, kernel)))


def _tool(step, command, environment=None):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line and "WARNING" not in line and "repro" not in line]
        raise Stopped("valid" if "spirv-val" in done.stderr else step, " / ".join(lines[:3]))


def _parameters(text):
    """All parameters stay parameters: AIR tells by metadata what they are."""
    kept, first = [], []
    for kind, name, _, _ in opencl.attributes(text):
        if kind.endswith("&"):
            kept.append(f"{kind[:-1].strip()}* {name}__at")
            first.append(f"{kind} {name} = *{name}__at;")
        else:
            kept.append(f"{kind} {name}")
    return kept, first


def _declaration(text, kernel):
    start = re.search(rf"\bkernel\s+void\s+{kernel}\s*\(", text).end()
    return text[start : opencl._matching(text, start - 1)]


def _air(ir, kernel, arguments, threads, shared):
    ir = re.sub(r"(, )?!(tbaa|llvm\.loop|srcloc|range|noundef)(\.struct)? !\d+", "", ir)
    ir = re.sub(r"^(!.*|attributes .*|; .*|source_filename.*)\n", "", ir, flags=re.M)
    ir = re.sub(POINTER, lambda m: f"ptr addrspace({m.group(1)})" if m.group(1) else "ptr", ir).replace(".p0i8", ".p0")
    head = re.search(rf"^define .*@{kernel}\(.*$", ir, flags=re.M)
    types = re.findall(r"(ptr addrspace\(\d\)|i\d+|<\d x i\d+>) [^,%]*%([\w.]+)", head.group())
    if len(types) != len(arguments):
        raise Stopped("AIR", "the front end changed the parameters")
    body = ir[head.end() :]
    body = body[: body.index("\n}\n") + 3]
    before, after = ir[: head.start()], ir[head.end() + len(body) :]
    kept, nodes = [], []
    for (kind, name), (c_type, shown, attribute, index) in zip(types, arguments):
        if attribute == "threads_per_threadgroup":
            # Its value is a constant of the pipeline; metal2vulkan's is always 64.
            value = f"<i32 {threads}, i32 1>" if kind.startswith("<") else str(threads)
            body = re.sub(rf"%{re.escape(name)}\b(?![\w.])", value, body)
        elif attribute == "threads_per_simdgroup":
            # The same: always 32 there.
            body = re.sub(rf"%{re.escape(name)}\b(?![\w.])", str(LANES), body)
        elif attribute == "threadgroup":
            # Its length is the launch's; in Vulkan it is the module's.
            before += f"@{kernel}.shared = internal addrspace(3) global [{shared} x i32] undef, align 16\n"
            body = re.sub(rf"%{re.escape(name)}\b(?![\w.])", f"@{kernel}.shared", body)
            continue
        elif c_type.startswith("constant"):
            body, kind = _constant(body, name), "ptr addrspace(2)"
        node = f"i32 {len(kept)}, "
        kept.append(f"{kind} %{name}")
        if attribute == "buffer":
            pure = "constant" in c_type or "const " in c_type
            node += f'!"air.buffer", !"air.location_index", i32 {index}, i32 1, !"{"air.read" if pure else "air.read_write"}", '
            node += f'!"air.address_space", i32 {kind[-2]}, !"air.arg_type_name", !"{_named(c_type)}", '
        else:
            node += f'!"air.{attribute}", !"air.arg_type_name", !"{_named(c_type)}", '
        nodes.append(f'!{len(nodes) + 3} = !{{{node}!"air.arg_name", !"{shown}"}}')
    body = re.sub(r"\b(noundef|nocapture|nonnull|zeroext|range\([^)]*\)) ", "", body)
    body = _indices(_calls(body))
    body = re.sub(r"\b(zext|uitofp) nneg\b", r"\1", body).replace("or disjoint", "or")
    body = re.sub(r"\btrunc( nuw)?( nsw)?\b", "trunc", body)
    body = re.sub(r" #\d+\b", "", body)
    declared = sorted(set(re.findall(r"call (\S+) @(air\.[\w.]+)\((.*?)\)\n", body)))
    declarations = {
        n: f"declare {r} @{n}({', '.join(a.rsplit(' ', 1)[0] for a in args.split(', '))})" for r, n, args in declared
    }
    after = "\n".join(
        line
        for line in after.splitlines()
        if line.startswith("declare") and "@llvm." in line and re.search(r"@llvm[\w.]+", line).group() in body
    )
    after = re.sub(r" #\d+\b", "", after)
    listed = ", ".join(f"!{i + 3}" for i in range(len(nodes)))
    before = before.replace('"spir64"', f'"{TRIPLE}"')
    return (
        f"{before}define void @{kernel}({', '.join(kept)}) {{{body[body.index(chr(10)) :]}\n"
        + "\n".join(declarations.values())
        + f"\n{after}\n"
        f"!air.kernel = !{{!0}}\n!0 = !{{ptr @{kernel}, !1, !2}}\n!1 = !{{}}\n!2 = !{{{listed}}}\n"
        + "\n".join(nodes)
        + "\n"
    )


def _named(c_type):
    """The name that Apple gives to the type of an argument: of its element, where it is a pointer."""
    return re.sub(r"\b(device|constant|const|threadgroup)\b|[*&]", "", c_type).strip()


def _constant(body, name):
    """`constant` arguments and what is derived from them in Apple's address space 2."""
    derived, grown = {name}, True
    while grown:
        grown = False
        for m in re.finditer(r"^\s+%([\w.]+) = (?:getelementptr|phi|select|bitcast)\b(.*)$", body, flags=re.M):
            if m.group(1) not in derived and any(
                d in derived for d in re.findall(r"ptr addrspace\(1\) %([\w.]+)", m.group(2))
            ):
                derived.add(m.group(1))
                grown = True
    return re.sub(
        r"ptr addrspace\(1\) %([\w.]+)",
        lambda m: m.group() if m.group(1) not in derived else f"ptr addrspace(2) %{m.group(1)}",
        body,
    )


def _indices(body):
    """Pointers that advance in a loop as a pointer from before it and an index: metal2vulkan takes some of them for pointers to
    nothing, without a word."""
    found = re.finditer(
        r"^  %(?P<name>[\w.]+) = phi (?P<type>ptr(?: addrspace\(\d\))?) \[ (?P<a>\S+), %(?P<from_a>[\w.]+) \], \[ (?P<b>\S+), %(?P<from_b>[\w.]+) \]\n",
        body,
        flags=re.M,
    )
    for m in list(found):
        for before, block, step, back in [
            (*m.group("a", "from_a"), *m.group("b", "from_b")),
            (*m.group("b", "from_b"), *m.group("a", "from_a")),
        ]:
            name, kind = m.group("name"), m.group("type")
            form = rf"^  {re.escape(step)} = getelementptr (?:inbounds )?(\S+), {re.escape(kind)} %{re.escape(name)}, i64 (\S+)\n"
            advance = re.search(form, body, flags=re.M)
            if not advance:
                continue
            element, by = advance.groups()
            body = body.replace(
                advance.group(),
                f"  {step}.at = add i64 %{name}.at, {by}\n  {step} = getelementptr {element}, {kind} {before}, i64 {step}.at\n",
            )
            body = body.replace(m.group(), f"  %{name}.at = phi i64 [ 0, %{block} ], [ {step}.at, %{back} ]\n")
            first = re.compile(rf"(%{re.escape(name)}\.at = phi .*\n(?:  %[\w.]+ = phi .*\n)*)")
            body = first.sub(
                lambda f: f"{f.group(1)}  %{name} = getelementptr {element}, {kind} {before}, i64 %{name}.at\n",
                body,
                count=1,
            )
            break
    return body


def _calls(body):
    count = 0

    def barrier(m):
        # OpenCL's flags are the two lowest bits, the other way round.
        flags = int(m.group(1))
        return f"@air.wg.barrier(i32 {(flags & 1) * 2 | (flags & 2) // 2}, i32 1)"

    def shuffle(m):
        nonlocal count
        count += 1
        name = "simd_shuffle_xor" if m.group(2) == "Xor" else "simd_shuffle"
        narrow = f"  %air.lane.{count} = trunc i32 {m.group(4)} to i16\n"
        return f"{narrow}{m.group(1)}@air.{name}.u.i32(i32 {m.group(3)}, i16 %air.lane.{count})"

    body = re.sub(r"@_Z7barrierj\(i32 (\d+)\)", barrier, body)
    body = re.sub(
        r"^(.*)@_Z\d+__spirv_GroupNonUniformShuffle(Xor)?jjj\(i32 3, i32 (\S+), i32 (\S+)\)", shuffle, body, flags=re.M
    )
    body = re.sub(r"@_Z\d+__spirv_GroupNonUniformAnyjb\(i32 3, i1 (\S+)\)", r"@air.simd_any(i1 \1)", body)
    body = re.sub(
        r"@_Z10atomic_minPU3AS1Vjj\(ptr addrspace\(1\) (\S+), i32 (\S+)\)",
        r"@air.atomic.global.min.u.i32(ptr addrspace(1) \1, i32 \2, i32 0, i32 2, i1 true)",
        body,
    )
    body = re.sub(r"\btail call (spir_func )?|\bcall (spir_func )?", "call ", body)
    for old, new in NAMES.items():
        body = body.replace(f"@{old}(", f"@{new}(")
    return body


def _with_threads(file, threads):
    """metal2vulkan makes threadgroups of 64: the number in the module's execution mode becomes the launch's."""
    data = bytearray(file.read_bytes())
    at = 20
    while at < len(data):
        word = int.from_bytes(data[at : at + 4], "little")
        if word & 0xFFFF == 16 and int.from_bytes(data[at + 8 : at + 12], "little") == 17:
            data[at + 12 : at + 16] = threads.to_bytes(4, "little")
        at += 4 * (word >> 16)
    return bytes(data)
