"""The decisions of a tiling as CP-SAT variables, and what follows from them for reuse and room.

In: a covering, its work, the machine. Out: variables per loop and stay, constraints on legality and
capacity. Not its job: costs.

Per loop one (tile, trips) pair of those worth trying; both loop orders as pairwise booleans; per
stay its level, slots and kept loops. A loop that an operand ignores multiplies its traffic when
some loop inside it replaces the data.
"""

from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from isamap.costmodels import Work
from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan, Residence, TileAxis

from .algebra import Algebra, Bool, Linear, Number, add_up, negated
from .options import (
    is_uneven,
    level_options,
    may_keep_over,
    must_stay_whole,
    slot_options,
    tile_options,
    why_alone,
)
from .place import passages


@dataclass
class StayVars:
    """The variables of one stay."""

    plan: OperandPlan
    residence: Residence
    number: int
    is_low: Number  # 1: a single block (level 0)
    is_double: Number  # 1: two slots, or more
    is_deep: Number  # 1: the largest number of slots that is worth trying
    slots: tuple[int, ...]  # worth trying
    kept: dict[str, cp_model.IntVar] = field(default_factory=dict)
    changes: dict[str, cp_model.IntVar] = field(
        default_factory=dict
    )  # tile loops that replace data
    changes_inner: dict[str, cp_model.IntVar] = field(default_factory=dict)
    refetch: dict[str, cp_model.IntVar] = field(default_factory=dict)
    refetch_inner: dict[str, cp_model.IntVar] = field(default_factory=dict)
    factors: dict[str, Number] = field(default_factory=dict)  # per loop that fetches again
    factor: Number = 1  # product of them
    positions: dict[str, Number] = field(default_factory=dict)  # of a tile, per window axis
    volume: Number = 1  # blocks (or window positions) of a tile
    kept_volume: Number = 1  # of the tiles kept side by side
    room: Number = 1  # of all slots of them

    @property
    def label(self) -> str:
        """Name used in the model's variables."""
        return f"{self.plan.name}{self.number}"

    @property
    def is_inner(self) -> bool:
        """Does another memory on chip lie outside, and may this one hold tiles all the same?"""
        return self.number < len(self.plan.residences) - 1 and not self.is_always_low

    @property
    def is_always_low(self) -> bool:
        """Is a single block the only choice?"""
        return isinstance(self.is_low, int) and bool(self.is_low)

    @property
    def is_never_low(self) -> bool:
        """Is a tile the only choice?"""
        return isinstance(self.is_low, int) and not self.is_low


class Variables:
    """All decisions of one covering's tiling."""

    def __init__(self, covering: Covering, work: Work, hw: Hardware) -> None:
        self.covering = covering
        self.work = work
        self.hw = hw
        self.is_token = hw.has_tokens
        self.cp = Algebra()
        self.loops = {loop.name: loop for loop in covering.loops if loop.units > 1}
        self.tile: dict[str, cp_model.IntVar] = {}
        self.trips: dict[str, cp_model.IntVar] = {}
        self.iterations: dict[str, cp_model.IntVar] = {}
        self.last: dict[str, cp_model.IntVar] = {}  # units of the last tile
        self.uneven: dict[str, Bool] = {}  # is the last tile of other parity than the others?
        self.even: dict[str, Bool] = {}  # is the tile's size even?
        self.many_tiles: dict[str, Bool] = {}
        self.many_units: dict[str, Bool] = {}
        self.outside: dict[tuple[str, str], Bool] = {}
        self.outside_inner: dict[tuple[str, str], Bool] = {}
        for name in self.loops:
            self._add_loop(name)
        self.outside = self._add_order("outer")
        self._hold()
        self.outside_inner = self._add_order("inner")
        self.stays = [
            self._add_stay(plan, number)
            for plan in covering.operands
            for number in range(len(plan.residences))
        ]
        self._nest_stays()
        self._add_capacity()

    def _nest_stays(self) -> None:
        """Blocks are what tiles further out are moved as; what an inner memory keeps, that outside
        of it does, too (see options.level_options, legality)."""
        for inner, outer in zip(self.stays, self.stays[1:], strict=False):
            if inner.plan is not outer.plan:
                continue
            if not isinstance(inner.is_low, int) and not isinstance(outer.is_low, int):
                self.cp.model.add_implication(outer.is_low, inner.is_low)
            for name, kept in inner.kept.items():
                self.cp.model.add_implication(kept, outer.kept[name])

    def _add_loop(self, name: str) -> None:
        loop = self.loops[name]
        pairs = tile_options(self.covering, loop, self.hw)
        rows = [
            (t, r, min(t * loop.block, loop.extent), loop.units - (r - 1) * t)
            + (int(is_uneven(loop, t)), int(t % 2 == 0))
            for t, r in pairs
        ]
        columns = []
        for label, values in zip("trnlue", zip(*rows, strict=True), strict=True):
            domain = cp_model.Domain.from_values(list(values))
            columns.append(self.cp.model.new_int_var_from_domain(domain, f"{label}_{name}"))
        self.cp.model.add_allowed_assignments(columns, rows)
        self.tile[name], self.trips[name], self.iterations[name] = columns[:3]
        self.last[name], self.uneven[name], self.even[name] = columns[3:]
        for store, column, label in (
            (self.many_tiles, columns[1], "tiles"),
            (self.many_units, columns[0], "units"),
        ):
            many = self.cp.model.new_bool_var(f"many_{label}_{name}")
            self.cp.model.add(column >= 2).only_enforce_if(many)
            self.cp.model.add(column == 1).only_enforce_if(negated(many))
            store[name] = many

    def _add_order(self, label: str) -> dict[tuple[str, str], Bool]:
        names = list(self.loops)
        position = {
            n: self.cp.model.new_int_var(0, len(names) - 1, f"{label}_at_{n}") for n in names
        }
        if len(names) > 1:
            self.cp.model.add_all_different(list(position.values()))
        order = {}
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                before = self.cp.model.new_bool_var(f"{label}_{a}_{b}")
                self.cp.model.add(position[a] < position[b]).only_enforce_if(before)
                self.cp.model.add(position[a] > position[b]).only_enforce_if(negated(before))
                order[a, b] = before
                order[b, a] = negated(before)
        return order

    def _hold(self) -> None:
        """Held loops are outside all others, in their order."""
        held = [name for name in self.covering.held if name in self.loops]
        for position, name in enumerate(held):
            for other in self.loops:
                if other not in held[: position + 1]:
                    self.cp.model.add_bool_or(self.outside[name, other])

    def _add_stay(self, plan: OperandPlan, number: int) -> StayVars:
        residence = plan.residences[number]
        label = f"{plan.name}{number}"
        levels = sorted({choice[number] for choice in level_options(self.covering, plan, self.hw)})
        is_low: Number = int(levels == [0])
        if levels == [0, 1]:
            is_low = self.cp.model.new_bool_var(f"low_{label}")
        slots = slot_options(self.covering, self.work, plan, number, self.hw)
        is_double, is_deep = self._add_slots(slots, label)
        stay = StayVars(plan, residence, number, is_low, is_double, is_deep, slots)
        moving = [name for name in plan.loops if name in self.loops]
        for name in moving:
            self._add_changes(stay, name, label)
        self._keep_inside(stay, moving)
        changed_inside = self.cp.any_of(list(stay.changes_inner.values()), f"changed_{label}")
        for name in self.loops:
            if name not in moving:
                self._add_refetch(stay, name, changed_inside, label)
        self._alternate(stay, label)
        self._add_volume(stay, label)
        if must_stay_whole(plan):
            for literal in (*stay.refetch.values(), *stay.refetch_inner.values()):
                self.cp.model.add(literal == 0)
        return stay

    def _add_slots(self, slots: tuple[int, ...], label: str) -> tuple[Number, Number]:
        """Several slots? As many as are worth trying?"""
        if len(slots) == 1:
            return 0, 0
        is_double = self.cp.model.new_bool_var(f"double_{label}")
        if len(slots) == 2:
            return is_double, 0
        is_deep = self.cp.model.new_bool_var(f"deep_{label}")
        self.cp.model.add_implication(is_deep, is_double)
        return is_double, is_deep

    def _add_changes(self, stay: StayVars, name: str, label: str) -> None:
        """Does the tile loop `name` replace the stay's data? Does the unit loop?"""
        low = stay.is_low
        stay.changes[name] = self.many_tiles[name]
        is_window = any(axis.is_window and name in axis.loops for axis in stay.plan.axes)
        may_keep = not is_window and not (self.is_token and stay.plan.is_output)
        may_keep = may_keep and may_keep_over(self.covering, stay.plan, self.loops[name])
        if stay.plan.is_output and why_alone(self.covering, self.loops[name]):
            may_keep = False
        if may_keep and not (isinstance(low, int) and low):
            kept = self.cp.model.new_bool_var(f"kept_{label}_{name}")
            if not isinstance(low, int):
                self.cp.model.add_implication(kept, negated(low))
            self.cp.model.add_implication(kept, self.many_tiles[name])
            stay.kept[name] = kept
            stay.changes[name] = self.cp.both(
                self.many_tiles[name], negated(kept), f"changes_{label}_{name}"
            )
        if isinstance(low, int):
            if low:
                stay.changes_inner[name] = self.many_units[name]
        else:
            stay.changes_inner[name] = self.cp.both(
                low, self.many_units[name], f"inner_{label}_{name}"
            )

    def _alternate(self, stay: StayVars, label: str) -> None:
        """Slots of single blocks take turns (see legality.alternates)."""
        if stay.is_never_low or (isinstance(stay.is_double, int) and not stay.is_double):
            return
        chosen = [stay.is_low, stay.is_double]
        excused = [negated(choice) for choice in chosen if not isinstance(choice, int)]
        moving = {n: self.many_units[n] for n in self.loops if n in stay.plan.loops}
        counts = {**moving, **stay.refetch_inner}  # loops that change the slot
        evens = {
            name: self.cp.both(counted, self.even[name], f"evens_{label}_{name}")
            for name, counted in counts.items()
        }
        for name, counted in counts.items():
            even_inside = [
                self.cp.both(self.outside_inner[name, other], even, f"w_{label}_{name}_{other}")
                for other, even in evens.items()
                if other != name
            ]
            self.cp.model.add_bool_or(
                *excused, negated(self.uneven[name]), negated(counted), *even_inside
            )
            if not isinstance(stay.is_deep, int):
                uneven = self._is_uneven(name, stay.slots[-1], label)
                self.cp.model.add_bool_or(
                    *excused[:-1], negated(stay.is_deep), negated(uneven), negated(counted)
                )

    def _is_uneven(self, name: str, slots: int, label: str) -> Bool:
        """Does the loop's last tile put so many slots out of step?"""
        loop = self.loops[name]
        uneven = self.cp.model.new_bool_var(f"uneven_{label}_{name}")
        tiles = tile_options(self.covering, loop, self.hw)
        rows = [(tile, int(is_uneven(loop, tile, slots))) for tile, _ in tiles]
        self.cp.model.add_allowed_assignments([self.tile[name], uneven], rows)
        return uneven

    def _keep_inside(self, stay: StayVars, moving: list[str]) -> None:
        """Kept loops lie inside the loops that replace the data (elsewhere keeping gains
        nothing)."""
        for name, kept in stay.kept.items():
            for other in moving:
                if other != name:
                    self.cp.model.add_bool_or(
                        negated(kept), negated(stay.changes[other]), self.outside[other, name]
                    )

    def _add_refetch(self, stay: StayVars, name: str, changed_inside: Bool, label: str) -> None:
        """A loop the operand ignores fetches again when some loop inside it replaces the data."""
        causes = [changed_inside]
        for other, changes in stay.changes.items():
            causes.append(
                self.cp.both(self.outside[name, other], changes, f"c_{label}_{name}_{other}")
            )
        cause = self.cp.any_of(causes, f"cause_{label}_{name}")
        stay.refetch[name] = self.cp.both(self.many_tiles[name], cause, f"refetch_{label}_{name}")
        factor = self.cp.either(1, self.trips[name], stay.refetch[name], f"f_{label}_{name}")
        if stay.changes_inner:
            inner_causes = [
                self.cp.both(self.outside_inner[name, other], changes, f"ci_{label}_{name}_{other}")
                for other, changes in stay.changes_inner.items()
            ]
            inner = self.cp.any_of(inner_causes, f"causei_{label}_{name}")
            again = self.cp.both(self.many_units[name], inner, f"refetchi_{label}_{name}")
            stay.refetch_inner[name] = again
            both = self.cp.product([self.trips[name], self.tile[name]], f"all_{label}_{name}")
            units = self.loops[name].units
            whole = self.cp.model.new_int_var(1, units, f"whole_{label}_{name}")
            self.cp.model.add_min_equality(whole, [both, units])
            factor = self.cp.either(factor, whole, again, f"g_{label}_{name}")
        stay.factors[name] = factor
        stay.factor = self.cp.product([stay.factor, factor], f"factor_{label}_{name}")

    def _add_volume(self, stay: StayVars, label: str) -> None:
        """Blocks (window positions) of a tile, and of everything that is kept side by side."""
        factors: list[Number] = []
        roomy: list[Number] = []
        for axis in stay.plan.axes:
            if axis.is_window and stay.is_always_low:
                continue
            if axis.is_window:
                factors.append(self._window_extent(axis.loops, axis.spans, f"{label}_{axis.name}"))
                stay.positions[axis.name] = factors[-1]
                if stay.residence.holds_blocks(axis):
                    roomy += self._whole_blocks(axis)
                elif not stay.residence.is_boxed:
                    roomy.append(factors[-1])
                continue
            name = axis.loops[0]
            if name not in self.loops or stay.is_always_low:
                continue
            size: cp_model.IntVar = self.tile[name]
            if not isinstance(stay.is_low, int):
                size = self.cp.either(size, 1, stay.is_low, f"held_{label}_{name}")
            factors.append(size)
            if name in stay.kept:
                whole = self.loops[name].units
                size = self.cp.either(size, whole, stay.kept[name], f"places_{label}_{name}")
            roomy.append(size)
        stay.volume = self.cp.product(factors, f"volume_{label}")
        stay.kept_volume = self.cp.product(roomy, f"kept_volume_{label}")
        if not isinstance(stay.is_double, int):
            count = self.cp.either(1, 2, stay.is_double, f"slots_{label}")
            if not isinstance(stay.is_deep, int):
                count = self.cp.either(count, stay.slots[-1], stay.is_deep, f"places_{label}")
            roomy.append(count)
        stay.room = self.cp.product(roomy, f"room_{label}")

    def _whole_blocks(self, axis: TileAxis) -> list[Number]:
        """Positions of all blocks of a tile, as factors."""
        (name,) = axis.loops
        loop = self.covering.loop(name)
        return [loop.block, self.tile[name] if name in self.loops else loop.units]

    def _window_extent(self, loops: tuple[str, ...], spans: tuple[int, ...], label: str) -> Number:
        constant = 1
        terms = []
        for loop, span in zip(loops, spans, strict=True):
            if loop in self.loops:
                terms.append(span * (self.iterations[loop] - 1))
            else:
                constant += span * (self.covering.loop(loop).extent - 1)
        if not terms:
            return constant
        top = 1 + sum(
            s * (self.covering.loop(n).extent - 1) for n, s in zip(loops, spans, strict=True)
        )
        extent = self.cp.model.new_int_var(1, top, f"extent_{label}")
        self.cp.model.add(extent == constant + add_up(terms))
        return extent

    def _add_capacity(self) -> None:
        used: dict[str, list[Linear]] = {}
        for stay in self.stays:
            size = stay.residence.position_bytes * stay.room
            used.setdefault(stay.residence.memory, []).append(size)
        for (operand, _), passage in passages(self.covering).items():
            blocks = self.stay(operand, 0).volume if passage.holds_tiles else 1
            room = passage.slots * passage.block_bytes * blocks
            used.setdefault(passage.memory, []).append(room)
        for memory, sizes in used.items():
            self.cp.model.add(add_up(sizes) <= self.hw.memory(memory).size_bytes)

    def stay(self, operand: str, residence: int) -> StayVars:
        """The stay of an operand in the residence of that number."""
        return next(s for s in self.stays if (s.plan.name, s.number) == (operand, residence))

    def fetches(self, stay: StayVars, label: str) -> Number:
        """How often the tile is replaced."""
        factors: list[Number] = []
        for name in self.loops:
            if name in stay.plan.loops:
                factors.append(self.trips[name])
            else:
                factors.append(
                    self.cp.either(1, self.trips[name], stay.refetch[name], f"again_{label}_{name}")
                )
        return self.cp.product(factors, f"fetches_{label}")

    def slot_literals(self, stay: StayVars) -> list[tuple[int, list[Bool]]]:
        """Possible numbers of slots, each with the literals that say so."""
        if isinstance(stay.is_double, int):
            return [(1 + stay.is_double, [])]
        single = 1, [negated(stay.is_double)]
        if isinstance(stay.is_deep, int):
            return [single, (2, [stay.is_double])]
        deep = stay.slots[-1], [stay.is_deep]
        return [single, (2, [stay.is_double, negated(stay.is_deep)]), deep]
