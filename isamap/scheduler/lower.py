"""Turn a covering and its tiling into a program.

In: decisions. Out: a `Program` whose meaning is the kernel's. Not its job: deciding, costing.

Shape: loops over tiles (`m_tile`) around loops over units (`m_unit`) around one call. On
interlocked machines every block is fetched right before the first call that needs it and drained
right after the last (`When` keeps those iterations), so the hardware overlaps block by block. On
machines with tokens, and for sliding windows, whole tiles are fetched before the unit loops, memory
by memory, and drained after them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from isamap.costmodels import Tiling
from isamap.hwdesc import Hardware, Instruction
from isamap.mapper import Covering
from isamap.program import For, Node, Operand, Program, Span

from .emit import Call, Walk, at_first_and_later, emit_walks
from .frame import Frame, Spot, tile_name, unit_name
from .fuse_tokens import fuse_tokens
from .late import Loops, block_before, last_tile, leaves_late, passed_late, tile_before
from .order_fills import order_fills
from .place import NOTHING, Homes, Slot, place
from .tokens import Tokens, plan_tokens
from .transfers import Transfers


@dataclass(frozen=True, slots=True)
class Nest:
    """One task's nodes under the loops that are held around it.

    On machines with tokens all exchanges begin and end within `body`.
    """

    body: tuple[Node, ...]
    tokens: Tokens


def lower_nest(
    covering: Covering,
    tiling: Tiling,
    hw: Hardware,
    homes: Homes,
    starts: Mapping[str, int] = NOTHING,
) -> Nest:
    """The nest of a legal tiling as a part of a larger program; `starts` as in `place`."""
    places = place(covering, tiling, hw, homes, starts)
    assert places is not None, "a legal tiling has a place"
    tokens = plan_tokens(covering, tiling, hw)
    nest = _Nest(Frame(covering, tiling, hw, places), tokens)
    return Nest((*tokens.prologue(), *nest.loops(covering.held), *tokens.epilogue()), tokens)


def lower(covering: Covering, tiling: Tiling, hw: Hardware) -> Program | None:
    """The program of a tiling, or None when its stays do not fit their memories. It names buffers
    in the kernel's order, as functions made of it do, whatever covers the kernel."""
    places = place(covering, tiling, hw)
    if places is None:
        return None
    tokens = plan_tokens(covering, tiling, hw)
    nest = _Nest(Frame(covering, tiling, hw, places), tokens)
    body = (*tokens.prologue(), *nest.loops(()))
    body = fuse_tokens(body, hw) if tokens.lanes else body
    kernel = covering.kernel
    order = {buffer.name: number for number, buffer in enumerate(kernel.buffers)}
    inputs, outputs = (
        tuple(sorted(placements, key=lambda placement: order[placement.buffer]))
        for placements in (places.inputs, places.outputs)
    )
    return Program(kernel.name, hw.name, inputs, outputs, body)


class _Nest:
    """The nest of one program; every method returns nodes."""

    def __init__(self, frame: Frame, tokens: Tokens) -> None:
        self.frame = frame
        self.tokens = tokens
        self.transfers = Transfers(frame, tokens)

    def loops(self, held: tuple[str, ...]) -> tuple[Node, ...]:
        """The whole nest, but for the loops in `held`."""
        slots = self.frame.places.slots
        late = [slot for slot in slots if leaves_late(self.frame, slot, held)]
        out = [(s, self.tokens.drain_late(s, self.transfers.tile_out(s))) for s in late]
        passing = {slot: passed_late(self.frame, slot, held) for slot in slots}
        before = [(slot, self.transfers.enter(slot)) for slot in self._coarse()]
        after = [n for slot in self._coarse() for n in self._leave(slot, late)]
        finish = [n for slot in self._coarse() for n in self.transfers.finish(slot)]
        body = (
            *self.tokens.before_fills(),
            *self.tokens.fills(before),
            *self._unit_nest(late, passing),
            *finish,
            *self.tokens.before_drains(late),
            *after,
            *self.tokens.after_drains(late),
            *(n for slot, nodes in out for n in tile_before(self.frame, slot, held, nodes)),
        )
        for loop in reversed(self.frame.tiling.outer):
            if self.frame.trips[loop] > 1 and loop not in held:
                body = (For(tile_name(loop), Span(self.frame.trips[loop]), body),)
        return (
            *body,
            *(n for slot, nodes in out for n in last_tile(self.frame, slot, held, nodes)),
        )

    def _unit_nest(self, late: list[Slot], passing: dict[Slot, Loops]) -> tuple[Node, ...]:
        """Blocks of fine stays in, the call, blocks out."""
        by_residence = sorted(self.frame.places.slots, key=lambda s: s.stay.residence)
        fine = [slot for slot in by_residence if self.frame.is_fine(slot)]
        filled = order_fills(self.frame, fine[::-1])
        enters = [n for slot in filled for n in self.transfers.enter(slot)]
        leaves: list[Node] = []
        for slot in fine:
            leaves += self.transfers.finish(slot)
            if loops_late := passing[slot]:
                onward = self.transfers.pass_on(slot)
                enters += block_before(self.frame, slot, loops_late, onward)
                leaves += self.transfers.leave_to_passage(slot, loops_late)
            else:
                leaves += self._leave(slot, late)
        loops = [n for n in self.frame.tiling.inner if self.frame.tiling.tile(n) > 1]
        opening = self._opening()
        if fine or opening is not None:
            call = self._compute(tuple(loops))
            calls = self._opened(call, *opening) if opening else emit_walks(call, ())
            computed = self.frame.on_cores(calls, call.instruction, inner=True)
            body: tuple[Node, ...] = (*enters, *computed, *leaves)
            for loop in reversed(loops):
                span = self.frame.unit_span(loop, on_core=False)
                body = (For(unit_name(loop), span, body),)
            return body
        call = self._compute(())
        walks = tuple(
            Walk(
                unit_name(loop),
                self.frame.unit_span(loop, on_core=True),
                self._compute_steps(loop, call),
            )
            for loop in loops
        )
        return self.frame.on_cores(emit_walks(call, walks), call.instruction, inner=False)

    def _leave(self, slot: Slot, late: list[Slot]) -> tuple[Node, ...]:
        return () if slot in late else self.transfers.leave(slot)

    def _opening(self) -> tuple[str, Slot] | None:
        """The instruction that begins the sums, and where they lie."""
        for slot in self.frame.places.slots:
            if slot.residence.opening is not None:
                return slot.residence.opening, slot
        return None

    def _opened(self, call: Call, opening: str, slot: Slot) -> tuple[Node, ...]:
        """The compute call; each element's first addend by the instruction that begins sums."""
        loops = self.transfers.resting_loops(slot, fine=True)
        first = replace(call, instruction=self.frame.hw.instruction(opening))
        begin = emit_walks(first, ())
        return at_first_and_later(loops, begin, emit_walks(call, ())) if loops else begin

    def _coarse(self) -> list[Slot]:
        return [slot for slot in self.frame.places.slots if not self.frame.is_fine(slot)]

    def _compute(self, loops: tuple[str, ...]) -> Call:
        """The compute call; `loops` are the unit loops written as program loops around it."""
        instruction = self.frame.hw.instruction(self.frame.covering.instruction)
        extents = tuple(
            (name, self._block_span(self.frame.covering.group(name)))
            for name, _ in instruction.extents
        )
        operands = []
        for rule in instruction.operands:
            spot = self.frame.spot(rule.name, inner=bool(loops))
            strides = self._operand_strides(spot, instruction)
            operands.append(Operand(rule.name, spot.memory, spot.address, strides))
        return Call(instruction, extents, tuple(operands), self.frame.covering.immediates)

    def _block_span(self, group: tuple[str, ...]) -> Span:
        """Iterations of a block: the product over its loops, shorter at the outermost loop's last
        unit."""
        if not group:
            return Span(1)
        inside = 1
        for name in group[1:]:
            inside *= self.frame.covering.loop(name).block
        head = self.frame.covering.loop(group[0])
        if head.total_extent % head.block == 0:
            return Span(head.block * inside)
        offset = self.frame.unit_index(head.name, inner=True).scaled(head.block * inside)
        return Span(head.block * inside, head.total_extent * inside, offset)

    def _operand_strides(self, spot: Spot, instruction: Instruction) -> tuple[int, ...]:
        """Byte stride of every operand dimension: the innermost bound loop's, else the least legal
        one."""
        rule = instruction.operand(spot.plan.name)
        access = instruction.access(spot.plan.name)
        strides = []
        for index, stride_rule in zip(access.indices, rule.strides, strict=True):
            bound = [
                stride // index.coefficient(block.instruction_loop)
                for block, stride in zip(spot.plan.blocks, spot.block_strides, strict=True)
                if block.instruction_loop in index.names
            ]
            if bound:
                strides.append(bound[-1])
            elif stride_rule.fixed_bytes is not None:
                strides.append(stride_rule.fixed_bytes)
            else:
                step = stride_rule.multiple_bytes
                strides.append(-(-spot.block_bytes // step) * step)
        return tuple(strides)

    def _compute_steps(self, loop: str, call: Call) -> tuple[int, ...]:
        """How far each operand moves per unit of `loop`."""
        steps = []
        for operand in call.operands:
            spot = self.frame.spot(operand.name, inner=False)
            steps.append(
                sum(
                    axis.step(self.frame.covering.loop(loop)) * stride
                    for axis, stride in zip(spot.plan.axes, spot.axis_strides, strict=True)
                    if loop in axis.loops
                )
            )
        return tuple(steps)
