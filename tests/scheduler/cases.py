"""Small kernels on the shipped machines, for the scheduler's tests and benchmarks.

In: names and sizes. Out: kernels, machines, coverings. Not its job: schedules.
"""

from functools import cache
from itertools import islice
from pathlib import Path

from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel
from isamap.mapper import Covering, coverings

ROOT = Path(__file__).resolve().parent.parent.parent
MACHINES = ("gemmini", "vta", "vecdot", "outer", "conv_engine", "gemv_engine", "fused_npu")

# file, kernel, sizes: odd, prime, smaller and larger than the instructions, sliding windows with
# and without steps
KERNELS: tuple[tuple[str, str, tuple[tuple[str, int], ...]], ...] = (
    ("gemm", "gemm", (("m", 7), ("n", 5), ("k", 6))),
    ("gemm", "gemm", (("m", 19), ("n", 33), ("k", 21))),
    ("gemm", "gemm_tn", (("m", 5), ("n", 18), ("k", 17))),
    ("gemm", "gemm_nt", (("m", 5), ("n", 18), ("k", 17))),
    ("gemm", "gemm_tt", (("m", 5), ("n", 18), ("k", 17))),
    ("gemv", "gemv", (("m", 35), ("k", 21))),
    ("batched_gemm", "batched_gemm", (("b", 3), ("m", 7), ("n", 18), ("k", 5))),
    ("pointwise_conv", "pointwise_conv", (("h", 3), ("w", 5), ("c", 18), ("k", 9))),
    ("depthwise_conv", "depthwise_conv", (("h", 3), ("w", 4), ("c", 3))),
    (
        "conv2d",
        "conv2d",
        (("h", 5), ("w", 2), ("c", 3), ("k", 18), ("r", 2), ("s", 3), ("stride", 2)),
    ),
    (
        "conv2d",
        "conv2d",
        (("n", 2), ("h", 2), ("w", 3), ("c", 3), ("k", 3), ("r", 1), ("s", 2), ("pad", 0)),
    ),
)


@cache
def machine(name: str) -> Hardware:
    """A machine of `hw_specs/`."""
    return load_hardware(ROOT / "hw_specs" / f"{name}.yaml")


def kernel_file(name: str) -> Path:
    """A file of `kernels/`."""
    return ROOT / "kernels" / f"{name}.py"


@cache
def kernel(file: str, name: str, sizes: tuple[tuple[str, int], ...]) -> Kernel:
    """A kernel of `kernels/` at the given sizes."""
    return load_kernel(kernel_file(file), dict(sizes), name)


@cache
def first_coverings(
    file: str, name: str, sizes: tuple[tuple[str, int], ...], hw: str, count: int
) -> tuple[Covering, ...]:
    """The first coverings of a kernel by a machine."""
    return tuple(islice(coverings(kernel(file, name, sizes), machine(hw), []), count))
