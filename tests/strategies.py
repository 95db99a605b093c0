"""Hypothesis strategies shared by all tests.

In: nothing. Out: random small verified kernels. Not its job: kernels of realistic size.
"""

from hypothesis import strategies as st

from isamap.ir import (
    OPS,
    Access,
    Affine,
    Apply,
    Buffer,
    Expr,
    Kernel,
    Literal,
    Loop,
    Role,
    Statement,
    index_range,
    is_integer,
    normalise_update,
    verify,
)

INTEGERS = ("i8", "u8", "i16", "i32")
FLOATS = ("f32", "bf16")
BOTH = ("+", "-", "*", "max", "min", "neg", "abs", "relu", "select")
INTEGER_ONLY = ("&", "|", "^", "//", ">>", "<<", "rshift_round")
FLOAT_ONLY = ("/", "exp", "tanh", "sigmoid", "round_even")
BY_LITERAL = {"//": (-5, 5), ">>": (0, 9), "<<": (0, 9), "rshift_round": (0, 9)}


@st.composite
def kernels(draw: st.DrawFn, dtypes: tuple[str, ...] = (*INTEGERS, *FLOATS)) -> Kernel:
    """A verified kernel of at most 3 statements, 3 loops each and buffers of 2 dimensions."""
    buffers = draw_buffers(draw, dtypes)
    names = iter("ijklmnopqrs")
    statements: list[Statement] = []
    for _ in range(draw(st.integers(1, 3))):
        shared: tuple[Loop, ...] = ()
        if statements:
            last = statements[-1].loops
            shared = last[: draw(st.sampled_from([len(last), 2, 1, 0]))]
        fresh = tuple(
            Loop(next(names), draw(st.sampled_from([2, 3, 4, 1])))
            for _ in range(min(draw(st.sampled_from([2, 1, 2, 3, 0])), 3 - len(shared)))
        )
        statements.append(draw_statement(draw, buffers, (*shared, *fresh)))
    kernel = Kernel("random", buffers, tuple(statements))
    verify(kernel)
    return kernel


def draw_buffers(draw: st.DrawFn, dtypes: tuple[str, ...]) -> tuple[Buffer, ...]:
    """Two to four buffers, the last one writable."""
    buffers: list[Buffer] = []
    count = draw(st.integers(2, 4))
    for position in range(count):
        roles = [Role.OUT, Role.INOUT] if position == count - 1 else list(Role)
        shape = tuple(draw(st.lists(st.integers(1, 6), max_size=2)))
        dtype = draw(st.sampled_from(dtypes))
        buffers.append(Buffer("ABCD"[position], dtype, shape, draw(st.sampled_from(roles))))
    return tuple(buffers)


def draw_statement(
    draw: st.DrawFn, buffers: tuple[Buffer, ...], loops: tuple[Loop, ...]
) -> Statement:
    """A statement in normal form."""
    buffer = draw(st.sampled_from([b for b in buffers if b.role is not Role.IN]))
    target = draw_access(draw, buffer, loops, may_pad=False)
    update = draw(st.sampled_from(["=", "+=", "+=", "*=", "max=", "min="]))
    value = draw_expr(draw, buffers, loops, buffer.dtype, 2)
    return Statement(loops, target, *normalise_update(target, update, value))


def draw_access(
    draw: st.DrawFn, buffer: Buffer, loops: tuple[Loop, ...], *, may_pad: bool
) -> Access:
    """An access that stays inside, or one with padding."""
    pad = draw(st.sampled_from([None, None, 0, 1])) if may_pad else None
    extents = {loop.name: loop.extent for loop in loops}
    indices: list[Affine] = []
    for size in buffer.shape:
        factors = [draw(st.sampled_from([0, 0, 1, 1, -1, 2])) for _ in loops]
        pairs = [(loop.name, f) for loop, f in zip(loops, factors, strict=True)]
        if pad is not None:
            indices.append(Affine.of(pairs, draw(st.integers(-3, 3))))
            continue
        while True:
            low, high = index_range(Affine.of(pairs), extents)
            if high - low < size:
                break
            pairs.pop()
        indices.append(Affine.of(pairs, draw(st.integers(-low, size - 1 - high))))
    return Access(buffer.name, tuple(indices), pad)


def draw_expr(
    draw: st.DrawFn, buffers: tuple[Buffer, ...], loops: tuple[Loop, ...], dtype: str, depth: int
) -> Expr:
    """An expression of type `dtype`."""
    kinds = ["access", "access", "literal", *(["op", "op", "cast"] if depth else [])]
    match draw(st.sampled_from(kinds)):
        case "literal":
            return draw_literal(draw, dtype)
        case "access":
            buffer = draw(st.sampled_from(buffers))
            access = draw_access(draw, buffer, loops, may_pad=True)
            return access if buffer.dtype == dtype else Apply(dtype, (access,))
        case "cast":
            inner = draw(st.sampled_from(buffers)).dtype
            names = [dtype] + ([f"sat_{dtype}"] if is_integer(dtype) else [])
            arg = draw_expr(draw, buffers, loops, inner, depth - 1)
            return Apply(draw(st.sampled_from(names)), (Apply(inner, (arg,)),))
    op = draw(st.sampled_from([*BOTH, *(INTEGER_ONLY if is_integer(dtype) else FLOAT_ONLY)]))
    if op == "select":
        pair = [draw_typed(draw, buffers, loops, dtype, depth - 1) for _ in range(2)]
        condition = Apply(draw(st.sampled_from(["<", "<=", "=="])), tuple(pair))
        branches = [draw_expr(draw, buffers, loops, dtype, depth - 1) for _ in range(2)]
        return Apply(op, (condition, *branches))
    if op in BY_LITERAL:
        low, high = BY_LITERAL[op]
        low = 1 if op == "//" and dtype.startswith("u") else low
        count = draw(st.integers(low, high).filter(lambda n: n != 0 or op != "//"))
        return Apply(op, (draw_expr(draw, buffers, loops, dtype, depth - 1), Literal(count)))
    args = [draw_expr(draw, buffers, loops, dtype, depth - 1) for _ in range(OPS[op].arity)]
    return Apply(op, tuple(args))


def draw_typed(
    draw: st.DrawFn, buffers: tuple[Buffer, ...], loops: tuple[Loop, ...], dtype: str, depth: int
) -> Expr:
    """An expression that has a type of its own."""
    return Apply(dtype, (draw_expr(draw, buffers, loops, dtype, depth),))


def draw_literal(draw: st.DrawFn, dtype: str) -> Literal:
    """A constant that fits."""
    if is_integer(dtype):
        return Literal(draw(st.integers(0 if dtype.startswith("u") else -100, 100)))
    return Literal(draw(st.sampled_from([0.5, -1.25, 3.0, -2, 7, 1e-3])))
