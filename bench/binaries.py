"""DeepBench rows as binaries, executed by the tests' own simulators: `python bench/binaries.py`.

In: a machine, how many products a row may have. Out: a text table; the exit status says whether
every row was bit-exact. Not its job: cycles (`deepbench.py`).

Each row is mapped, written as a binary (image moved away from the machine's default address), read
back to the same listing, loaded by its manifest and executed by a simulator that shares no code
with isamap (tests/codegen).
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import click  # noqa: E402
import numpy as np  # noqa: E402
from conv_row import conv_kernel  # noqa: E402
from deepbench_rows import read_convs, read_gemms  # noqa: E402
from gemm_row import gemm_kernel  # noqa: E402
from host import header  # noqa: E402

import isamap  # noqa: E402
from isamap.codegen import disassemble, list_binary, write_binary  # noqa: E402
from isamap.errors import IsamapError  # noqa: E402
from isamap.hwdesc import Hardware, load_hardware  # noqa: E402
from isamap.ir import Kernel, load_reference, random_arrays  # noqa: E402
from isamap.program import Program  # noqa: E402
from isamap.resources import find_hardware, find_kernel  # noqa: E402
from tests.codegen.gemmini_machine import Gemmini  # noqa: E402
from tests.codegen.loader import Loader  # noqa: E402
from tests.codegen.vta_machine import Vta  # noqa: E402

PACKAGES = ("numpy", "ortools")
MOVED_BYTES = 1 << 20  # how far the image lies behind the machine's default address

Sizes = Mapping[str, int]
Machine = Callable[[bytearray, bytes, int], None]
MACHINES: Mapping[str, Machine] = {
    "vta": lambda image, records, base: Vta(image, base, 1).run(records),
    "gemmini": lambda image, records, base: Gemmini(image, base, 1).run(records),
    "gemmini_os": lambda image, records, base: Gemmini(image, base, 1).run(records),
}


@dataclass(frozen=True, slots=True)
class Row:
    """What became of a row; seconds of processor time."""

    name: str
    records: int = 0
    on_host: int = 0  # steps of the host
    image_bytes: int = 0
    write_s: float = 0.0
    read_s: float = 0.0
    run_s: float = 0.0
    is_read_back: bool = False
    is_exact: bool = False
    error: str = ""


def kernels(most_products: int) -> Iterator[tuple[str, Kernel, Sizes]]:
    """Name, kernel and sizes of the different rows that are small enough, the smallest first."""
    found = {}
    for shape in read_gemms("all"):
        name = f"gemm {shape.m} x {shape.n} x {shape.k} {'nt'[shape.a_t]}{'nt'[shape.b_t]}"
        found[name] = (shape.m * shape.n * shape.k, lambda shape=shape: (gemm_kernel(shape), {}))
    for conv in read_convs("all"):
        name = (
            f"conv {conv.n} x {conv.h} x {conv.w} x {conv.c}, {conv.k} of {conv.r} x {conv.s}"
            f" pad {conv.pad} stride {conv.stride}"
        )
        out = ((conv.h + 2 * conv.pad - conv.r) // conv.stride + 1) * (
            (conv.w + 2 * conv.pad - conv.s) // conv.stride + 1
        )
        products = conv.n * out * conv.k * conv.r * conv.s * conv.c
        sizes = {"stride": conv.stride, "pad": conv.pad}
        found[name] = (products, lambda conv=conv, sizes=sizes: (conv_kernel(conv), sizes))
    for name, (products, make) in sorted(found.items(), key=lambda item: item[1][0]):
        if products <= most_products:
            yield name, *make()


def measure(name: str, kernel: Kernel, sizes: Sizes, hw: Hardware, time_limit_s: float) -> Row:
    """One row; whatever goes wrong becomes its `error`."""
    try:
        program = _map(kernel, hw, time_limit_s)
        with tempfile.TemporaryDirectory() as folder:
            return _execute(name, kernel, sizes, program, hw, folder)
    except (IsamapError, AssertionError) as error:
        return Row(name, error=str(error).splitlines()[0])


def _map(kernel: Kernel, hw: Hardware, time_limit_s: float) -> Program:
    return isamap.map(kernel, hw, verify="off", time_limit_s=time_limit_s).program


def _execute(
    name: str, kernel: Kernel, sizes: Sizes, program: Program, hw: Hardware, folder: str
) -> Row:
    assert hw.encoding is not None
    times = [time.process_time()]
    base = hw.encoding.base + MOVED_BYTES
    binary = write_binary(program, kernel, hw, folder, base=base)
    times.append(time.process_time())
    text = disassemble(folder, hw)
    times.append(time.process_time())
    arrays = random_arrays(kernel, 0)
    loader = Loader(folder)
    loader.put(arrays)
    started = time.process_time()
    loader.run(MACHINES[hw.name])
    ended = time.process_time()
    wanted = _reference(kernel, sizes, arrays)
    found = loader.get()
    return Row(
        name,
        sum(run.num_records for run in binary.runs),
        len(binary.parts) - len(binary.runs),
        binary.image_bytes,
        times[1] - times[0],
        times[2] - times[1],
        ended - started,
        text == list_binary(binary, hw),
        all(np.array_equal(found[n], array) for n, array in wanted.items()),
    )


def _reference(
    kernel: Kernel, sizes: Sizes, arrays: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """NumPy's word for the kernel."""
    file = "gemm" if kernel.name.startswith("gemm") else "conv2d"
    reference = load_reference(find_kernel(file)[0], kernel.name, sizes)
    assert reference is not None, f"{kernel.name} has a reference"
    return reference(**{name: array.copy() for name, array in arrays.items()})


def row_line(row: Row) -> str:
    """The row's text."""
    if row.error:
        return f"{row.name:<50} FAILED {row.error}"
    return (
        f"{row.name:<50} {row.records:>8} {row.on_host:>5} {row.image_bytes:>11}"
        f" {row.write_s:>8.2f} {row.read_s:>7.2f} {row.run_s:>8.1f}"
        f" {'yes' if row.is_read_back else 'NO':>5} {'yes' if row.is_exact else 'NO':>5}"
    )


LEGEND = (
    "records  of the machine; host: steps that its host does in between",
    "write, read, run  seconds of processor time: to encode and write all files, to disassemble"
    " them, to simulate",
    "back   the disassembler gives the listing that was written",
    "exact  the simulator's outputs are NumPy's, bit for bit",
    "",
    f"{'row':<50} {'records':>8} {'host':>5} {'image bytes':>11} {'write':>8} {'read':>7}"
    f" {'run':>8} {'back':>5} {'exact':>5}",
)


@click.command()
@click.option("--hw", type=click.Choice(tuple(MACHINES)), multiple=True, help="Machines (all).")
@click.option("--products", type=float, default=30e6, help="Most products of a row.")
@click.option("--time-limit", type=float, default=20.0, help="Seconds of the search per row.")
@click.option("--out", type=click.File("w"), default="-", help="Text file to write.")
def main(hw: tuple[str, ...], products: float, time_limit: float, out: TextIO) -> None:
    """DeepBench's matrix products and convolutions as binaries, i8 with sums in i32."""
    print(*header(PACKAGES), "", *LEGEND, sep="\n", file=out)
    is_right = True
    for name in hw or ("vta", "gemmini"):
        machine = load_hardware(find_hardware(name))
        print("", name, sep="\n", file=out, flush=True)
        rows = []
        for title, kernel, sizes in kernels(int(products)):
            rows.append(measure(title, kernel, sizes, machine, time_limit))
            print(row_line(rows[-1]), file=out, flush=True)
        right = sum(row.is_exact and row.is_read_back for row in rows)
        print(f"{name}: {right} of {len(rows)} rows exact and read back", file=out, flush=True)
        is_right = is_right and right == len(rows)
    raise SystemExit(0 if is_right else 1)


if __name__ == "__main__":
    main()
