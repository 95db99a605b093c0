"""Put the nests of a kernel's tasks and the host's calls together into one program.

In: the tree of tasks, how each of them runs. Out: a Program. Not its job: deciding how a task runs.

On machines with tokens everybody waits for a task to end before the next one begins; elsewhere the
hardware lets neighbours overlap as far as their data allow.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile

from isamap.errors import MappingError
from isamap.hwdesc import Hardware, with_host_calls
from isamap.ir import Access, Affine, Kernel, covers, index_range
from isamap.mapper import Task, TaskNode
from isamap.program import For, Layout, Node, Program, Span, map_issues
from isamap.scheduler import NOTHING, fuse_tokens, lower_nest, signal, tile_name
from isamap.shortest_paths import shortest_paths

from .chip_homes import place_homes
from .host_calls import Home, HostCall, call_statements
from .memory_map import MemoryMap
from .piece import Piece
from .repack import Range, Slices, repack
from .share_chip import share_chip


def compose(
    kernel: Kernel, nodes: tuple[TaskNode, ...], pieces: tuple[Piece, ...], hw: Hardware
) -> Program:
    """The program of a kernel's tasks.

    Raises:
        MappingError: a buffer passes between tasks that lay it out differently and nothing moves
        it; units have no tokens to wait for each other.
    """
    composer = _Composer(kernel, nodes, pieces, hw)
    body = composer.emit(nodes)
    machine = with_host_calls(hw, [call.semantics for call in composer.calls])
    if hw.has_tokens:
        body = fuse_tokens(body, machine)
    places = composer.memory
    return Program(
        kernel.name,
        hw.name,
        places.inputs(),
        places.outputs(),
        body,
        places.scratch(),
        tuple(call.semantics for call in composer.calls),
    )


class _Composer:
    """Emits tasks in program order and collects the host's calls."""

    def __init__(
        self, kernel: Kernel, nodes: tuple[TaskNode, ...], pieces: tuple[Piece, ...], hw: Hardware
    ) -> None:
        self.kernel = kernel
        self.hw = hw
        self.pieces: Mapping[int, Piece] = {piece.task.number: piece for piece in pieces}
        on_chip = place_homes(pieces, hw)
        self.memory = MemoryMap(kernel, pieces, on_chip)
        room = share_chip(nodes, self.pieces, hw)
        assert not room.crowded, f"tasks {room.crowded} do not fit side by side"
        self.starts = room.starts
        self.calls: list[HostCall] = []

    def emit(self, nodes: tuple[TaskNode, ...]) -> tuple[Node, ...]:
        """Program nodes of a sequence of tasks."""
        body: list[Node] = []
        for number, node in enumerate(nodes):
            if isinstance(node, Task):
                if not self.pieces[node.number].goes_on:
                    nest = self._emit_piece(self.pieces[node.number], nodes[number + 1 :])
                    body.extend(_for_task(nest, node.number))
            elif node.loop.extent == 1:
                body.extend(self.emit(node.body))
            else:
                inner = self.emit(node.body)
                body.append(For(tile_name(node.loop.name), Span(node.loop.extent), inner))
        return tuple(body)

    def _emit_piece(self, piece: Piece, rest: tuple[TaskNode, ...]) -> tuple[Node, ...]:
        if piece.schedule is None:
            following = (self.pieces[n.number] for n in rest if isinstance(n, Task))
            tasks = [piece.task, *(p.task for p in takewhile(lambda p: p.goes_on, following))]
            name = f"host_{piece.task.number}"
            external = self.hw.external.name
            rule = self.hw.host
            assert rule is not None, "tasks go to the host only where there is one"
            call = call_statements(tasks, name, external, self.memory.homes.__getitem__, rule)
            return self._run_on_host((call,))
        before, after = self._repacks(piece)
        schedule = piece.schedule
        homes = {
            (name, external.layout): self.memory.address(name, external.layout)
            for plan in piece.plans
            for _, name, external in plan.ends
        }
        starts = self.starts.get(piece.task.number, NOTHING)
        nest = lower_nest(schedule.covering, schedule.tiling, self.hw, homes, starts)
        return (*before, *nest.body, *self._tell_all(nest.tokens.compute_unit), *after)

    def _repacks(self, piece: Piece) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
        """Copies from home before the task, and back home after it."""
        before: list[Node] = []
        after: list[Node] = []
        brought: set[tuple[str, Layout]] = set()
        for plan in piece.plans:
            for is_outlet, name, external in plan.ends:
                if self.memory.is_home(name, external.layout):
                    continue
                home = self.memory.homes[name]
                there = Home(self.memory.address(name, external.layout), external.layout)
                slices = slices_of(piece, name)
                is_read = not is_outlet or not writes_all(piece, name)  # what is not written stays
                if is_read and (name, external.layout) not in brought:
                    brought.add((name, external.layout))
                    before.extend(self._move(name, home, there, slices))
                if is_outlet:
                    after.extend(self._move(name, there, home, slices))
        return tuple(before), tuple(after)

    def _move(
        self, buffer: str, source: Home, target: Home, slices: Slices | None
    ) -> tuple[Node, ...]:
        name = f"repack_{len(self.calls)}"
        calls = None
        if self.hw.host and slices is not None:
            calls = repack(name, source, target, slices, self.hw.external.name)
        if calls is None:
            reason = (
                "its layouts differ in a way that no copy mends"
                if self.hw.host
                else (f"{self.hw.name} has no host to lay it out anew")
            )
            raise MappingError(
                f"buffer {buffer!r} passes between statements that store and read it differently:"
                f" {reason}",
                hint="give the machine a 'host', or copies that keep arrays row-major",
            )
        return self._run_on_host(calls)

    def _run_on_host(self, calls: tuple[HostCall, ...]) -> tuple[Node, ...]:
        assert self.hw.host is not None, "tasks go to the host only where there is one"
        self.calls.extend(calls)
        return (*(call.issue for call in calls), *self._tell_all(self.hw.host.unit))

    def _tell_all(self, unit: str) -> tuple[Node, ...]:
        """Tokens from a unit that is done to every other unit, along the machine's channels."""
        if not self.hw.has_tokens:
            return ()
        told = shortest_paths(((c.source_unit, c.target_unit) for c in self.hw.channels), unit)
        nodes: list[Node] = []
        known = {unit}
        for other in (u.name for u in self.hw.units):
            if other not in told:
                raise MappingError(
                    f"{self.hw.name} has no token channels from unit {unit} to unit {other}",
                    hint="add them under 'channels'",
                )
            for source, target in zip(told[other], told[other][1:]):
                if target not in known:
                    nodes.extend(signal(self.hw, source, target))
                    known.add(target)
        return tuple(nodes)


def _for_task(body: tuple[Node, ...], number: int) -> tuple[Node, ...]:
    """The nodes with their calls said to be for a task."""
    return map_issues(body, lambda issue: replace(issue, task=number))


def writes_all(piece: Piece, buffer: str) -> bool:
    """Does a task write all of what it touches of a buffer in an iteration of its held loops?"""
    for statement in piece.task.statements:
        if statement.target.buffer != buffer:
            continue
        whole = piece.task.kernel.buffer(buffer)
        slices = slices_of(piece, buffer) or (None,) * len(whole.shape)
        free = [d for d, part in enumerate(slices) if not isinstance(part, Affine)]
        firsts = {d: part.first for d, part in enumerate(slices) if isinstance(part, Range)}
        counts = {d: part.count for d, part in enumerate(slices) if isinstance(part, Range)}
        indices = tuple(statement.target.indices[d] + -firsts.get(d, 0) for d in free)
        target = Access(buffer, indices)
        rest = replace(whole, shape=tuple(counts.get(d, whole.shape[d]) for d in free))
        if covers(replace(statement, target=target), rest):
            return True
    return False


def slices_of(piece: Piece, buffer: str) -> Slices | None:
    """What a task touches of a buffer in one iteration of its held loops: all, neighbouring
    positions, or one.

    None: part of a dimension in any other way.
    """
    touching = {
        (access, statement.loops)
        for statement in piece.task.statements
        for access in statement.accesses
        if access.buffer == buffer
    }
    own = {pair for pair in touching if pair[1] == piece.task.statement.loops}
    touching = own or touching  # what a joined task begins with lies where its sum does
    if len(touching) > 1:
        return None
    access, loops = next(iter(touching))
    extents = {loop.name: loop.extent for loop in loops}
    held = piece.task.held
    slices: list[Affine | Range | None] = []
    for index, size in zip(access.indices, piece.task.kernel.buffer(buffer).shape, strict=True):
        if access.pad is None and index.terms and all(name in held for name in index.names):
            terms = [(tile_name(n), c) for n, c in index.terms if extents[n] > 1]
            slices.append(Affine.of(terms, index.constant))
        elif any(name in held for name in index.names):
            return None
        elif index_range(index, extents) == (0, size - 1) or access.pad is not None:
            slices.append(None)
        elif [c for _, c in index.terms] == [1]:
            low, high = index_range(index, extents)
            slices.append(Range(low, high - low + 1))
        else:
            return None
    return tuple(slices)
