"""How to search for a schedule, and what surrounds a kernel that is part of a larger one.

In: nothing but these nodes. Out: frozen values. Not its job: searching (`schedule`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from types import MappingProxyType

from isamap.costmodels import ANALYTICAL, FASTEST, Aim, CostModel
from isamap.errors import IsamapError, expect_whole
from isamap.mapper import ALONE, Setting
from isamap.program import Layout

from .clock import WALL, Clock, EffortClock
from .watch import NOBODY, Watch

LAYOUTS = ("natural", "packed")
NATURAL_TOLERANCE = 1.25  # repacking is the user's time too: only worth it for a clear gain
MOST_WORKERS = 10_000  # CP-SAT's
LARGEST_SEED = 2**31 - 1  # CP-SAT's


@dataclass(frozen=True, slots=True)
class Wishes:
    """How to search.

    `cost` chooses: among the best schedules of the coverings, or among as many as it asks for.
    `layouts`: "natural" repacks as little as possible, unless more repacking gains more than
    `NATURAL_TOLERANCE`; "packed" takes what is best by `aim` whatever must be packed. `ahead`:
    inputs of a kernel of one statement that lie as its program likes, packed before it runs, in the
    order of their use unless it copies them; `uncopied`: of several statements, which take them as
    they lie and do not copy them, unless that converts them.
    `clock`: what the time limit goes by.
    `watch` ends the search with the best so far, in the first covering that can be scheduled with a
    greedy one.
    """

    cost: CostModel = ANALYTICAL
    layouts: str = "natural"
    time_limit_s: float = 20.0
    workers: int = 1
    seed: int = 0
    may_reassociate: bool = False
    aim: Aim = FASTEST
    watch: Watch = field(default=NOBODY, compare=False)
    clock: Clock = field(default=WALL, compare=False)
    ahead: tuple[str, ...] = ()
    uncopied: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.layouts not in LAYOUTS:
            hint = f"layouts are {', '.join(LAYOUTS)}"
            raise IsamapError(f"no layouts {self.layouts!r}", hint=hint)
        seconds = self.time_limit_s
        if isinstance(seconds, bool) or not isinstance(seconds, Real) or not seconds >= 0:
            raise IsamapError(f"a time limit of {seconds!r}, expected a number of seconds")
        expect_whole("workers", self.workers, 1, MOST_WORKERS)
        expect_whole("seed", self.seed, 0, LARGEST_SEED)
        if self.may_reassociate not in (True, False):
            raise IsamapError(f"may_reassociate={self.may_reassociate!r}, expected True or False")
        if not self.clock.is_wall and self.workers != 1:
            raise IsamapError(
                f"{self.workers} workers do not find the same with the same effort",
                hint="one worker, or a time limit",
            )

    def within(self, effort: float | None) -> "Wishes":
        """Limited by so many seconds of work as they are counted, not measured (`EffortClock`),
        from now on; None: by time, as they are."""
        if effort is None:
            return self
        if not isinstance(effort, Real) or not effort >= 0:
            raise IsamapError(f"an effort of {effort!r}, expected a number of seconds")
        return replace(self, time_limit_s=effort, clock=EffortClock())


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a kernel that is a task of a larger one has to respect.

    `handed_on`: buffers that other statements touch too; only coverings that use them as they lie
    are looked at, if there are any. `agreed`: layouts of buffers that lie in a managed memory,
    where that is settled. `taken`: bytes per memory that are not its to use.
    """

    setting: Setting = ALONE
    handed_on: frozenset[str] = frozenset()
    agreed: Mapping[str, Layout] = field(default_factory=lambda: MappingProxyType({}))
    taken: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def are_none(self) -> bool:
        """Is the kernel alone?"""
        return self.setting == ALONE and not self.handed_on


NONE_AROUND = Surroundings()
DEFAULT = Wishes()
