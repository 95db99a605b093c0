"""Waiting for single blocks, as CP-SAT constraints (formulas: costmodels/block_waits).

In: the variables, the work. Out: constraints on a stay's stall. Not its job: tiles (`stalls`).
"""

from math import ceil

from ortools.sat.python import cp_model

from isamap.costmodels import Flow, Work, block_limits, sweep_wait
from isamap.hwdesc import Hardware

from .algebra import LIMIT, SCALE, Bool, Linear, Number, high, negated
from .options import tile_options
from .variables import StayVars, Variables


class BlockStalls:
    """Of one tiling model."""

    def __init__(self, variables: Variables, work: Work, hw: Hardware) -> None:
        self.vars = variables
        self.cp = variables.cp
        self.work = work
        self.hw = hw

    def add(
        self,
        stay: StayVars,
        flows: list[Flow],
        stall: cp_model.IntVar,
        replaced: Bool,
        last_use: int,
    ) -> None:
        """`stall` is at least that of a stay whose blocks' last uses take so long (see
        block_waits.block_stall_cycles)."""
        low = [] if isinstance(stay.is_low, int) else [stay.is_low]
        resting = [name for name in self.vars.loops if name not in stay.plan.loops]
        for slots, literal in self.vars.slot_literals(stay):
            conditions = [replaced, *low, *literal]
            if len(resting) == 1:
                self._add_single_reuse(stay, stall, resting[0], flows, slots, last_use, conditions)
            else:
                self._add_product_reuse(stay, stall, resting, flows, slots, last_use, conditions)

    def _add_single_reuse(
        self,
        stay: StayVars,
        stall: cp_model.IntVar,
        name: str,
        flows: list[Flow],
        slots: int,
        last_use: int,
        conditions: list[Bool],
    ) -> None:
        """One reusing loop: waiting per sweep over it, from a table over its tiles."""
        loop = self.vars.loops[name]
        rows = [
            (tile, ceil(SCALE * sweep_wait(self.work, flows, slots, loop, tile, last_use)))
            for tile, _ in tile_options(self.vars.covering, loop, self.hw)
        ]
        label = f"sweep_{stay.label}_{name}_{slots}_{last_use}"
        domain = cp_model.Domain.from_values([waits for _, waits in rows])
        sweep = self.cp.model.new_int_var_from_domain(domain, label)
        self.cp.model.add_allowed_assignments([self.vars.tile[name], sweep], rows)
        sweeps = self.work.calls // loop.units
        again = stay.refetch_inner.get(name)
        kept = [] if again is None else [negated(again)]
        self.cp.model.add(stall >= sweeps * sweep).only_enforce_if([*conditions, *kept])
        if again is not None:
            worst = sweeps * ceil(SCALE * sweep_wait(self.work, flows, slots, loop, 1, last_use))
            self.cp.model.add(stall >= worst).only_enforce_if([*conditions, again])

    def _add_product_reuse(
        self,
        stay: StayVars,
        stall: cp_model.IntVar,
        resting: list[str],
        flows: list[Flow],
        slots: int,
        last_use: int,
        conditions: list[Bool],
    ) -> None:
        """Several reusing loops: stall * uses >= calls * wait, the wait falling with the uses."""
        limits = block_limits(flows, slots)
        lasting = last_use - self.work.call_cycles
        latency = ceil(SCALE * (limits[0] + lasting))
        pace, turns = ceil(SCALE * limits[1]), limits[2]
        issue = SCALE * self.work.call_cycles
        label = f"uses_{stay.label}_{slots}_{last_use}"
        factors: list[Number] = []
        for name in resting:
            again = stay.refetch_inner.get(name)
            uses = self.vars.tile[name]
            if again is not None:
                uses = self.cp.either(uses, 1, again, f"{label}_{name}")
            factors.append(uses)
        together = self.cp.product(factors, label)
        calls = self.work.calls
        shared: Linear = stall * together if isinstance(together, int) else stall
        if not isinstance(together, int):
            top = min(high(stall) * high(together), LIMIT)
            shared = self.cp.model.new_int_var(0, top, f"shared_{label}")
            self.cp.model.add_multiplication_equality(shared, [stall, together])
        waiting = calls * latency - calls * (turns - 1) * issue * together
        self.cp.model.add(turns * shared >= waiting).only_enforce_if(conditions)
        pacing = calls * pace - calls * issue * together
        self.cp.model.add(shared >= pacing).only_enforce_if(conditions)
