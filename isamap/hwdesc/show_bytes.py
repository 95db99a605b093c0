"""Sizes as text, with their unit, as `units` reads them.

In: bytes. Out: text a person reads. Not its job: where it is put.
"""

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def show_bytes(value: float) -> str:
    """`182 KiB`: at least three digits where there are fractions."""
    for unit in UNITS:
        if value < 1024 or unit == UNITS[-1]:
            break
        value /= 1024
    is_whole = value == int(value) or value >= 100
    return f"{value:.0f} {unit}" if is_whole else f"{value:.3g} {unit}"
