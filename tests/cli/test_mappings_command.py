"""`isamap mappings` as a user runs it.

In: command lines. Out: failures. Not its job: which mappings there are.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from isamap.cli.main import main


def run(*arguments: str) -> Result:
    """The command's result."""
    return CliRunner().invoke(main, ["mappings", *arguments])


def test_counts_with_and_without_gather() -> None:
    assert run("conv2d", "--hw", "outer", "--count").output == (
        "49 mappings of conv2d onto outer\n      49  smopa\n"
    )
    found = run("conv2d", "--hw", "outer", "--count", "--no-gather", "--size", "c=3")
    assert found.output.startswith("35 mappings")


def test_list_says_what_is_bound_and_where_it_stopped() -> None:
    lines = run("conv2d", "--hw", "outer", "--limit", "2").output.splitlines()
    assert any(x == "  smopa  C=y A=x B=weights  i={b} j={o} k={u}" for x in lines), lines
    assert lines[-2] == "2 mappings of conv2d onto outer (the first; there are more)"


def test_json_holds_every_mapping(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    assert run("gemm", "--hw", "gemmini", "--json", str(path)).exit_code == 0
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["is_complete"] is True
    assert [row["mappings"] for row in data["counts"]] == [1, 1, 1]
    first = data["mappings"][0]
    assert first["loops"] == {"i": ["i"], "j": ["j"], "k": ["p"]}
    assert first["operands"]["A"] == {"buffer": "A", "indices": ["i", "p"]}


def test_no_mapping_is_exit_code_3_with_the_nearest_miss(tmp_path: Path) -> None:
    file = tmp_path / "other.py"
    file.write_text(
        "from isamap.lang import *\n\n\n@kernel\ndef other(n=4):\n"
        "    A, C = In(i8, n), Out(i32, n)\n    for i in range(n):\n        C[i] = i32(A[i])\n"
    )
    found = run(str(file), "--hw", "outer")
    assert found.exit_code == 3
    assert "no instruction of outer computes" in found.output
    assert (
        "smopa: computes C[i, j] + i32(A[i, k]) * i32(B[j, k]), the kernel i32(A[i])"
        in found.output
    )


def test_reasons_stand_under_the_statement_that_they_are_about() -> None:
    """Of each: what the machine lacks, then the instructions, nearest first."""
    found = run("attention", "--hw", "opentpu")
    assert found.exit_code == 3
    first, *lines, _ = found.output.splitlines()
    assert first == "error: no instruction of opentpu computes"
    sections = "\n".join(lines).replace("\n  ", "\0").split("\n")
    assert len(sections) == 8
    assert sections[0].split("\0")[:3] == [
        "S[z, i, j] += Q[z, i, p] * K[z, j, p]",
        "nothing on opentpu performs: '+' of f32, '*' of f32",
        "mmc: operand C is i32, S is f32",
    ]
    assert sections[1].split("\0")[1] == "nothing on opentpu performs: '/' of f32, sqrt(f32)"
    assert sections[3].split("\0")[:2] == [
        "largest[z_4, i_4] = max(largest[z_4, i_4], scaled[z_4, i_4, j_3])",
        "nothing on opentpu performs: max(f32, f32)",
    ]
    assert all("mmc: " in section for section in sections)


def test_rewritten_forms_are_mapped_on_request() -> None:
    """Three bindings of each product, and four of the copy that lays B out along a diagonal."""
    lines = run("mttkrp", "--hw", "outer", "--count", "--rewrites", "1").output.splitlines()
    assert lines[0] == "10 mappings of mttkrp onto outer"
    assert [line.partition("  after ")[2] for line in lines[1:]] == [
        "factor A: C out of c",
        "factor A: B out of d",
        "block_diagonal statement 0: B along b",
    ]
    assert run("mttkrp", "--hw", "outer", "--count").exit_code == 3


LIKE_PRODUCTS = """
from isamap.lang import In, InOut, grid, i8, i16, i32, kernel


@kernel
def scaled(m=6):
    A, B, C = In(i8, m), In(i8, m), InOut(i32, m)
    for a in grid(m):
        C[a] += i32(A[a]) * i32(B[a])


@kernel
def shifted(m=6, n=5):
    A, B, C = In(i8, 10), In(i8, n), InOut(i32, m)
    for a, b in grid(m, n):
        C[a] += i32(A[a + b]) * i32(B[b])


@kernel
def wide(m=6, n=5, k=4):
    A, B, C = In(i16, m, k), In(i16, k, n), InOut(i32, m, n)
    for a, b, c in grid(m, n, k):
        C[a, b] += i32(A[a, c]) * i32(B[c, b])


@kernel
def largest(m=6):
    A, B, C = In(i32, m), In(i32, m), InOut(i32, m)
    for a in grid(m):
        C[a] = max(A[a], B[a])
"""


@pytest.mark.parametrize(
    ("kernel", "machine", "asked", "nearest", "hint"),
    [
        ("scaled", "gemmini", (), "compute: no loop of the kernel moves the same operands as i or j"
         " or k", "there are some with --rewrites 1"),
        ("shifted", "gemmini", ("--no-gather",), "compute: what moves the same operands as i or j"
         " or k indexes them in another way", "there are some with --gather"),
        ("wide", "gemmini", (), "nothing on gemmini performs: i32(i16)",
         "there are some with --rewrites 1"),
        ("largest", "gemmini", (), "compute: computes ",
         "'isamap map' runs on the host what no instruction computes"),
    ],
)  # fmt: skip
def test_where_there_is_none_the_nearest_miss_comes_first_and_a_hint_last(
    tmp_path: Path, kernel: str, machine: str, asked: tuple[str, ...], nearest: str, hint: str
) -> None:
    file = tmp_path / "like.py"
    file.write_text(LIKE_PRODUCTS)
    found = run(f"{file}:{kernel}", "--hw", machine, *asked)
    assert found.exit_code == 3
    _, _, first, *_, last = found.output.splitlines()
    assert first.strip().startswith(nearest)
    assert last == f"hint: {hint}"
