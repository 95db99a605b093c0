"""Map a kernel, write its binary, run it on a simulated machine, compare with NumPy.

In: a bundled kernel, sizes, a machine. Out: arrays or the binary's folder. Not its job: machines.
"""

from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import as_strided

import isamap
from isamap.codegen import disassemble, list_binary, write_binary
from isamap.compile import PlanResult
from isamap.ir import interpret, load_reference, numpy_dtype, parse_semantics, random_arrays
from isamap.resources import find_kernel
from tests.codegen.loader import Loader


def map_program(kernel, hw, sizes=None, **options):
    """(kernel as asked for, program, machine)."""
    result = isamap.map(kernel, hw, sizes=sizes or {}, verify="off", **options)
    is_plan = isinstance(result, PlanResult)
    program = result.plan.program if is_plan else result.schedule.program
    return result.kernel, program, result.hardware


def reference_of(file, name, sizes):
    """The NumPy reference of a kernel in a bundled file."""
    return load_reference(Path(find_kernel(file)[0]), name, sizes)


def run_on_host(image, text, operands):
    """A host call on arrays in the image, by the text of its kernel."""
    kernel = parse_semantics(text, "call")
    memory = np.frombuffer(image, np.uint8)
    views = {}
    for buffer in kernel.buffers:
        row = operands[buffer.name]
        dtype = numpy_dtype(buffer.dtype)
        first = np.ndarray((), dtype, memory, row["offset"])
        views[buffer.name] = as_strided(first, buffer.shape, row["strides_bytes"])
    given = {b.name: views[b.name].copy() for b in kernel.buffers if b.role.value != "Out"}
    for name, array in interpret(kernel, given).items():
        views[name][...] = array


def run_program(program, kernel, hw, folder, arrays, machine, base=None):
    """Outputs of a program's binary on `machine(image, records, base)`; its listing must read
    back."""
    binary = write_binary(program, kernel, hw, folder, base=base)
    assert disassemble(folder, hw) == list_binary(binary, hw)
    loader = Loader(folder)
    loader.put(arrays)
    loader.run(machine, run_on_host)
    return loader.get()


def check_kernel(kernel, hw, folder, machine, sizes=None, bases=(None,), **options):
    """Bit-exact against NumPy wherever the image lies, or AssertionError; the program."""
    built, program, machine_spec = map_program(kernel, hw, sizes, **options)
    reference = reference_of(kernel, built.name, sizes)
    for seed, base in enumerate(bases):
        arrays = random_arrays(built, seed)
        found = run_program(program, built, machine_spec, folder, arrays, machine, base)
        wanted = reference(**{name: array.copy() for name, array in arrays.items()})
        for name, array in wanted.items():
            np.testing.assert_array_equal(found[name], array, err_msg=f"{kernel} {name}")
    return program
