"""Mesa's compiler for Apple GPUs, built once from Debian's source package into the user's cache folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Debian 13's package. Another version needs another look at `_patch` and driver.c.
VERSION = "25.0.7-2+deb13u1"
SUITE = "trixie"
PYTHON_PACKAGES = ["meson>=1.4", "ninja", "mako", "pyyaml", "packaging", "setuptools"]
# Nothing but the compiler: no drivers, no window systems, no LLVM.
DISABLED = (
    "glx egl gbm gles1 gles2 llvm zstd zlib shader-cache xmlconfig valgrind libunwind lmsensors shared-glapi glvnd"
).split()
OPTIONS = [
    "--buildtype=release",
    "-Doptimization=1",
    "-Db_ndebug=true",
    "-Dgallium-drivers=",
    "-Dvulkan-drivers=",
    "-Dplatforms=",
    "-Dopengl=false",
    "-Dvideo-codecs=",
    "-Dbuild-tests=false",
    "-Dtools=asahi",
] + [f"-D{name}=disabled" for name in DISABLED]
TARGET = "src/asahi/compiler/apple-static-driver"


class Missing(Exception):
    """Something that the user has to install, or a step that failed."""


class Compiler:
    """Paths of the programs that a kernel goes through."""

    def __init__(self, clang, opt, translator, driver):
        self.clang, self.opt, self.translator, self.driver = clang, opt, translator, driver


def cache():
    """The folder of everything that is kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "openvm-metal" / "apple-static"


def compiler():
    """All programs; builds what is not there."""
    clang, opt, translator = _llvm()
    return Compiler(clang, opt, translator, _driver())


def _llvm():
    """clang, opt and the SPIR-V translator of one version of LLVM."""
    for version in range(19, 14, -1):
        programs = [shutil.which(f"{name}-{version}") for name in ("clang", "opt", "llvm-spirv")]
        if all(programs):
            return programs
    raise Missing(
        "clang, opt and llvm-spirv of one version are needed. Debian 12: apt-get install clang-15 llvm-15 llvm-spirv-15; "
        "Debian 13: clang-19 llvm-19 llvm-spirv-19"
    )


def _driver():
    folder = cache() / f"mesa-{VERSION}"
    built = folder / "build" / TARGET
    source = folder / "source"
    if not (source / "meson.build").exists():
        _fetch(folder, source)
    changed = _copy(HERE / "driver.c", source / "src/asahi/compiler/apple_static_driver.c")
    if built.exists() and not changed:
        return built
    bin_folder = _tools(folder)
    environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}")
    if not (folder / "build/build.ninja").exists():
        _run([bin_folder / "meson", "setup", folder / "build", source, *OPTIONS], environment)
    _run(["nice", bin_folder / "ninja", "-C", folder / "build", TARGET], environment)
    return built


def _fetch(folder, source):
    """Source package to `source`, without a change to the system's package lists."""
    if not shutil.which("apt-get"):
        raise Missing("apt-get is needed to fetch Mesa's source package (Debian or Ubuntu)")
    print(f"fetching the source package mesa {VERSION}", file=sys.stderr)
    shutil.rmtree(source, ignore_errors=True)
    download = folder / "download"
    for name in ("lists/partial", "cache/archives/partial"):
        (download / name).mkdir(parents=True, exist_ok=True)
    sources = download / "sources.list"
    sources.write_text(f"deb-src http://deb.debian.org/debian {SUITE} main\n")
    apt = ["apt-get", "-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=-"]
    apt += ["-o", f"Dir::State::lists={download / 'lists'}", "-o", f"Dir::Cache={download / 'cache'}"]
    apt += ["-o", "APT::Sandbox::User=root"]
    _run([*apt, "update"])
    _run([*apt, "source", "--download-only", f"mesa={VERSION}"], cwd=download)
    archives = list(download.glob("mesa_*.orig.tar.xz"))
    if not archives:
        raise Missing(f"the source package mesa {VERSION} was not found in {SUITE}")
    unpacked = folder / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir(parents=True)
    _run(["tar", "xf", archives[0], "-C", unpacked, "--strip-components=1"])
    _patch(unpacked)
    unpacked.rename(source)


def _patch(source):
    """Leaves the compiler alone with our program, and lets that replace the estimate of cycles."""
    (source / "src/asahi/meson.build").write_text("subdir('compiler')\n")
    folder = source / "src/asahi/compiler"
    build = folder / "meson.build"
    text = build.read_text()
    # The lowering of textures needs kernels of Mesa's driver; ours have no textures.
    for old, new in [("  'agx_nir_lower_texture.c',\n", ""), (", idep_libagx]", "]")]:
        if old not in text:
            raise Missing(f"{build} is not as expected: another version of Mesa?")
        text = text.replace(old, new)
    build.write_text(text + (HERE / "driver.meson").read_text())
    estimate = folder / "agx_performance.c"
    text = estimate.read_text()
    name = "\nagx_estimate_cycles(agx_context"
    if name not in text:
        raise Missing(f"{estimate} is not as expected: another version of Mesa?")
    estimate.write_text(text.replace(name, name.replace("\n", "\n__attribute__((weak)) ")))


def _tools(folder):
    """meson, ninja and their Python modules, in an environment of their own."""
    for name in ("bison", "flex", "pkg-config", "cc"):
        if not shutil.which(name):
            raise Missing("Mesa needs more to be built: apt-get install bison flex pkg-config gcc g++")
    programs = folder / "python" / "bin"
    if not (programs / "ninja").exists():
        _run([sys.executable, "-m", "venv", folder / "python"])
        _run([programs / "pip", "install", "--quiet", *PYTHON_PACKAGES])
    return programs


def _copy(source, target):
    text = source.read_bytes()
    if target.exists() and target.read_bytes() == text:
        return False
    target.write_bytes(text)
    return True


def _run(command, environment=None, cwd=None):
    command = [str(c) for c in command]
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise Missing(f"{' '.join(command[:4])} failed:\n{tail}")
