"""Stride rules from their models.

In: a stride's model, or a buffer whose strides are not given. Out: `StrideRule`.
Not its job: whether a program's strides obey them.
"""

from isamap.ir import Buffer, size_bytes

from .document import Path
from .hardware import StrideRule
from .reader import Reader
from .schema import StrideModel


def stride_rule(model: StrideModel, path: Path, reader: Reader) -> StrideRule:
    """One stride; a fixed stride may be 0 (broadcast)."""
    if model.form == "free":
        return StrideRule()
    if model.form == "dense":
        return StrideRule(is_dense=True)
    if model.form is not None:
        return StrideRule(fixed_bytes=reader.size(model.form, path, 0))
    multiple, maximum = 1, None
    if model.multiple_of is not None:
        multiple = reader.size(model.multiple_of, (*path, "multiple_of"))
    if model.at_most is not None:
        maximum = reader.size(model.at_most, (*path, "at_most"), multiple)
    return StrideRule(None, multiple, maximum, not model.nonzero)


def dense_strides(buffer: Buffer) -> tuple[StrideRule, ...]:
    """Row-major without gaps at the buffer's full shape, as fixed strides."""
    strides = []
    step = size_bytes(buffer.dtype)
    for size in reversed(buffer.shape):
        strides.append(StrideRule(fixed_bytes=step))
        step *= size
    return tuple(reversed(strides))
