"""The one IR of kernels and of instructions' semantics: data, text, rules, dependences, meaning.

In: see each module. Out: the public names below; those that need NumPy load it on first use.
Not its job: machines, mapping, anything that costs cycles.
"""

from functools import partial
from typing import TYPE_CHECKING

from isamap.lazy import load_name

from .affine import Affine
from .casts import under_casts, without_casts
from .covers import covers, covers_together, leaves_elements
from .deps import (
    LoopKind,
    Order,
    carrying_loop,
    conflict,
    kernel_loop_kinds,
    kind_within,
    loop_kinds,
    may_distribute,
    may_interchange,
    may_permute,
    may_swap,
    may_touch,
    move_out,
)
from .drop_zeros import drop_zeros, is_zero
from .dtypes import (
    DTYPES,
    FLOAT_LIMITS,
    ScalarKind,
    ScalarType,
    integer_range,
    is_float,
    is_integer,
    is_widening,
    scalar_type,
    size_bytes,
    wrap_integer,
)
from .exact_form import exact_form, exact_range, is_copy, saturations
from .innermost import innermost, may_reorder
from .kernel import (
    Access,
    Apply,
    Buffer,
    Expr,
    Immediate,
    Kernel,
    Literal,
    Loop,
    Role,
    Statement,
    accesses,
    map_accesses,
)
from .load_reference import load_reference
from .normalise_update import normalise_update
from .ops import OPS, RESERVED, UPDATES, Domain, Notation, Operation, Typing, is_cast
from .parse import KernelSource, load_kernel, load_kernels, parse_semantics
from .plan_blocks import num_blocks
from .pretty import pretty, pretty_expr, pretty_statement
from .twins import are_equal
from .type_of import argument_types, type_of
from .verify import index_range, leaving_dims, stays_inside, verify

if TYPE_CHECKING:
    from .interp import Ready, interpret, make_ready, run_ready
    from .interp_slow import interpret_slow
    from .numpy_types import nearest_float, numpy_dtype, strided_view
    from .random_inputs import keep_lawful, random_arrays
    from .rounding import rounding_errors

LAZY = {
    "Ready": ".interp",
    "interpret": ".interp",
    "make_ready": ".interp",
    "run_ready": ".interp",
    "interpret_slow": ".interp_slow",
    "nearest_float": ".numpy_types",
    "numpy_dtype": ".numpy_types",
    "strided_view": ".numpy_types",
    "keep_lawful": ".random_inputs",
    "random_arrays": ".random_inputs",
    "rounding_errors": ".rounding",
}

__all__ = [
    "Access",
    "Affine",
    "Apply",
    "Buffer",
    "DTYPES",
    "Domain",
    "Expr",
    "FLOAT_LIMITS",
    "Immediate",
    "Kernel",
    "KernelSource",
    "Literal",
    "Loop",
    "LoopKind",
    "Notation",
    "OPS",
    "Operation",
    "Order",
    "RESERVED",
    "Ready",
    "Role",
    "ScalarKind",
    "ScalarType",
    "Statement",
    "Typing",
    "UPDATES",
    "accesses",
    "are_equal",
    "argument_types",
    "carrying_loop",
    "conflict",
    "covers",
    "covers_together",
    "drop_zeros",
    "exact_form",
    "exact_range",
    "index_range",
    "innermost",
    "integer_range",
    "interpret",
    "interpret_slow",
    "is_cast",
    "is_copy",
    "is_float",
    "is_integer",
    "is_widening",
    "is_zero",
    "keep_lawful",
    "kernel_loop_kinds",
    "kind_within",
    "leaves_elements",
    "leaving_dims",
    "load_kernel",
    "load_kernels",
    "load_reference",
    "loop_kinds",
    "make_ready",
    "map_accesses",
    "may_distribute",
    "may_interchange",
    "may_permute",
    "may_reorder",
    "may_swap",
    "may_touch",
    "move_out",
    "nearest_float",
    "normalise_update",
    "num_blocks",
    "numpy_dtype",
    "parse_semantics",
    "pretty",
    "pretty_expr",
    "pretty_statement",
    "random_arrays",
    "rounding_errors",
    "run_ready",
    "saturations",
    "scalar_type",
    "size_bytes",
    "stays_inside",
    "strided_view",
    "type_of",
    "under_casts",
    "verify",
    "without_casts",
    "wrap_integer",
]


__getattr__ = partial(load_name, __name__, LAZY)  # what needs NumPy
