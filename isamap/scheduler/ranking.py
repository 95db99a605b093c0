"""What the aim says of the tilings of one covering, each worked out once.

In: a covering, its work, the machine, an aim; tilings. Out: which are legal, and their ranks. Not
its job: which tilings to ask about (`greedy`, `descend`).

What caches take in is most of the work of an estimate, and most tilings are asked about to see
that another one is better: that shows before all of it is counted, mostly after one or two caches.
"""

from math import inf

from isamap.costmodels import Aim, Tiling, Unrefilled, Work, begin_estimate
from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .legality import is_legal
from .neighbours import form

Rank = tuple[float, float]
NEVER = (inf, inf)
ESTIMATE_S = 0.0005  # of effort: about what one takes


class Ranking:
    """Every tiling that was asked about: is it legal, its rank, or what that is not below."""

    def __init__(self, covering: Covering, work: Work, hw: Hardware, aim: Aim) -> None:
        self.covering = covering
        self.work = work
        self.hw = hw
        self.aim = aim
        self.possible: dict[Tiling, bool] = {}
        self.known: dict[tuple[object, ...], Rank] = {}
        self.begun: dict[tuple[object, ...], tuple[Rank, Unrefilled]] = {}

    @property
    def effort_s(self) -> float:
        """Of all estimates so far."""
        return ESTIMATE_S * (len(self.known) + len(self.begun))

    def is_possible(self, tiling: Tiling) -> bool:
        """Is it legal?"""
        known = self.possible.get(tiling)
        if known is None:
            known = self.possible[tiling] = is_legal(self.covering, tiling, self.hw)
        return known

    def rank(self, tiling: Tiling, most: Rank = NEVER) -> Rank:
        """Least for the tiling that the aim likes best, more than of all others if it is illegal;
        of one whose rank is more than `most`, any that is more than `most`, too."""
        key = form(self.covering, tiling)
        if key in self.known:
            return self.known[key]
        if key not in self.begun:
            if not self.is_possible(tiling):
                self.known[key] = NEVER
                return NEVER
            begun = begin_estimate(self.covering, self.work, tiling, self.hw)
            self.begun[key] = self.aim.rank(begun.least), begun
        least, begun = self.begun[key]
        if least > most:
            return least
        for costs in begun.rising():
            least = self.aim.rank(costs)
            if least > most:
                self.begun[key] = least, begun
                return least
        del self.begun[key]
        self.known[key] = least
        return least
