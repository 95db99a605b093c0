"""Random chains of one-dimensional statements over few buffers, so that dependences abound.

In: nothing. Out: verified kernels. Not its job: expressions of depth (`tests.strategies`).
"""

from hypothesis import strategies as st

from isamap.ir import (
    Access,
    Affine,
    Apply,
    Buffer,
    Kernel,
    Loop,
    Role,
    Statement,
    normalise_update,
    verify,
)

SIZE = 6
BUFFERS = (
    Buffer("A", "i8", (SIZE,), Role.IN),
    Buffer("T", "i8", (SIZE,), Role.TEMP),
    Buffer("U", "i8", (SIZE,), Role.TEMP),
    Buffer("X", "i8", (SIZE,), Role.INOUT),
    Buffer("D", "i8", (SIZE,), Role.OUT),
)


@st.composite
def chains(draw: st.DrawFn) -> Kernel:
    """Two to five statements, each under a loop of its own or its predecessor's."""
    statements: list[Statement] = []
    for number in range(draw(st.integers(2, 5))):
        loop = Loop(f"n{number}", draw(st.sampled_from([SIZE] * 5 + [4])))
        if statements and draw(st.booleans()):
            loop = statements[-1].loops[0]
        # temporaries come first and are mostly written once, so that they may be inlined
        names = [["T"], ["U", "U", "X", "D"]][number] if number < 2 else ["X", "D", "D", "D", "T"]
        target = draw_element(draw, names, loop)
        value = Apply(
            draw(st.sampled_from(["+", "-", "max"])),
            tuple(draw_element(draw, ["A", "A", "T", "T", "U", "X", "D"], loop) for _ in range(2)),
        )
        update = draw(st.sampled_from(["="] * 5 + ["+="]))
        statements.append(Statement((loop,), target, *normalise_update(target, update, value)))
    kernel = Kernel("chain", BUFFERS, tuple(statements))
    verify(kernel)
    return kernel


def draw_element(draw: st.DrawFn, names: list[str], loop: Loop) -> Access:
    """An element that the loop moves by 1 or -1, mostly its own."""
    room = SIZE - loop.extent
    forward = Affine.of([(loop.name, 1)], draw(st.integers(0, room)))
    backward = Affine.of([(loop.name, -1)], SIZE - 1)
    index = draw(st.sampled_from([forward] * 5 + [backward]))
    return Access(draw(st.sampled_from(names)), (index,))
