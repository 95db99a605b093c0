"""Types that hold all values of others: every value of the small ones, converted there and back."""

import numpy as np
import pytest

from isamap.ir import is_widening, numpy_dtype
from isamap.ir.dtypes import DTYPES

SMALL = ("i8", "u8", "i16", "u16", "f8e4m3", "f8e5m2", "f16", "bf16")
WHOLE = tuple(name for name in DTYPES if name not in ("i4", "u4"))


@pytest.mark.parametrize("target", WHOLE)
@pytest.mark.parametrize("source", SMALL)
def test_a_type_widens_where_every_value_comes_back(source: str, target: str) -> None:
    dtype = numpy_dtype(source)
    values = np.arange(2 ** (8 * dtype.itemsize), dtype=f"u{dtype.itemsize}").view(dtype)
    with np.errstate(all="ignore"):
        exact = values.astype(np.float64)
        wide = values[np.isfinite(exact)].astype(numpy_dtype(target)).astype(np.float64)
    is_same = np.array_equal(wide, exact[np.isfinite(exact)])
    is_float = DTYPES[source].kind.name == "FLOAT" and DTYPES[target].kind.name != "FLOAT"
    assert is_widening(source, target) == (is_same and not is_float)


def test_wide_types_hold_no_more_than_their_bits() -> None:
    assert is_widening("i32", "f64") and not is_widening("i32", "f32")
    assert is_widening("u32", "i64") and not is_widening("i64", "f64")
    assert is_widening("f32", "f64") and not is_widening("f64", "f32")
    assert not is_widening("f32", "i64")
