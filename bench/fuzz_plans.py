"""Random kernels of several statements on the shipped machines, against their meaning:
`python bench/fuzz_plans.py --seconds 600 --seed 0`.

In: options. Out: counts of outcomes, the first failures as kernel and machine; exit status 1 if
there are any. Not its job: cutting failures down.
"""

import random
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import click  # noqa: E402

from isamap.emulator import time_program  # noqa: E402
from isamap.errors import IsamapError, MappingError  # noqa: E402
from isamap.hwdesc import Hardware, load_hardware  # noqa: E402
from isamap.ir import Kernel, pretty  # noqa: E402
from isamap.planner import Plan, Wishes, find_best_plan, find_plan  # noqa: E402
from isamap.resources import find_hardware  # noqa: E402
from isamap.verify import verify_full  # noqa: E402
from tests.task_kernels import make_kernel  # noqa: E402

MACHINES = ("gemmini", "vta", "fused_npu", "conv_engine", "gemv_engine", "outer", "vecdot")
NO_KERNEL, NO_PLAN = "no kernel", "no plan"
GOOD = ("right", "right, on the host", "right, joined", NO_KERNEL, NO_PLAN)
FORMS_EVERY = 4  # cases per case that looks at rewritten forms too


def outcome(kernel: Kernel, hw: Hardware, forms: bool, seed: int) -> str:
    """One of `GOOD`, or what is wrong."""
    try:
        plan = (find_best_plan if forms else find_plan)(kernel, hw, Wishes(time_limit_s=2.0))
    except MappingError:
        return NO_PLAN
    found = verify_full(plan.program, kernel, hw, seed=seed)
    if not found.is_verified:
        return f"wrong: {found.failure or found.mismatch}"
    cycles = time_program(plan.program, hw).cycles
    if cycles < plan.bound_cycles:
        return f"wrong: {cycles} cycles are below the bound of {plan.bound_cycles}"
    return _kind(plan)


def _kind(plan: Plan) -> str:
    if all(task.on_host for task in plan.tasks):
        return "right, on the host"
    return "right, joined" if any(task.task.parts for task in plan.tasks) else "right"


def try_case(seed: int, hw: Hardware) -> tuple[str, Kernel | None]:
    """The outcome of one case, and its kernel."""
    kernel = make_kernel(random.Random(f"plan {seed}").choice)
    if kernel is None:
        return NO_KERNEL, None
    try:
        return outcome(kernel, hw, seed % FORMS_EVERY == 0, seed), kernel
    except (
        IsamapError,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        return f"crash: {type(error).__name__}: {error}", kernel


@click.command()
@click.option("--seconds", type=float, default=60.0, help="When to stop.")
@click.option("--seed", type=int, default=0, help="Of the first case; the next ones follow.")
@click.option("--hw", multiple=True, default=MACHINES, help="Machines to take turns.")
@click.option("--show", type=int, default=1, help="How many failures to print.")
def main(seconds: float, seed: int, hw: tuple[str, ...], show: int) -> None:
    """Map and execute random kernels until the time is over."""
    machines = [load_hardware(find_hardware(name)) for name in hw]
    counts: Counter[str] = Counter()
    begin, case, num_failures = time.perf_counter(), seed, 0
    while time.perf_counter() - begin < seconds:
        machine = machines[case % len(machines)]
        found, kernel = try_case(case, machine)
        counts[found if found in GOOD else found.split(":")[0]] += 1
        if found not in GOOD and kernel is not None:
            num_failures += 1
            if num_failures <= show:
                click.echo(f"case {case} on {machine.name}: {found}\n{pretty(kernel)}")
        case += 1
    click.echo(f"{case - seed} cases from {seed}, {time.perf_counter() - begin:.0f} s")
    for name, count in counts.most_common():
        click.echo(f"{count:6d} {name}")
    sys.exit(1 if num_failures else 0)


if __name__ == "__main__":
    main()
