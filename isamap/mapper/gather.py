"""Lay an input out in the external memory in the order in which calls read it, elements repeated.

In: what a layout must serve. Out: the layout, if there is one. Not its job: more natural layouts,
whether the memory holds this one.

Where two loops step through one dimension of the buffer (the window p + r), each gets an axis of
its own, so that the instruction may run over either or both: elements lie once per pair (p, r). A
whole convolution packed so is what im2col makes.
"""

from isamap.program import Axis, Layout

from .covering import External
from .geometry import Geometry


def gathered(geometry: Geometry, block_order: tuple[int, ...]) -> External | None:
    """Blocks contiguous and in the order in which they are stored on chip, units outside; None for
    an operand seen through windows or along a diagonal.

    `block_order`: block dimensions from innermost to outermost.
    """
    steps: dict[str, tuple[int, int]] = {}  # loop -> dimension and elements per iteration
    for dim, index in enumerate(geometry.access.indices):
        for name, coefficient in index.terms:
            if name in steps:
                return None  # one digit cannot move two dimensions
            steps[name] = (dim, coefficient)
    if any(axis.is_window for axis in geometry.axes):
        return None
    loops = {loop.name: loop for loop in geometry.loops}
    axes: list[Axis] = []
    running = geometry.element_bytes
    block_strides = [0] * len(geometry.blocks)
    for number in block_order:
        block = geometry.blocks[number]
        if block.loop in steps:
            dim, step = steps[block.loop]
            block_strides[number] = running
            axes.append(Axis(dim, step, block.extent, running))
            running *= block.extent
    axis_strides: list[int] = []
    for axis in reversed(geometry.axes):
        loop = loops[axis.loops[0]]
        if loop.name not in steps:
            axis_strides.insert(0, 0)  # a held loop that brings other data to the same place
            continue
        dim, step = steps[loop.name]
        axis_strides.insert(0, running)
        axes.append(Axis(dim, step * loop.block, loop.units, running))
        running *= loop.units
    layout = Layout(
        geometry.buffer.dtype,
        geometry.buffer.shape[: geometry.rank],
        tuple(reversed(axes)),
        tuple(-index.constant for index in geometry.access.indices),
        running,
        padding=geometry.padding,
    )
    return External(layout, tuple(axis_strides), tuple(block_strides), 0)
