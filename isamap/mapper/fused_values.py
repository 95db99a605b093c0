"""What instructions compute in several operations at once.

In: a machine. Out: their values. Not its job: giving a kernel the operands that it lacks for them
(`rewrites.neutral`).
"""

from collections.abc import Iterator

from isamap.hwdesc import Hardware
from isamap.ir import Apply, Expr, is_cast


def fused_values(hw: Hardware) -> tuple[Expr, ...]:
    """Values of two operations or more, casts aside, that instructions assign, each once.

    None on a processor that is its own host: what instructions lack there is plain C.
    """
    if hw.host is not None and not hw.host.is_apart:
        return ()
    statements = (s for each in hw.instructions for s in each.semantics.statements)
    values = (s.value for s in statements if s.update == "=")
    return tuple(dict.fromkeys(value for value in values if len(list(_operations(value))) > 1))


def _operations(value: Expr) -> Iterator[Apply]:
    if isinstance(value, Apply):
        if not is_cast(value.op) or value.op.startswith("sat_"):
            yield value
        for arg in value.args:
            yield from _operations(arg)
