"""How well the closed form orders schedules: predicted against measured times on this processor.

In: shapes m,n,k on the command line, or the default ones. Out: a table with the rank correlation
(Spearman) over each shape's candidates. Not its job: measuring (`isamap.measured`), libraries
(`cpu.py`), the few near-ties that tuning chooses from (`isamap tune`).

Candidates are tilings that the search looks at on its way from single units to a best tiling, begun
in every loop order, in every covering that it solved whose arrays lie as they are: the best, and
one of each of as many classes of predicted time, which divide the span from the best to `SPAN`
times as long evenly on a logarithmic scale; drawn at random within a class, one stream of random
numbers for all, before anything is measured; where the model sees equals, few are left. `spread`:
the longest measured time over the shortest. `first/best`: the measured time of the one that the
closed form likes best over the shortest of all. Times are processor seconds of one pinned core,
caches as the calls before leave them; measurements are kept and reused.
"""

import argparse
import random
from collections.abc import Sequence
from math import log
from pathlib import Path
from statistics import geometric_mean, median

from host import header

from isamap.compile import build_kernel, load_machine
from isamap.costmodels import FASTEST, Candidate, count_work
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.measured import Measured, correlate_ranks, default_path
from isamap.processor import NATIVE
from isamap.scheduler import Wishes, find_schedule, lower, rank_of
from isamap.scheduler.descend import Descent
from isamap.scheduler.greedy import starts
from isamap.scheduler.neighbours import form
from isamap.scheduler.options import stay_choices

KERNEL = "gemm:gemm_f32"
SHAPES = (
    (127, 129, 131), (512, 512, 512), (1760, 16, 1760), (1760, 64, 1760), (35, 700, 2048),
    (2560, 32, 2560), (64, 1024, 256), (300, 300, 300),
)  # fmt: skip
CANDIDATES = 16
SPAN = 4.0
HEAD = "|   m, n, k         | best GFLOP/s | its place | first/best | spread | rank correlation |"


def main() -> None:
    """Print a row per shape and the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("shapes", nargs="*", help="m,n,k")
    parser.add_argument("--hw", default=NATIVE, help="the machine")
    parser.add_argument("--database", type=Path, default=default_path())
    parser.add_argument("--candidates", type=int, default=CANDIDATES)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    shapes = [tuple(map(int, text.split(","))) for text in given.shapes] or list(SHAPES)
    model = Measured(given.candidates, given.database)
    machine = load_machine(given.hw)
    lines = [*header(("numpy", "ortools")), f"machine    {machine.name}", "", HEAD]
    print("\n".join(lines))
    print("|---|---|---|---|---|---|", flush=True)
    rng = random.Random(given.seed)
    ratios, ranks = [], []
    for shape in shapes:
        kernel, _ = build_kernel(KERNEL, dict(zip("mnk", shape, strict=True)), None)
        predicted, chosen = candidates(kernel, machine, given.candidates, rng)
        prices = [price.cycles for price in model.price(chosen, machine)]
        pairs = [(p, c) for p, c in zip(predicted, prices, strict=True) if c is not None]
        ratios.append(pairs[0][1] / min(c for _, c in pairs))
        ranks.append(correlate_ranks(*(list(column) for column in zip(*pairs, strict=True))) or 0.0)
        print(row(shape, [c for _, c in pairs], ranks[-1], machine), flush=True)
    print(f"\nfirst/best: geometric mean {geometric_mean(ratios):.3f};", end=" ")
    print(f"rank correlation: median {median(ranks):.2f}, least {min(ranks):.2f}")


def candidates(
    kernel: Kernel, machine: Hardware, count: int, rng: random.Random
) -> tuple[list[float], list[Candidate]]:
    """Predicted cycles, ascending, and what they are predicted of."""
    answer = find_schedule(kernel, machine, Wishes(may_reassociate=True, time_limit_s=60))
    seen = []
    for other in answer.alternatives:
        if other.cycles is not None and rank_of(other.covering) == 0:
            work = count_work(other.covering, machine)
            descent = Descent(other.covering, work, machine, FASTEST)
            descent.run()
            for levels in stay_choices(other.covering, machine):
                for start in starts(other.covering, work, machine, levels):
                    descent.improve(start)
            unlike = {form(other.covering, x): x for x, ok in descent.possible.items() if ok}
            seen += [(descent.rank(x)[1], other.covering, work, x) for x in unlike.values()]
    seen.sort(key=lambda found: found[0])
    best = seen[0][0]
    classes: dict[int, list[int]] = {}
    for number, (cycles, *_) in enumerate(seen[1:], 1):
        if cycles <= SPAN * best:
            place = int((count - 1) * log(cycles / best) / log(SPAN))
            classes.setdefault(min(place, count - 2), []).append(number)
    drawn = [seen[n] for n in [0, *(rng.choice(classes[place]) for place in sorted(classes))]]
    made = []
    for _, covering, work, tiling in drawn:
        program = lower(covering, tiling, machine)
        assert program is not None, "a legal tiling has its place"
        made.append(Candidate(covering, work, tiling, program))
    return [cycles for cycles, *_ in drawn], made


def row(shape: Sequence[int], measured: list[int], rank: float, machine: Hardware) -> str:
    """One line of the table."""
    m, n, k = shape
    best = min(measured)
    rate = 2 * m * n * k * machine.clock_hz / best / 1e9
    return (
        f"| {f'{m}, {n}, {k}':>17} | {rate:12.1f} | {measured.index(best) + 1:3} of"
        f" {len(measured):2} | {measured[0] / best:10.3f} | {max(measured) / best:6.2f} |"
        f" {rank:16.2f} |"
    )


if __name__ == "__main__":
    main()
