"""The table of scalar types.

In: a type's name. Out: its row: width, kind, C name, range. Not its job: NumPy's types
(`numpy_types`), which would make importing the IR slow.
"""

from dataclasses import dataclass
from enum import Enum

from isamap.errors import KernelError, closest


class ScalarKind(Enum):
    """What a scalar's bits mean."""

    INT = "int"  # two's complement
    UINT = "uint"
    FLOAT = "float"


@dataclass(frozen=True, slots=True)
class ScalarType:
    """One scalar type; `c_name` is None where C has no such type."""

    name: str
    bits: int
    kind: ScalarKind
    c_name: str | None = None


DTYPES: dict[str, ScalarType] = {
    row.name: row
    for row in (
        ScalarType("i4", 4, ScalarKind.INT),
        ScalarType("u4", 4, ScalarKind.UINT),
        ScalarType("i8", 8, ScalarKind.INT, "int8_t"),
        ScalarType("u8", 8, ScalarKind.UINT, "uint8_t"),
        ScalarType("i16", 16, ScalarKind.INT, "int16_t"),
        ScalarType("u16", 16, ScalarKind.UINT, "uint16_t"),
        ScalarType("i32", 32, ScalarKind.INT, "int32_t"),
        ScalarType("u32", 32, ScalarKind.UINT, "uint32_t"),
        ScalarType("i64", 64, ScalarKind.INT, "int64_t"),
        ScalarType("f8e4m3", 8, ScalarKind.FLOAT),  # the "fn" variant: no infinities
        ScalarType("f8e5m2", 8, ScalarKind.FLOAT),
        ScalarType("f16", 16, ScalarKind.FLOAT, "_Float16"),
        ScalarType("bf16", 16, ScalarKind.FLOAT),
        ScalarType("f32", 32, ScalarKind.FLOAT, "float"),
        ScalarType("f64", 64, ScalarKind.FLOAT, "double"),
    )
}


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """Of a float type: distance from 1 to the next value, smallest value above 0, largest."""

    eps: float
    smallest: float
    largest: float


FLOAT_LIMITS: dict[str, FloatLimits] = {
    "f8e4m3": FloatLimits(2.0**-3, 2.0**-9, 448.0),
    "f8e5m2": FloatLimits(2.0**-2, 2.0**-16, 57344.0),
    "f16": FloatLimits(2.0**-10, 2.0**-24, 65504.0),
    "bf16": FloatLimits(2.0**-7, 2.0**-133, (2 - 2.0**-7) * 2.0**127),
    "f32": FloatLimits(2.0**-23, 2.0**-149, (2 - 2.0**-23) * 2.0**127),
    "f64": FloatLimits(2.0**-52, 2.0**-1074, (2 - 2.0**-52) * 2.0**1023),
}


def scalar_type(name: str) -> ScalarType:
    """Row of the type called `name`; KernelError with the nearest name when there is none."""
    if name not in DTYPES:
        hint = closest(name, DTYPES) or f"types are {', '.join(DTYPES)}"
        raise KernelError(f"unknown scalar type {name!r}", hint=hint)
    return DTYPES[name]


def size_bytes(name: str) -> int:
    """Bytes one element takes in an array: 4-bit types take a whole byte each."""
    return (scalar_type(name).bits + 7) // 8


def is_integer(name: str) -> bool:
    """Is the type one whose arithmetic wraps?"""
    return scalar_type(name).kind is not ScalarKind.FLOAT


def is_float(name: str) -> bool:
    """Is the type one whose arithmetic rounds?"""
    return scalar_type(name).kind is ScalarKind.FLOAT


def integer_range(name: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    row = scalar_type(name)
    assert row.kind is not ScalarKind.FLOAT, f"{name} has no integer range"
    if row.kind is ScalarKind.UINT:
        return 0, 2**row.bits - 1
    return -(2 ** (row.bits - 1)), 2 ** (row.bits - 1) - 1


def is_widening(source: str, target: str) -> bool:
    """Does `target` hold every value of `source`?"""
    if is_integer(target):
        if is_float(source):
            return False
        (low, high), (least, most) = integer_range(source), integer_range(target)
        return least <= low and high <= most
    limits = FLOAT_LIMITS[target]
    if is_integer(source):
        most = max(map(abs, integer_range(source)))
        return most <= min(2 / limits.eps, limits.largest)
    own = FLOAT_LIMITS[source]
    is_fine = limits.eps <= own.eps and limits.smallest <= own.smallest
    return is_fine and limits.largest >= own.largest


def wrap_integer(value: int, name: str) -> int:
    """`value` modulo 2**bits, brought into the type's range."""
    low, high = integer_range(name)
    return (value - low) % (high - low + 1) + low
