"""Counts of distinct mappings, by hand and from the literature; what makes two the same.

In: kernels and instructions. Out: failures. Not its job: lowering, random kernels.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from isamap.hwdesc import ExtentKind, ExtentRule, Hardware, load_hardware
from isamap.ir import Kernel, load_kernel
from isamap.mapper import Mapping, mappings, orientations

ROOT = Path(__file__).resolve().parent.parent.parent
HEAD = "from isamap.lang import *\n\n\n@kernel\n"
OUTER = load_hardware(ROOT / "hw_specs" / "outer.yaml")  # smopa is its one i8 matrix instruction
CONV1D = """
def subject(n=2, c=3, k=4, w=9, s=3):
    A, W, D = In(i8, n, c, w), In(i8, k, c, s), InOut(i32, n, k, w - s + 1)
    for b, o, x, i, r in grid(n, k, w - s + 1, c, s):
        D[b, o, x] += i32(A[b, i, x + r]) * i32(W[o, i, r])
"""
CONV3D = """
def subject(n=2, c=3, k=4, w=5, s=3):
    A, W = In(i8, n, w, w, w, c), In(i8, s, s, s, c, k)
    D = InOut(i32, n, w - s + 1, w - s + 1, w - s + 1, k)
    for b, x, y, z, o, r, u, v, i in grid(n, w-s+1, w-s+1, w-s+1, k, s, s, s, c):
        D[b, x, y, z, o] += i32(A[b, x + r, y + u, z + v, i]) * i32(W[r, u, v, i, o])
"""
GROUPED = """
def subject(n=2, g=2, c=3, k=4, w=5, s=3):
    A, W = In(i8, n, g, c, w, w), In(i8, g, k, c, s, s)
    D = InOut(i32, n, g, k, w - s + 1, w - s + 1)
    for b, q, o, x, y, i, r, u in grid(n, g, k, w - s + 1, w - s + 1, c, s, s):
        D[b, q, o, x, y] += i32(A[b, q, i, x + r, y + u]) * i32(W[q, o, i, r, u])
"""
GEMV = """
def subject(m=5, k=7):
    A, x, y = In(i8, m, k), In(i8, k), InOut(i32, m)
    for i, p in grid(m, k):
        y[i] += i32(A[i, p]) * i32(x[p])
"""
SCATTER = """
def subject(w=5, s=2, c=3):
    A, W, D = In(i8, w, c), In(i8, s, c), InOut(i32, 2 * w + s)
    for x, r, i in grid(w, s, c):
        D[STEP * x + r] += i32(A[x, i]) * i32(W[r, i])
"""
BUNDLED = {"conv2d": (49, 35), "depthwise_conv": (21, 11), "gemm": (1, 1), "pointwise_conv": (7, 7)}


def written(text: str, folder: Path) -> Kernel:
    """A kernel from source text."""
    file = folder / "subject.py"
    file.write_text(HEAD + text.strip())
    return load_kernel(file, {}, "subject")


def counts(kernel: Kernel, hw: Hardware = OUTER) -> tuple[int, int]:
    """Mappings with gather and without."""
    both = [list(mappings(kernel, hw, gather=gather)) for gather in (True, False)]
    assert all(len(set(found)) == len(found) for found in both)
    assert set(both[1]) <= set(both[0])
    return len(both[0]), len(both[1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CONV1D, (9, 6)),  # without gather: AMOS, table 5
        (CONV3D, (225, 180)),
        (GROUPED, (49, 35)),
        (GEMV, (1, 1)),
    ],
)
def test_counts_on_a_matrix_instruction(
    text: str, expected: tuple[int, int], tmp_path: Path
) -> None:
    assert counts(written(text, tmp_path)) == expected


@pytest.mark.parametrize("name", BUNDLED)
@pytest.mark.parametrize("sizes", [{}, {"k": 1}])
def test_counts_do_not_depend_on_extents(name: str, sizes: dict[str, int]) -> None:
    sizes = {} if name == "depthwise_conv" else sizes
    kernel = load_kernel(ROOT / "kernels" / f"{name}.py", sizes, name)
    assert counts(kernel) == BUNDLED[name]


def test_conv1d_without_gather_keeps_window_and_filter_apart(tmp_path: Path) -> None:
    found = mappings(written(CONV1D, tmp_path), OUTER, gather=False)
    groups = {(dict(m.groups)["i"], dict(m.groups)["k"]) for m in found}
    assert groups == {
        (("b",), ("i",)),
        (("b",), ("r",)),
        (("b",), ("i", "r")),
        (("x",), ("i",)),
        (("b", "x"), ("i",)),
        (("b", "x"), ("i", "r")),  # x with i, r with b
    }


def test_one_line_per_instruction_of_a_machine() -> None:
    kernel = load_kernel(ROOT / "kernels" / "conv2d.py", {}, "conv2d")
    found = mappings(kernel, load_hardware(ROOT / "hw_specs" / "gemmini.yaml"), gather=True)
    assert Counter(m.instruction for m in found) == {
        "compute": 49,
        "compute_at": 49,
        "compute_wt": 49,
    }


def test_transposed_product_is_the_same_mapping_unless_extents_differ(tmp_path: Path) -> None:
    kernel = written(CONV1D, tmp_path)
    (first, *_) = mappings(kernel, OUTER, gather=True)
    smopa = OUTER.instruction("smopa")
    both = orientations(smopa, first)
    assert [dict(m.operands)["A"].buffer for m in both] == ["A", "W"]
    assert dict(both[0].groups)["i"] == dict(both[1].groups)["j"]
    oblong = replace(smopa, extents=(("i", ExtentRule(ExtentKind.AT_MOST, 8)), *smopa.extents[1:]))
    machine = replace(OUTER, instructions=(oblong,))
    assert counts(kernel, machine) == (18, 12), "either factor may stand on the short side"


def test_output_elements_of_a_call_are_distinct(tmp_path: Path) -> None:
    apart = written(SCATTER.replace("STEP", "2"), tmp_path)
    assert counts(apart) == (1, 0), "2 * x + r with r < 2 hits no element twice"
    colliding = written(SCATTER.replace("STEP", "1"), tmp_path)
    assert counts(colliding) == (2, 2), "x or r is in the call, the other one outside"


def test_replication_adds_the_bindings_that_broadcast(tmp_path: Path) -> None:
    """dot: C[j] += A[j, k] * B[j, k]; no loop of a product moves all three."""
    vecdot = load_hardware(ROOT / "hw_specs" / "vecdot.yaml")
    kernel = load_kernel(ROOT / "kernels" / "gemm.py", {}, "gemm")
    plain: list[Mapping] = list(mappings(kernel, vecdot, gather=True))
    assert [dict(m.groups) for m in plain] == [{"j": (), "k": ("p",)}]
    wide = mappings(kernel, vecdot, gather=True, replicate=True)
    lanes = {dict(m.groups)["j"] for m in wide}
    assert lanes == {("i",), ("j",), ("i", "j")}
