"""Which places in a loop's body are written as distances from one pointer.

In: the nodes of the body, what each operand lies in. Out: groups of places that the loop does not
move and that differ by constants. Not its job: text (`calls`).

GCC 12 takes each such place for an address of its own. It computes all of them before the loop, a
hundred and more where a tile is written out, and loads them from the stack one by one, beside every
product that reads one: up to 1.4 times as long, measured on Golden Cove.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from isamap.ir import Affine
from isamap.program import Address, Operand, Rotation

from .nodes import CCall, CHint, CLoop, CNode, CTurn

MANY = 6  # places; fewer find registers of their own


@dataclass(frozen=True, slots=True)
class Array:
    """What a pointer points into: a parameter or a memory of the function's own."""

    name: str
    is_const: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Places in one array that differ by constants."""

    array: Array
    terms: tuple[tuple[str, int], ...]
    rotations: tuple[Rotation, ...]

    @staticmethod
    def of(array: Array, inside: Address) -> "Group":
        """That of a place."""
        return Group(array, inside.offset.terms, inside.rotations)

    def address(self, constant: int) -> Address:
        """The place with this constant."""
        return Address(Affine(self.terms, constant), self.rotations)


Find = Callable[[Operand], tuple[Array, Address] | None]


def group_places(loop: CLoop, find: Find) -> dict[Group, int]:
    """The least constant of each group of many places that an innermost loop's calls touch; of one
    around it, which runs seldom, none.

    `find`: in which array an operand lies and where; None: in none.
    """
    if any(isinstance(node, CLoop) for node in loop.body):
        return {}
    places: dict[Group, set[int]] = {}
    for operand in _operands(loop.body):
        found = find(operand)
        if found is not None:
            array, inside = found
            places.setdefault(Group.of(array, inside), set()).add(inside.offset.constant)
    return {
        group: min(constants)
        for group, constants in places.items()
        if len(constants) > MANY and not _is_moved(group, loop.name)
    }


def _operands(nodes: Iterable[CNode]) -> Iterator[Operand]:
    for node in nodes:
        match node:
            case CCall(issue):
                yield from issue.operands
            case CHint(operand):
                yield operand
            case CTurn():
                yield from _operands(node.body)


def _is_moved(group: Group, loop: str) -> bool:
    turning = (name for rotation in group.rotations for name in rotation.counter.names)
    return loop in (*(name for name, _ in group.terms), *turning)
