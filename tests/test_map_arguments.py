"""What people pass from notebooks: NumPy's integers, misspelt choices; what they see of an answer.

In: calls of `isamap.map`. Out: answers in a line, messages. Not its job: the answers themselves.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isamap
from isamap.bindings import explain, list_mappings
from isamap.costmodels import Emulated
from isamap.ir import load_reference
from isamap.lang import kernel
from isamap.sweep import Outcome, Standing

SIZES = {"m": 5, "n": 7, "k": 3}


@kernel
def marked(n: int = 3) -> None:
    """Stands at the top of a file."""


def test_sizes_may_be_numpys_and_answers_print_in_a_line() -> None:
    found = isamap.map("gemm", "outer", sizes={name: np.int64(n) for name, n in SIZES.items()})
    assert found.request.sizes == tuple(SIZES.items())
    assert all(type(value) is int for _, value in found.request.sizes)
    assert found.timing is not None
    assert repr(found) == f"<Result: gemm on outer, {found.timing.cycles} cycles, verified>"


def test_reasons_and_mappings_print_in_a_line_too() -> None:
    why = explain("gemm", "gemmini")
    assert repr(why).startswith("<Explanation: gemm on gemmini, 1 statements, ")
    assert len(repr(why)) < 100 and "mvin" not in repr(why)
    assert str(why).startswith("why not other instructions, nearest miss first\n")
    found = list_mappings("gemm", "gemmini")
    assert repr(found).startswith("<MappingList: gemm on gemmini") and len(repr(found)) < 100


@pytest.mark.parametrize(
    ("choice", "message", "hint"),
    [
        ({"verify": "fast"}, "no check 'fast'", "full, quick, off"),
        ({"layouts": "natrual"}, "no layouts 'natrual'", "natural, packed"),
        ({"time_limit_s": float("nan")}, "a time limit of nan, expected a number of seconds", ""),
        ({"sizes": [("m", 3)]}, r"sizes=\[\('m', 3\)\], expected a mapping", "{'m': 512}"),
        ({"sizes": ["m=3"]}, r"sizes=\['m=3'\], expected a mapping", "{'m': 512}"),
        ({"cost": 3}, "cost=3, expected a cost model or its name", "analytical, emulated"),
        ({"cost": Emulated}, "Emulated'>, expected a cost model or its name", "emulated"),
        ({"cost": Emulated(0)}, "num_candidates=0, expected a whole number from 1", ""),
        ({"time_limit_s": "3"}, "a time limit of '3', expected a number of seconds", ""),
        ({"time_limit_s": -1}, "a time limit of -1, expected a number of seconds", ""),
        ({"may_reassociate": "no"}, "may_reassociate='no', expected True or False", ""),
        ({"name": 5}, "name=5, expected a kernel's name", "kernels are gemm"),
    ],
)
def test_mistaken_choices_are_named(choice: dict[str, object], message: str, hint: str) -> None:
    with pytest.raises(isamap.IsamapError, match=message) as raised:
        isamap.map("gemm", "outer", **{"sizes": SIZES, **choice})  # type: ignore[arg-type]
    assert hint in raised.value.hint
    with pytest.raises(isamap.IsamapError, match=message):
        isamap.build("gemm", "outer", **{"sizes": SIZES, **choice})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"max_bytes": ["scratchpad"]}, r"max_bytes=\['scratchpad'\], expected a mapping"),
        ({"max_bytes": {"scratchpad": "1 KiB"}}, "max_bytes of 'scratchpad' is '1 KiB', expected"),
        ({"aim": "energy"}, "aim='energy', expected an Aim"),
    ],
)
def test_mistaken_limits_and_aims_are_named(choice: dict[str, object], message: str) -> None:
    with pytest.raises(isamap.IsamapError, match=message):
        isamap.map("gemm", "gemmini", sizes=SIZES, **choice)  # type: ignore[arg-type]


def test_one_name_is_no_list_of_names() -> None:
    with pytest.raises(isamap.IsamapError, match="ahead='B', expected several names") as raised:
        isamap.build("gemm", "outer", sizes=SIZES, ahead="B")
    assert raised.value.hint == "['B']"


def test_a_folder_is_a_path() -> None:
    for out, message in (
        (b"x", "out=b'x', expected the path of a folder"),
        (5, "out=5, expected the path of a folder"),
        ("a\0b", r"out='a\\x00b', expected a path without a null character"),
    ):
        with pytest.raises(isamap.IsamapError, match=message):
            isamap.build("gemm", "outer", sizes=SIZES, out=out)  # type: ignore[arg-type]


def test_settings_of_variants_are_a_mapping() -> None:
    message = r"settings=\['parameters.dim=8'\], expected a mapping"
    with pytest.raises(isamap.IsamapError, match=message) as raised:
        isamap.explore("gemm", "gemmini", ["parameters.dim=8"])  # type: ignore[arg-type]
    assert raised.value.hint == "{'parameters.dim': [8, 16]}"


@pytest.mark.parametrize(
    ("choice", "message", "hint"),
    [
        ({"kernels": []}, r"kernels=\[\], expected at least one", "['gemm']"),
        ({"kernels": 5}, "kernels: int, expected a path or a bundled name", "gemm"),
        ({"kernels": ["gemm", "gem"]}, "no kernel file 'gem'", "did you mean"),
        ({"kernels": [marked]}, "kernel 'marked' is given as a function", "marked"),
        ({"hw": ()}, r"hw=\(\), expected at least one", "['gemmini']"),
        ({"hw": [None]}, "hw: NoneType, expected a path or a bundled name", "gemmini"),
        ({"hw": ["outer", "vecdto"]}, "no hardware file 'vecdto'", "'vecdot'"),
        (
            {"settings": {"clock": "1 GHz"}},
            "settings of 'clock': '1 GHz', expected one or",
            "8, 16",
        ),
        ({"settings": {"clock": []}}, r"settings of 'clock': \[\], expected one or", "8, 16"),
        ({"settings": {"a..b": [1]}}, "settings: 'a..b' is no place", "'parameters.dim': [8, 16]"),
        ({"settings": {3: [1]}}, "settings: 3 is no place", "'parameters.dim': [8, 16]"),
        ({"sizes": {"q": 3}}, "sizes: no kernel has a size 'q'", "sizes are k, m, n"),
        ({"sizes": {"m": "3"}}, "size m must be an integer, not '3'", ""),
        ({"objective": "cycels"}, "no objective 'cycels'", "did you mean 'cycles'?"),
        ({"cost": "emulatd"}, "no cost model 'emulatd'", "did you mean 'emulated'?"),
        ({"layouts": "natrual"}, "no layouts 'natrual'", "natural, packed"),
        ({"verify": "fast"}, "no check 'fast'", "full, quick, off"),
        ({"time_limit_s": -1}, "a time limit of -1, expected a number of seconds", ""),
        ({"effort": "3"}, "an effort of '3', expected a number of seconds", ""),
        ({"may_reassociate": "no"}, "may_reassociate='no', expected True or False", ""),
        ({"jobs": -1}, "jobs=-1, expected a whole number from 1", ""),
        ({"jobs": 1.5}, "jobs=1.5, expected a whole number from 1", ""),
        ({"jobs": np.array([1, 2])}, r"jobs=array\(\[1, 2\]\), expected a whole number", ""),
        ({"cache": 5}, "cache=5, expected the path of a folder", ""),
    ],
)
def test_mistaken_sweeps_are_named_before_anything_is_asked(
    choice: dict[str, Any], message: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("isamap.sweep.visit"), "ask", None)
    with pytest.raises(isamap.IsamapError, match=message) as raised:
        isamap.explore(**{"kernels": "gemm", "hw": "vecdot", **choice})
    assert hint in raised.value.hint


def test_sweeps_know_native_take_numpys_numbers_and_give_kernels_their_own_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder = import_module("isamap.sweep.find_machines")
    monkeypatch.setattr(finder, "find_machine", lambda name: Path("vecdot.yaml"))
    answer = Outcome(Standing.OPTIMAL, emulated_cycles=9)
    monkeypatch.setattr(import_module("isamap.sweep.visit"), "ask", lambda question: answer)
    found = isamap.explore(
        ["gemm", Path("gemv")], "native", {"parameters.lanes": np.array([8, 16]),
        "host": [None]}, sizes={"m": np.int64(5), "n": 7}, cache=tmp_path,
    )  # fmt: skip
    assert [total.variant.hardware for total in found.totals] == ["vecdot"] * 2
    points = found.totals[0].points
    sizes = [dict(point.workload.sizes) for point in points]
    assert sizes == [{"m": 5, "n": 7, "k": 64}, {"m": 5, "k": 64}]
    assert all(type(size) is int for own in sizes for size in own.values())
    assert all(point.hardware is not None and point.hardware.host is None for point in points)


@pytest.mark.parametrize("name", ["workers", "seed"])
@pytest.mark.parametrize("number", [-1, 2**40, 1.0, None, True])
def test_workers_and_seeds_are_whole_numbers_that_the_solver_takes(
    name: str, number: object
) -> None:
    with pytest.raises(isamap.IsamapError, match=f"{name}={number}, expected a whole number from"):
        isamap.map("gemm", "outer", sizes=SIZES, **{name: number})  # type: ignore[arg-type]


def test_seeds_may_be_numpys() -> None:
    seed: Any = np.int64(2**31 - 1)
    found = isamap.map("gemm", "outer", sizes=SIZES, seed=seed)
    assert found.verification.is_verified


def test_threads_are_whole_numbers() -> None:
    with pytest.raises(isamap.IsamapError, match=r"1\.5 threads are wanted, expected 1 to 256"):
        isamap.build("gemm", "outer", sizes=SIZES, threads=1.5)  # type: ignore[arg-type]


def test_a_function_is_no_kernel_but_says_where_it_stands() -> None:
    code = "@kernel\ndef k(n=3):\n    x, y = In(i8, n), Out(i8, n)\n"
    known: dict[str, object] = {"kernel": kernel}
    exec(code, known)  # as a notebook does
    top, message = "put it at the top of a .py file", "given as a function, expected its file"
    for function, hint in ((marked, f"{__file__}:marked"), (lambda: 0, top), (known["k"], top)):
        with pytest.raises(isamap.IsamapError, match=message) as raised:
            isamap.map(function, "gemmini")  # type: ignore[call-overload,arg-type]
        assert hint in raised.value.hint


def test_a_reference_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    text = (
        "from isamap.lang import In, Out, grid, i32, kernel\n{how}\n\n\n"
        "@kernel\ndef k(n=3):\n    x, y = In(i32, n), Out(i32, n)\n"
        "    for i in range(n):\n        y[i] = x[i] + x[i]\n\n\n"
        "def k_reference(x):\n    return {{'y': twice(x)}}\n"
    )
    for folder, how in (
        ("plain", "from beside import twice"),
        ("own", "from .beside import twice"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.py").write_text(text.format(how=how))
        (tmp_path / folder / "beside.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "own" / "__init__.py").touch()
    before = list(sys.path)
    for folder in ("plain", "own"):
        reference = load_reference(tmp_path / folder / "k.py", "k")
        assert reference is not None and reference(x=21) == {"y": 42}
    assert sys.path == before


@pytest.mark.parametrize("how", ["from factors import FACTOR", "from .factors import FACTOR"])
def test_modules_of_the_same_name_beside_references_are_told_apart(
    tmp_path: Path, how: str
) -> None:
    text = (
        f"from isamap.lang import In, Out, i32, kernel\n{how}\n\n\n"
        "@kernel\ndef k(n=3):\n    x, y = In(i32, n), Out(i32, n)\n"
        "    for i in range(n):\n        y[i] = x[i]\n\n\n"
        "def k_reference(x):\n    return {'y': FACTOR * x}\n"
    )
    for place, factor in (("one", 2), ("other", 3), ("one", 2)):
        folder = tmp_path / place / "mine"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "k.py").write_text(text)
        (folder / "factors.py").write_text(f"FACTOR = {factor}\n")
        if how.startswith("from ."):
            (folder / "__init__.py").touch()
        reference = load_reference(folder / "k.py", "k")
        assert reference is not None and reference(x=7) == {"y": 7 * factor}
    assert sys.modules["isamap"] is isamap


def test_an_assignment_that_was_meant_as_a_sum_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text(
        "@kernel\ndef k(m=3, n=5):\n"
        "    A, B, y = In(i8, m, n), In(i8, n), Out(i32, m)\n"
        "    for i, j in grid(m, n):\n        y[i] = i32(A[i, j]) * i32(B[j])\n"
    )
    task = isamap.explain(file, "gemmini").tasks[0]
    reasons = [mismatch.reason for mismatch in task.mismatches]
    assert (
        "updates its target by '+=', the kernel by '=' over j, of which only the last counts"
    ) in reasons


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5])
def test_a_seed_that_is_none_is_refused_wherever_one_is_given(seed: int) -> None:
    with pytest.raises(isamap.IsamapError, match="expected a whole number from 0 to 2147483647"):
        isamap.run_on("gemm", "arm_neon", seed=seed)
    schedule = Path(__file__).parent / "files" / "golden" / "gemm_on_gemmini.yaml"
    with pytest.raises(isamap.IsamapError, match="expected a whole number from 0 to 2147483647"):
        isamap.evaluate(schedule, seed=seed)
