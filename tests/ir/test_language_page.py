"""docs/language.md lists all types, operations and updates, and its kernel is one.

In: the page, the tables. Out: verdicts. Not its job: prose.
"""

import re
from pathlib import Path

import numpy as np

from isamap.ir import DTYPES, OPS, UPDATES, interpret, load_kernel
from tests.console_blocks import ROOT, blocks_of

PAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")


def first_column(heading: str) -> set[str]:
    """Names in the first column of the table below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = (row[1:].replace("\\|", "OR").partition("|")[0] for row in section.splitlines())
    rows = (cell for cell in cells if cell.startswith(" `"))
    return {name.replace("OR", "|") for row in rows for name in re.findall("`([^`]+)`", row)}


def test_all_types_and_operations_are_listed_and_no_others() -> None:
    assert first_column("Types") == set(DTYPES)
    casts = {name for name in OPS if name.removeprefix("sat_") in DTYPES}
    listed = first_column("Operations")
    ends = {"i8", "f64", "sat_i8", "sat_i64"}  # `i8` .. `f64`
    assert listed - ends == set(OPS) - casts and ends <= listed & casts


def test_all_updates_are_mentioned() -> None:
    section = PAGE.partition("**Assignments**")[2].partition("- **")[0]
    assert all(f"`{update}`" in section or update[:-1] in section for update in UPDATES)


def test_the_pages_kernel_computes_what_numpy_computes(tmp_path: Path) -> None:
    ((_, _, text),) = (block for block in blocks_of("docs/language.md") if block[0] == "python")
    file = tmp_path / "gated.py"
    file.write_text(text)
    kernel = load_kernel(file, {"n": 6})
    generator = np.random.default_rng(0)
    shapes = {"x": (6,), "w": (3,), "scale": (), "s": (6,)}
    arrays = {n: generator.standard_normal(shape).astype("f4") for n, shape in shapes.items()}
    inside = np.pad(arrays["x"].astype("f8"), 1)
    state = sum(arrays["w"][u] * inside[u : u + 6] for u in range(3))
    for _ in range(4):
        state = 1 / (1 + np.exp(-state)) * arrays["scale"]
    expected = np.where(state > 0.5, np.maximum(arrays["s"], state), -arrays["s"])
    found = interpret(kernel, arrays)["s"]
    np.testing.assert_allclose(found, expected, atol=1e-5)  # about 10 roundings of numbers below 10
