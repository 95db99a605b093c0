"""What the parts of the solver's model share.

In: the variables, the work, what every flow moves. Out: attributes. Not its job: constraints
(`stalls`, `turns`, `exchanges`).
"""

from isamap.costmodels import Work
from isamap.hwdesc import Hardware

from .algebra import Linear, Number
from .variables import Variables


class ModelPart:
    """`moved` is what each flow keeps its unit busy, by number, in `passes` passes."""

    def __init__(
        self,
        variables: Variables,
        work: Work,
        hw: Hardware,
        moved: dict[int, Linear],
        passes: dict[int, Number],
    ) -> None:
        self.vars = variables
        self.cp = variables.cp
        self.work = work
        self.hw = hw
        self.moved = moved
        self.passes = passes
