"""Hardware files that build on another one: what they say, and where mistakes in them are shown."""

from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
import yaml

from isamap.hwdesc import Hardware, check_hardware, hardware_schema, load_hardware
from isamap.hwdesc.document import Data, read_document
from isamap.hwdesc.overlay import overlay
from isamap.hwdesc.problems import Problems
from isamap.hwdesc.read_with_bases import read_with_bases
from isamap.hwdesc.validate import validate
from isamap.resources import bundled
from tests.hwdesc.tiny_spec import TINY

SPECS = bundled("hw_specs", ".yaml")
OWN = {"name": "patch", "source": "estimate"}
HEAD = "base: tiny.yaml\nname: big\nsource: estimate\n"


def write(folder: Path, **texts: str) -> Path:
    """Files by name, and `tiny.yaml`; the path of the first."""
    for name, text in {"tiny": TINY, **texts}.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / f"{next(iter(texts))}.yaml"


def merged(folder: Path, below: Data, above: Data) -> tuple[Data, int]:
    """Values laid over each other as the entry `x`, and how many mistakes that is."""
    documents = []
    for name, value in (("a", {"x": below}), ("b", {"base": "a", **OWN, "x": above})):
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(value))
        document = read_document(path, Problems())
        assert document is not None
        documents.append(document)
    problems = Problems()
    result = overlay(*documents, problems).data
    assert isinstance(result, dict)
    return result["x"], problems.count


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [  # RFC 7396, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d"}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ],
)
def test_what_differs_merges_as_rfc_7396_says(
    below: Data, above: Data, expected: Data, tmp_path: Path
) -> None:
    assert merged(tmp_path, below, above) == (expected, 0)


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_nothing_to_remove_is_a_mistake_where_the_rfc_says_nothing(
    below: Data, above: Data, expected: Data, tmp_path: Path
) -> None:
    assert merged(tmp_path, below, above) == (expected, 1)


def difference(old: Data, new: Data) -> Data:
    """The patch that makes `new` of `old`."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    patch: dict[str, Data] = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
        elif old[key] != value:
            patch[key] = difference(old[key], value)
            if "source" in new and "source" not in patch:
                patch["source"] = new["source"]
    return patch


def data_of(path: Path) -> dict[str, Data]:
    """What a bundled file says; `{}` where it says nothing of an entry."""
    document = read_document(path, Problems())
    assert document is not None and isinstance(document.data, dict)
    data = dict(document.data)
    assert isinstance(data["units"], dict)
    data["units"] = {name: unit or {} for name, unit in data["units"].items()}
    return data


class _Blocks(yaml.SafeDumper):
    """Writes lines as a `|` block."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Blocks.add_representer(str, _represent)


def unordered(hw: Hardware) -> list[object]:
    """What a machine is but for the order of its entries."""
    parts = (hw.memories, hw.units, hw.instructions, hw.channels)
    rest = (hw.clock_hz, sorted(hw.parameters), hw.host, hw.compiler, hw.cores, hw.distances)
    return [*(sorted(part, key=lambda entry: entry.name) for part in parts), *rest]


@pytest.mark.parametrize(
    ("old", "new"),
    [("gemmini", "gemmini_os"), ("x86_avx512", "x86_avx2"), ("vecdot", "outer"),
     ("amx", "trainium"), ("mesh", "wormhole"), ("vta", "opentpu")],
)  # fmt: skip
def test_any_machine_is_another_one_and_the_difference(old: str, new: str, tmp_path: Path) -> None:
    patch = difference(data_of(SPECS[old]), data_of(SPECS[new]))
    assert isinstance(patch, dict)
    path = tmp_path / "patch.yaml"
    own = {"base": old, "name": new, "source": patch.get("source") or "estimate"}
    path.write_text(yaml.dump({**patch, **own}, Dumper=_Blocks, sort_keys=False))
    assert [str(error) for error in check_hardware(path)] == []
    assert unordered(load_hardware(path)) == unordered(load_hardware(SPECS[new]))


def test_entries_stay_in_the_bases_order_and_new_ones_follow(tmp_path: Path) -> None:
    more = HEAD + "memories:\n  aux: {kind: managed, size: 16 bytes, source: estimate}\n"
    load = TINY[TINY.index("  load:\n") : TINY.index("  scale:\n")]
    store = TINY[TINY.index("  store:\n") :]
    aux = (load + store).replace("load:", "load_aux:").replace("store:", "store_aux:")
    last = "  sram: {size: 2 KiB, source: estimate}\ninstructions:\n"
    path = write(tmp_path, big=more + last + aux.replace("sram", "aux"))
    hw = load_hardware(path)
    assert [memory.name for memory in hw.memories] == ["dram", "sram", "aux"]
    names = ["load", "scale", "store", "load_aux", "store_aux"]
    assert [instruction.name for instruction in hw.instructions] == names
    assert hw.memory("sram").size_bytes == 2048
    assert hw.memory("sram").granule_bytes == 4, "as in the base"


def test_a_base_is_a_path_from_the_file_or_a_bundled_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, big=HEAD)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    for name, base in (("a", "../tiny"), ("b", "../big.yaml"), ("c", str(tmp_path / "tiny.yaml"))):
        path = Path(f"{name}.yaml")
        path.write_text(f"base: {base}\nname: small\nsource: estimate\nclock: 2 GHz\n")
        hw = load_hardware(path)
        assert (hw.name, hw.clock_hz, hw.memory("sram").size_bytes) == ("small", 2e9, 1024)
    assert [Path(file).name for file in load_hardware("b.yaml").files] == [
        "b.yaml", "big.yaml", "tiny.yaml",
    ]  # fmt: skip
    Path("gemmini.yaml").write_text(TINY)
    Path("d.yaml").write_text("base: gemmini\nname: d\nsource: estimate\n")
    assert len(load_hardware("d.yaml").instructions) == 3, "the file beside it comes first"
    Path("e.yaml").write_text("base: vecdot\nname: e\nsource: estimate\n")
    assert load_hardware("e.yaml").instructions == load_hardware(SPECS["vecdot"]).instructions


@dataclass(frozen=True, slots=True)
class Mistake:
    """Lines of `big.yaml` below its head; where the one mistake is shown, and how."""

    lines: str
    file: str
    at: str
    message: str
    hint: str = ""


MISTAKES = (
    # removing
    Mistake("instructions: {stor: ~}", "big", "stor: ~", "there is no 'stor' to remove in",
            "did you mean 'store'?"),
    Mistake("units: {extra: }", "big", "extra", "there is no 'extra' to remove in",
            "an entry without keys is {}"),
    Mistake("clock: ~", "big", "clock: ~", "hardware file has no 'clock'", "The one clock"),
    Mistake("memories: {sram: {source: ~}}", "big", "source: ~", "memory 'sram' has no 'source'",
            "a guess says"),
    Mistake("memories: {sram: {size: ~, source: x}}", "big", "size: ~", "memory 'sram' has no 'si",
            "Capacity"),
    Mistake("units: {dma: ~}", "tiny", "dma\n", "unknown unit 'dma'", "there are: matrix"),
    # sources
    Mistake("memories: {sram: {size: 2 KiB}}", "big", "sram", "'sram' differs from",
            "say where the new figures come from"),
    Mistake("instructions:\n  scale:\n    energy: ~\n", "big", "scale:", "'scale' differs from"),
    # what the merged file says
    Mistake("clock: 2 KiB", "big", "KiB", "'KiB' is not a unit of a clock"),
    Mistake("parameters: {dim: -4}", "tiny", "dim), Out", "an extent of 'S'"),
    Mistake("parameters: {dam: 4}\nclokc: 1 GHz", "big", "clokc", "unknown key 'clokc'",
            "did you mean 'clock'?"),
    Mistake("instructions: {scale: {unti: dma, source: x}}", "big", "unti", "unknown key 'unti'",
            "did you mean 'unit'?"),
    Mistake("instructions: {scale: {unit: dmaa, source: x}}", "big", "dmaa", "unknown unit 'dmaa'",
            "did you mean 'dma'?"),
    Mistake("instructions:\n  scale:\n    source: x\n    semantics: |\n\n"
            "      X = InOut(i32, dim)\n      for n in range(dim):\n        Y[n] = 0\n",
            "big", "Y[n]", "unknown name 'Y'"),
    Mistake("instructions: {scale: {source: x, immediates: ~}}", "tiny", "factor", "unknown"),
    Mistake("instructions: {store: ~}", "tiny", "sram:", "no instructions bring data from"),
)  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.lines[:30])
def test_mistakes_are_shown_where_they_stand(mistake: Mistake, tmp_path: Path) -> None:
    path = write(tmp_path, big=HEAD + mistake.lines)
    errors = check_hardware(path)
    matching = [error for error in errors if error.message.startswith(mistake.message)]
    assert matching, [str(error) for error in errors]
    loc = matching[0].loc
    assert loc is not None
    assert loc.file == str(tmp_path / f"{mistake.file}.yaml")
    text = Path(loc.file).read_text().split("\n")[loc.line - 1]
    assert loc.text == text
    assert (text[loc.column - 1 :] + "\n").startswith(mistake.at)
    assert mistake.hint in matching[0].hint


CHAINS = (
    ("base: big\n", "builds on itself: big.yaml on big.yaml", "name another file"),
    ("base: mid\n", "builds on itself: big.yaml on mid.yaml on big.yaml", "name another file"),
    ("base: tinny.yaml\n", "no hardware file 'tinny.yaml' to build on", "mean 'tiny.yaml'?"),
    ("base: gemini\n", "no hardware file 'gemini' to build on", "did you mean 'gemmini'?"),
    ("base: qqqqqq\n", "no hardware file 'qqqqqq' to build on", "bundled ones are aie_ml, amx, "),
    ("base: ~\n", "'base' must be text", "a path from this file's folder"),
    ("base: [tiny]\n", "'base' must be text", "the name of a bundled file"),
    ("base: bytes\n", "cannot read ", ""),
    ("base: list\n", "list.yaml is not a mapping", "begin with"),
)


@pytest.mark.parametrize(("line", "message", "hint"), CHAINS)
def test_a_base_that_is_none_is_shown_where_it_is_named(
    line: str, message: str, hint: str, tmp_path: Path
) -> None:
    rest = HEAD.partition("\n")[2]
    path = write(tmp_path, big=line + rest, mid=HEAD.replace("tiny", "big"), list="- 1\n")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (error,) = check_hardware(path)
    assert message in error.message
    assert hint in error.hint
    assert error.loc is not None
    last = "mid.yaml" if "mid" in line else "big.yaml"
    assert (Path(error.loc.file).name, error.loc.line, error.loc.column) == (last, 1, 7)


@pytest.mark.parametrize("key", ["name", "source"])
@pytest.mark.parametrize("text", ["", "{}: ~\n"])
def test_a_file_with_a_base_says_itself_what_it_describes(
    key: str, text: str, tmp_path: Path
) -> None:
    kept = [line for line in HEAD.splitlines(True) if not line.startswith(key)]
    path = write(tmp_path, big="".join(kept) + text.format(key))
    (error,) = check_hardware(path)
    assert error.message == f"a file with a base has no '{key}' of its own"
    assert error.hint.startswith("say what it describes")
    assert error.loc is not None
    assert error.loc.text.startswith(key if text else "base")


def test_mistakes_in_a_base_are_the_bases(tmp_path: Path) -> None:
    broken = TINY.replace("n cycles", "n cyles").replace("unit: matrix", "unit: matrxi")
    write(tmp_path, tiny=broken.replace("clock: 1 GHz", "clock: 5"))
    (tmp_path / "big.yaml").write_text(HEAD + "clock: 2 GHz\n")
    own = [str(e) for e in check_hardware(tmp_path / "tiny.yaml") if "'5'" not in e.message]
    assert len(own) == 2
    assert [str(error) for error in check_hardware(tmp_path / "big.yaml")] == own
    (tmp_path / "tiny.yaml").write_text(TINY.replace("name: tiny", "name: [tiny"))
    (error,) = check_hardware(tmp_path / "big.yaml")
    assert error.message.startswith("not valid YAML")
    assert error.loc is not None and Path(error.loc.file).name == "tiny.yaml"


@pytest.mark.parametrize(
    ("lines", "fits"),
    [
        ("clock: 2 GHz", True),
        ("instructions: {store: ~, scale: {unit: dma, immediates: {factor: ~}, source: x}}", True),
        ("memories: {sram: {ports: {write: ~}, source: x}}", True),
        ("memories: {sram: {kind: managd, source: x}}", False),
        ("memories: {sram: {sise: 1 KiB, source: x}}", False),
        ("instructions: {scale: {repeat: {times: {strides: {X: {at_most: ~}}}}, source: x}}", True),
        ("instructions: {load: {multicast: [~], source: x}}", False),
        ("units: [a]", False),
        ("base: ~", False),
        ("name: ~", False),
        ("source: ~", False),
        ("nothing: ~", False),
    ],
)
def test_the_schema_and_the_reader_agree_on_files_with_a_base(
    lines: str, fits: bool, tmp_path: Path
) -> None:
    key = lines.partition(":")[0]
    kept = [line for line in HEAD.splitlines(True) if not line.startswith(f"{key}:")]
    path = write(tmp_path, big="".join(kept) + lines + "\n")
    written = read_document(path, Problems())
    assert written is not None
    found = list(jsonschema.Draft202012Validator(hardware_schema()).iter_errors(written.data))
    problems = Problems()
    document = read_with_bases(path, problems)
    if document is not None:
        validate(document, problems)
    assert (not found, problems.count == 0) == (fits, fits)
