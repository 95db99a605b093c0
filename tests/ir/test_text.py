"""Kernels to text and back."""

from hypothesis import HealthCheck, given, settings

from isamap.ir import Kernel, parse_semantics, pretty
from tests.strategies import kernels


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(kernels())
def test_text_reads_back_to_the_same_kernel(kernel: Kernel) -> None:
    assert parse_semantics(pretty(kernel), kernel.name, immediates=kernel.immediates) == kernel


def read(text: str, **names: int) -> str:
    """Text of a body after reading and printing it."""
    return pretty(parse_semantics(text, "k", names, ("shift",)))


def test_imperfect_nests_share_loops_and_perfect_ones_become_grids() -> None:
    text = (
        "A = In(i8, 4, 5)\n"
        "S = Temp(i32, 4)\n"
        "y = Out(i8, 4)\n"
        "for i in range(4):\n"
        "    S[i] = 0\n"
        "    for j in range(5):\n"
        "        S[i] += i32(A[i, j])\n"
        "    y[i] = sat_i8(S[i] >> shift)\n"
        "for k, l in grid(4, 1):\n"
        "    y[k] = max(y[k], 3)\n"
    )
    assert read(text) == text
    kernel = parse_semantics(text, "k", immediates=("shift",))
    assert [[loop.name for loop in s.loops] for s in kernel.statements] == [
        ["i"], ["i", "j"], ["i"], ["k", "l"],
    ]  # fmt: skip


def test_a_loop_name_used_again_is_renamed() -> None:
    text = (
        "y, i_2 = Out(i8, 4), Out(i8, 4)\nfor i in range(4):\n    y[i] = 1\n"
        "for i in range(4):\n    i_2[i] = 2"
    )
    assert "for i_3 in range(4):\n    i_2[i_3] = 2" in read(text)


def test_updates_take_their_normal_form() -> None:
    head = "x, y = In(i8, 4), InOut(i8, 4)\nfor i in range(4):\n    "
    for written, normal in (
        ("y[i] = y[i] + x[i]", "y[i] += x[i]"),
        ("y[i] = x[i] * y[i]", "y[i] *= x[i]"),
        ("y[i] -= x[i]", "y[i] += -x[i]"),
        ("y[i] = y[i] - x[i]", "y[i] += -x[i]"),
        ("y[i] = x[i] - y[i]", "y[i] = x[i] - y[i]"),
        ("y[i] = max(x[i], y[i])", "y[i] = max(y[i], x[i])"),
        ("y[i] = min(y[i], x[i], 3)", "y[i] = min(min(y[i], x[i]), 3)"),
    ):
        assert read(head + written).splitlines()[-1].strip() == normal


def test_sizes_are_integers_and_local_names_may_hold_them() -> None:
    text = (
        "rows = ceildiv(h, 2)\n"
        "y = Out(i32, rows, max(2, h % 4))\n"
        "for i in range(rows):\n"
        "    at = 2 * i - i\n"
        "    y[at, 0] = h * h - 1\n"
    )
    assert read(text, h=7) == "y = Out(i32, 4, 3)\nfor i in range(4):\n    y[i, 0] = 48\n"


def test_parentheses_are_kept_where_they_matter() -> None:
    head = "x, y = In(i8, 4), Out(i8, 4)\nfor i in range(4):\n    y[i] = "
    for value in (
        "(x[i] + 1) * 2",
        "x[i] - (x[i] - 1)",
        "x[i] - x[i] - 1",
        "-(x[i] + 1)",
        "neg(3)",
        "x[i] & (x[i] | 3)",
        "(x[i] < 3) < 1",
        "x[i] << (x[i] & 3)",
        "x.at(2*i - 1, pad=-1)",
    ):
        assert read(head + value).splitlines()[-1].strip() == f"y[i] = {value}"


def test_floats_infinities_and_scalars_survive() -> None:
    text = (
        "s = Out(f32)\nx = In(f32, 2)\n"
        "for i in range(2):\n    s[()] = max(s[()], x.at(i - 1, pad=-inf) * 1e-30)\n"
    )
    assert read(text) == text


def test_a_body_without_statements_is_an_empty_kernel() -> None:
    assert parse_semantics("", "sync").statements == ()
    assert parse_semantics("pass", "sync").statements == ()
