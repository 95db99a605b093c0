"""Rewrites that bring temporaries, on every bundled kernel at small sizes."""

from pathlib import Path

import pytest

from isamap.ir import load_kernels, parse_semantics, pretty
from isamap.rewrites import Rewrite
from isamap.rewrites.block_diagonal import BLOCK_DIAGONAL
from isamap.rewrites.reduce_as_gemm import REDUCE_AS_GEMM
from isamap.rewrites.scan_as_gemm import SCAN_AS_GEMM
from isamap.rewrites.space_to_depth import SPACE_TO_DEPTH
from isamap.rewrites.split_floats import SPLIT_FLOATS
from isamap.rewrites.toeplitz import TOEPLITZ
from tests.rewrites.keeps_meaning import assert_same_meaning

FILES = sorted(Path("kernels").glob("*.py"))
EXACT = (TOEPLITZ, BLOCK_DIAGONAL, SPACE_TO_DEPTH, REDUCE_AS_GEMM, SCAN_AS_GEMM)
BF16_PARTS = 1e-3  # activations and several steps carry the error 2**-14 of one product on
LARGEST = 5


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_bundled_kernels_keep_their_outputs(path: Path) -> None:
    for source in load_kernels(path).values():
        sizes = dict(source.sizes)
        strides = [1, 2] if "stride" in sizes else [0]
        for stride in strides:
            small = {name: min(size, LARGEST) for name, size in sizes.items()}
            kernel = source.build(small | ({"stride": stride} if stride else {}))
            for rewrite in (*EXACT, SPLIT_FLOATS):
                tolerance = None if rewrite in EXACT else BF16_PARTS
                for _, variant in rewrite.sites(kernel):
                    assert_same_meaning(variant, kernel, tolerance)
                    assert parse_semantics(pretty(variant), kernel.name) == variant


@pytest.mark.parametrize(
    "file, name, rewrite",
    [
        ("depthwise_conv", "depthwise_conv", TOEPLITZ),
        ("depthwise_conv", "depthwise_conv", BLOCK_DIAGONAL),
        ("depthwise_conv", "depthwise_conv", SPACE_TO_DEPTH),
        ("conv2d", "conv2d", TOEPLITZ),
        ("conv2d", "conv2d", SPACE_TO_DEPTH),
        ("grouped_conv", "grouped_conv", BLOCK_DIAGONAL),
        ("pooling", "average_pool", REDUCE_AS_GEMM),
        ("reductions", "mean", REDUCE_AS_GEMM),
        ("reductions", "variance", REDUCE_AS_GEMM),
        ("prefix_sum", "prefix_sum", SCAN_AS_GEMM),
        ("prefix_sum", "prefix_sum_rows", SCAN_AS_GEMM),
        ("gru", "gru", SPLIT_FLOATS),
    ],
)
def test_rewrites_fire_on_the_kernels_they_are_for(file: str, name: str, rewrite: Rewrite) -> None:
    source = load_kernels(f"kernels/{file}.py")[name]
    sizes = {"stride": 2} if "stride" in dict(source.sizes) else {}
    assert any(True for _ in rewrite.sites(source.build(sizes)))
