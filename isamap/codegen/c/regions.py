"""Mark what all cores run beside each other in a program.

In: a program's body, the machine. Out: the body with regions in it. Not its job: text, how cores
share the work (the scheduler's).

A loop spread over cores stands around single calls. Within a region each core runs only its own
iterations of these loops, from the region's beginning to its end: no call waits for another core's.
That is legal where cores touch nothing that another one writes: here, where all accesses to a
buffer that is written, within the region, are to the same element in the same iteration. Between
regions all cores wait for each other, and what they have in registers is lost.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware, MemoryKind
from isamap.ir import Role
from isamap.program import Address, For, Issue, Node, Operand, Program, When, surrounded_issues

from .parameters import Parameter, parameter_at

HINT = "build it for one thread"


@dataclass(frozen=True, slots=True)
class CoreLoop:
    """A loop spread over cores: on core number c its value is c / step % modulo, and cores with a
    value from `limit` on have no share."""

    name: str
    step: int
    modulo: int
    limit: int


@dataclass(frozen=True, slots=True)
class Region:
    """Nodes that all cores run, and the loops over cores among them."""

    body: tuple["MarkedNode", ...]
    loops: tuple[CoreLoop, ...]


MarkedNode = Node | Region  # a region may stand in the body of any node


@dataclass(frozen=True, slots=True)
class Marked:
    """A body with regions in it. `kept`: memories of each core in which a region finds what was
    left before it."""

    body: tuple[MarkedNode, ...]
    kept: frozenset[str]


def mark_regions(program: Program, hw: Hardware, parameters: tuple[Parameter, ...]) -> Marked:
    """The body, each call with a loop over cores around it in a region, which are as large as can
    be; as it is where no loop is spread.

    Raises:
        ProgramError: cores would have to wait for each other, or keep registers, in between.
    """
    marker = _Marker(hw, parameters)
    marked = marker.mark(program.body)
    regions = [node for node in marked if isinstance(node, Region)]
    kept: set[str] = set()
    if len(regions) < len(marked) or len(regions) > 1:
        kept = {memory for region in _regions(marked) for memory in marker.found_by(region)}
    registers = (m.name for m in hw.memories if m.name in kept and (m.is_named or m.c_types))
    if lost := next(registers, None):
        raise ProgramError(f"cores keep data in {lost} between tasks", hint=HINT)
    return Marked(marked, frozenset(kept))


class _Marker:
    """Knows the machine and what the program's addresses mean."""

    def __init__(self, hw: Hardware, parameters: tuple[Parameter, ...]) -> None:
        self.hw = hw
        self.parameters = parameters

    def mark(self, nodes: tuple[Node, ...]) -> tuple[MarkedNode, ...]:
        """Neighbours that all cores run become one region where they may."""
        marked: list[MarkedNode] = []
        group: list[Node] = []

        def close() -> None:
            if group:
                marked.append(self.region(tuple(group)))
                group.clear()

        for node in nodes:
            if not _spread_paths((node,)):
                close()
                marked.append(node)
            elif _is_all_spread((node,)) and not self.meeting((*group, node)):
                group.append(node)
            elif _is_all_spread((node,)) and not self.meeting((node,)):
                close()
                group.append(node)
            else:
                close()
                marked.append(self.inside(node))
        close()
        return tuple(marked)

    def inside(self, node: Node) -> Node:
        """A node that one core runs around regions."""
        match node:
            case For() if node.spread is None:
                return replace(node, body=self.mark(node.body))  # type: ignore[arg-type]
            case When():
                return replace(node, body=self.mark(node.body))  # type: ignore[arg-type]
        buffer = self.meeting((node,))
        raise ProgramError(f"cores would wait for each other's part of {buffer}", hint=HINT)

    def region(self, nodes: tuple[Node, ...]) -> Region:
        """One region of nodes that may be one."""
        loops: dict[str, CoreLoop] = {}
        for path in _spread_paths(nodes):
            for loop in _core_loops(path, self.hw):
                if loops.setdefault(loop.name, loop) != loop:
                    raise ProgramError(f"{loop.name} is spread over cores in two ways", hint=HINT)
        return Region(nodes, tuple(loops.values()))

    def meeting(self, nodes: tuple[Node, ...]) -> str:
        """A buffer in which one core may touch what another one writes; empty if there is none."""
        places: dict[str, set[Address]] = {}
        written: dict[str, None] = {}
        for issue, operand, _ in _operands(nodes):
            if self.hw.memory(operand.memory).kind is not MemoryKind.EXTERNAL:
                continue
            start = operand.address.offset.constant
            name = parameter_at(self.parameters, start, issue.instruction).name
            places.setdefault(name, set()).add(operand.address)
            if self._role(issue, operand) is not Role.IN:
                written[name] = None
        return next((name for name in written if len(places[name]) > 1), "")

    def found_by(self, region: Region) -> Iterator[str]:
        """A core's own memories in which the region reads what was left before it."""
        known: set[tuple[str, int]] = set()
        own = {node.loop for node in _loops(region.body)}
        for issue, operand, guards in _operands(region.body):
            if self.hw.memory(operand.memory).kind is MemoryKind.EXTERNAL:
                continue
            place = (operand.memory, operand.address.offset.constant)
            if self._role(issue, operand) is not Role.OUT and place not in known:
                yield operand.memory
            if own.issuperset(guards):  # written whenever the region runs
                known.add(place)

    def _role(self, issue: Issue, operand: Operand) -> Role:
        return self.hw.instruction(issue.instruction).semantics.buffer(operand.name).role


def _spread_paths(nodes: tuple[MarkedNode, ...]) -> list[tuple[For, ...]]:
    """The spread loops around each call that has any."""
    paths = (
        tuple(node for node in around if isinstance(node, For) and node.spread is not None)
        for _, around in surrounded_issues(nodes)
    )
    return [path for path in paths if path]


def _is_all_spread(nodes: tuple[Node, ...]) -> bool:
    """Has every call a loop over cores around it?"""
    return all(
        not isinstance(node, Issue)
        and (isinstance(node, For) and node.spread is not None or _is_all_spread(node.body))
        for node in nodes
    )


def _core_loops(path: tuple[For, ...], hw: Hardware) -> Iterator[CoreLoop]:
    """The loops around a call: digits of the core's number, axis by axis."""
    assert hw.cores is not None, "loops are spread over cores that there are"
    sizes = dict(hw.cores.axes)
    for axis, stride in hw.cores.steps:
        own = [(x.spread.step, x) for x in path if x.spread is not None and x.spread.axis == axis]
        outer = sizes[axis]
        for step, loop in sorted(own, key=lambda pair: -pair[0]):
            if outer != sizes[axis] and outer % step:
                raise ProgramError(f"{loop.loop} is spread over cores {step} apart", hint=HINT)
            yield CoreLoop(loop.loop, stride * step, -(-outer // step), loop.span.limit)
            outer = step


def _operands(
    nodes: tuple[MarkedNode, ...],
) -> Iterator[tuple[Issue, Operand, tuple[str, ...]]]:
    """All operands in program order, with the loops whose edges decide whether the call runs."""
    for issue, around in surrounded_issues(nodes):
        conditions = (x for node in around if isinstance(node, When) for x in node.conditions)
        guards = tuple(loop for loop, _ in conditions)
        yield from ((issue, operand, guards) for operand in issue.operands)


def _loops(nodes: tuple[MarkedNode, ...]) -> Iterator[For]:
    for node in nodes:
        if isinstance(node, For):
            yield node
        if not isinstance(node, Issue):
            yield from _loops(node.body)


def _regions(nodes: tuple[MarkedNode, ...]) -> Iterator[Region]:
    for node in nodes:
        if isinstance(node, Region):
            yield node
        elif not isinstance(node, Issue):
            yield from _regions(node.body)
