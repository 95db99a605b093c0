"""The C compiler that a machine names, and the emulator that runs its programs.

In: a compiler rule. Out: compiled files, functions in this process, or which packages are missing.
Not its job: C text.
"""

import ctypes
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from isamap.c_compiler import (
    expect_made,
    find_compiler,
    run_compiler,
    wanted_compiler,
)
from isamap.errors import IsamapError
from isamap.hwdesc import CompilerRule, Hardware

from .read_ahead import give_up, read_ahead

OPTIMISED = "-O2"
# floats round after every operation; registers of one memory may hold several types in turn
FLAGS = ("-std=gnu11", "-ffp-contract=off", "-fno-strict-aliasing", "-fopenmp-simd")
# GCC 12 takes a vector to be what an iteration before stored, though it overlaps what another one
# stored since ('y[p + u] += ..' over blocks of u); clang has no such pass. Where one loop of a
# function packs a panel and another reads it, -fgcse has GCC 12 load vectors anew for each use
# though registers are free (3 rows by 3 vectors of dot products: 9 loads in place of 3). To know
# single bits of values changes nothing in what is made (eight programs: the same assembly), and
# takes GCC 12 a fifth of its time
GCC_FLAGS = ("-fno-predictive-commoning", "-fno-gcse", "-fno-tree-bit-ccp")
LIBRARIES = ("-lm",)  # for what is linked: with one, a header alone would be linked too
COMPILE_SECONDS = 120
MUST_EXECUTE = "the folder for temporary files must allow execution: TMPDIR names another one"
OPENMP_LIBRARY = "-lomp"  # clang's, a package of its own, which linkers name so when it is missing
NO_OPENMP = "threads need clang's OpenMP: apt-get install libomp-dev; or use gcc: CC=gcc"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler with its flags, and the command before an executable (none: it runs here).

    `headers`: what every C file for the machine includes. `words`: what follows the compiler's name
    before any flag, as in CC="ccache gcc" or CC="gcc -g".
    """

    compiler: str
    flags: tuple[str, ...]
    run: tuple[str, ...]
    headers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def all_flags(self) -> tuple[str, ...]:
        """What every file is compiled with."""
        own = () if "clang" in self.version() else GCC_FLAGS
        return (*self.words, OPTIMISED, *FLAGS, *own, *self.flags)

    def version(self) -> str:
        """The compiler's own words, one line."""
        return _version((self.compiler, *self.words))

    def compile_shared(self, source: Path, target: Path, extra: tuple[str, ...] = ()) -> None:
        """A shared library from one C file."""
        self._compile((*extra, "-shared", "-fPIC"), (source,), target, LIBRARIES)

    def compile_program(
        self, sources: tuple[Path, ...], target: Path, extra: tuple[str, ...] = ()
    ) -> None:
        """An executable from C files."""
        self._compile(extra, sources, target, LIBRARIES)

    def execute(self, program: Path, arguments: tuple[str, ...], timeout_s: float) -> str:
        """Run an executable; what it printed.

        Raises:
            IsamapError: it failed or took longer.
        """
        command = [*self.run, str(program), *arguments]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise IsamapError(f"{' '.join(command)} ran longer than {timeout_s:g} s") from None
        except OSError as error:
            message = f"cannot run what was compiled: {error.strerror}"
            raise IsamapError(message, hint=MUST_EXECUTE) from error
        if done.returncode:
            raise IsamapError(
                f"{' '.join(command)} ended with status {done.returncode}: {done.stderr[:600]}"
            )
        return done.stdout

    def _compile(
        self,
        extra: tuple[str, ...],
        sources: tuple[Path, ...],
        target: Path,
        libraries: tuple[str, ...] = (),
    ) -> None:
        command = [self.compiler, *self.all_flags, *extra]
        rest = ["-o", str(target), *map(str, sources), *libraries]
        ahead = read_ahead(command, self.version(), self.headers, len(sources))
        done = run_compiler([*command, *ahead, *rest], COMPILE_SECONDS)
        if done.returncode and ahead:
            done = run_compiler([*command, *rest], COMPILE_SECONDS)
            if not done.returncode:
                give_up(ahead)
        hint = NO_OPENMP if OPENMP_LIBRARY in done.stderr else ""
        expect_made(done, self.compiler, target, 1500, hint)


def load_functions(library: Path, names: Iterable[str]) -> dict[str, Callable[..., None]]:
    """Functions of these names, which return nothing, of a shared library.

    Raises:
        IsamapError: it cannot be loaded, or lacks one.
    """
    try:
        loaded = ctypes.CDLL(str(library))
        functions = {name: loaded[name] for name in names}
    except (OSError, AttributeError) as error:
        raise IsamapError(f"cannot load what was compiled: {error}", hint=MUST_EXECUTE) from error
    for function in functions.values():
        function.restype = None
    return dict(functions)


def find_toolchain(hw: Hardware) -> Toolchain:
    """Compiler and emulator of a machine.

    Raises:
        IsamapError: one is not installed; the hint names the packages.
    """
    rule = hw.compiler or CompilerRule()
    command = find_compiler(rule.command)
    if not command:
        wanted = rule.command or wanted_compiler()
        what = f"'{wanted}', which compiles for {hw.name}," if wanted else "a C compiler"
        raise _missing(f"{what} is not", rule)
    if rule.run and shutil.which(rule.run[0]) is None:
        raise _missing(f"'{rule.run[0]}', which runs programs for {hw.name}, is not", rule)
    return Toolchain(command[0], rule.flags, rule.run, rule.headers, command[1:])


def missing_features(rule: CompilerRule) -> tuple[str, ...]:
    """Features that the rule needs and this processor lacks; all, where that cannot be told."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8", errors="replace") if info.exists() else ""
    rows = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    names = next((v.split() for k, v in rows if k.strip() in ("flags", "Features")), [])
    if not names:
        return (*rule.features, f"(features of this {platform.machine()} are not known)")
    return tuple(feature for feature in rule.features if feature not in names)


@cache
def _version(command: tuple[str, ...]) -> str:
    done = run_compiler([*command, "--version"], COMPILE_SECONDS)
    return next(iter(done.stdout.splitlines()), "") or " ".join(command)


def _missing(what: str, rule: CompilerRule) -> IsamapError:
    packages = " ".join(rule.packages) or "gcc"
    return IsamapError(f"{what} installed", hint=f"apt-get install {packages}")
