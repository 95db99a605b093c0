"""What one copy of an operand takes in a full pass.

In: nothing but this node. Out: a frozen value. Not its job: counting it (`count_flows`).
"""

from dataclasses import dataclass

from .traffic import Moved, Port


@dataclass(frozen=True, slots=True)
class Flow:
    """One transfer of one residence.

    `pass_cycles`: issue cycles to move the whole operand once (per position of `windows`, when it
    slides).
    `first_cycles`: of one block. `ports`: port cycles of the same pass; `moved`: its bytes and
    energy. On several cores: of a shared unit or port and for bytes and energy what all cores
    together need, otherwise the first core's. `overlap_cycles`: of one block, beside the
    computation on it. `entries`: of the fifo memory that it fills, `entry_cycles` apart at least
    (0: no such memory). `is_inward`: goes to a passage; `is_onward`: goes on from one. `is_again`:
    brings back sums that were taken out unfinished. `short`: of a window axis whose positions fill
    calls, what a call of so many costs beyond its share of a full one, in positions.
    """

    operand: str
    residence: int
    is_drain: bool
    unit: str
    pass_cycles: float
    first_cycles: float
    latency_cycles: int
    ports: tuple[tuple[Port, float], ...]
    moved: Moved
    windows: tuple[str, ...]
    overlap_cycles: float = 0.0
    entries: int = 0
    entry_cycles: int = 0
    is_inward: bool = False
    is_onward: bool = False
    is_again: bool = False
    short: tuple[tuple[str, tuple[int, ...]], ...] = ()
    apart_cycles: int = 0

    @property
    def lead_cycles(self) -> float:
        """From the start of a block's transfer until the computation on it may begin (for drains:
        what it adds after the computation)."""
        return self.first_cycles + self.latency_cycles - self.overlap_cycles
