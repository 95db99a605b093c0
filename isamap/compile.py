"""One call from a kernel and a machine to a checked answer.

In: a kernel and a machine (values, paths or bundled names), sizes, limits. Out: a Result. Not its
job: how any part works, printing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from isamap.costmodels import (
    COST_MODELS,
    FASTEST,
    Aim,
    CostModel,
    Roofline,
    load_cost_model,
    load_offered,
    names_file,
    offered_models,
    roofline,
)
from isamap.emulator import Timing, set_starts, time_scheduled
from isamap.errors import (
    IsamapError,
    KernelError,
    ProgramError,
    closest,
    expect_mapping,
    expect_whole,
)
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, KernelSource, drop_zeros, load_kernels
from isamap.measured import Learned, Measured
from isamap.planner import Plan, search
from isamap.program import Program
from isamap.rewrites import attempt, drop_padding, has_floats
from isamap.scheduler import (
    NOBODY,
    Answer,
    Schedule,
    Status,
    Watch,
    Wishes,
    check_aim,
    limit_machine,
)

from .processor import find_machine
from .resources import find_kernel
from .verify import Check, KernelFile, Verification, verify_full, verify_plan, verify_quick

ON_THIS_PROCESSOR: dict[str, CostModel] = {model.name: model for model in (Measured(), Learned())}
MOST_CANDIDATES = 1_000_000


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, so that an answer can be made again."""

    kernel: str
    hardware: str
    sizes: tuple[tuple[str, int], ...]
    cost: str
    layouts: str
    check: Check
    time_limit_s: float
    workers: int
    seed: int
    may_reassociate: bool
    aim: Aim = FASTEST
    max_bytes: tuple[tuple[str, int], ...] = ()
    effort: float | None = None


class _Short:
    """Answers print in a line: as their fields they would fill pages of a notebook."""

    __slots__ = ()
    request: Request
    timing: Timing | None
    verification: Verification

    def __repr__(self) -> str:
        asked, found = self.request, self.verification
        cycles = "rejected" if self.timing is None else f"{self.timing.cycles} cycles"
        check = "WRONG" if found.is_wrong else "verified" if found.is_verified else "not verified"
        return f"<{type(self).__name__}: {asked.kernel} on {asked.hardware}, {cycles}, {check}>"


@dataclass(frozen=True, slots=True, repr=False)
class Result(_Short):
    """The answer of `map`. `timing` is None when the emulator rejects the program.

    `file`: where the kernel came from. `is_interrupted`: the watch ended the search early.
    """

    request: Request
    hardware: Hardware
    answer: Answer
    roofline: Roofline
    timing: Timing | None
    verification: Verification
    file: KernelFile | None = None
    is_interrupted: bool = False

    @property
    def kernel(self) -> Kernel:
        """The kernel at its sizes."""
        return self.answer.kernel

    @property
    def schedule(self) -> Schedule:
        """The chosen schedule."""
        return self.answer.best

    @property
    def program(self) -> Program:
        """The chosen schedule's."""
        return self.answer.program

    @property
    def analytical_cycles(self) -> int:
        """Of the closed form."""
        return self.schedule.estimate.cycles

    @property
    def bound_cycles(self) -> int:
        """Proven under the closed form."""
        return self.answer.bound_cycles

    @property
    def status(self) -> Status:
        """Is that all, or did a limit strike?"""
        return self.answer.status


@dataclass(frozen=True, slots=True, repr=False)
class PlanResult(_Short):
    """The answer of `map` for a kernel that takes several tasks, or the host.

    `kernel`: as it was asked for; `plan.kernel` is the form of it that was scheduled. `timing` is
    None when the emulator rejects the program. `file`, `is_interrupted`: as in `Result`.
    """

    request: Request
    hardware: Hardware
    kernel: Kernel
    plan: Plan
    timing: Timing | None
    verification: Verification
    file: KernelFile | None = None
    is_interrupted: bool = False

    @property
    def program(self) -> Program:
        """The plan's."""
        return self.plan.program

    @property
    def analytical_cycles(self) -> int:
        """As in `Result`: of the closed form, tasks together."""
        return self.plan.cycles

    @property
    def bound_cycles(self) -> int:
        """Of these tasks on these units."""
        return self.plan.bound_cycles

    @property
    def status(self) -> Status:
        """As in `Result`."""
        return self.plan.status


def map(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    cost: str | CostModel = "analytical",
    layouts: str = "natural",
    verify: Check | str = Check.QUICK,
    time_limit_s: float = 20.0,
    workers: int = 1,
    seed: int = 0,
    may_reassociate: bool = False,
    aim: Aim = FASTEST,
    max_bytes: Mapping[str, int] | None = None,
    effort: float | None = None,
    watch: Watch = NOBODY,
) -> Result | PlanResult:
    """Map a kernel onto a machine: best covering, proven schedule, program, time, and a check.

    Args:
        kernel: a Kernel, a path, a bundled name, or either with `:kernel`.
        hw: a Hardware, a path or a bundled name.
        sizes, name: of the kernel in its file.
        cost: a cost model or its name (`cost_model`).
        layouts, time_limit_s, workers, seed, may_reassociate: as for `find_schedule`.
        time_limit_s: for the search as a whole; timing and checking the program come on top.
        effort: instead of a time limit, so many seconds of the solver's work and the planner's as
            they are counted, not measured: the same answer on any computer, however busy.
        aim: what to minimise (`Aim.least(Metric.ENERGY)`), and what it may cost at most.
        max_bytes: of memories, by name.
        verify: how much is executed to check the program.
        watch: sees the search's progress and may end it; the best so far is the answer then.
            A KeyboardInterrupt after that ends only the check of the program.

    Raises:
        KernelError, SpecErrors: the kernel or the hardware file is wrong.
        MappingError: nothing on the machine computes the kernel; a LimitError: not within limits.
    """
    built, file = build_kernel(kernel, sizes or {}, name, may_reassociate)
    machine = load_machine(hw)
    used = file.sizes if file else ()
    model = cost_model(cost)
    check_aim(aim, machine)
    roomy = limit_machine(machine, max_bytes or {})
    request = Request(
        built.name, machine.name, used, model.name, layouts, Check(verify), time_limit_s,
        workers, seed, may_reassociate, aim, tuple((max_bytes or {}).items()), effort,
    )  # fmt: skip
    wishes = Wishes(model, layouts, time_limit_s, workers, seed, may_reassociate, aim, watch)
    found = search(built, roomy, wishes.within(effort))
    return judge(request, built, machine, file, found, watch=watch)


def judge(
    request: Request,
    kernel: Kernel,
    hw: Hardware,
    file: KernelFile | None,
    found: Answer | Plan,
    *,
    watch: Watch = NOBODY,
) -> Result | PlanResult:
    """Time and check what was found for a kernel on a machine.

    Once `watch` has stopped the search, a KeyboardInterrupt ends the check, and nothing else.
    """
    is_interrupted = watch.is_stopped
    found = _with_starts(found, hw)
    if isinstance(found, Plan):
        timing, verification = _check(
            request, found.program, hw,
            lambda: verify_plan(found, kernel, hw, request.check, seed=request.seed,
                                may_reassociate=request.may_reassociate, file=file),
            watch,
        )  # fmt: skip
        return PlanResult(request, hw, kernel, found, timing, verification, file, is_interrupted)
    timing, verification = _check(
        request, found.best.program, hw, lambda: _verify(found, hw, request, file), watch
    )
    bound = roofline(kernel, hw, may_reassociate=request.may_reassociate)
    return Result(request, hw, found, bound, timing, verification, file, is_interrupted)


def _with_starts(found: Answer | Plan, hw: Hardware) -> Answer | Plan:
    """What was found, its program with start cycles where the machine waits for nothing; as it is
    if there are no legal ones, which the check will say."""
    try:
        if isinstance(found, Plan):
            return replace(found, program=set_starts(found.program, hw))
        best = replace(found.best, program=set_starts(found.best.program, hw))
        return replace(found, best=best)
    except ProgramError:
        return found


def _check(
    request: Request,
    program: Program,
    hw: Hardware,
    verify: Callable[[], Verification],
    watch: Watch,
) -> tuple[Timing | None, Verification]:
    """The program's time, and what executing it shows; a program that the emulator rejects is
    wrong."""
    timing: Timing | None = None
    try:
        timing = time_scheduled(program, hw)
        return timing, verify()
    except ProgramError as error:
        failure = f"the emulator rejects the program: {error}"
        return timing, Verification(request.check, failure=failure, is_wrong=True)
    except KeyboardInterrupt:
        if not watch.is_stopped:
            raise
        return timing, Verification(request.check, failure="interrupted")


def cost_model(cost: str | CostModel) -> CostModel:
    """The model itself, or the one of this name: analytical, emulated, roofline, measured, learned,
    one that an installed package offers, or `FILE.py:NAME`, whose file is executed.

    Raises:
        IsamapError: there is none, or a user's one cannot be used.
    """
    models = {**COST_MODELS, **ON_THIS_PROCESSOR}
    if not isinstance(cost, str):
        if hasattr(cost, "num_candidates") and not isinstance(cost, type):
            expect_whole("num_candidates", cost.num_candidates, 1, MOST_CANDIDATES)
            return cost
        hint = f"cost models are {', '.join(models)}, or FILE.py:NAME"
        raise IsamapError(f"cost={cost!r}, expected a cost model or its name", hint=hint)
    if cost in models:
        return models[cost]
    if names_file(cost):
        return load_cost_model(cost)
    offered = offered_models()
    if cost in offered:
        return load_offered(offered[cost])
    known = [*models, *offered]
    hint = closest(cost, known) or f"cost models are {', '.join(known)}, or FILE.py:NAME"
    raise IsamapError(f"no cost model {cost!r}", hint=hint)


def load_machine(hw: str | PathLike[str] | Hardware) -> Hardware:
    """The machine itself, or read from a path or by a bundled name or `native`."""
    return hw if isinstance(hw, Hardware) else load_hardware(find_machine(str(hw)))


def build_kernel(
    kernel: str | PathLike[str] | Kernel,
    sizes: Mapping[str, int],
    name: str | None,
    may_reassociate: bool = False,
) -> tuple[Kernel, KernelFile | None]:
    """The kernel without needless zeros, and where it came from unless it was given as a value.

    Products of padding's zeros with floats, which may be infinite, go where `may_reassociate`.
    """
    expect_mapping("sizes", sizes, {"m": 512})
    if isinstance(kernel, Kernel):
        if sizes or name:
            raise KernelError("sizes and a name choose within a file; a Kernel has both already")
        return _without_zeros(kernel, may_reassociate), None
    path, chosen, source = _find_source(kernel, name)
    built = _without_zeros(source.build(sizes), may_reassociate)
    used = {**dict(source.sizes), **sizes}
    return built, KernelFile(path, chosen, tuple((size, int(n)) for size, n in used.items()))


def _without_zeros(kernel: Kernel, may_reassociate: bool) -> Kernel:
    kernel = drop_zeros(kernel)
    if may_reassociate or not has_floats(kernel):
        for position in range(len(kernel.statements)):
            kernel = attempt(drop_padding, kernel, position) or kernel
    return kernel


def kernel_sizes(kernel: str | PathLike[str], name: str | None) -> dict[str, int]:
    """The sizes of a kernel in a file, with their defaults."""
    _, _, source = _find_source(kernel, name)
    return dict(source.sizes)


def _find_source(kernel: str | PathLike[str], name: str | None) -> tuple[Path, str, KernelSource]:
    """The file, the chosen kernel's name, and the kernel at no sizes yet."""
    path, inner = find_kernel(kernel)
    known = load_kernels(path)
    chosen = name or inner or next(iter(known))
    if not isinstance(chosen, str):
        hint = f"kernels are {', '.join(known)}"
        raise KernelError(f"name={name!r}, expected a kernel's name", hint=hint)
    if chosen not in known:
        hint = closest(chosen, known) or f"kernels are {', '.join(known)}"
        raise KernelError(f"{path} has no kernel {chosen!r}", hint=hint)
    return Path(path), chosen, known[chosen]


def _verify(
    answer: Answer, hw: Hardware, request: Request, file: KernelFile | None
) -> Verification:
    best = answer.best
    match request.check:
        case Check.OFF:
            return Verification(Check.OFF)
        case Check.FULL:
            return verify_full(best.program, answer.kernel, hw, seed=request.seed, file=file)
        case Check.QUICK:
            return verify_quick(
                answer.kernel,
                best.covering,
                best.tiling,
                hw,
                seed=request.seed,
                may_reassociate=request.may_reassociate,
                file=file,
            )
