"""Coverings of one match on one tiling: what its operands hold, and the copies that bring it.

In: a match of a kernel's statement, tiled loops, the machine. Out: coverings, or why there is none.
Not its job: which matches and tilings there are (`cover`), one operand's copies (`operand_plans`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from isamap.hwdesc import Hardware, OperandRule
from isamap.ir import Access, Affine, Kernel, LoopKind, Role, Statement, loop_kinds

from .blocks import leaves
from .covering import Covering, OperandPlan, TiledLoop, synthetic_name
from .match import Match
from .operand_plans import OperandPlans
from .subject import Source, Subject
from .tasks import ALONE, Setting, overlaps


def cover_match(
    kernel: Kernel,
    index: int,
    hw: Hardware,
    match: Match,
    loops: tuple[TiledLoop, ...],
    known_plans: OperandPlans,
    setting: Setting = ALONE,
) -> tuple[Covering, ...] | str:
    """Coverings of one match on one tiling, one per choice of layouts; or why there is none."""
    cut = _Cut(kernel, index, hw, match, loops, setting)
    choices: dict[str, tuple[OperandPlan, ...]] = {}
    for rule in sorted(match.instruction.operands, key=cut.turn):
        subject = cut.subject(rule.name)
        reason = next(cut.why_not(subject), "")
        plans = f"operand {rule.name}: {reason}" if reason else known_plans.plan(subject)
        if isinstance(plans, str):
            return plans
        choices[rule.name] = plans
    in_order = [choices[rule.name] for rule in match.instruction.operands]
    return tuple(
        Covering(
            kernel, index, match.instruction.name, match.binding, match.immediates, loops, plans
        )
        for plans in product(*in_order)
    )


@dataclass(frozen=True, slots=True)
class _Cut:
    """A match of a kernel's statement, cut into the calls of tiled loops, and what is around it."""

    kernel: Kernel
    index: int
    hw: Hardware
    match: Match
    loops: tuple[TiledLoop, ...]
    setting: Setting

    @property
    def statement(self) -> Statement:
        """What is computed."""
        return self.kernel.statements[self.index]

    @property
    def begin(self) -> Access | None:
        """What sums begin from, where that is another buffer."""
        ends = self.setting.ends
        return None if ends is None or self.match.is_whole else ends.inlet

    @property
    def synthetic(self) -> tuple[tuple[str, str], ...]:
        """Instruction loops that no loop of the kernel is bound to, with the loops made for
        them."""
        names = {loop.name for loop in self.loops}
        pairs = ((name, synthetic_name(name)) for name, _ in self.match.binding)
        return tuple((name, own) for name, own in pairs if own in names)

    def turn(self, rule: OperandRule) -> int:
        """What fails most often comes first: with a home, then sums that leave as something
        else."""
        if dict(self.match.operands)[rule.name].buffer in dict(self.setting.homes):
            return 0
        ends, result = self.setting.ends, self.match.instruction.result.buffer
        return 1 if ends and ends.outlet and rule.name == result else 2

    def subject(self, operand: str) -> Subject:
        """The operand, and where what it holds comes from and goes to."""
        is_target = operand == self.match.instruction.result.buffer
        access = dict(self.match.operands)[operand]
        if self.begin is not None and not is_target and access == self.statement.target:
            access = self.begin  # S of `D = S + T`, where sums begin from elsewhere
        own, inlet, outlet = self._source(operand, access), None, None
        if operand in dict(self.match.inlets):
            inlet = self._source(operand, dict(self.match.inlets)[operand])
        if is_target and self.begin is not None and self.match.updates_target:
            inlet = self._source(operand, self.begin)
        ends = self.setting.ends
        if is_target and ends is not None and ends.outlet is not None and not self.match.is_whole:
            outlet = self._source(operand, ends.outlet)
        buffers = {source.access.buffer for source in (own, inlet, outlet) if source}
        fresh = tuple(dict.fromkeys(x for name, x in self.setting.volatile if name in buffers))
        value = ends.value if ends and outlet else None
        return Subject(
            self.hw, self.match, self.loops, operand, own, inlet, self.synthetic, fresh, outlet,
            value,
        )  # fmt: skip

    def why_not(self, subject: Subject) -> Iterator[str]:
        """Why calls would not compute what the operand is to hold, whatever brings it."""
        access = subject.access
        if subject.is_target:
            yield from self._why_sums_apart(access)
        if subject.outlet is not None and not self._stores_no_more(subject.outlet.access):
            yield f"would write more of {subject.outlet.buffer.name} than asked"
        pad = access.pad or (subject.inlet.access.pad if subject.inlet else None)
        if pad and not self._may_pad(subject):
            yield f"reads outside give {pad}, only zero can be padded"
        target = self.statement.target
        again = [x.name for x in self.statement.loops if not target.moves_with(x.name)]
        in_place = subject.name in dict(self.match.inlets)
        if in_place and not set(again) <= set(subject.volatile):
            yield f"would be updated again by every iteration of {again[0]}"

    def _why_sums_apart(self, access: Access) -> Iterator[str]:
        """Why sums of one element would go to several places."""
        if self._adds_to_zeros() and overlaps(access):
            yield "its elements are summed up in several tiles, from zeros"
        if not self._writes_once():
            yield "a call would add to some element in several places"

    def _adds_to_zeros(self) -> bool:
        is_out = self.kernel.buffer(self.statement.target.buffer).role is Role.OUT
        return is_out and self.statement.update != "="

    def _writes_once(self) -> bool:
        """Does a block write each element of the target in one place? Else what some of its places
        add would be lost."""
        statement, target = self.statement, self.statement.target
        blocks = {loop.name: loop.block for loop in self.loops if loop.block > 1}
        if all(sum(name in blocks for name in index.names) < 2 for index in target.indices):
            return True
        inside = tuple(replace(loop, extent=blocks.get(loop.name, 1)) for loop in statement.loops)
        kinds = loop_kinds(replace(statement, loops=inside))
        return all(kinds[n] is LoopKind.PARALLEL for n in blocks if target.moves_with(n))

    def _may_pad(self, subject: Subject) -> bool:
        """May the border around an array be something else than zeros?"""
        return subject.inlet is None and isinstance(subject.access.pad, int)

    def _stores_no_more(self, outlet: Access) -> bool:
        """Do iterations past the kernel's loops store outside the outlet's array?"""
        statement = self.statement
        extents = {loop.name: loop.extent for loop in self.loops if outlet.moves_with(loop.name)}
        return all(
            leaves(outlet, loop.name, self.kernel, statement)
            for loop in statement.loops
            if extents.get(loop.name, 0) > loop.extent
        )

    def _source(self, operand: str, access: Access) -> Source:
        """An access that the operand is bound to, with a unit dimension per synthetic loop that
        moves the operand."""
        buffer = self.kernel.buffer(access.buffer)
        uses = [use for use in self.match.instruction.uses if use.buffer == operand]
        moving = [own for loop, own in self.synthetic if any(use.moves_with(loop) for use in uses)]
        name, rank = access.buffer, len(buffer.shape)
        if moving:
            access = replace(access, indices=(*access.indices, *map(Affine.var, moving)))
            buffer = replace(buffer, shape=(*buffer.shape, *(1 for _ in moving)))
        home, is_late = dict(self.setting.homes).get(name), name in self.setting.late
        return Source(access, buffer, rank, home, is_late)
