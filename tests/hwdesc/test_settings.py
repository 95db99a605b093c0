"""Values set over a hardware file: the machine that they make, and where mistakes are shown.

In: small files and settings. Out: verdicts. Not its job: the command line that reads them.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from isamap.errors import SpecErrors
from isamap.hwdesc import Hardware, Setting, load_hardware, variant_text
from isamap.resources import bundled
from tests.hwdesc.tiny_spec import TINY

SPECS = bundled("hw_specs", ".yaml")


def tiny(folder: Path) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(TINY)
    return path


def parts(hw: Hardware) -> tuple[object, ...]:
    """Everything but names."""
    return (hw.clock_hz, hw.memories, hw.units, hw.instructions, hw.parameters, hw.channels)


def test_a_setting_changes_what_a_files_text_would_change(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    edited = TINY.replace("clock: 1 GHz", "clock: 2 GHz")
    assert edited != TINY
    (tmp_path / "edited.yaml").write_text(edited)
    found = load_hardware(path, [Setting.of("clock", "2 GHz")])
    assert parts(found) == parts(load_hardware(tmp_path / "edited.yaml"))
    assert found.name == "tiny" and found.file == str(path)


@pytest.mark.parametrize(
    ("path", "value", "line", "edited"),
    [
        ("parameters.dim", "8", "dim: 16", "dim: 8"),
        ("memories.scratchpad.size", "64KiB", "size: 256 KiB", "size: 64KiB"),
    ],
)
def test_a_setting_of_a_bundled_machine_is_the_edited_file_but_for_sources(
    path: str, value: str, line: str, edited: str, tmp_path: Path
) -> None:
    text = SPECS["gemmini"].read_text()
    assert text.count(line) == 1, "the file says it once"
    (tmp_path / "edited.yaml").write_text(text.replace(line, edited))
    expected = load_hardware(tmp_path / "edited.yaml")
    found = load_hardware(SPECS["gemmini"], [Setting.of(path, value)])
    assert found.instructions == expected.instructions
    assert found.parameters == expected.parameters
    assert [m.size_bytes for m in found.memories] == [m.size_bytes for m in expected.memories]
    assert parts(found) != parts(load_hardware(SPECS["gemmini"]))


def test_an_entry_says_in_its_source_that_it_was_set(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    found = load_hardware(path, [Setting.of("memories.sram.size", "2 KiB")])
    assert found.memory("sram").size_bytes == 2048
    before = load_hardware(path)
    assert found.memory("sram").source == f"by a setting; otherwise: {before.memory('sram').source}"
    assert found.memory("dram") == before.memory("dram")
    assert found.instructions == before.instructions


def test_a_file_that_says_the_same_is_the_same_machine(tmp_path: Path) -> None:
    settings = [
        Setting.of("memories.sram.size", "2 KiB"),
        Setting.of("memories.sram.ports.read", "null"),
        Setting.of("parameters.dim", 8),
        Setting.of("clock", "500 MHz"),
    ]
    path = tiny(tmp_path)
    text = variant_text(path, settings, "small", "tiny.yaml")
    (tmp_path / "small.yaml").write_text(text)
    found = load_hardware(tmp_path / "small.yaml")
    assert found.name == "small"
    assert parts(found) == parts(load_hardware(path, settings))
    assert parts(found) != parts(load_hardware(path))


def test_no_settings_are_the_file(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    assert load_hardware(path, []) == load_hardware(path)


@dataclass(frozen=True, slots=True)
class Mistake:
    """Settings; the file and text at which the mistake is shown, and how."""

    settings: tuple[str, ...]
    at: str
    message: str
    hint: str = ""


MISTAKES = (
    Mistake(("memories.srm.size=1KiB",), "srm.size", "memories has no 'srm' to set",
            "did you mean 'sram'?"),
    Mistake(("memries.sram.size=1KiB",), "memries", "the file has no 'memries' to set",
            "did you mean 'memories'?"),
    Mistake(("parameters.dam=4",), "dam=4", "parameters has no 'dam' to set", "did you mean 'dim'"),
    Mistake(("parameters.zz=4",), "zz=4", "parameters has no 'zz' to set", "it has dim"),
    Mistake(("clock.hz=4",), "hz=4", "clock has no 'hz' to set", "it has nothing below it"),
    Mistake(("memories.sram.ports.read.x.y=4",), "x.y", "memories.sram.ports.read has no 'x'"),
    Mistake(("memories.sram.sise=4",), "sise=4", "unknown key 'sise'", "did you mean 'size'?"),
    Mistake(("clokc=4",), "clokc", "unknown key 'clokc'", "did you mean 'clock'?"),
    Mistake(("memories.sram.size=4 Kib",), "Kib", "'Kib' is not a unit of a size", "KiB"),
    Mistake(("memories.sram.size=4",), "4", "'4' has no unit, expected a size"),
    Mistake(("memories.sram=4",), "4", "'sram' must be a mapping"),
    Mistake(("parameters.dim=x",), "x", "unknown name 'x'"),
    Mistake(("clock=1 GHz", "memories.sram.sizes=1"), "sizes=1", "unknown key 'sizes'"),
    Mistake(("clock=1 GHz", "clock=2 GHz"), "clock", "'clock' and 'clock' are both set"),
    Mistake(("memories.sram.size=1 KiB", "memories.sram=null"), "mem", "'memories.sram' and 'me"),
    Mistake(("name=x",), "name", "'name' cannot be set", "name another file"),
    Mistake(("base=x",), "base", "'base' cannot be set", "name another file"),
)  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.settings[-1])
def test_mistakes_are_shown_at_the_setting(mistake: Mistake, tmp_path: Path) -> None:
    settings = [Setting.of(*text.split("=")) for text in mistake.settings]
    with pytest.raises(SpecErrors) as caught:
        load_hardware(tiny(tmp_path), settings)
    found = [e for e in caught.value.errors if mistake.message in e.message]
    assert found, str(caught.value)
    loc = found[0].loc
    assert loc is not None and loc.file == "setting"
    assert loc.text == mistake.settings[-1]
    assert loc.text[loc.column - 1 :].startswith(mistake.at)
    assert mistake.hint in found[0].hint


def test_mistakes_of_the_file_stay_the_files(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(TINY.replace("n cycles", "n cyles"))
    with pytest.raises(SpecErrors) as alone:
        load_hardware(path)
    with pytest.raises(SpecErrors) as caught:
        load_hardware(path, [Setting.of("clock", "2 GHz")])
    assert str(caught.value) == str(alone.value)
