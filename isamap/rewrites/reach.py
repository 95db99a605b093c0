"""What one access of a statement reaches, as an array of its own.

In: a kernel, a statement, one of its reads. Out: the box of elements that it reads, loops over the
box, and how the box is read instead. Not its job: filling an array from it.
"""

from dataclasses import dataclass, replace

from isamap.ir import Access, Affine, Kernel, Loop, Statement, index_range

from .copies import drop_pad


@dataclass(frozen=True, slots=True)
class Reach:
    """The box of elements that an access reads, padding included.

    `loops` run over the box of `shape`; inside them `element` is what stands at `here`. The access
    itself reads the box at `moved`.
    """

    shape: tuple[int, ...]
    loops: tuple[Loop, ...]
    element: Access
    here: tuple[Affine, ...]
    moved: tuple[Affine, ...]


def find_reach(kernel: Kernel, statement: Statement, access: Access) -> Reach:
    """The box that `access` reads over all iterations of `statement`; loops are `d0`, `d1`, ..."""
    extents = statement.extents
    ranges = [index_range(index, extents) for index in access.indices]
    shape = tuple(high - low + 1 for low, high in ranges)
    loops = tuple(Loop(f"d{dim}", extent) for dim, extent in enumerate(shape))
    here = tuple(Affine.var(loop.name) for loop in loops)
    source = tuple(index + low for index, (low, _) in zip(here, ranges))
    element = replace(access, indices=source)
    element = drop_pad(element, loops, kernel.buffer(access.buffer).shape)
    moved = tuple(index + -low for index, (low, _) in zip(access.indices, ranges))
    return Reach(shape, loops, element, here, moved)
