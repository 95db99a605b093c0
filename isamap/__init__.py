"""isamap: map a tensor kernel onto an accelerator described in YAML, with a proof and a check.

In: nothing. Out: the public names below, each loaded on first use so that importing isamap is
cheap. Not its job: anything else.
"""

from functools import partial
from typing import TYPE_CHECKING

from .lazy import load_name
from .version import __version__

if TYPE_CHECKING:
    from .bindings import Explanation, explain
    from .compile import PlanResult, Result, map
    from .costmodels import Aim, Metric
    from .errors import IsamapError
    from .files import Evaluation, evaluate
    from .hwdesc import Hardware, load_hardware
    from .ir import Kernel, load_kernel
    from .native import BuiltKernel, build, run_on
    from .program import Program
    from .sweep import explore

LAZY = {
    "Aim": ".costmodels",
    "BuiltKernel": ".native",
    "Evaluation": ".files",
    "Explanation": ".bindings",
    "Hardware": ".hwdesc",
    "IsamapError": ".errors",
    "Kernel": ".ir",
    "Metric": ".costmodels",
    "PlanResult": ".compile",
    "Program": ".program",
    "Result": ".compile",
    "build": ".native",
    "evaluate": ".files",
    "explain": ".bindings",
    "explore": ".sweep",
    "load_hardware": ".hwdesc",
    "load_kernel": ".ir",
    "map": ".compile",
    "run_on": ".native",
}

__all__ = [
    "Aim",
    "BuiltKernel",
    "Evaluation",
    "Explanation",
    "Hardware",
    "IsamapError",
    "Kernel",
    "Metric",
    "PlanResult",
    "Program",
    "Result",
    "__version__",
    "build",
    "evaluate",
    "explain",
    "explore",
    "load_hardware",
    "load_kernel",
    "map",
    "run_on",
]


__getattr__ = partial(load_name, __name__, LAZY)


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY})
