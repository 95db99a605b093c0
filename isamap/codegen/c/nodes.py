"""What a program's nodes become before they are C text.

Here: loops, conditions and calls in which every count and address that can be a number is one, and
hints to caches. Not its job: making them (`specialise`, `prefetch`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from isamap.program import Edge, Issue, Operand, Span

from .regions import CoreLoop


@dataclass(frozen=True, slots=True)
class CLoop:
    """Run `body` for `name` = first .. stop-1; `stop` may be known at run time only. `begun_at`: a
    loop around it, in whose first iteration `first` was run before and is left out."""

    name: str
    first: int
    stop: int | Span
    body: tuple["CNode", ...]
    begun_at: str | None = None

    @property
    def limit(self) -> int:
        """`stop`, at most."""
        return self.stop if isinstance(self.stop, int) else self.stop.limit


@dataclass(frozen=True, slots=True)
class CIf:
    """Run `body` if all loops are at their first / last iteration; each with its count."""

    conditions: tuple[tuple[str, Edge, int | Span], ...]
    body: tuple["CNode", ...]


@dataclass(frozen=True, slots=True)
class CShare:
    """Run `body` on cores whose `name`, the value of a loop spread over cores, is below `stop`."""

    name: str
    stop: int | Span
    body: tuple["CNode", ...]


@dataclass(frozen=True, slots=True)
class CRegion:
    """Run `body` on all cores beside each other."""

    body: tuple["CNode", ...]
    loops: tuple[CoreLoop, ...]


@dataclass(frozen=True, slots=True)
class CCall:
    """One call; its spans are constant (`total` None) wherever they can be."""

    issue: Issue


@dataclass(frozen=True, slots=True)
class CBehind:
    """From the loop's value `first` on, `more_bytes` further on: what follows lies elsewhere."""

    name: str
    first: int
    more_bytes: int


@dataclass(frozen=True, slots=True)
class CHint:
    """Ask for the line `ahead_bytes` behind the place of an operand that is read soon; `is_along`:
    of a single row, along which a loop moves; `behind`: unless a loop comes to its end."""

    operand: Operand
    ahead_bytes: int
    is_along: bool = False
    behind: CBehind | None = None


@dataclass(frozen=True, slots=True)
class CTurn:
    """Run `body` in each `period`-th iteration of a loop, from its value `first` on."""

    name: str
    period: int
    first: int
    body: tuple["CHint | CCall | CTurn", ...]


CNode = CLoop | CIf | CShare | CRegion | CCall | CHint | CTurn


def count_calls(nodes: Iterable[CNode]) -> int:
    """How many calls are written, each once however often it runs."""
    total = 0
    for node in nodes:
        match node:
            case CCall():
                total += 1
            case CLoop() | CIf() | CShare() | CRegion():
                total += count_calls(node.body)
            case CHint() | CTurn():
                pass
            case _:
                assert_never(node)
    return total
