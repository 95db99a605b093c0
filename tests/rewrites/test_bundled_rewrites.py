"""Every rewrite on every bundled kernel at small odd sizes."""

from pathlib import Path

import pytest

from isamap.ir import load_kernels
from isamap.rewrites import REWRITES, Rewrite
from tests.rewrites.keeps_meaning import assert_all_sites_keep_meaning, read, site_texts

SMALL = {
    "n": 3, "m": 5, "h": 5, "w": 3, "c": 3, "k": 2, "r": 3, "s": 2, "b": 2, "d": 3, "e": 2, "t": 2,
    "i": 3, "j": 4, "steps": 2, "batch": 2, "inputs": 3, "hidden": 2, "first": 4, "second": 3,
    "groups": 2, "pose": 2, "o": 2,
}  # fmt: skip
BUNDLED = {
    name: source.build({size: SMALL[size] for size, _ in source.sizes if size in SMALL})
    for path in sorted(Path("kernels").glob("*.py"))
    for name, source in load_kernels(path).items()
}


@pytest.mark.parametrize("name", BUNDLED)
def test_every_rewrite_keeps_the_bundled_kernels(name: str) -> None:
    for rewrite in REWRITES:
        # a rewrite may move float roundings only if it says so; sums here have at most 36 terms
        tolerance = 36 * 36 * 2.0**-24 if rewrite.reassociates else None
        assert_all_sites_keep_meaning(rewrite, BUNDLED[name], tolerance, max_sites=4)


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda r: r.name)
def test_every_rewrite_fires(rewrite: Rewrite) -> None:
    sums = read("A, D = In(f32, 4, 5), InOut(f32)\nfor j, k in grid(4, 5):\n  D[()] += A[j, k]")
    tied = read(
        "A, D = In(f32, 4), InOut(f32)\nfor j in range(4):\n  D[()] += A[j]\n  D[()] += A[3 - j]"
    )
    padded = read(
        "A, D = In(i8, 4), Out(i8, 4)\nfor j in range(4):\n  D[j] = A[j] + D.at(j - 1, pad=0)"
    )
    layer = load_kernels(Path("kernels/conv2d.py"))["conv2d"]
    strided = layer.build({"h": 6, "w": 6, "stride": 2})
    bordered = layer.build({"h": 2, "w": 2, "r": 1, "s": 1})
    forms = (*BUNDLED.values(), sums, tied, padded, strided, bordered)
    assert any(site_texts(rewrite, kernel) for kernel in forms)
