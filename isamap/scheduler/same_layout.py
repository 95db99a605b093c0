"""Do two layouts put every element into the same place?

In: layouts of one array. Out: a key that is equal for those that do. Not its job: making them
alike.
"""

from isamap.program import Layout

LayoutKey = tuple[str, int, int, tuple[tuple[int, int, int, int], ...], tuple[tuple[int, int], ...]]


def layout_key(layout: Layout) -> LayoutKey:
    """Equal where the bytes lie alike. (Unit dimensions, and the order of axes, do not matter.)"""
    axes = (axis for axis in layout.axes if axis.size > 1)
    return (
        layout.dtype,
        layout.size_bytes,
        layout.plane_bytes or 0,
        tuple(sorted((axis.dim, axis.step, axis.size, axis.stride_bytes) for axis in axes)),
        tuple((dim, before) for dim, before in enumerate(layout.border) if before),
    )


def same_layout(a: Layout, b: Layout) -> bool:
    """Do the bytes lie alike?"""
    return a == b or layout_key(a) == layout_key(b)
