"""From a kernel to a function on NumPy arrays: map, write C, compile.

In: a kernel, a machine with `emit: c`. Out: files and a callable. Not its job: mapping (`compile`),
C text (`codegen`).
"""

import ctypes
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from isamap.codegen import CSource, find_toolchain, generate_c
from isamap.compile import cost_model
from isamap.costmodels import CostModel
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.scheduler import Wishes

from .built import BuiltKernel, CFiles
from .mapped import Mapped, map_program


def build(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    out: str | PathLike[str] | None = None,
    layouts: str = "natural",
    time_limit_s: float = 10.0,
    may_reassociate: bool = False,
    cost: str | CostModel = "analytical",
    ahead: Sequence[str] = (),
    threads: int = 1,
) -> BuiltKernel:
    """Map a kernel and compile its C for this processor; options as for `map`.

    Args:
        ahead: inputs that stay the same over many calls, such as weights: the program takes them
            in the order of its use, and `BuiltKernel.prepare` packs them, once.
        threads: how many share the work, as the schedule splits it; the numbers stay the same.
        out: folder for the C file, header, depfile and library; a temporary one if left out.

    Raises:
        IsamapError: the machine's programs run elsewhere, or there is no compiler.
    """
    wishes = Wishes(cost_model(cost), layouts, time_limit_s, may_reassociate=may_reassociate)
    mapped = map_program(kernel, hw, wishes, sizes=sizes, name=name, ahead=ahead, threads=threads)
    source = generate_c(mapped.program, mapped.hardware, mapped.given)
    toolchain = find_toolchain(mapped.hardware)
    if toolchain.run:
        raise IsamapError(
            f"programs for {mapped.hardware.name} run under {toolchain.run[0]}, not here",
            hint="use run_on, or 'isamap run-on'",
        )
    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="isamap-build-"))
    files = _write_files(folder, source, mapped, kernel)
    toolchain.compile_shared(files.source, files.library, source.flags)
    library = _load(files.library)
    for name in (source.name, *source.packers.values()):
        library[name].restype = None
    packers = {parameter: library[name] for parameter, name in source.packers.items()}
    return BuiltKernel(mapped, source, files, library[source.name], packers)


def _write_files(
    folder: Path, source: CSource, mapped: Mapped, kernel: str | PathLike[str] | Kernel
) -> CFiles:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / source.name
        library = stem.parent / f"lib{source.name}.so"
        files = CFiles(stem.with_suffix(".c"), stem.with_suffix(".h"), library,
                       stem.with_suffix(".d"))  # fmt: skip
        files.source.write_text(source.text)
        files.header.write_text(source.header)
        origins = [*mapped.hardware.files, *([] if isinstance(kernel, Kernel) else [str(kernel)])]
        made_of = " ".join(_escaped(path) for path in origins if Path(path).is_file())
        files.depfile.write_text(f"{_escaped(str(files.library))}: {made_of}\n")
    except OSError as error:
        raise IsamapError(f"cannot write {error.filename}: {error.strerror}") from error
    return files


def _load(library: Path) -> ctypes.CDLL:
    """The library from a copy of its own, which needs no name once it is loaded: the loader opens
    no path twice, and what is built there next would change code under those who still call it."""
    with tempfile.NamedTemporaryFile(dir=library.parent, suffix=".so") as private:
        private.write(library.read_bytes())
        private.flush()
        return ctypes.CDLL(private.name)


def _escaped(path: str) -> str:
    return path.replace(" ", "\\ ")
