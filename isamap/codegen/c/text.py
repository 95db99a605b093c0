"""C text of affine expressions, counts and numbers.

In: affine expressions over C variables, spans. Out: C expressions. Not its job: statements.
"""

from isamap.ir import Affine, is_float, scalar_type
from isamap.program import Address, Span

LEAST = """static inline int64_t isamap_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
"""


def affine_text(affine: Affine) -> str:
    """`19 * i + j - 3`."""
    text = ""
    for name, coefficient in affine.terms:
        factor = "" if abs(coefficient) == 1 else f"{abs(coefficient)} * "
        sign = (" - " if coefficient < 0 else " + ") if text else ("-" if coefficient < 0 else "")
        text += f"{sign}{factor}{name}"
    if affine.constant or not text:
        sign = (" - " if affine.constant < 0 else " + ") if text else ""
        text += f"{sign}{abs(affine.constant) if text else affine.constant}"
    return text


def span_text(span: Span) -> str:
    """The count; `isamap_least` brings the smaller of two."""
    if span.total is None:
        return str(span.limit)
    rest = affine_text(span.offset.scaled(-1) + span.total)
    if span.unit != 1:
        rest = f"({rest} + {span.unit - 1}) / {span.unit}"
    return f"isamap_least({span.limit}, {rest})"


def offset_text(address: Address, unit: int) -> str:
    """The address in units of so many bytes, which divide it; empty for 0."""
    parts = []
    offset = Affine.of(
        ((name, c // unit) for name, c in address.offset.terms), address.offset.constant // unit
    )
    if offset != Affine():
        parts.append(affine_text(offset))
    for rotation in address.rotations:
        counter = affine_text(rotation.counter)
        parts.append(f"{rotation.stride_bytes // unit} * (({counter}) % {rotation.modulo})")
    return " + ".join(parts)


def divides(address: Address, unit: int) -> bool:
    """Is the address a multiple of `unit` for all values of its loops?"""
    steps = [address.offset.constant, *(c for _, c in address.offset.terms)]
    steps += [rotation.stride_bytes for rotation in address.rotations]
    return all(step % unit == 0 for step in steps)


def number_text(value: int | float, dtype: str | None) -> str:
    """An immediate as a C constant; floats exactly, in hexadecimal."""
    if dtype is None or not is_float(dtype):
        return str(int(value))
    suffix = "" if scalar_type(dtype).bits == 64 else "f"
    return float(value).hex() + suffix
