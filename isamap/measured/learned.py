"""The cost model that was taught by measurements of other shapes, and measures nothing itself.

In: candidates. Out: prices: the closed form's cycles, corrected by what programs took on this
processor that differed alike. Not its job: measuring (`cost_model`), the correction (`fit`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from isamap.codegen import find_toolchain
from isamap.costmodels import INSTRUCTION, TERMS_VERSION, Candidate, Price
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware

from .correlate import LEAST
from .cost_model import check_runs_here
from .database import Database, Description, Kept, Lesson, default_path
from .describe import describe
from .fit import Fit, comparable, fit
from .subject import Setting, make_setting

LEAST_SUBJECTS = 4  # of fewer, those that are left out say nothing about the next one


@dataclass(frozen=True, slots=True)
class Learned:
    """Chooses among the closed form's best candidates for a shape that need not have been measured.

    `database`: a file that `Measured` filled; the user's own if None.
    """

    num_candidates: int = 8
    database: Path | None = None

    @property
    def name(self) -> str:
        """As in `--cost learned`."""
        return "learned"

    def check(self, hw: Hardware) -> None:
        """Raise an IsamapError unless enough was measured on this processor."""
        check_runs_here(hw)
        self._lessons(hw)

    def price(self, candidates: Sequence[Candidate], hw: Hardware) -> tuple[Price, ...]:
        """The typical ratio of measured and predicted times, more for one and less for another.

        Raises:
            IsamapError: too little was measured.
        """
        lessons = self._lessons(hw)
        learned = fit(lessons)
        about = [describe(candidate, hw) for candidate in candidates]
        notes = (*_account(learned, lessons, hw), *_strangers(about, lessons))
        ratios = learned.ratios([found.terms for found in about])
        return tuple(
            Price(max(1, round(ratio * found.predicted_s * hw.clock_hz)), notes=notes)
            for ratio, found in zip(ratios, about, strict=True)
        )

    def _lessons(self, hw: Hardware) -> tuple[Lesson, ...]:
        setting = make_setting(hw, find_toolchain(hw))
        database = Database(self.database or default_path())
        lessons = database.lessons(setting, TERMS_VERSION)
        count = len(comparable(lessons))
        if count >= LEAST_SUBJECTS:
            return lessons
        unused = _unused(database.settings(TERMS_VERSION), setting)
        raise IsamapError(
            f"--cost learned: {count or 'no'} shape{'' if count == 1 else 's'} of {LEAST}"
            f" schedules or more measured on this processor for {hw.name}; it takes"
            f" {LEAST_SUBJECTS}{unused}",
            hint=f"'isamap tune KERNEL --hw {hw.name} --size m=64,512,1760 ..' measures more;"
            f" they are looked for in {database.path}",
        )


def _unused(kept: Sequence[Kept], setting: Setting) -> str:
    """How many measurements there are that tell nothing here, and why."""
    counts: dict[str, int] = {}
    for row in kept:
        reason = _difference(row.setting, setting)
        number = row.num_measured if reason else row.num_measured - row.num_described
        reason = reason or "without the terms that are learned from (tune again: times are kept)"
        if number:
            counts[reason] = counts.get(reason, 0) + number
    found = [f"{number} {reason}" for reason, number in counts.items()]
    return f"; not used: {', '.join(found)}" if found else ""


def _difference(one: Setting, other: Setting) -> str:
    """Why the first one's measurements say nothing about the other one; nothing if they do."""
    rows = (
        (("processor", "features"), "of another processor"),
        (("hardware",), f"of {one.hardware}"),
        (("hardware_digest",), f"of {one.hardware} as it was described or with other threads"),
        (("compiler", "flags"), "of another compiler"),
        (("version",), f"of isamap {one.version}"),
    )
    for names, reason in rows:
        if any(getattr(one, name) != getattr(other, name) for name in names):
            return reason
    return ""


def _strangers(about: Sequence[Description], lessons: Sequence[Lesson]) -> Iterator[str]:
    """Instructions of candidates that no lesson is about."""
    known = _instructions(lesson.description for lesson in lessons)
    for name in sorted(_instructions(about) - known):
        yield (
            f"{name} was not among them: what is said of its schedules, and how often it is right,"
            " comes from other instructions"
        )


def _instructions(about: Iterable[Description]) -> set[str]:
    names = {name for found in about for name in found.terms}
    return {name.removeprefix(INSTRUCTION) for name in names if name.startswith(INSTRUCTION)}


def _account(learned: Fit, lessons: Sequence[Lesson], hw: Hardware) -> tuple[str, ...]:
    """What it was learned from, and how good it is on shapes that it has not seen."""
    kernels = ", ".join(sorted({lesson.kernel for lesson in lessons}))
    skill, plain = learned.skill, learned.closed_form
    verdict = ""
    if not learned.weights:
        verdict = ": nothing was learned that orders unseen shapes better, the closed form chooses"
    elif skill.first_over_best >= plain.first_over_best:
        verdict = ": no better than the closed form so far, measure more shapes"
    return (
        f"learned from {learned.num_lessons} measurements of {learned.num_subjects} shapes of"
        f" {kernels} on this processor, described as {hw.name}",
        f"on shapes left out: rank correlation {skill.correlation:.2f} (closed form"
        f" {plain.correlation:.2f}), the first takes {skill.first_over_best:.3f} times the best"
        f" one's time (closed form {plain.first_over_best:.3f}){verdict}",
    )
