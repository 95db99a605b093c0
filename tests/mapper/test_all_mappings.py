"""None missing, none wrong, none twice: what is listed is what execution finds right.

In: random small kernels on random small instructions. Out: failures. Not its job: the oracle
(`brute_mappings`), many examples (`bench/complete_mappings.py`).
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.hwdesc import Instruction
from isamap.ir import Kernel
from tests.mapper.brute_mappings import (
    SMOPA,
    found_mappings,
    instructions,
    kernels,
    right_mappings,
    sliding,
)


@settings(max_examples=60)
@given(
    kernels("xyz"), st.one_of(st.sampled_from((SMOPA, sliding())), instructions()), st.booleans()
)
def test_listed_mappings_are_those_that_execution_finds_right(
    kernel: Kernel, instruction: Instruction, replicate: bool
) -> None:
    found = found_mappings(kernel, instruction, replicate=replicate)
    assert len(set(found)) == len(found), "one twice"
    assert set(found) == right_mappings(kernel, instruction, replicate=replicate)
