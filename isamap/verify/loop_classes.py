"""Which loops of a kernel must shrink together, and by how much they may.

In: a kernel, how small each loop may become. Out: new extents by loop. Not its job: what sizes keep
a schedule's structure (`shrink`), making the small kernel.

Loops that index one buffer dimension alone, in whatever statement, form a class: all of them lose
the same number of iterations, as many as the dimension loses elements. Where an index has several
loops (a window p*s + u), or one with a step, only its longest loop shrinks; a class that walks over
the same dimension elsewhere loses s times as much. The other loops of a window stay, and so do
dimensions that are read at one place (a gate's number).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd, lcm

from isamap.ir import Access, Kernel

Node = tuple[str, int]  # (buffer, dimension), or (loop, LOOP)
LOOP = -1


@dataclass(frozen=True, slots=True)
class Need:
    """A loop keeps at least `least` iterations and loses a multiple of `step`."""

    least: int
    step: int


@dataclass(frozen=True, slots=True)
class _Window:
    """A dimension loses `step` elements with every iteration of a loop."""

    loop: Node
    step: int
    dimension: Node


def shrunk_extents(kernel: Kernel, needs: Mapping[str, Need]) -> dict[str, int]:
    """The smallest extents that every need and the buffers' shapes allow; loops without a need
    stay."""
    extents = kernel.extents
    classes = _Classes(kernel, extents)
    losses = classes.free_losses(extents, needs)
    classes.settle(losses, needs)
    return {name: size - losses[classes.find((name, LOOP))] for name, size in extents.items()}


class _Classes:
    """Loops and dimensions joined by the accesses of a kernel."""

    def __init__(self, kernel: Kernel, extents: Mapping[str, int]) -> None:
        self.parents: dict[Node, Node] = {}
        self.windows: list[_Window] = []
        self.kept: list[Node] = []
        for statement in kernel.statements:
            for loop in statement.loops:
                self.find((loop.name, LOOP))
            for access in statement.accesses:
                self._add(access, extents)

    def _add(self, access: Access, extents: Mapping[str, int]) -> None:
        for number, index in enumerate(access.indices):
            dimension = (access.buffer, number)
            if not index.terms:
                self.kept.append(dimension)
                continue
            longest, step = max(index.terms, key=lambda term: extents[term[0]])
            if len(index.terms) == 1 and abs(step) == 1:
                self.parents[self.find((longest, LOOP))] = self.find(dimension)
                continue
            self.windows.append(_Window((longest, LOOP), abs(step), dimension))
            self.kept += [(name, LOOP) for name in index.names if name != longest]

    def find(self, node: Node) -> Node:
        """The class of a loop or dimension, as its representative."""
        parent = self.parents.setdefault(node, node)
        if parent == node:
            return node
        self.parents[node] = self.find(parent)
        return self.parents[node]

    def free_losses(self, extents: Mapping[str, int], needs: Mapping[str, Need]) -> dict[Node, int]:
        """What each class may lose if there were no windows."""
        losses: dict[Node, int] = {}
        for name, size in extents.items():
            root, need = self.find((name, LOOP)), needs.get(name, Need(size, 1))
            losses[root] = min(losses.get(root, size), max(0, size - need.least))
        for node in self.kept:
            losses[self.find(node)] = 0
        steps = self._steps(extents, needs)
        return {root: loss // steps[root] * steps[root] for root, loss in losses.items()}

    def settle(self, losses: dict[Node, int], needs: Mapping[str, Need]) -> None:
        """Lower the losses until every window and the loops over its dimension agree."""
        names = [name for name, kind in self.parents if kind == LOOP]
        steps = self._steps(names, needs)
        changed = True
        while changed:
            changed = False
            for window in self.windows:
                loop, dimension = self.find(window.loop), self.find(window.dimension)
                if dimension not in losses:
                    continue
                unit = lcm(steps[loop], steps[dimension] // gcd(steps[dimension], window.step))
                loss = min(losses[loop], losses[dimension] // window.step) // unit * unit
                if loop == dimension and window.step > 1:
                    loss = 0
                if (losses[loop], losses[dimension]) != (loss, loss * window.step):
                    losses[loop], losses[dimension], changed = loss, loss * window.step, True

    def _steps(
        self, names: Mapping[str, int] | list[str], needs: Mapping[str, Need]
    ) -> dict[Node, int]:
        steps: dict[Node, int] = {}
        for name in names:
            root = self.find((name, LOOP))
            own = needs[name].step if name in needs else 1
            steps[root] = lcm(steps.get(root, 1), own)
        return steps
