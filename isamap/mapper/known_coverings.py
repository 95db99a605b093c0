"""Enumerate the coverings of every kernel on one machine once.

In: kernels, what surrounds them. Out: their coverings, lazily, as often as they are asked for; of
those that have operands exchanged the first. Not its job: enumerating them (`coverings`), which
those are (`drop_exchanged`).

Tasks are scheduled in more and less room, and asked where buffers may lie before: none of that
changes their coverings.
"""

from collections.abc import Iterator

from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Buffer, Kernel, Statement

from .cover import coverings
from .covering import Covering
from .drop_exchanged import drop_exchanged
from .match import Mismatch
from .tasks import ALONE, Setting

# all that coverings depend on: not the kernel's name
CoveringKey = tuple[tuple[Buffer, ...], tuple[Statement, ...], Setting, bool, int | None]


class FoundCoverings:
    """The coverings of one kernel, found as far as somebody went through them; `mismatches`: why
    instructions did not match, as far as that is known."""

    def __init__(self, stream: Iterator[Covering], mismatches: list[Mismatch]) -> None:
        self.mismatches = mismatches
        self._stream = stream
        self._known: list[Covering] = []
        self._failure: MappingError | None = None

    def __iter__(self) -> Iterator[Covering]:
        """From the first one on; MappingError as `coverings`."""
        number = 0
        while number < len(self._known) or self._finds_another():
            yield self._known[number]
            number += 1

    def _finds_another(self) -> bool:
        if self._failure is not None:
            raise self._failure
        try:
            covering = next(self._stream, None)
        except MappingError as error:
            self._failure = error
            raise
        if covering is not None:
            self._known.append(covering)
        return covering is not None


class KnownCoverings:
    """Coverings by kernel and surroundings, all on one machine; grows."""

    def __init__(self) -> None:
        self._found: dict[CoveringKey, FoundCoverings] = {}

    def find(
        self,
        kernel: Kernel,
        hw: Hardware,
        setting: Setting = ALONE,
        *,
        may_reassociate: bool = False,
        max_matches: int | None = None,
    ) -> FoundCoverings:
        """As `coverings`, without those that have operands exchanged."""
        key = kernel.buffers, kernel.statements, setting, may_reassociate, max_matches
        if key not in self._found:
            mismatches: list[Mismatch] = []
            stream = coverings(
                kernel,
                hw,
                mismatches,
                setting,
                may_reassociate=may_reassociate,
                max_matches=max_matches,
            )
            self._found[key] = FoundCoverings(drop_exchanged(stream, hw), mismatches)
        return self._found[key]
