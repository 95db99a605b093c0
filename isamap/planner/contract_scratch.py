"""Give what the host uses row by row the room of a row.

In: a program. Out: one that computes the same, in which scratch arrays of a single host call lose
the dimensions along which each round of the call's outer loops uses elements of its own, written
before they are read. Not its job: which loops the call's statements share (`share_loops`), how
rounds run (`hwdesc.HostLoops`): those that run side by side keep what they have.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from isamap.hwdesc import Hardware, HostLoops, HostNode, Shared
from isamap.ir import (
    Access,
    Affine,
    Buffer,
    Kernel,
    Role,
    Statement,
    covers,
    map_accesses,
    size_bytes,
)
from isamap.program import (
    Address,
    Issue,
    Operand,
    Placement,
    Program,
    issues,
    lies_in,
    map_issues,
    natural_layout,
)


def contract_scratch(program: Program, hw: Hardware) -> Program:
    """The program with as little scratch as its host calls need."""
    for place in program.scratch:
        uses = [(i, x) for i in issues(program.body) for x in i.operands if lies_in(x, place, hw)]
        if len(uses) != 1:
            continue
        issue, operand = uses[0]
        call = next((call for call in program.host_calls if call.name == issue.instruction), None)
        if call is None or operand.address != Address(Affine((), place.address)):
            continue
        dims = _dims_of_rounds(call, operand.name, _rounds(call, issue, hw, program))
        if (
            dims
            and place.layout.is_natural
            and call.buffer(operand.name).shape == place.layout.shape
        ):
            program = _contracted(program, place, call, operand, dims)
    return program


def _rounds(call: Kernel, issue: Issue, hw: Hardware, program: Program) -> set[str]:
    """Loops that statements share, one iteration after the other."""
    sizes = {buffer.name: size_bytes(buffer.dtype) for buffer in call.buffers}
    strides = {x.name: [s // sizes[x.name] for s in x.strides_bytes] for x in issue.operands}
    assert hw.host is not None, "only a host makes host calls"
    loops = HostLoops(call, hw.host, strides, may_reassociate=program.may_reassociate)
    return set(_alone(loops.plan()))


def _alone(nodes: Sequence[HostNode]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Shared):
            yield from [node.loop.name] if node.at_once == 1 else []
            yield from _alone(node.body)


def _dims_of_rounds(call: Kernel, name: str, rounds: set[str]) -> tuple[int, ...]:
    """Dimensions that each round of the outermost loops around all uses has a position of, where
    what a round reads it wrote before."""
    numbers = [n for n, s in enumerate(call.statements) if name in s.touched]
    nest = call.statements[numbers[0] : numbers[-1] + 1]
    first, buffer = nest[0], call.buffer(name)
    used = [a for s in nest for a in s.accesses if a.buffer == name]
    is_written = first.target.buffer == name and first.update == "="
    is_written = is_written and all(access.buffer != name for access in first.reads)
    is_plain = buffer.role is Role.OUT and all(access.pad is None for access in used)
    if not is_written or not is_plain:
        return ()
    dims: list[int] = []
    for loop in takewhile(rounds.__contains__, _shared(nest)):
        alone = Affine(((loop, 1),))
        own = [d for d in range(len(buffer.shape)) if all(a.indices[d] == alone for a in used)]
        rest = [i for a in used for d, i in enumerate(a.indices) if d not in own]
        if any(loop in index.names for index in rest):
            break
        dims += own
    left = [d for d in range(len(buffer.shape)) if d not in dims]
    row = replace(buffer, shape=tuple(buffer.shape[d] for d in left))
    target = Access(name, tuple(first.target.indices[d] for d in left))
    return tuple(dims) if covers(replace(first, target=target), row) else ()


def _shared(statements: tuple[Statement, ...]) -> list[str]:
    """Loops that all have in common, from the outermost on."""
    levels = zip(*([loop.name for loop in s.loops] for s in statements))
    return [names[0] for names in takewhile(lambda names: len(set(names)) == 1, levels)]


def _contracted(
    program: Program, place: Placement, call: Kernel, operand: Operand, dims: tuple[int, ...]
) -> Program:
    left = [d for d in range(len(place.layout.shape)) if d not in dims]
    shape = tuple(place.layout.shape[d] for d in left) or (1,)
    layout = natural_layout(place.layout.dtype, shape)

    def smaller(access: Access) -> Access:
        if access.buffer != operand.name:
            return access
        return replace(access, indices=tuple(access.indices[d] for d in left) or (Affine(),))

    def shrunk(buffer: Buffer) -> Buffer:
        return replace(buffer, shape=shape) if buffer.name == operand.name else buffer

    statements = tuple(
        replace(s, target=smaller(s.target), value=map_accesses(s.value, smaller))
        for s in call.statements
    )
    rows = replace(call, buffers=tuple(map(shrunk, call.buffers)), statements=statements)
    strides = tuple(axis.stride_bytes for axis in layout.axes)

    def changed(issue: Issue) -> Issue:
        if issue.instruction != call.name:
            return issue
        moved = replace(operand, strides_bytes=strides)
        operands = tuple(moved if other == operand else other for other in issue.operands)
        return replace(issue, operands=operands)

    return replace(
        program,
        body=map_issues(program.body, changed),
        scratch=tuple(replace(p, layout=layout) if p == place else p for p in program.scratch),
        host_calls=tuple(rows if other == call else other for other in program.host_calls),
    )
