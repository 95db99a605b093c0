"""Field values to one record and back, as integers.

In: a format and values. Out: the record's bits as an unsigned integer, or the values in it. Not its
job: byte order, which values.
"""

from collections.abc import Mapping

from isamap.errors import ProgramError
from isamap.hwdesc import BitField, Format


def pack_record(layout: Format, values: Mapping[str, int], who: str) -> int:
    """The record; fields without a value are 0.

    Raises:
        ProgramError: a value does not fit its field.
    """
    word = 0
    for field in layout.fields:
        value = values.get(field.name, 0)
        if value:
            word |= field_bits(field, value, layout, who)
    return word


def field_bits(field: BitField, value: int, layout: Format, who: str) -> int:
    """A value in its place.

    Raises:
        ProgramError: it does not fit.
    """
    if not field.least <= value <= field.most:
        raise field_error(field, value, layout, who)
    return (value & ((1 << field.width) - 1)) << field.first_bit


def field_error(field: BitField, value: int, layout: Format, who: str) -> ProgramError:
    """The error of a value that does not fit."""
    return ProgramError(
        f"{who}: field '{field.name}' of format '{layout.name}' holds {field.least} to"
        f" {field.most}, not {value}"
    )


def unpack_record(layout: Format, word: int) -> dict[str, int]:
    """Every field's value."""
    return {field.name: read_field(field, word) for field in layout.fields}


def read_field(field: BitField, word: int) -> int:
    """One field's value."""
    value = (word >> field.first_bit) & ((1 << field.width) - 1)
    return value - (1 << field.width) if value > field.most else value
