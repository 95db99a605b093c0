"""From a kernel to a function on NumPy arrays: map, write C, compile.

In: a kernel, a machine with `emit: c`. Out: files and a callable. Not its job: mapping (`compile`),
C text (`codegen`).
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from multiprocessing.util import Finalize
from os import PathLike
from pathlib import Path

from isamap.codegen import CSource, Toolchain, find_toolchain, generate_c, load_functions
from isamap.compile import cost_model
from isamap.costmodels import CostModel
from isamap.errors import IsamapError, expect_folder
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.scheduler import Wishes
from isamap.verify import Check
from isamap.work_folder import work_folder
from isamap.write_all import check_folder, make_folder, write_all

from .built import BuiltKernel, CFiles
from .mapped import map_program
from .verify_built import WrongError, verify_built

Functions = Mapping[str, Callable[..., None]]  # by name in C


def build(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    out: str | PathLike[str] | None = None,
    layouts: str = "natural",
    time_limit_s: float = 10.0,
    effort: float | None = None,
    may_reassociate: bool = False,
    cost: str | CostModel = "analytical",
    ahead: Sequence[str] = (),
    threads: int = 1,
    verify: Check | str = Check.QUICK,
) -> BuiltKernel:
    """Map a kernel, compile its C for this processor and check what it computes; options as for
    `map`.

    Args:
        ahead: inputs that stay the same over many calls, such as weights: the program takes them
            in the order of its use, and `BuiltKernel.prepare` packs them, once.
        threads: how many share the work, as the schedule splits it; integers, and floats without
            `may_reassociate`, stay the same, for any number of threads.
        out: folder for the C file, header, depfile and library; if left out, one that is made
            when `BuiltKernel.files` is asked for, and goes with this process.
        verify: how much of what the function computes on random inputs is compared: quick, at the
            real sizes what can be computed again in a few tenths of a second.

    Raises:
        WrongError: the function computes something else; no file is written then.
        IsamapError: the machine's programs run elsewhere, or there is no compiler.
    """
    check = Check(verify)
    folder = None if out is None else expect_folder("out", out)
    if folder is not None:
        check_folder(folder)
    wishes = Wishes(cost_model(cost), layouts, time_limit_s, may_reassociate=may_reassociate)
    mapped = map_program(
        kernel, hw, wishes.within(effort),
        sizes=sizes, name=name, ahead=ahead, threads=threads,
    )  # fmt: skip
    source = generate_c(mapped.program, mapped.hardware, mapped.given)
    toolchain = find_toolchain(mapped.hardware)
    if toolchain.run:
        raise IsamapError(
            f"programs for {mapped.hardware.name} run under {toolchain.run[0]}, not here",
            hint="use run_on, or 'isamap run-on'",
        )
    functions, code = _compile(source, toolchain)
    packers = {parameter: functions[name] for parameter, name in source.packers.items()}
    origins = [*mapped.hardware.files, *([str(mapped.file.path)] if mapped.file else [])]
    write = cache(partial(_write_files, folder, source, code, origins))
    built = BuiltKernel(mapped, source, write, functions[source.name], packers)
    found = verify_built(built, check)
    if found.is_wrong:
        raise WrongError(mapped.kernel.name, found)
    if folder is not None:
        write()
    return replace(built, verification=found)


def _temporary_folder() -> Path:
    """A folder that goes when this process ends, not when one does that it forked off."""
    folder = tempfile.mkdtemp(prefix="isamap-build-")
    Finalize(None, shutil.rmtree, (folder,), {"ignore_errors": True}, exitpriority=0)
    return Path(folder)


def _compile(source: CSource, toolchain: Toolchain) -> tuple[Functions, bytes]:
    """The library's functions, loaded from a file of its own that is gone by then, and its bytes:
    the loader opens no path twice, and what is built next would change code under those who still
    call it."""
    with work_folder() as place:
        text, compiled = Path(place, f"{source.name}.c"), Path(place, f"lib{source.name}.so")
        text.write_text(source.text)
        text.with_suffix(".h").write_text(source.header)
        toolchain.compile_shared(text, compiled, source.flags)
        functions = load_functions(compiled, (source.name, *source.packers.values()))
        return functions, compiled.read_bytes()


def _write_files(
    folder: Path | None, source: CSource, code: bytes, origins: Sequence[str]
) -> CFiles:
    made_of = " ".join(_escaped(path) for path in origins if Path(path).is_file())
    folder = folder or _temporary_folder()
    stem, library = folder / source.name, folder / f"lib{source.name}.so"
    files = CFiles(stem.with_suffix(".c"), stem.with_suffix(".h"), library, stem.with_suffix(".d"))
    make_folder(folder)
    write_all(
        {
            files.source: source.text,
            files.header: source.header,
            files.library: code,
            files.depfile: f"{_escaped(str(library))}: {made_of}\n",
        }
    )
    return files


def _escaped(path: str) -> str:
    """As make reads it: `$` begins a variable, `#` a comment, a blank ends a name."""
    return re.sub(r"([ #])", r"\\\1", path.replace("$", "$$"))
