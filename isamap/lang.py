"""The names a kernel file imports: `from isamap.lang import In, InOut, grid, i8, i32, kernel`.

In: nothing. Out: names that editors, linters and type checkers know. Kernels are read, never run:
everything but `kernel` raises when executed. Not its job: reading kernels (`isamap.ir`).
"""

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

inf: float = float("inf")


def kernel(function: Function) -> Function:
    """Mark a function as a kernel; its arguments are sizes with integer defaults."""
    return function


def refuse(name: str) -> NoReturn:
    """Raise: the language is not executed."""
    raise RuntimeError(f"{name} is part of a kernel, which isamap reads and never runs")


class Buffer:
    """What a declaration stands for, for editors."""

    def __getitem__(self, indices: object) -> Any:
        """Element at integer-affine indices."""
        refuse("an access")

    def __setitem__(self, indices: object, value: object) -> None:
        """Assignment to an element."""
        refuse("an assignment")

    def at(self, *indices: object, pad: float) -> Any:
        """Element at `indices`, or `pad` outside the buffer."""
        refuse("at")


class ScalarName:
    """A scalar type: names one in a declaration, converts (integers wrap) when called."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, value: object) -> Any:
        """Convert: integers wrap, floats truncate and saturate to integers."""
        refuse(self.name)


i4, u4 = ScalarName("i4"), ScalarName("u4")
i8, u8 = ScalarName("i8"), ScalarName("u8")
i16, u16 = ScalarName("i16"), ScalarName("u16")
i32, u32 = ScalarName("i32"), ScalarName("u32")
i64 = ScalarName("i64")
f16, bf16, f32, f64 = ScalarName("f16"), ScalarName("bf16"), ScalarName("f32"), ScalarName("f64")
f8e4m3, f8e5m2 = ScalarName("f8e4m3"), ScalarName("f8e5m2")


def In(dtype: ScalarName, *shape: int) -> Buffer:
    """A buffer that is read."""
    refuse("In")


def Out(dtype: ScalarName, *shape: int) -> Buffer:
    """A buffer that is written; starts as zeros."""
    refuse("Out")


def InOut(dtype: ScalarName, *shape: int) -> Buffer:
    """A buffer that is read and written."""
    refuse("InOut")


def Temp(dtype: ScalarName, *shape: int) -> Buffer:
    """A buffer nobody outside sees; starts as zeros."""
    refuse("Temp")


def grid(*extents: int) -> Iterator[Any]:
    """A nest of loops, the first outermost."""
    refuse("grid")


def ceildiv(value: int, divisor: int) -> int:
    """Integer division rounding up, on sizes."""
    refuse("ceildiv")


def neg(value: object) -> Any:
    """Minus `value`."""
    refuse("neg")


def relu(value: object) -> Any:
    """max(value, 0)."""
    refuse("relu")


def exp(value: object) -> Any:
    """e to the power of a float."""
    refuse("exp")


def tanh(value: object) -> Any:
    """Hyperbolic tangent of a float."""
    refuse("tanh")


def sigmoid(value: object) -> Any:
    """1 / (1 + exp(-value)) of a float."""
    refuse("sigmoid")


def sqrt(value: object) -> Any:
    """Square root of a float."""
    refuse("sqrt")


def round_even(value: object) -> Any:
    """A float rounded to the nearest whole number, ties to even."""
    refuse("round_even")


def select(condition: object, if_true: object, if_false: object) -> Any:
    """`if_true` where `condition` is not 0, else `if_false`; both are evaluated."""
    refuse("select")


def rshift_round(value: object, count: object) -> Any:
    """floor((value + 2**(count - 1)) / 2**count) of an integer."""
    refuse("rshift_round")


sat_i4, sat_u4 = ScalarName("sat_i4"), ScalarName("sat_u4")
sat_i8, sat_u8 = ScalarName("sat_i8"), ScalarName("sat_u8")
sat_i16, sat_u16 = ScalarName("sat_i16"), ScalarName("sat_u16")
sat_i32, sat_u32 = ScalarName("sat_i32"), ScalarName("sat_u32")
sat_i64 = ScalarName("sat_i64")

WORDS = frozenset(globals())  # what a kernel file may import from here
