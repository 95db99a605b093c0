"""DeepBench's shapes, read from bench/deepbench.

In: CSV files. Out: shapes of a suite, in the files' order with their repeats. Not its job:
measuring them.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from conv_row import ConvShape
from gemmini_heuristic import Shape
from rnn_row import Cell, RnnShape

DATA = Path(__file__).resolve().parent / "deepbench"
SUITES = ("training", "inference_server", "inference_device")


def read_gemms(suite: str) -> tuple[Shape, ...]:
    """Matrix products of one suite, or of "all"."""
    return tuple(
        Shape(int(r["m"]), int(r["n"]), int(r["k"]), r["a_t"] == "1", r["b_t"] == "1")
        for r in _rows("gemm.csv", suite)
    )


def read_convs(suite: str) -> tuple[ConvShape, ...]:
    """Convolutions of one suite, or of "all"."""
    shapes = []
    for r in _rows("conv.csv", suite):
        assert r["pad_w"] == r["pad_h"] and r["stride_w"] == r["stride_h"], "kernel has one of each"
        names = ("w", "h", "c", "n", "k", "filter_w", "filter_h", "pad_w", "stride_w")
        shapes.append(ConvShape(*(int(r[name]) for name in names)))
    return tuple(shapes)


def read_rnns(suite: str, cells: tuple[Cell, ...]) -> tuple[RnnShape, ...]:
    """Recurrent layers of these cells, of one suite or of "all"."""
    return tuple(
        RnnShape(Cell(r["type"]), int(r["hidden"]), int(r["batch"]), int(r["timesteps"]))
        for r in _rows("rnn.csv", suite)
        if Cell(r["type"]) in cells
    )


def _rows(name: str, suite: str) -> Iterator[dict[str, str]]:
    with open(DATA / name, newline="") as file:
        yield from (row for row in csv.DictReader(file) if suite in ("all", row["suite"]))
