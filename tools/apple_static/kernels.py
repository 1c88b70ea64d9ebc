"""From the text of a unit to the numbers of its kernels: clang, LLVM's optimiser, SPIR-V, Mesa."""

import json
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import mesa, opencl

HEADER = mesa.HERE / "metal_opencl.h"
# Layout of SPIR-V's OpenCL; while LLVM optimises it is told in addition which integers a register holds, as Apple's
# compiler is, or it makes some of 4 or 128 bits.
LAYOUT = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024"
NATIVE = "-n8:16:32"
# Everything is inlined and address spaces are told apart before -O2 merges loads.
PASSES = (
    "function(sroa),cgscc(inline),function(sroa,infer-address-spaces,sroa),default<O2>,"
    "function(sroa,instcombine,simplifycfg,lowerswitch)"
)


def built_text():
    """Builds the backend's kernels and gives the folder of their texts for Apple."""
    environment = dict(os.environ, OPENVM_METAL_BUILD_PTX="0", OPENVM_METAL_BUILD_ISA="native")
    command = ["cargo", "build", "--quiet", "-p", "openvm-metal-backend", "--message-format=json-render-diagnostics"]
    root = mesa.HERE.parent.parent
    done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise mesa.Missing("the backend does not build")
    folder = None
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "build-script-executed" and "openvm-metal-backend" in message["package_id"]:
            folder = Path(message["out_dir"]) / "metal"
    if folder is None or not list(folder.glob("*/flat.metal")):
        raise mesa.Missing("the build left no flattened units")
    return folder


def compile_all(compiler, folder, only=""):
    """Numbers of every kernel of the units under `folder`, and those that failed with a message."""
    units = _units(folder)
    if not units:
        raise mesa.Missing(f"{folder} has neither */flat.metal nor other .metal files")
    found, failed = [], []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(_unit, compiler, u, Path(scratch), only) for u in units]
        for job in jobs:
            a, b = job.result()
            found += a
            failed += b
    return found, failed


def _units(folder):
    """Texts of the units: those of a build, or the files that `openvm-metal kernels --write` wrote. A build leaves those of
    kernels that are gone by now: what it made names the others."""
    made = folder.parent / "kernels.rs"
    files = sorted(folder.glob("*/flat.metal"))
    if not files:
        return sorted(folder.rglob("*.metal"))
    if not made.exists():
        return files
    current = set(re.findall(r"/metal/([^/\"]+)/flat\.metal", made.read_text()))
    return [file for file in files if file.parent.name in current]


def _unit(compiler, file, scratch, only):
    built = file.stem == "flat"
    name = file.parent.name if built else file.stem
    text = file.read_text()
    names = [k for k in opencl.kernels(text) if only in k]
    if not names:
        return [], []
    try:
        source = opencl.opencl(text, HEADER)
        spirv = _spirv(compiler, source, scratch / name)
    except (ValueError, _Failed) as e:
        return [], [(k, str(e)) for k in names]
    found, failed = [], []
    for kernel in names:
        # One process each: a kernel that Mesa cannot compile ends it.
        argument = f"{kernel}:{opencl.constant_arguments(source, kernel)}"
        done = subprocess.run([compiler.driver, spirv, argument], capture_output=True, text=True)
        if done.returncode == 0:
            numbers = json.loads(done.stdout)
            # Units of rules name their kernels alike.
            label = kernel if built else f"{name}: {kernel}"
            found.append(dict(numbers, unit=name, kernel=label))
        else:
            failed.append((kernel, (done.stderr or f"ended by signal {-done.returncode}").strip()))
    return found, failed


class _Failed(Exception):
    pass


def _spirv(compiler, source, stem):
    """SPIR-V of a unit. NVIDIA's target gives the front end one generic address space that is also the private one."""
    cl, raw, ll, bc, spirv = (stem.with_suffix(s) for s in (".cl", ".0.ll", ".ll", ".bc", ".spv"))
    cl.write_text(source)
    old = _version(compiler.clang) < 17  # these write pointers with types, and the translator expects them
    _tool(
        [compiler.clang, "-x", "cl", "-cl-std=clc++2021", "-cl-no-stdinc", "--target=nvptx64", "-Xclang", "-cl-ext=+all"]
        + ["-D__METAL__=1", "-D__METAL_MACOS__=1", "-D__METAL_VERSION__=300"]
        + ["-O2", "-Xclang", "-disable-llvm-passes", "-w", "-emit-llvm", "-S", cl, "-o", raw]
        + (["-Xclang", "-no-opaque-pointers"] if old else [])
    )
    text = raw.read_text()
    text = re.sub(r'target datalayout = ".*"', f'target datalayout = "{LAYOUT}{NATIVE}"', text)
    text = re.sub(r'target triple = ".*"', 'target triple = "spir64"', text)
    text = re.sub(r'"target-(cpu|features)"="[^"]*"', "", text)
    # Tables: the fourth address space of NVIDIA is the second of SPIR-V.
    text = text.replace("addrspace(4)", "addrspace(2)").replace(".p4i8", ".p2i8").replace(".p4.", ".p2.")
    raw.write_text(text)
    opt = [compiler.opt] + (["-opaque-pointers=0"] if old else [])
    _tool(
        opt
        + [f"-passes={PASSES}", "-assume-default-is-flat-addrspace", "-inline-threshold=100000", "-vectorize-loops=0"]
        + ["-vectorize-slp=0", "-disable-vector-combine", "-replexitval=never", "-S", raw, "-o", ll]
    )
    text = ll.read_text().replace(LAYOUT + NATIVE, LAYOUT)
    # The translator knows no `freeze`; loops that are not to be unrolled are longer than what Mesa unrolls.
    text = re.sub(r"= freeze (\S+) (\S+)", r"= bitcast \1 \2 to \1", text)
    text = re.sub(r", !llvm.loop !\d+", "", text)
    ll.write_text(text)
    _tool(opt + ["-passes=verify", ll, "-o", bc])
    _tool([compiler.translator, bc, "-o", spirv])
    return spirv


def _version(program):
    return int(re.search(r"-(\d+)$", str(program)).group(1))


def _tool(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise _Failed(f"{Path(str(command[0])).name}: " + "\n".join(lines[:6]))
