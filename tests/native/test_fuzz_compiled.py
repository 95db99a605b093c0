"""Random kernels, compiled in random ways for this processor, compute what they say.

`bench/fuzz_compiled.py` is the longer form.
"""

import shutil

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.compiled_cases import CRASH, WRONG, draw_case, running_here, try_case


@pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)
@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6))
def test_whatever_is_compiled_computes_what_it_says(seed: int) -> None:
    machines = running_here()
    if not machines:
        pytest.skip("this processor runs none of the bundled machines")
    case = draw_case(seed, machines)
    assume(case is not None)
    assert case is not None
    found = try_case(case, time_limit_s=0.3)
    assert found.partition(":")[0] not in (WRONG, CRASH), f"{seed}: {case}: {found}"
