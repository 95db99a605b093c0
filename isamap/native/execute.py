"""Compile programs and run them in a process of their own, on arrays.

In: Programs of one machine, arrays by buffer name. Out: outputs. Not its job: mapping, what is
right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from isamap.codegen import CSource, Parameter, find_toolchain, generate_c, generate_main
from isamap.hwdesc import Hardware
from isamap.ir import numpy_dtype
from isamap.program import Program, unpack
from isamap.work_folder import work_folder

from .binding import bind

RUN_SECONDS = 120.0

Arrays = Mapping[str, np.ndarray]


def execute_c(
    program: Program, hw: Hardware, arrays: Arrays, flags: tuple[str, ...] = ()
) -> dict[str, np.ndarray]:
    """Outputs of a program, by buffer, compiled from its C and run on the machine (or under the
    emulator that the machine's file names). `flags`: further ones for the compiler.

    Raises:
        IsamapError: compiler or emulator is not installed (the hint names packages), or failed.
    """
    return execute_together(((program, arrays),), hw, flags)[0]


def execute_together(
    runs: Sequence[tuple[Program, Arrays]], hw: Hardware, flags: tuple[str, ...] = ()
) -> list[dict[str, np.ndarray]]:
    """Outputs of every program on its arrays, one after the other in one process: compilers and
    emulators start once for all of them.

    Args:
        flags: further ones for the compiler.

    Raises:
        IsamapError: as for `execute_c`.
    """
    sources = [
        generate_c(replace(program, name=f"{program.name}_{number}"), hw, frozenset(arrays))
        for number, (program, arrays) in enumerate(runs)
    ]
    toolchain = find_toolchain(hw)
    with work_folder() as name:
        folder = Path(name)
        files = [folder / f"{source.name}.c" for source in sources] + [folder / "main.c"]
        texts = [source.text for source in sources] + [generate_main(sources)]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        for source in sources:
            (folder / f"{source.name}.h").write_text(source.header)
        threaded = dict.fromkeys(flag for source in sources for flag in source.flags)
        linked = ("-static",) if toolchain.run else ()
        toolchain.compile_program(tuple(files), folder / "program", (*linked, *threaded, *flags))
        given = [_given(source, held) for source, (_, held) in zip(sources, runs, strict=True)]
        (folder / "input").write_bytes(b"".join(given))
        ends = (str(folder / "input"), str(folder / "output"))
        toolchain.execute(folder / "program", ends, RUN_SECONDS)
        data = np.frombuffer((folder / "output").read_bytes(), np.uint8)
    outputs: list[dict[str, np.ndarray]] = []
    for source in sources:
        size = sum(p.layout.size_bytes for p in source.parameters)
        outputs.append(_outputs(source.parameters, data[:size]))
        data = data[size:]
    return outputs


def _given(source: CSource, arrays: Arrays) -> bytes:
    """The bytes of all parameters; zeros for what no array is given for."""
    held = dict(arrays)
    for p in source.parameters:
        held.setdefault(p.buffer, np.zeros(p.layout.shape, numpy_dtype(p.layout.dtype)))
    binding = bind(source.parameters, {}, {})
    return b"".join(place.tobytes() for place in binding.fill(held, binding.take_rooms()))


def _outputs(parameters: tuple[Parameter, ...], data: np.ndarray) -> dict[str, np.ndarray]:
    outputs: dict[str, np.ndarray] = {}
    for p in parameters:
        own, data = data[: p.layout.size_bytes], data[p.layout.size_bytes :]
        if p.is_written:
            outputs[p.buffer] = unpack(own, p.layout)
    return outputs
