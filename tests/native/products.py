"""Products of several sizes on this processor: one compilation and one process for all of them.

In: a kernel of c_kernels.py, a machine, sizes. Out: mapped programs; a failure where an element is
wrong. Not its job: what a program has to look like.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from isamap.codegen import missing_features
from isamap.compile import load_machine
from isamap.hwdesc import Hardware
from isamap.ir import interpret
from isamap.native import execute_together, whole_arrays
from isamap.native.mapped import Mapped, map_program
from isamap.scheduler import Wishes

Sizes = tuple[int, int, int]  # m, n, k
KERNELS = Path(__file__).parent.parent / "codegen" / "c_kernels.py"
STRICT = ("-Wall", "-Wextra", "-Werror")


def skip_unless_native(machine: str) -> None:
    """Skip, naming the features that this processor lacks."""
    rule = load_machine(machine).compiler
    assert rule is not None
    missing = missing_features(rule)
    if missing:
        pytest.skip(f"this processor lacks {', '.join(missing)}")


def map_product(
    kernel: str,
    hw: str | Hardware,
    sizes: Sizes,
    ahead: Sequence[str] = (),
    time_limit_s: float = 1,
) -> Mapped:
    """A product's program."""
    wishes = Wishes(time_limit_s=time_limit_s, may_reassociate=True)
    given = dict(zip("mnk", sizes, strict=True))
    return map_program(f"{KERNELS}:{kernel}", hw, wishes, sizes=given, ahead=ahead)


def assert_exact(found: Sequence[Mapped]) -> None:
    """Every element that programs of one machine compute from small whole numbers is right."""
    arrays = [whole_arrays(one.kernel, 1) for one in found]
    runs = [(one.program, given) for one, given in zip(found, arrays, strict=True)]
    outputs = execute_together(runs, found[0].hardware, STRICT)
    for one, given, got in zip(found, arrays, outputs, strict=True):
        for name, expected in interpret(one.kernel, given).items():
            np.testing.assert_array_equal(got[name], expected, err_msg=one.kernel.name)
