"""What the aim says of the tilings of one covering, each worked out once.

In: a covering, its work, the machine, an aim; tilings. Out: which are legal, and their ranks. Not
its job: which tilings to ask about (`greedy`, `descend`).

Most tilings are asked about to see that another one is better: that shows before all of an estimate
is counted, mostly after what one or two caches take in.
"""

from math import inf

from isamap.costmodels import Aim, Begun, Tiling, Work
from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .legality import is_legal
from .neighbours import form

Rank = tuple[float, float]
NEVER = (inf, inf)
NOTHING = (0.0, 0.0)  # no rank is below
ESTIMATE_S = 0.0005  # of effort: about what one takes


class Ranking:
    """Every tiling that was asked about: is it legal, its rank, or what that is not below."""

    def __init__(self, covering: Covering, work: Work, hw: Hardware, aim: Aim) -> None:
        self.covering = covering
        self.work = work
        self.hw = hw
        self.aim = aim
        self.possible: dict[Tiling, bool] = {}
        # with what is not counted yet, where that rank is one that it is not below
        self.known: dict[tuple[object, ...], tuple[Rank, Begun | None]] = {}

    @property
    def effort_s(self) -> float:
        """Of all estimates so far."""
        return ESTIMATE_S * len(self.known)

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
        known = self.known.get(key)
        if known is None:
            is_possible = self.is_possible(tiling)
            begun = Begun(self.covering, self.work, tiling, self.hw) if is_possible else None
            least = NEVER if begun is None else NOTHING
        else:
            least, begun = known
        if begun is not None and least <= most:
            for costs in begun.rising():
                least = self.aim.rank(costs)
                if least > most:
                    break
            else:
                begun = None
        self.known[key] = least, begun
        return least
