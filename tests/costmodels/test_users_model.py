"""`--cost FILE.py:NAME` and entry points: the user's model chooses, its mistakes are the user's.

In: small files. Out: verdicts. Not its job: the models that come with isamap.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import isamap
from isamap.cli.main import main
from isamap.compile import Result, cost_model
from isamap.costmodels import COST_MODELS, Candidate, Price
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.scheduler import Progress

SIZES = {"m": 5, "n": 6, "k": 7}
FUNCTION = """
from __future__ import annotations
from dataclasses import dataclass
from numpy import int64
from isamap.costmodels import Candidate, Price


@dataclass(frozen=True)
class Late:
    by: int


def late(candidate: Candidate, hw) -> float:
    analytical = sum(loop.kernel_extent for loop in candidate.covering.loops)
    return analytical + Late(10**6).by + 0.5


class Dear:
    name = "dear"
    num_candidates = 3

    def check(self, hw):
        if hw.name != "vta":
            raise TypeError(f"not for {hw.name}")

    def price(self, candidates, hw):
        return [Price(int64(100 - n)) if n else Price(None, "no") for n, _ in enumerate(candidates)]


dear = Dear()
scale = 3
"""


def write(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text)
    return str(path)


def found(cost: str, hw: str = "vta") -> Result:
    result = isamap.map("gemm", hw, sizes=SIZES, cost=cost, verify="off", time_limit_s=60)
    assert isinstance(result, Result)
    return result


def test_a_function_prices_coverings_and_fractions_are_rounded_up(tmp_path: Path) -> None:
    file = write(tmp_path, FUNCTION)
    result = found(f"{file}:late")
    assert result.request.cost == "late"
    assert result.schedule.cost_cycles == 10**6 + 1 + sum(SIZES.values())
    assert not result.answer.contenders
    asked = ["map", "gemm", "--hw", "vta", "--cost", f"{file}:late", "--size", "m=5"]
    done = CliRunner().invoke(main, asked)
    assert "late        1 000 1" in done.output, done.output
    assert "the cost model that chose among coverings" in done.output


def test_an_object_chooses_among_as_many_as_it_asks_for(tmp_path: Path) -> None:
    file = write(tmp_path, FUNCTION)
    result = isamap.map("gemm", "vta", cost=f"{file}:dear", verify="off", time_limit_s=60)
    assert isinstance(result, Result)
    contenders = result.answer.contenders
    assert [c.price for c in contenders] == [Price(None, "no"), Price(99), Price(98)]
    assert result.schedule == contenders[2].schedule
    done = CliRunner().invoke(main, ["map", "gemm", "--hw", "vta", "--cost", f"{file}:dear"])
    assert done.exit_code == 0
    assert "the model's number 3 of 3, priced by dear" in done.output
    assert "measured" not in done.output


@dataclass(frozen=True, slots=True)
class Mistake:
    """Text of a file, what is asked of it; the message, the line it points at, the hint."""

    text: str
    name: str
    message: str
    line: str
    hint: str


RETURNS = "def f(candidate, hw):\n    return {}\n"
OBJECT = """
from isamap.costmodels import Price
class C:
    name = {name}
    num_candidates = 1
    def check(self, hw): pass
    def price(self, candidates, hw): return {prices}
f = C()
"""
MISTAKES = (
    Mistake("x = (1,\n", "f", "cannot be imported: '(' was never closed", "x = (1,", ""),
    Mistake("import nothing_such\n", "f", "cannot be imported: ModuleNotFoundError: No module",
            "import nothing_such", ""),
    Mistake("def cost(c, hw): ...\n", "cots", "has no 'cots'", "", "did you mean 'cost'?"),
    Mistake("from math import sin\ndef cost(c, hw): ...\n", "f", "has no 'f'", "",
            "it has cost; a cost model is a function"),
    Mistake("f = 3\n", "f", "'f' of ", "", "a cost model is a function"),
    Mistake("class f: ...\n", "f", "is a class, not a cost model", "", "write f(..) there"),
    Mistake("class C:\n    def price(self, cs, hw): ...\nf = C()\n", "f", "has no 'name'", "",
            "with name, num_candidates, check, price"),
    Mistake(OBJECT.format(name=3, prices="()"), "f", "name 3, num_candidates 1", "", "a text"),
    Mistake("def f(candidate, hw):\n    x = 1\n    return x / 0  # no\n", "f",
            "'f': ZeroDivisionError: division by zero", "    return x / 0  # no", ""),
    Mistake("def f(candidate, hw):\n    return hw.memory('nowhere')\n", "f",
            "the cost model 'f': KeyError: 'nowhere'", "    return hw.memory('nowhere')", ""),
    Mistake("import sys\ndef f(candidate, hw):\n    sys.exit(3)\n", "f", "'f': SystemExit: 3",
            "    sys.exit(3)", ""),
    Mistake("class C:\n    @property\n    def name(self):\n        raise OSError('no')\nf = C()\n",
            "f", "the cost model 'f': OSError: no", "        raise OSError('no')", ""),
    Mistake(RETURNS.format("None"), "f", "returns None", "def f(candidate, hw):", "a number"),
    Mistake(RETURNS.format("True"), "f", "returns True", "def f(candidate, hw):", ""),
    Mistake(RETURNS.format("float('nan')"), "f", "returns nan", "def f(candidate, hw):", ""),
    Mistake(RETURNS.format("-1"), "f", "returns -1", "def f(candidate, hw):", ""),
    Mistake(RETURNS.format("1e30"), "f", "returns 1e+30", "def f(candidate, hw):", ""),
    Mistake(OBJECT.format(name="'o'", prices="[7]"), "f", "says 7", "", "has cycles >= 0 or None"),
    Mistake(OBJECT.format(name="'o'", prices="[Price(1.5)]"), "f", "says Price(cycles=1.5", "", ""),
    Mistake(OBJECT.format(name="'o'", prices="[Price(True)]"), "f", "says Price(cycles=Tr", "", ""),
    Mistake(OBJECT.format(name="'o'", prices="[]"), "f", "gives 0 prices for 1 candidates", "",
            "one Price per candidate"),
    Mistake(OBJECT.format(name="'o'", prices="[Price(None, 'tired')]"), "f",
            "prices none of them: tired", "", "another --cost"),
)  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.message)
def test_mistakes_are_the_users_with_file_and_line(mistake: Mistake, tmp_path: Path) -> None:
    file = write(tmp_path, mistake.text)
    with pytest.raises(IsamapError) as caught:
        found(f"{file}:{mistake.name}")
    error = caught.value
    assert mistake.message in error.message
    assert mistake.hint in error.hint
    if mistake.line:
        assert error.loc is not None and error.loc.file == file
        assert error.loc.text == mistake.line
        assert mistake.text.split("\n")[error.loc.line - 1] == mistake.line
    else:
        assert error.loc is None


def test_a_check_of_a_machine_is_the_users_too(tmp_path: Path) -> None:
    file = write(tmp_path, FUNCTION)
    model = cost_model(f"{file}:dear")
    model.check(isamap.load_hardware(Path("hw_specs/vta.yaml")))
    with pytest.raises(IsamapError, match="'dear': TypeError: not for gemmini") as caught:
        model.check(isamap.load_hardware(Path("hw_specs/gemmini.yaml")))
    assert caught.value.loc is not None and "raise TypeError" in caught.value.loc.text


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("nowhere.py:f", "no file 'nowhere.py' with a cost model", ""),
        ("{}", "which cost model of {}?", "--cost {}:NAME; it has late, dear; a cost"),
        ("emulatd", "no cost model 'emulatd'", "did you mean 'emulated'?"),
        ("zzz", "no cost model 'zzz'", "learned, or FILE.py:NAME"),
    ],
)
def test_what_is_no_model_is_told(text: str, message: str, hint: str, tmp_path: Path) -> None:
    file = write(tmp_path, FUNCTION)
    with pytest.raises(IsamapError) as caught:
        cost_model(text.format(file))
    assert message.format(file) in caught.value.message
    assert hint.format(file) in caught.value.hint


def install(folder: Path, module: str, text: str, points: str) -> None:
    """A package as pip leaves it."""
    (folder / f"{module}.py").write_text(text)
    info = folder / f"{module}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[isamap.cost_models]\n{points}")


def test_an_installed_package_offers_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = "slow = offers_models:late\nbroken = offers_models:nothing\nemulated = no:no\n"
    install(tmp_path, "offers_models", FUNCTION, points)
    monkeypatch.syspath_prepend(tmp_path)
    assert found("slow").schedule.cost_cycles > 10**6
    assert cost_model("emulated") is COST_MODELS["emulated"], "isamap's own names stay its own"
    with pytest.raises(IsamapError, match=r"'broken' \(offers_models:nothing\) cannot be imported"):
        cost_model("broken")
    with pytest.raises(IsamapError) as caught:
        cost_model("slwo")
    assert caught.value.hint == "did you mean 'slow'?"


def test_a_model_given_as_a_value_is_used_as_it_is() -> None:
    @dataclass(frozen=True)
    class Own:
        name: str = "own"
        num_candidates: int = 1

        def check(self, hw: Hardware) -> None: ...

        def price(self, candidates: list[Candidate], hw: Hardware) -> tuple[Price, ...]:
            return tuple(Price(77) for _ in candidates)

    result = isamap.map("gemm", "vta", sizes=SIZES, cost=Own(), verify="off")
    assert isinstance(result, Result) and result.schedule.cost_cycles == 77


def test_a_model_that_cannot_price_a_machine_says_so_before_a_plan_is_searched() -> None:
    @dataclass(frozen=True)
    class Refusing:
        name: str = "refusing"
        num_candidates: int = 2

        def check(self, hw: Hardware) -> None:
            raise IsamapError("not this one")

        def price(self, candidates: list[Candidate], hw: Hardware) -> tuple[Price, ...]:
            raise AssertionError("asked for a price")

    class Unseen:
        is_stopped = False

        def see(self, progress: Progress) -> None:
            raise AssertionError("searched")

    with pytest.raises(IsamapError, match="not this one"):
        isamap.map("gru", "gemmini", cost=Refusing(), watch=Unseen())
