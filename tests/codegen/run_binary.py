"""Map a kernel, write its binary, run it on a simulated machine, compare with NumPy.

In: a bundled kernel, sizes, a machine. Out: arrays or the binary's folder. Not its job: machines.
"""

from pathlib import Path

import numpy as np

import isamap
from isamap.codegen import disassemble, list_binary, write_binary
from isamap.ir import load_reference, pretty, random_arrays
from isamap.resources import find_kernel
from tests.codegen.loader import Loader


def map_program(kernel, hw, sizes=None, **options):
    """(kernel as asked for, program, machine)."""
    result = isamap.map(kernel, hw, sizes=sizes or {}, verify="off", **options)
    return result.kernel, result.program, result.hardware


def reference_of(file, name, sizes):
    """The NumPy reference of a kernel in a bundled file."""
    return load_reference(Path(find_kernel(file)[0]), name, sizes)


def sums_on_host(call):
    """Does a host call add up? (Layouts and conversions are its proper work.)"""
    return "+=" in pretty(call)


def run_program(program, kernel, hw, folder, arrays, machine, base=None):
    """Outputs of a program's binary on `machine(image, records, base)`; its listing must read
    back."""
    binary = write_binary(program, kernel, hw, folder, base=base)
    assert disassemble(folder, hw) == list_binary(binary, hw)
    loader = Loader(folder)
    loader.put(arrays)
    loader.run(machine)
    return loader.get()


def check_kernel(kernel, hw, folder, machine, sizes=None, bases=(None,), **options):
    """Bit-exact against NumPy wherever the image lies, products on the machine itself, or
    AssertionError; the program."""
    built, program, machine_spec = map_program(kernel, hw, sizes, **options)
    assert not any(sums_on_host(call) for call in program.host_calls)
    reference = reference_of(kernel, built.name, sizes)
    for seed, base in enumerate(bases):
        arrays = random_arrays(built, seed)
        found = run_program(program, built, machine_spec, folder, arrays, machine, base)
        wanted = reference(**{name: array.copy() for name, array in arrays.items()})
        for name, array in wanted.items():
            np.testing.assert_array_equal(found[name], array, err_msg=f"{kernel} {name}")
    return program
