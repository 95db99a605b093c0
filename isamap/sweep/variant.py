"""What is swept: machines that differ in settings, and the kernels that each of them runs.

In: nothing but these values. Out: frozen values, their combinations. Not its job: running them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from isamap.errors import IsamapError
from isamap.hwdesc import Setting


@dataclass(frozen=True, slots=True)
class Axis:
    """One place of the description, and the values that it takes in turn."""

    path: str
    settings: tuple[Setting, ...]

    @staticmethod
    def of(path: str, values: Sequence[object]) -> "Axis":
        """Values that stand in no text."""
        return Axis(path, tuple(Setting.of(path, value) for value in values))


@dataclass(frozen=True, slots=True)
class Variant:
    """A hardware file (a path or a bundled name) with settings; `number` counts from 1."""

    number: int
    hardware: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """A kernel as it is asked for, at sizes."""

    kernel: str
    sizes: tuple[tuple[str, int], ...]


def combine(files: Sequence[str], axes: Sequence[Axis], *, zipped: bool = False) -> list[Variant]:
    """Every file with every combination of settings, the last axis fastest.

    `zipped`: the first values of all axes together, then the second ones ..

    Raises:
        IsamapError: axes of different lengths are to be zipped.
    """
    rows = _zip(axes) if zipped and axes else product(*(axis.settings for axis in axes))
    pairs = product(files, list(rows))
    return [Variant(n, file, tuple(row)) for n, (file, row) in enumerate(pairs, 1)]


def _zip(axes: Sequence[Axis]) -> Iterator[tuple[Setting, ...]]:
    counts = [len(axis.settings) for axis in axes]
    if len(set(counts)) > 1:
        said = ", ".join(f"{axis.path} {count}" for axis, count in zip(axes, counts))
        raise IsamapError(
            f"values that go together must be equally many: {said}",
            hint="without --zip every combination is taken",
        )
    return zip(*(axis.settings for axis in axes))
