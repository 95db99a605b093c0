"""What a measurement depends on beside the program: processor, machine file, kernel, compiler.

In: a kernel, a machine, a toolchain. Out: a `Subject` whose key is equal when times may be compared
again, a `Setting` that is equal when kernels' times tell of each other's. Not its job: storing
(`database`), measuring.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache

from isamap.codegen import Toolchain
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, pretty
from isamap.processor import this_processor
from isamap.version import __version__

DIGITS = 20  # of digests


@dataclass(frozen=True, slots=True)
class Setting:
    """Where programs run and what makes them: processor, machine file, compiler, isamap."""

    processor: str
    features: str
    hardware: str
    hardware_digest: str
    compiler: str
    flags: str
    version: str


@dataclass(frozen=True, slots=True)
class Subject:
    """Equal subjects: the same program takes the same time. Digests are of whole contents."""

    processor: str
    features: str
    hardware: str
    hardware_digest: str
    kernel: str
    kernel_digest: str
    sizes: str
    compiler: str
    flags: str
    version: str

    @property
    def key(self) -> str:
        """Of everything."""
        return digest(astuple(self))


def make_setting(hw: Hardware, toolchain: Toolchain) -> Setting:
    """This processor, compiled for a machine."""
    model, features = this_processor()
    return Setting(
        model,
        digest(features),
        hw.name,
        digest(hw),
        compiler_version(toolchain),
        " ".join(toolchain.all_flags),
        __version__,
    )


def make_subject(kernel: Kernel, hw: Hardware, toolchain: Toolchain) -> Subject:
    """A kernel at its sizes on this processor, compiled for a machine."""
    shapes = (f"{b.name}[{', '.join(map(str, b.shape))}]" for b in kernel.buffers)
    return Subject(
        **asdict(make_setting(hw, toolchain)),
        kernel=kernel.name,
        kernel_digest=digest(pretty(kernel)),
        sizes=" ".join(shapes),
    )


@cache
def compiler_version(toolchain: Toolchain) -> str:
    """Asked once per process."""
    return toolchain.version()


def digest(value: object) -> str:
    """A short hash of what values are compared by; equal in every process and place."""
    text = "\n".join(_canonical(value))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _canonical(value: object) -> list[str]:
    """Lines that tell any two different values apart: types, names, leaves in their order."""
    if is_dataclass(value) and not isinstance(value, type):
        compared = [field for field in fields(value) if field.compare]
        rows = [f"{type(value).__name__} {len(compared)}"]
        for field in compared:
            rows += [field.name, *_canonical(getattr(value, field.name))]
        return rows
    match value:
        case Enum():
            return [f"{type(value).__name__}.{value.name}"]
        case None | bool() | int() | float() | Fraction() | str():
            return [f"{type(value).__name__} {value!r}"]
        case tuple() | list():
            return [f"tuple {len(value)}", *(row for part in value for row in _canonical(part))]
        case frozenset() | set():
            inner = sorted("\n".join(_canonical(part)) for part in value)
            return [f"set {len(value)}", *inner]
        case Mapping():
            pairs = tuple((key, value[key]) for key in sorted(value))
            return [f"mapping {len(value)}", *_canonical(pairs)]
    raise AssertionError(f"no digest of a {type(value).__name__}")
