"""Variants within a few steps."""

import pytest
from hypothesis import given, settings

from isamap.ir import Kernel, load_kernel, pretty
from isamap.rewrites import REWRITES, variants
from isamap.rewrites.fission import FISSION
from isamap.rewrites.inline import INLINE
from isamap.rewrites.interchange import INTERCHANGE
from isamap.rewrites.join import JOIN
from isamap.rewrites.outline import OUTLINE
from isamap.rewrites.search import identify
from tests.rewrites.chains import chains
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_same_meaning,
    read,
)
from tests.rewrites.test_inline import EPILOGUE
from tests.strategies import kernels

FEW = settings(QUICK, max_examples=50)
SIZES = {"h": 4, "w": 3, "c": 2, "k": 2, "r": 2, "s": 2}


def test_names_in_the_table_are_distinct() -> None:
    assert len({rewrite.name for rewrite in REWRITES}) == len(REWRITES)


@FEW
@given(kernels(dtypes=("i8", "i32")))
def test_variants_keep_meaning_and_come_once(kernel: Kernel) -> None:
    found = list(variants(kernel, max_variants=8))
    assert found[0].kernel == kernel and found[0].steps == ()
    assert len({identify(variant.kernel) for variant in found}) == len(found)
    for variant in found:
        assert_same_meaning(variant.kernel, kernel)


@FEW
@given(chains())
def test_variants_of_chains_keep_meaning(kernel: Kernel) -> None:
    structural = (INLINE, OUTLINE, FISSION, JOIN)
    for variant in variants(kernel, rewrites=structural, max_variants=15):
        assert_same_meaning(variant.kernel, kernel)


def test_variants_of_a_convolution_keep_meaning() -> None:
    kernel = load_kernel("kernels/conv2d.py", SIZES)
    for variant in list(variants(kernel))[::4]:
        assert_same_meaning(variant.kernel, kernel)


def test_the_search_is_lazy_deterministic_and_says_what_it_cut() -> None:
    kernel = load_kernel("kernels/conv2d.py", SIZES)
    assert next(variants(kernel)).kernel is kernel
    first, second = variants(kernel, max_variants=30), variants(kernel, max_variants=30)
    assert [v.steps for v in first] == [v.steps for v in second]
    assert first.cut == "stopped at 30 variants"
    short = variants(kernel, max_steps=1)
    assert all(len(variant.steps) <= 1 for variant in short)
    assert short.cut == "variants of more than 1 steps were not tried"


def test_a_search_that_ends_by_itself_cuts_nothing() -> None:
    kernel = load_kernel("kernels/gemm.py", {"m": 2, "n": 3, "k": 4})
    search = variants(kernel, rewrites=(INTERCHANGE,), max_steps=9)
    orders = {variant.kernel.statements[0].loops for variant in search}
    assert len(orders) == 6 and search.cut is None


def test_no_variants_are_found_from_one_that_is_passed_over() -> None:
    search = variants(read(EPILOGUE), rewrites=(INLINE,))
    steps = []
    for variant in search:
        steps.append([str(step) for step in variant.steps])
        if steps[-1] == ["inline T2"]:
            search.pass_over()
    assert ["inline T2"] in steps and ["inline T3"] in steps
    assert all(found[:1] != ["inline T2"] or len(found) == 1 for found in steps)
    assert ["inline T3", "inline T2"] in steps, "it is reached by another way"


def test_steps_say_how_a_variant_came_about() -> None:
    found = [v for v in variants(read(EPILOGUE), rewrites=(INLINE,)) if len(v.steps) == 2]
    assert [str(step) for step in found[0].steps] == ["inline T2", "inline T3"]
    assert len(found) == 1, "both orders lead to one kernel"


def test_floats_are_reassociated_only_with_permission() -> None:
    kernel = read("x, s, y = In(f32, 8), In(f32), InOut(f32)\nfor k in range(8):\n"
                  "  y[()] += s[()] * x[k]")  # fmt: skip
    barred = variants(kernel)
    assert not any(step.rewrite == "factor" for v in barred for step in v.steps)
    assert barred.cut is not None
    named, _, rest = barred.cut.partition(": ")
    assert {"factor", "reorder", "toeplitz"} <= set(named.split(", "))
    assert rest.startswith("not without permission to reassociate floats")
    free = variants(kernel, may_reassociate=True)
    assert any(step.rewrite == "factor" for v in free for step in v.steps)


@pytest.mark.parametrize("new", ["q", "anything"])
def test_names_of_loops_do_not_make_a_variant(new: str) -> None:
    kernel = read("A, D = In(i8, 5), Out(i8, 5)\nfor i in range(5):\n  D[i] = A[i]")
    other = read(pretty(kernel).replace("i in", f"{new} in").replace("[i]", f"[{new}]"))
    assert identify(kernel) == identify(other) and kernel != other
