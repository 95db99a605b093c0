"""Libraries kept to the vectors of the machine that is measured, where the processor has wider.

In: a machine. Out: variables that libraries read when they load. Not its job: the libraries, which
choose for themselves where the processor has no wider ones.
"""

import os
import sys

from isamap.hwdesc import Hardware
from isamap.processor import this_processor

AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "BLIS_ARCH_TYPE": "3",  # Haswell in BLIS 0.9; `cpu_rivals` asks the library
    "LIBXSMM_TARGET": "hsw",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}


def limits(hw: Hardware) -> dict[str, str]:
    """Variables for a machine of AVX2 without AVX-512; none for others."""
    features = hw.compiler.features if hw.compiler else ()
    if "avx2" not in features or any(name.startswith("avx512") for name in features):
        return {}
    return AVX2 | ({"ONEDNN_MAX_CPU_ISA": "AVX2_VNNI"} if "avx_vnni" in features else {})


def keep_libraries_to(hw: Hardware) -> None:
    """Start this program again where variables have to change: libraries have read them."""
    wanted = limits(hw) if has_avx512() else {}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.environ.update(wanted)
        os.execv(sys.executable, [sys.executable, *sys.argv])


def has_avx512() -> bool:
    """Does this processor have wider vectors than AVX2's?"""
    return "avx512f" in this_processor()[1]


def is_limited() -> bool:
    """Were libraries told to do without AVX-512?"""
    return os.environ.get("MKL_ENABLE_INSTRUCTIONS") == AVX2["MKL_ENABLE_INSTRUCTIONS"]
