"""Which description fits this processor best, and what `native` means: with made-up peaks."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

import isamap
from isamap.cli.main import main
from isamap.compile import load_machine
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.processor import Detection, Peak, find_machine, fit
from isamap.resources import find_hardware

FINDER = import_module("isamap.processor.find_machine")
COMMAND = import_module("isamap.cli.detect_command")
SPECS = {name: find_hardware(name) for name in ("vta", "x86_avx2", "x86_avx512")}
ALDER_LAKE = "x86_golden_cove_avx2"
VEC4 = isamap.load_hardware(Path(__file__).parents[1] / "codegen" / "vec4.yaml")


def detection(name: str, *peaks: tuple[str, float, float], reason: str = "") -> Detection:
    """A machine by its peaks: what is multiplied, measured and described paces."""
    found = tuple(Peak(f"of_{kind}", kind, measured, said) for kind, measured, said in peaks)
    return Detection(replace(VEC4, name=name), reason, found)


NARROW = detection("narrow", ("f32", 50.0, 50.0))  # says what is right, of half the processor
ZEN = detection("zen", ("f32", 60.0, 60.0), ("bf16", 120.0, 120.0))
COVE = detection("cove", ("f32", 60.0, 90.0), ("bf16", 120.0, 45.0))


def test_the_description_is_chosen_that_says_what_was_measured() -> None:
    best = fit([NARROW, COVE, ZEN])
    assert [one.name for one in best] == ["zen", "cove", "narrow"]
    assert best[0].share == 1.0
    # its instructions ran at 60 / 90 and 120 / 45 of what it says: at 5 / 3 in the middle
    assert dict(best[1].shares) == pytest.approx({"f32": 60 / 150, "bf16": 75 / 120})
    assert best[2].shares == (("f32", 50 / 60), ("bf16", 0.0)), "against the best instruction here"
    assert best[2].share == pytest.approx(50 / 120)


def test_the_same_machines_on_another_processor_fit_otherwise() -> None:
    cove = detection("cove", ("f32", 88.0, 90.0), ("bf16", 44.0, 45.0))
    zen = detection("zen", ("f32", 88.0, 60.0), ("bf16", 44.0, 120.0))
    assert fit([zen, cove])[0].name == "cove"


def test_the_clock_does_not_count() -> None:
    """A desktop's Zen 4, at 1.5 times the clock of the server that the description is of, and with
    the f32 pace of the other machine."""
    zen = detection("zen", ("f32", 90.0, 60.0), ("bf16", 180.0, 120.0))
    cove = detection("cove", ("f32", 90.0, 90.0), ("bf16", 180.0, 45.0))
    best = fit([cove, zen])
    assert [one.name for one in best] == ["zen", "cove"]
    assert best[0].shares == (("f32", 1.0), ("bf16", 1.0))


def test_of_machines_that_fit_alike_the_one_for_fewer_processors_comes_first() -> None:
    """Alder Lake at 5 GHz runs what is written for AVX2 alone, too, which was described at a clock
    that is nearer; measured in a slower moment, or not."""
    specs = {name: isamap.load_hardware(find_hardware(name)) for name in ("x86_avx2", ALDER_LAKE)}
    for later in (75.0, 85.0):
        found = [
            Detection(specs["x86_avx2"], "", (Peak("fma_f32", "f32", 80.0, 59.0),)),
            Detection(specs[ALDER_LAKE], "", (Peak("fma_f32", "f32", later, 45.6),)),
        ]
        assert fit(found)[0].name == ALDER_LAKE
    assert fit([found[0], replace(found[1], reason="lacks avx_vnni")])[0].name == "x86_avx2"


def test_the_best_instruction_of_a_kind_counts() -> None:
    both = detection("both", ("f32", 20.0, 20.0), ("f32", 60.0, 60.0))
    assert fit([both])[0].shares == (("f32", 1.0),)


def test_machines_that_do_not_run_are_no_choice_and_of_equals_the_first_is() -> None:
    other = replace(ZEN, hardware=replace(VEC4, name="other"))
    assert [one.name for one in fit([replace(NARROW, reason="lacks x"), other, ZEN])] == [
        "other", "zen",
    ]  # fmt: skip
    assert fit([replace(ZEN, reason="lacks x")]) == ()
    assert fit([detection("bare")])[0].share == 0.0, "nothing can be measured of it, and it runs"


class _Processor:
    """Stands for this processor: what `detect` finds of each machine, and how often it was asked.

    Of three bundled machines, x86_avx2 and x86_avx512 run.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        self.asked = 0
        self.paces = {"x86_avx2": 60.0, "x86_avx512": 90.0}
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        monkeypatch.setattr(FINDER, "detect", self.detect)
        monkeypatch.setattr("isamap.processor.detect", self.detect)
        for module in (FINDER, COMMAND):
            monkeypatch.setattr(module, "bundled", lambda *_: SPECS)

    def detect(self, hw: Hardware) -> Detection | None:
        self.asked += 1
        if hw.name not in self.paces:
            return detection(hw.name, reason="it lacks x") if "x86" in hw.name else None
        return detection(hw.name, ("f32", 90.0, self.paces[hw.name]))


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> _Processor:
    return _Processor(monkeypatch, tmp_path / "cache")


def test_native_is_measured_once(processor: _Processor) -> None:
    assert find_machine("native") == find_hardware("x86_avx512")
    asked = processor.asked
    assert asked == len(SPECS)
    processor.paces = {"x86_avx2": 90.0, "x86_avx512": 1.0}
    assert find_machine("native") == find_hardware("x86_avx512")
    assert processor.asked == asked
    assert load_machine("native").name == "x86_avx512"
    assert find_machine("vta") == find_hardware("vta")


def test_check_and_explore_know_native(processor: _Processor, tmp_path: Path) -> None:
    checked = CliRunner().invoke(main, ["check", "native"])
    assert checked.exit_code == 0 and checked.output.endswith("x86_avx512.yaml: fine\n")
    table = tmp_path / "found.csv"
    sizes = [word for size in ("m=2", "n=16", "k=2") for word in ("--size", size)]
    explored = CliRunner().invoke(
        main,
        ["explore", "gemm:gemm_f32", "--hw", "native", "--verify", "off", "--allow", "reassociate",
         "--cache", str(tmp_path / "kept"), "--csv", str(table), *sizes],
    )  # fmt: skip
    assert explored.exit_code == 0, explored.output
    assert "x86_avx512" in table.read_text()


def test_detect_measures_again_what_native_means(processor: _Processor) -> None:
    find_machine("native")
    processor.paces = {"x86_avx2": 90.0, "x86_avx512": 1.0}
    answer = CliRunner().invoke(main, ["detect", "x86_avx512", "x86_avx2"])
    assert "fits best: x86_avx2; described" in answer.output
    assert find_machine("native").stem == "x86_avx512", "not all machines were measured"
    lines = CliRunner().invoke(main, ["detect"]).output.splitlines()
    assert lines[-3:] == [
        "  x86_avx2: 100% on average (f32 100%)",
        "  x86_avx512: 100% on average (f32 100%)",  # at another clock
        "--hw native: x86_avx2",
    ]
    assert find_machine("native").stem == "x86_avx2"


def test_native_is_measured_anew_on_another_processor_or_with_other_machines(
    processor: _Processor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    find_machine("native")
    asked = processor.asked
    monkeypatch.setattr(FINDER, "this_processor", lambda: ("other", ()))
    find_machine("native")
    assert processor.asked == 2 * asked
    copy = tmp_path / "x86_avx2.yaml"
    copy.write_text(find_hardware("x86_avx2").read_text().replace("GHz", "MHz"))
    specs = {**SPECS, "x86_avx2": copy}
    monkeypatch.setattr(FINDER, "bundled", lambda *_: specs)
    find_machine("native")
    assert processor.asked == 3 * asked


def test_native_needs_no_cache_folder_and_trusts_no_note(
    processor: _Processor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    find_machine("native")
    (note,) = (tmp_path / "cache" / "isamap" / "native").iterdir()
    note.write_text("no machine of ours")
    assert find_machine("native").stem == "x86_avx512"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert find_machine("native").stem == "x86_avx512"


def test_where_no_machine_runs_each_says_why(processor: _Processor) -> None:
    processor.paces = {}
    with pytest.raises(IsamapError, match="no bundled machine runs on this processor") as caught:
        find_machine("native")
    assert "x86_avx2: it lacks x; x86_avx512: it lacks x" in caught.value.hint


def test_a_file_of_that_name_comes_first(
    processor: _Processor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("native").write_text(find_hardware("vecdot").read_text())
    assert find_machine("native") == Path("native")
    assert processor.asked == 0


def test_commands_take_native(processor: _Processor) -> None:
    sizes = [word for size in ("m=2", "n=3", "k=4") for word in ("--size", size)]
    answer = CliRunner().invoke(main, ["map", "gemm:gemm_f32", "--hw", "native", *sizes])
    assert answer.exit_code == 0, answer.output
    assert " on x86_avx512: " in answer.output
