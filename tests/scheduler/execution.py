"""Execute what the scheduler made and compare it with the kernel's meaning.

In: a kernel, a program, the machine. Out: its timing, or a failure. Not its job: making programs.
"""

import numpy as np

from isamap.costmodels import Tiling
from isamap.emulator import Timing, run, time_program
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, interpret, random_arrays
from isamap.mapper import Covering
from isamap.program import Program
from isamap.scheduler import lower


def assert_computes(
    kernel: Kernel, program: Program, hw: Hardware, label: str, *, compiled: bool = False
) -> Timing:
    """The program computes the kernel bit for bit on random arrays, without a hazard."""
    timing = time_program(program, hw, compiled=compiled)
    arrays = random_arrays(kernel, 1)
    shaped = {p.buffer: arrays[p.buffer].reshape(p.layout.shape) for p in program.inputs}
    got = run(program, hw, shaped, compiled=compiled).outputs
    for name, expected in interpret(kernel, arrays).items():
        found = got[name].reshape(expected.shape)
        np.testing.assert_array_equal(found, expected, err_msg=label)
    return timing


def assert_correct(kernel: Kernel, covering: Covering, tiling: Tiling, hw: Hardware) -> Timing:
    """The lowered tiling computes the kernel."""
    program = lower(covering, tiling, hw)
    assert program is not None
    return assert_computes(kernel, program, hw, f"{covering.binding}\n{tiling}")
