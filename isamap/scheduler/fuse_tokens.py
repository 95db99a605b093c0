"""Let neighbouring calls carry tokens instead of calls of their own.

In: a program body. Out: the same body with fewer sync calls. Not its job: which tokens are needed.

A pop moves forward to the next call of its unit, a push back to the previous one, past calls of
other units only: each unit still sees its own calls and tokens in the same order, and a push moves
no later than it was, a pop no earlier. So a channel holds its tokens for longer: where it might not
have room for them, a pop moves past no push and a push past no pop of the same channel.
"""

from collections import Counter
from dataclasses import replace

from isamap.hwdesc import Hardware
from isamap.program import For, Issue, Node, When, issues


def fuse_tokens(body: tuple[Node, ...], hw: Hardware) -> tuple[Node, ...]:
    """Merge sync calls into calls of the same unit in the same body."""
    # loops take as many tokens as they give: no push of the text leaves more than one behind
    most = Counter(channel for issue in issues(body) for channel in issue.pushes)
    tight = frozenset(c.name for c in hw.channels if most[c.name] > c.depth)
    return _fuse(body, hw, tight)


def _fuse(body: tuple[Node, ...], hw: Hardware, tight: frozenset[str]) -> tuple[Node, ...]:
    nodes = [_inside(node, hw, tight) for node in body]
    changed = True
    while changed:
        changed = False
        for position, node in enumerate(nodes):
            partner = _partner(nodes, position, hw, tight)
            if partner is None or not isinstance(node, Issue):
                continue
            other = nodes[partner]
            assert isinstance(other, Issue)
            merged = replace(other, pops=node.pops + other.pops, pushes=other.pushes + node.pushes)
            nodes[partner] = merged
            del nodes[position]
            changed = True
            break
    return tuple(nodes)


def _inside(node: Node, hw: Hardware, tight: frozenset[str]) -> Node:
    if isinstance(node, Issue):
        return node
    return replace(node, body=_fuse(node.body, hw, tight))


def _unit(node: Issue, hw: Hardware) -> str:
    return hw.instruction(node.instruction).unit


def _partner(nodes: list[Node], position: int, hw: Hardware, tight: frozenset[str]) -> int | None:
    """The call that may take over the tokens of the sync call at `position`."""
    node = nodes[position]
    if not isinstance(node, Issue) or not hw.instruction(node.instruction).is_sync:
        return None
    if node.pops and node.pushes:
        return None
    step = 1 if node.pops else -1
    other = position + step
    while 0 <= other < len(nodes):
        neighbour = nodes[other]
        if isinstance(neighbour, (For, When)):
            return None
        if _unit(neighbour, hw) == _unit(node, hw):
            is_sync = hw.instruction(neighbour.instruction).is_sync
            has_both_sides = is_sync and (neighbour.pushes if node.pops else neighbour.pops)
            return None if has_both_sides else other
        passed = neighbour.pushes if node.pops else neighbour.pops
        if not tight.isdisjoint(passed) and not set(passed).isdisjoint(node.pops + node.pushes):
            return None
        other += step
    return None
