"""Do two layouts put every element into the same place?

In: layouts of one array. Out: yes or no. Not its job: making them alike.
"""

from isamap.program import Layout


def same_layout(a: Layout, b: Layout) -> bool:
    """Do the bytes lie alike? (Unit dimensions, and the order of axes, do not matter.)"""
    if a == b:
        return True
    is_like = (a.dtype, a.size_bytes, a.plane_bytes) == (b.dtype, b.size_bytes, b.plane_bytes)
    return is_like and _moving(a) == _moving(b) and _border(a) == _border(b)


def _moving(layout: Layout) -> list[tuple[int, int, int, int]]:
    axes = (axis for axis in layout.axes if axis.size > 1)
    return sorted((axis.dim, axis.step, axis.size, axis.stride_bytes) for axis in axes)


def _border(layout: Layout) -> dict[int, int]:
    return {dim: before for dim, before in enumerate(layout.border) if before}
