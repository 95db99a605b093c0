"""Vectorisable functions against exact ones."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from isamap.cexpr import FAST_FUNCTIONS, HELPERS, LIBRARY, used_helpers

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), "")
pytestmark = pytest.mark.skipif(not COMPILER, reason="no C compiler: install gcc")


def sigmoid(x: np.ndarray) -> np.ndarray:
    """In f64, without overflow."""
    power = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, power, 1.0) / (1.0 + power))


EXACT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
}


def points() -> np.ndarray:
    """Values of all magnitudes and signs: every 2**16-th bit pattern, and dense ones around 0."""
    bits = np.arange(0, 2**32, 2**16 - 17, np.uint32).view(np.float32)
    dense = np.linspace(-110, 110, 200_001, dtype=np.float32)
    special = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 88.7, 88.8, -103.9, 0.625])
    return np.concatenate([bits, dense, dense / 100, special])


@pytest.mark.parametrize("flags", [(), ("-march=native",)])  # which may fuse products and sums
@pytest.mark.parametrize("name", EXACT)
def test_errors_are_within_what_the_verification_grants(
    name: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    body = f"y[i] = {FAST_FUNCTIONS[name, 'f32'].format('x[i]')};"
    text = "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
    text += used_helpers([body], f"{HELPERS}\n{LIBRARY}")
    text += "\nvoid f(const float *x, float *y, int64_t n) {\n"
    text += f"  for (int64_t i = 0; i < n; ++i) {body}\n}}\n"
    source, library = tmp_path / "f.c", tmp_path / "f.so"
    source.write_text(text)
    command = [COMPILER, "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared"]
    subprocess.run([*command, *flags, "-fPIC", "-o", library, source, "-lm"], check=True)
    x = points()
    y = np.empty_like(x)
    ctypes.CDLL(str(library)).f(
        ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_int64(x.size)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        exact = EXACT[name](x.astype(np.float64))
        assert np.array_equal(np.isnan(y), np.isnan(exact))
        rounded = exact.astype(np.float32)
    overflows = np.isinf(rounded)
    assert np.array_equal(y[overflows], rounded[overflows])
    rest = ~overflows & ~np.isnan(exact)
    error = np.abs(y[rest].astype(np.float64) - exact[rest])
    assert (error <= 1.5 * 2.0**-23 * np.abs(exact[rest]) + 2.0**-149).all()


def test_floors_of_quotients_are_exact(tmp_path: Path) -> None:
    body = f"y[i] = {FAST_FUNCTIONS['//', 'i32'].format('a[i]', 'b[i]')};"
    text = "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
    text += "#define UNLIKELY(x) (x)\n#define ISAMAP_ILLEGAL(what) ((void)0)\n"
    text += used_helpers([body], f"{HELPERS}\n{LIBRARY}")
    text += "\nvoid f(const int32_t *a, const int32_t *b, int32_t *y, int64_t n) {\n"
    text += f"  for (int64_t i = 0; i < n; ++i) {body}\n}}\n"
    source, library = tmp_path / "f.c", tmp_path / "f.so"
    source.write_text(text)
    command = [COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", library, source], check=True)
    ends = [-(2**31), -(2**31) + 1, 2**31 - 1, *range(-60, 61)]
    a, b = (np.int32([one[n] for one in product(ends, ends)]) for n in (0, 1))
    y = np.empty_like(a)
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (a, b, y))
    ctypes.CDLL(str(library)).f(*pointers, ctypes.c_int64(a.size))
    expected = [x // z if z else 0 for x, z in product(ends, ends)]  # 0: illegal
    assert np.array_equal(y, np.int64(expected).astype(np.int32))  # 2**31 wraps
