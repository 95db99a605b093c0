"""How a kernel's array lies in a memory as bytes.

In: axes. Out: `pack` and `unpack` between arrays and bytes. Not its job: choosing a layout.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """`size` positions, `stride_bytes` apart; each step moves `step` elements along array dimension
    `dim`."""

    dim: int
    step: int
    size: int
    stride_bytes: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where every element of an array lies.

    Element (digits of all axes) lies at sum(digit * stride); its array index along d is
    sum(digit * step) - border[d]. Dimensions beyond `shape` (the border is longer) have extent 1.
    An input may be seen with neighbouring dimensions as one, in `shape` as in the axes.

    Positions whose array index falls outside `shape` are padding: `padding` in inputs, ignored in
    outputs. Several positions may hold the same element (replication). `plane_bytes` not None: the
    element's bytes are not neighbours, byte p (little endian) lies at p * plane_bytes; stride 1
    then means the next element's byte. `is_natural`: plain row-major, nothing packed.
    """

    dtype: str
    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    border: tuple[int, ...]
    size_bytes: int
    plane_bytes: int | None = None
    is_natural: bool = False
    padding: int = 0

    @property
    def is_replicated(self) -> bool:
        """Do several positions hold the same element?"""
        reached: dict[int, int] = {}  # dimension -> elements spanned by its finer axes
        for axis in sorted(self.axes, key=lambda axis: abs(axis.step)):
            span = reached.get(axis.dim, 1)
            if axis.size > 1 and abs(axis.step) < span:
                return True
            reached[axis.dim] = span + abs(axis.step) * (axis.size - 1)
        return False
