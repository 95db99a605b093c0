"""Mistakes in schedule files: position, message and hint of each.

In: a good file, spoilt in one place. Out: verdicts. Not its job: files that are right
(test_round_trip.py).
"""

from pathlib import Path

import pytest

from isamap.errors import SpecErrors
from isamap.files import evaluate

GOLDEN = Path(__file__).parent / "golden"
GEMM, GRU = "gemm_on_gemmini.yaml", "gru_on_gemmini.yaml"
EPILOGUE = "gemm_epilogue_on_vta.yaml"
A_STAY = "{operand: A, memory: scratchpad, holds: tile, slots: 2, keeps: [i]}"
W_BLOCK = "{operand: W, memory: weights, holds: block, slots: 2}"
C_STAY = "{operand: C, memory: accumulator, holds: tile, slots: 2, keeps: [i, j]}"

# file, what is replaced, by what, the text that the error points at, the message, the hint
Case = tuple[str, str, str, str, str, str]
SHAPE: list[Case] = [
    (GEMM, "tiles:", "tyles:", "tyles", "unknown key 'tyles' in task '0'", "did you mean 'tiles'?"),
    (GEMM, "form: single", "form: double", "double", "'double' is no choice for 'form'",
     "one of: single, tasks"),
    (GEMM, "slots: 2, keeps: [i]", "slots: two", "two", "'slots' must be a whole number",
     "1, or 2"),
    (GEMM, "runs: compute", "runs: [", "", "not valid YAML", "indentation"),
    (GEMM, "  tiles:", "  choice: -1\n  tiles:", "-1",
     "'choice': Input should be greater than or equal to 0", ""),
    (GEMM, "seed: 0", "seed: -1", "-1", "'seed': Input should be greater than or equal to 0", ""),
    (GEMM, "file: gemm,", "file: '',", "'", "'file' must be text that is not empty",
     "A kernel file, or a bundled name."),
    (GEMM, "runs: compute", "runs: ''", "'", "'runs' must be text that is not empty", "'host', or"),
    (GEMM, "inner: [p, j, i]", "inner: [p, '', i]", "'", "'inner' must be text that is not empty",
     ""),
    (GEMM, "inner: [p, j, i]", "inner: p", "p", "'inner' must be a list", "Loops over the blocks"),
]  # fmt: skip
NAMES: list[Case] = [
    (GEMM, "file: gemm,", "file: gem,", "gem,", "no kernel file 'gem'", "did you mean"),
    (GEMM, "name: gemm,", "name: gemn,", "gemn", "unknown kernel 'gemn'", "did you mean 'gemm'?"),
    (GEMM, "m: 40", "mm: 40", "40", "unknown size 'mm'", "did you mean 'm'?"),
    (GEMM, "{file: gemmini", "{file: gemini", "gemini", "no hardware file 'gemini'", "gemmini"),
    (GEMM, "runs: compute", "runs: mvin", "mvin", "'mvin' does not compute the task",
     "computed by compute, compute_wt"),
    (GEMM, "{i: [i], j: [j], k: [p]}", "{i: [i], j: [p], k: [j]}", "{i: [i], j: [p]",
     "'compute' is not bound to the task's loops in this way",
     "{i: [i], j: [j], k: [p]}, "),
    (GEMM, "layout: natural", "layout: packed", '{route: "dram -mvin-> scratchpad", layout: pac',
     "operand A cannot be brought like this", 'one of: {route: "dram -mvin-> scratchpad"'),
    (GEMM, "  tiles:", "  choice: 7\n  tiles:", "7", "there is no choice 7", "0 to 0"),
    (GEMM, "  outer: [j, i, p]", "  outer: [j, i, q]", "q]", "unknown loop 'q'",
     "there are: i, j, p"),
    (GEMM, "  outer: [j, i, p]", "  outer: [j, i, i]", "i]", "loop i is in 'outer' twice",
     "drop one of them"),
    (GEMM, "  outer: [j, i, p]", "  outer: [i, p]", "[i, p]", "loop j (2 tiles) is not in 'outer'",
     "add j"),
    (GEMM, "  inner: [p, j, i]", "  inner: []", "[]",
     "loop p (3 blocks in a tile) is not in 'inner'", "add p"),
    (GEMM, W_BLOCK, W_BLOCK.replace("weights", "acc"), "acc", "unknown memory of W 'acc'",
     "there are: weights, scratchpad"),
    (GEMM, A_STAY, A_STAY.replace("A,", "Q,"), "Q", "unknown operand 'Q'", "there are: A, W, C"),
    (GEMM, W_BLOCK, W_BLOCK.replace("W, memory: weights", "A, memory: scratchpad"),
     "{operand: A, memory: scratchpad, holds: block", "a second stay of A in 'scratchpad'",
     "drop one of them"),
    (GEMM, f"  - {A_STAY}", "", "-", "no stay of A in 'scratchpad'", "add it"),
]  # fmt: skip
RULES: list[Case] = [
    (GEMM, "i: 16 ", "i: 20 ", "20", "a tile of i must be a multiple of its block of 16, or all 40",
     "16 or 32"),
    (GEMM, "i: 16 ", "i: 64 ", "64", "a tile of i has 1 to 40 iterations, not 64", ""),
    (GEMM, A_STAY, A_STAY.replace("2", "17"), "17", "slots are 1 to 16, not 17", ""),
    (GEMM, C_STAY, C_STAY.replace("[i, j]", "[i, j, i]"), "i]", "loop i is in 'keeps' twice",
     "drop one of them"),
    (GEMM, A_STAY, A_STAY.replace("[i]", "[j]"), "j]", "loop j does not move A", "drop j"),
    (GEMM, W_BLOCK, W_BLOCK.replace("}", ", keeps: [j]}"), "[j]", "single blocks keep no tiles",
     "'holds: tile'"),
    (GEMM, W_BLOCK, W_BLOCK.replace("block", "tile"), "{operand: W, memory: weights",
     "W cannot be brought to 'weights' as a tile", "hold a block there"),
    (GEMM, "m: 40, n: 24, k: 36", "m: 4000, n: 24, k: 36", "{operand: C",
     "does not fit 'accumulator' by", "C takes most"),
]  # fmt: skip
TASKS: list[Case] = [
    (GRU, "number: 7", "number: 6", "6", "a second task 6", "drop one of them"),
    (GRU, "number: 7", "number: 9", "9", "there is no task 9", "tasks are 1, 3, 4, 5, 6, 7"),
    (GRU, "joined: [0, 1]", "joined: [1, 2]", "[1, 2]", "statements 1, 2 cannot be one task", ""),
    (GRU, "joined: [2, 3]", "not_kept: {q: [t_3]}\n  joined: [2, 3]", "[t_3]",
     "unknown buffer 'q'", "there are"),
    (GEMM, "runs: compute", "runs: host", "host", "the host runs tasks only", "'form: tasks'"),
    (GEMM, "number: 0", "number: 7", "7", "there is no task 7", "a single schedule has task 0"),
    (GEMM, "  runs:", "  joined: [0, 1]\n  runs:", "joined", "a single schedule has no 'joined'",
     "drop it, or 'form: tasks'"),
    (GEMM, "  runs:", "  not_kept: {C: [i]}\n  runs:", "not_kept",
     "a single schedule has no 'not_kept'", "drop it"),
    (GEMM, "tasks:\n", "homes: {C: scratchpad}\ntasks:\n", "homes",
     "a single schedule has no 'homes'", "drop it"),
    (GEMM, "tasks:\n", "rewrites: [{rewrite: factor, site: i}]\ntasks:\n", "rewrites",
     "a single schedule has no 'rewrites'", "drop it"),
    (EPILOGUE, "runs: gemm", "runs: host", "host", "the host runs statements one by one",
     "drop 'joined'"),
]  # fmt: skip


@pytest.mark.parametrize("case", SHAPE + NAMES + RULES + TASKS, ids=lambda case: case[2][:40])
def test_mistakes_are_named_where_they_are(tmp_path: Path, case: Case) -> None:
    name, old, new, pointed_at, message, hint = case
    text = (GOLDEN / name).read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "schedule.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpecErrors) as caught:
        evaluate(path, verify="off")
    error = next((e for e in caught.value.errors if message in e.message), None)
    assert error is not None, caught.value
    assert hint in error.hint
    assert error.loc is not None and error.loc.file == str(path)
    assert error.loc.text[error.loc.column - 1 :].startswith(pointed_at)
    assert case not in SHAPE or caught.value.errors == (error,)


def test_sums_that_cannot_be_read_back_must_end_in_one_stay(tmp_path: Path) -> None:
    text = (GOLDEN / EPILOGUE).read_text(encoding="utf-8")
    path = tmp_path / "schedule.yaml"
    text = text.replace("i: 20 ", "i: 10 ").replace("outer: [j, i, p]", "outer: [p, j, i]")
    path.write_text(text.replace(", keeps: [p]", ""), encoding="utf-8")
    with pytest.raises(SpecErrors) as caught:
        evaluate(path)
    (error,) = caught.value.errors
    assert error.message.startswith("C would be written and fetched again in every tile of p")
    assert error.hint == "move p inside all loops that move C, or keep tiles of those"
    assert error.loc is not None and "operand: C" in error.loc.text


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    text = (GOLDEN / GEMM).read_text(encoding="utf-8")
    path = tmp_path / "schedule.yaml"
    for old, new in (
        ("i: 16 ", "i: 20 "),
        ("outer: [j", "outer: [q, j"),
        ("slots: 2", "slots: 40"),
    ):
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecErrors) as caught:
        evaluate(path)
    assert len(caught.value.errors) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty"), ("# later\n", "is empty"), ("- a", "is not a mapping of keys to values")],
)
def test_a_file_that_says_nothing_is_told_how_one_begins(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "schedule.yaml"
    path.write_text(text)
    with pytest.raises(SpecErrors) as caught:
        evaluate(path)
    (error,) = caught.value.errors
    assert error.message == f"{path} {message}"
    assert error.hint == "begin with 'format: isamap-schedule'"


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecErrors, match="cannot read .*nothing.yaml: No such file"):
        evaluate(tmp_path / "nothing.yaml")
