"""How a cost model sees the candidates of one kernel: all at once, or round by round.

In: a cost model, a machine, candidates as they are proposed. Out: prices that compare with each
other, and how many more candidates the model wants to see. Not its job: which candidates there are
(whoever proposes them knows), prices (the model's).
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.program import Program

from .registry import Candidate, CostModel, Price


class Contest(Protocol):
    """One comparison, from the first candidates to the last word."""

    @property
    def wanted(self) -> int:
        """How many more candidates it wants to see; 0: it has seen enough."""
        ...

    def see(self, candidates: Sequence[Candidate]) -> tuple[Price, ...]:
        """Prices of all candidates so far, these included, in the order in which they came."""
        ...

    def settle(self) -> tuple[Price, ...]:
        """The same, once no more candidates will come; a closer look may have changed them."""
        ...


@runtime_checkable
class TakesRounds(Protocol):
    """A cost model that learns from what it sees which candidates to ask for next."""

    def open_contest(self, kernel: Kernel, hw: Hardware) -> Contest:
        """A comparison of candidates for a kernel."""
        ...

    def shared(self, count: int) -> CostModel:
        """The model for each of so many kernels that share its time."""
        ...


@runtime_checkable
class CountsPrograms(Protocol):
    """A cost model that prices candidates as it prices any program: wholes compare, whatever they
    are made of, and what it prefers among few coverings is worth a look among many candidates."""

    def one_by_one(self) -> CostModel:
        """The model that prices only the best candidate of each covering."""
        ...

    def program_cycles(self, program: Program, hw: Hardware) -> int:
        """What a whole program takes."""
        ...


class SingleRound:
    """Of a model that prices some candidates together, once."""

    def __init__(self, model: CostModel, hw: Hardware) -> None:
        self.model = model
        self.hw = hw
        self.prices: tuple[Price, ...] = ()

    @property
    def wanted(self) -> int:
        """All that it wants at first, and nothing after that."""
        return 0 if self.prices else self.model.num_candidates

    def see(self, candidates: Sequence[Candidate]) -> tuple[Price, ...]:
        """As the model says."""
        assert not self.prices, "a single round"
        self.prices = self.model.price(candidates, self.hw)
        return self.prices

    def settle(self) -> tuple[Price, ...]:
        """The same again."""
        return self.prices


def open_contest(model: CostModel, kernel: Kernel, hw: Hardware) -> Contest:
    """A comparison in as many rounds as the model takes."""
    if isinstance(model, TakesRounds):
        return model.open_contest(kernel, hw)
    return SingleRound(model, hw)


def share_time(model: CostModel, count: int) -> CostModel:
    """The model for each of so many kernels; the same where it takes no time of its own."""
    return model.shared(count) if isinstance(model, TakesRounds) else model
