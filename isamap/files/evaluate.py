"""Take a schedule file at its word: cost, program, time and check of what it says.

In: a path. Out: the answer that the file stands for, beside what it took when it was written. Not
its job: rules (`rebuild`), printing.
"""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from isamap.compile import PlanResult, Request, Result, judge
from isamap.scheduler import Wishes
from isamap.verify import Check

from .read_schedule import read_schedule
from .rebuild import rebuild
from .schedule_text import hardware_digest, kernel_digest
from .schema import Recorded


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`recorded`: what the file says it took. `changes`: what is no longer as it was then."""

    result: Result | PlanResult
    recorded: Recorded
    changes: tuple[str, ...]


def evaluate(
    path: str | PathLike[str], *, verify: Check | str = Check.QUICK, seed: int | None = None
) -> Evaluation:
    """Cost, lower, time and check a schedule file, edited or not.

    Args:
        verify: how much is executed to check the program.
        seed: of the check's random inputs; None: the file's.

    Raises:
        SpecErrors: every rule that the file breaks, sorted by position.
        KernelError, SpecErrors: its kernel or its hardware file is wrong.
    """
    schedule = read_schedule(Path(path))
    content = schedule.content
    built = rebuild(schedule)
    request = Request(
        built.kernel.name,
        built.hardware.name,
        built.file.sizes,
        "analytical",
        "natural",
        Check(verify),
        0.0,
        1,
        content.options.seed if seed is None else Wishes(seed=seed).seed,
        content.options.reassociate,
    )
    result = judge(request, built.kernel, built.hardware, built.file, built.found)
    digests = (
        ("the kernel", content.kernel.digest, kernel_digest(built.kernel)),
        ("the hardware file", content.hardware.digest, hardware_digest(built.hardware)),
    )
    changes = tuple(what for what, old, new in digests if old and old != new)
    return Evaluation(result, content.recorded, changes)
