"""C text of instructions and what else a file says about generated C: read, and its mistakes."""

from pathlib import Path

import pytest

from isamap.hwdesc import CompilerRule, Hardware, OperandHole, load_hardware
from tests.hwdesc.tiny_spec import TINY, Case, check_case

C_TEXT = '    emit: {asm: "st"}'


def with_c(text: str) -> str:
    """The last instruction's entry with C text."""
    return f"    emit: {{c: {text}}}"


CASES = (
    Case(C_TEXT, with_c('"st({T}, 1);"'), "T}, 1", "unknown name 'T'", "n, S_at"),
    Case(C_TEXT, with_c('"st({n}, {S"'), "{S", "'{' without '}' in C text", "'{{'"),
    Case(C_TEXT, with_c('"st(}"'), '}"', "'}' without '{' in C text", "'}}'"),
    Case(C_TEXT, with_c('"st({});"'), "});", "empty hole in C text", "'{{}}'"),
    Case(C_TEXT, with_c('"st({S + 1});"'), "S + 1", "operand 'S' is no number", "'S_at'"),
    Case(C_TEXT, with_c('"st({S_at -});"'), "S_at -", "cannot read 'S_at -'", ""),
    Case(C_TEXT, "    emit:\n      c: |\n        a();\n        b({m});", "m}", "unknown name", "n"),
    Case(
        C_TEXT, with_c("{full: f, part: g}"), "part: g", "unknown key 'part' in C text", "partial"
    ),
    Case(
        "kind: managed",
        "kind: managed\n    c_types: {f23: float}",
        "float",
        "unknown scalar type 'f23'",
        "did you mean",
    ),
    Case(
        "{kind: external, ",
        "{kind: external, c_types: {f32: float}, ",
        "c_types",
        "only managed memories have 'c_types'",
        "by pointers",
    ),
    Case(
        "kind: managed",
        "kind: managed\n    large_pages: {size: 2 MiB, from: 4 MiB}",
        "large_pages",
        "only the external memory has 'large_pages'",
        "arrays lie in",
    ),
    Case(
        "units:",
        "compiler: {comand: gcc, source: estimate}\nunits:",
        "comand",
        "unknown key 'comand' in compiler",
        "command",
    ),
    Case(
        "units:",
        'compiler: {functions: {twice: "int twce(int x) { return 2 * x; }"}, source: x}\nunits:',
        "int twce",
        "no function 'twice' in this text",
        "under its own name",
    ),
    Case(
        "units:",
        "compiler: {begin: begin();, around: [tils], source: x}\nunits:",
        "tils",
        "unknown memory 'tils'",
        "there are:",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.new[:40])
def test_a_mistake_is_reported_where_it_stands(case: Case, tmp_path: Path) -> None:
    check_case(case, tmp_path)


def test_holes_are_operands_or_expressions_with_parameters_replaced(tmp_path: Path) -> None:
    form = load(TINY.replace(C_TEXT, with_c('"f({S}, {n * dim}) {{x}}"')), tmp_path)
    c_form = form.instruction("store").c_form
    assert c_form is not None and c_form.partial is None
    assert c_form.full.parts[1] == OperandHole("S")
    assert str(c_form.full.parts[3]) == "n * 4"
    assert c_form.full.parts[4] == ") {x}"
    assert c_form.full.operands == ("S",)


def test_the_compiler_entry_and_registers_are_read(tmp_path: Path) -> None:
    entry = (
        "compiler: {command: cc, flags: [-O1], headers: [a.h], run: [qemu], unroll: 80, source: x}"
    )
    text = TINY.replace("units:", f"{entry}\nunits:")
    text = text.replace(
        "kind: managed", "kind: managed\n    renamed: true\n    c_types: {i32: int}"
    )
    hardware = load(text, tmp_path)
    assert hardware.compiler == CompilerRule(
        "cc", ("-O1",), ("a.h",), run=("qemu",), unrolled_calls=80
    )
    sram = hardware.memory("sram")
    assert sram.is_renamed and sram.c_types == (("i32", "int"),)


def test_a_file_gets_the_functions_that_it_calls_and_those_that_they_call() -> None:
    functions = (("again", "a again"), ("calls", "calls inner(1)"), ("inn", "c"), ("inner", "b"))
    rule = CompilerRule(preamble="first", functions=functions)
    assert rule.preamble_for("x = calls(inner(y));") == ["first", "b", "calls inner(1)"]
    assert rule.preamble_for("x = calls_on(y); again") == ["first", "a again"]


def load(text: str, folder: Path) -> Hardware:
    """The machine that the text describes."""
    path = folder / "tiny.yaml"
    path.write_text(text)
    return load_hardware(path)


@pytest.mark.parametrize(
    ("text", "is_volatile"),
    [
        ('__asm__ volatile("ld %0" : "=r"(x) : "m"(*{S}));', True),
        ('asm volatile("ld %0" : "=r"(x) : "m"(*{S}));', True),
        ('__asm__ __volatile__("ld %0" : "=r"(x) : "m"(*{S}));', True),
        ('__asm__("ld %0" : "=r"(x) : "m"(*{S}));', False),
        ("volatile_load({S});", False),
    ],
)
def test_assembly_that_runs_as_often_as_it_stands_there(
    text: str, is_volatile: bool, tmp_path: Path
) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY.replace(C_TEXT, with_c(f"'{text}'")))
    form = load_hardware(tmp_path / "tiny.yaml").instructions[-1].c_form
    assert form is not None
    assert form.full.is_volatile == is_volatile
