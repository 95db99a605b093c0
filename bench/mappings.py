"""How many mappings there are, and do they compute the kernel when lowered?

In: how many to lower per kernel and machine. Out: a text table in `bench/results/mappings.txt`;
`python bench/mappings.py`. Not its job: which mapping is fast.

Counted: every kernel of `kernels/` on every instruction of `hw_specs/` that computes it; where none
does, what one rewrite makes of the kernel. Lowered: mappings chosen evenly from each list, at two
sets of odd small sizes, one of their first coverings with a random legal tiling, executed in the
emulator and compared bit by bit.
"""

import argparse
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import zip_longest
from math import prod
from pathlib import Path

import numpy as np
from host import header
from rich.console import Console
from rich.progress import track
from stored import Stored, complain, read_stored
from table_text import align, titles

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from isamap.bindings import list_mappings  # noqa: E402
from isamap.emulator import run  # noqa: E402
from isamap.errors import IsamapError, ProgramError  # noqa: E402
from isamap.hwdesc import Hardware, load_hardware  # noqa: E402
from isamap.ir import (  # noqa: E402
    Kernel,
    Role,
    accesses,
    interpret,
    is_float,
    load_kernels,
    random_arrays,
)
from isamap.mapper import Mapping, mappings  # noqa: E402
from isamap.program import Program  # noqa: E402
from isamap.verify import compare  # noqa: E402
from tests.scheduler.lowered import lower_mapping  # noqa: E402

RESULT = ROOT / "bench" / "results" / "mappings.txt"
COLUMNS = (
    ("kernel", -28), ("machine", -10), ("instruction", -26), ("gather", 7), ("without", 8),
    ("right", 6), ("wrong", 6), ("not lowered", 12),
)  # fmt: skip
NAMES = ("kernel", "machine", "instruction")
SMALL_EXTENTS = ((3, 5, 7), (3, 19, 5))  # sizes above 4, in turn
COMPILED_FROM = 4000  # iterations
KEPT = ("stride", "dilation", "pad", "r", "s")  # sizes that small ones would make meaningless


@dataclass(frozen=True, slots=True)
class Pair:
    """A kernel on a machine."""

    file: str
    kernel: str
    hw: str


@dataclass(frozen=True, slots=True)
class Row:
    """What one pair gave: (instruction, with gather, without); outcomes of what was lowered."""

    pair: Pair
    counts: tuple[tuple[str, int, int], ...]
    outcomes: tuple[tuple[str, int], ...]
    failures: tuple[str, ...]
    seconds: float


def judge(task: tuple[Pair, int]) -> Row:
    """Count one pair's mappings, lower and execute some."""
    pair, limit = task
    begin = time.perf_counter()
    hw = machine(pair.hw)
    kernel = build(pair, None)
    both = [Counter(m.instruction for m in mappings(kernel, hw, gather=g)) for g in (True, False)]
    counts = tuple((name, count, both[1][name]) for name, count in both[0].items())
    rewritten = () if counts else count_rewritten(kernel, hw)
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    for number in range(len(SMALL_EXTENTS)) if counts and limit else ():
        small = build(pair, number)
        found = list(mappings(small, hw, gather=True))
        for mapping in found[:: -(-len(found) // limit)]:
            outcome, text = lower_and_run(small, pair, mapping)
            outcomes[outcome] += 1
            failures += [text] if text else []
    seconds = time.perf_counter() - begin
    return Row(pair, (*counts, *rewritten), tuple(outcomes.items()), tuple(failures), seconds)


@cache
def machine(name: str) -> Hardware:
    """A bundled machine, read once per process."""
    return load_hardware(ROOT / "hw_specs" / f"{name}.yaml")


def count_rewritten(kernel: Kernel, hw: Hardware) -> tuple[tuple[str, int, int], ...]:
    """Counts for what one rewrite makes of a kernel that no instruction computes as it is."""
    both = []
    for gather in (True, False):
        found = list_mappings(kernel, hw, gather=gather, max_rewrites=1)
        both.append(Counter((m.instruction, m.rewrites[0].split()[0]) for _, m in found.stream))
    return tuple(
        (f"{name} ({rewrite})", count, both[1][name, rewrite])
        for (name, rewrite), count in both[0].items()
    )


def lower_and_run(kernel: Kernel, pair: Pair, mapping: Mapping) -> tuple[str, str]:
    """ "right", "wrong" or why it was not lowered; the details of a wrong one."""
    hw = machine(pair.hw)
    kernel = alone(kernel, mapping.statement)
    target = kernel.statements[0].target.buffer
    if any(read.buffer == target for read in accesses(kernel.statements[0].value)):
        return "not lowered: reads what it writes", ""
    if is_float(kernel.buffer(target).dtype):
        return "not lowered: sums floats", ""
    mapping = replace(mapping, statement=0)
    lowered = lower_mapping(kernel, hw, mapping, random.Random(str(mapping)), greedy=False)
    if isinstance(lowered, str):
        return f"not lowered: {lowered}", ""
    failure = run_and_compare(kernel, hw, lowered.program)
    if failure:
        return "wrong", f"{pair} {mapping} {lowered.tiling} {failure}"
    return "right", ""


def run_and_compare(kernel: Kernel, hw: Hardware, program: Program) -> str:
    """What the emulator rejects or the first element that differs; empty when all is right."""
    arrays = random_arrays(kernel, 1)
    shaped = {p.buffer: arrays[p.buffer].reshape(p.layout.shape) for p in program.inputs}
    is_small = sum(prod(x.extent for x in s.loops) for s in kernel.statements) < COMPILED_FROM
    try:  # small programs run before a compiler has started
        how = False if is_small else None
        outputs = run(program, hw, shaped, compiled=how).outputs
    except ProgramError as error:
        return f"rejected: {error}"
    wrong = compare(outputs, meaning(kernel), "the kernel's meaning")
    return str(wrong or "")


@lru_cache(maxsize=8)
def meaning(kernel: Kernel) -> dict[str, np.ndarray]:
    """What the kernel makes of its random arrays; asked for again by every mapping."""
    return dict(interpret(kernel, random_arrays(kernel, 1)))


def alone(kernel: Kernel, index: int) -> Kernel:
    """One statement as a kernel: what it reads is given, what it writes is updated."""
    statement = kernel.statements[index]
    used = {access.buffer for access in statement.accesses}
    role = Role.OUT if statement.update == "=" else Role.INOUT
    buffers = tuple(
        replace(b, role=role if b.name == statement.target.buffer else Role.IN)
        for b in kernel.buffers
        if b.name in used
    )
    return Kernel(kernel.name, buffers, (statement,))


def build(pair: Pair, number: int | None) -> Kernel:
    """The kernel at its default sizes, or at small odd ones."""
    source = load_kernels(ROOT / "kernels" / f"{pair.file}.py")[pair.kernel]
    sizes: dict[str, int] = {}
    if number is not None:
        extents = SMALL_EXTENTS[number]
        large = [name for name, value in source.sizes if name not in KEPT and value > 4]
        sizes = {name: extents[i % len(extents)] for i, name in enumerate(large)}
        sizes |= {name: 3 for name, value in source.sizes if name not in KEPT and 1 < value <= 4}
    try:
        return source.build(sizes)
    except IsamapError:
        return source.build({})


def main() -> None:
    """Run all pairs and write the table; exit code 1 where one is wrong, or, without a table, where
    fewer are found than are stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-pair", type=int, default=200, help="mappings lowered per size")
    parser.add_argument("--jobs", type=int, default=2)
    known = sorted(path.stem for path in (ROOT / "hw_specs").glob("*.yaml"))
    parser.add_argument("--hw", nargs="+", choices=known, default=known, metavar="MACHINE")
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    pairs = [
        Pair(path.stem, name, hw)
        for path in sorted((ROOT / "kernels").glob("*.py"))
        for name in load_kernels(path)
        for hw in arguments.hw
    ]
    stored = read_stored(RESULT, COLUMNS, NAMES, ("gather",), is_found=True)
    begin = time.perf_counter()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        found = pool.map(judge, [(pair, arguments.per_pair) for pair in pairs])
        rows = list(track(found, "mappings", len(pairs), console=Console(stderr=True)))
    text = "\n".join(report(rows, arguments.per_pair, time.perf_counter() - begin)) + "\n"
    print(text)
    complain(stored, [line for row in rows for line in compared_lines(row, stored)])
    arguments.out.write_text(text)
    raise SystemExit(any(dict(row.outcomes).get("wrong") for row in rows))


def compared_lines(row: Row, stored: Stored) -> list[str]:
    """A pair's lines of the table, and one with none for each stored instruction that they lack."""
    found = {name for name, *_ in row.counts}
    lost = [(name, 0, 0) for *pair, name in stored.rows
            if pair == [row.pair.kernel, row.pair.hw] and name not in found]  # fmt: skip
    return row_lines(replace(row, counts=(*row.counts, *lost)))


def report(rows: list[Row], limit: int, seconds: float) -> list[str]:
    """The table's lines."""
    outcomes: Counter[str] = Counter()
    for row in rows:
        outcomes.update(dict(row.outcomes))
    lines = header(("numpy",))
    lines += [
        f"seconds    {seconds:.0f}",
        f"lowered    at most {limit} per kernel, machine and set of sizes",
        f"right      {outcomes['right']}",
        f"wrong      {outcomes['wrong']}",
        "",
        titles(COLUMNS),
    ]
    lines += [line for row in rows for line in row_lines(row)]
    reasons = [(name, n) for name, n in outcomes.items() if name not in ("right", "wrong")]
    lines += ["", *(f"{count:>6}  {name}" for name, count in sorted(reasons))]
    lines += [failure for row in rows for failure in row.failures]
    return lines


def row_lines(row: Row) -> list[str]:
    """A line per instruction; the first one says what became of the lowered mappings of all."""
    done = Counter(dict(row.outcomes))
    rest = sum(count for name, count in done.items() if name not in ("right", "wrong"))
    lowered = [(str(done["right"]), str(done["wrong"]), str(rest))]
    return [
        align(COLUMNS, [row.pair.kernel, row.pair.hw, name, str(gathered), str(plain), *cells])
        for (name, gathered, plain), cells in zip_longest(
            row.counts, lowered[: len(row.counts)], fillvalue=("", "", "")
        )
    ]


if __name__ == "__main__":
    main()
