"""Every message a user can cause: position, words, hint."""

import re
import subprocess
import sys
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest

from isamap.errors import KernelError, Loc
from isamap.ir import (
    Access,
    Affine,
    Apply,
    Buffer,
    Immediate,
    Kernel,
    Literal,
    Loop,
    Role,
    Statement,
    exact_form,
    integer_range,
    load_kernel,
    load_kernels,
    load_reference,
    parse_semantics,
    pretty,
    scalar_type,
    size_bytes,
    type_of,
    verify,
    wrap_integer,
)

HEAD = """x, y = In(i8, 4), Out(i8, 4)
z, f = Out(i32, 4, 4), InOut(f32, 4)
for i in range(4):
    """

# text after HEAD (a body of the loop over i), column, message, hint
IN_LOOP = [
    ("y[i] = w[i]", 12, "unknown name 'w'", "names here are|did you mean"),
    ("y[i] = x[j]", 14, "unknown name 'j'", ""),
    ("y[i] = x[i * i]", 14, "not affine in the loops: i \\* i", "sum of integer multiples"),
    ("y[i] = x[i // 2]", 14, "not affine", ""),
    ("y[i] = x[i / 2]", 14, "not affine", ""),
    ("y[4 / 2] = x[i]", 7, "no whole number: 4 / 2", "write 4 // 2"),
    ("y[i] = x[x[i]]", 14, "must be integer arithmetic, not the element x\\[i\\]", "one-hot"),
    ("y[x] = x[i]", 7, "'x' is a buffer", "indices do not depend on data"),
    ("y[4 // 0] = x[i]", 7, "division by zero", ""),
    ("y[ceildiv(4, 0)] = x[i]", 7, "division by zero", ""),
    ("y[max(4)] = x[i]", 7, "max takes two integers, not 1", ""),
    ("y[i] = x[i, 0]", 12, "'x' has 1 dimension\\(s\\), but 2 index", "its shape is \\[4\\]"),
    ("z[i] = 0", 5, "'z' has 2 dimension", ""),
    ("y[i] = x", 12, "buffer 'x' needs indices", "write x\\[...\\]"),
    ("y[i] = i", 12, "loop 'i' is not an element value", "let an input hold"),
    ("y[i] = q", 12, "unknown name 'q'", ""),
    ("y[i] = 'a'", 12, "not an element value", ""),
    ("y[i] = i[0]", 12, "loop 'i' is not a buffer", ""),
    ("y[i] = (x + x)[0]", 13, "not a buffer: x \\+ x", ""),
    ("y[i] = x[i] if x[i] > 0 else -1", 12, "not an element value",
     "write select\\(x\\[i\\] > 0, x\\[i\\], -1\\)"),
    ("y[i] = foo(x[i])", 12, "unknown function 'foo'", "sums are y\\[i\\] \\+="),
    ("y[i] = relo(x[i])", 12, "unknown function 'relo'", "did you mean 'relu'"),
    ("y[i] = relu(x[i], 1)", 12, "relu takes 1 argument\\(s\\), not 2", ""),
    ("y[i] = relu(x=x[i])", 12, "relu takes no keywords", ""),
    ("y[i] = x.at(i)", 12, "needs the keyword 'pad'", "pad=0"),
    ("y[i] = x.at(i, pad=x[0])", 24, "'pad' must be a number", ""),
    ("y[i] ^= x[i]", 5, "unknown update", "use ="),
    ("a, b = 1", 5, "2 names, but 1 value", ""),
    ("x = 3", 5, "'x' is already a buffer", "set elements: x\\[..\\] = .."),
    ("t = x[i]", 5, "'t' can only name an integer or a buffer", "declare a buffer"),
    ("t = i32(x.at(i - 1)) + 2", 5, "'t' can only name an integer or a buffer", "where they are"),
    ("t = Temp(i8, 4)", 9, "declared outside loops", ""),
    ("a, y[0] = 1, 2", 8, "cannot define y\\[0\\]", ""),
    ("if x[i] > 0: y[i] = 1", 5, "if is not part of the language: if x\\[i\\] > 0",
     "select\\(x\\[i\\] > 0, new, old\\)"),
    ("while x: pass", 5, "While is not part of the language", "for loops"),
    ("for j in range(i): y[j] = 1", 20, "depends on loop 'i'", "rectangular"),
    ("for j in range(0): y[j] = 1", 20, "must be at least 1, but 0 is 0", "check the sizes"),
    ("for j in range(1, 4): y[j] = 1", 14, "range takes one extent", "shift and scale"),
    ("for j in range(i + 1, 4): y[j] = 1", 14, "range takes one extent", "rectangular"),
    ("for j, k in grid(4): y[j] = 1", 17, "2 loop name\\(s\\), but 1 extent", ""),
    ("for j in x: y[j] = 1", 14, "runs over range\\(n\\) or grid", ""),
    ("for y[0] in range(4): y[0] = 1", 9, "not a loop name", ""),
    ("for i in range(4): y[i] = 1", 9, "'i' is already a loop", ""),
    ("for max in range(4): y[max] = 1", 9, "'max' is already a reserved name", ""),
    ("y[i] = = 3", 12, "syntax error", ""),
    # found by verify: the position is the statement's
    ("y[i + 1] = x[i]", 5, "'y': dimension 0 has indices 0 .. 3, but i \\+ 1 takes 1 .. 4", ""),
    ("y[i] = x[i - 1]", 5, "goes outside 'x'", "\\.at\\("),
    ("x[i] = 1", 5, "'x' is an input and cannot be written", "InOut\\(i8, ...\\)"),
    ("y[i] = z[i, i]", 5, "z\\[i, i\\] is i32, but 'y' holds i8", "sat_i8"),
    ("y[i] = 300", 5, "literal 300 does not fit i8", ""),
    ("y[i] = x[i] + 0.5", 5, "literal 0.5 is not an integer", ""),
    ("y[i] = x.at(i, pad=200)", 5, "literal 200 does not fit i8", ""),
    ("z[i, 0] = x[i] * z[i, 1]", 5, "different types: i8 and i32", "cast one of them"),
    ("y[i] = x[i] / x[i]", 5, "'/' in x\\[i\\] / x\\[i\\] needs float operands", "'//'"),
    ("f[i] = f[i] & f[i]", 5, "needs integer operands, not f32", "cast"),
    ("f[i] = f[0] & 1", 5, "needs integer operands", ""),
    ("y[i] = 1 / 2", 5, "needs float operands, not i8", ""),
    ("f[i] = select(f[i], f[0], f[1])", 5, "condition of .* is f32", ""),
    ("y[i] = x[i] // 0", 5, "division by zero\n  in for i .*: y\\[i\\] = x\\[i\\] // 0", ""),
    ("y[i] = relu(x[i] // i8(0))", 5, "division by zero", ""),
    ("z[i, 0] = i32(x[i] // (n - n))", 5, "division by zero", ""),
    ("y[i] = x[i] >> -1", 5, "negative shift count -1", ""),
    ("y[i] = x[i] << -2", 5, "negative shift count -2", ""),
    ("y[i] = rshift_round(x[i], -1)", 5, "negative shift count -1", ""),
    ("y[i] = 1 < 2", 5, "compares two values without a type", ""),
]  # fmt: skip


@pytest.mark.parametrize(("body", "column", "message", "hint"), IN_LOOP)
def test_mistake_in_a_loop(body: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(KernelError) as caught:
        parse_semantics(HEAD + body, "k", {"n": 4}, file="spec.yaml", line_offset=10)
    error = caught.value
    assert re.search(message, error.message)
    assert re.search(hint, error.hint)
    assert error.loc is not None
    assert (error.loc.file, error.loc.line, error.loc.column) == ("spec.yaml", 14, column)


AT_TOP = [
    ("A = In(j8, 4)", 8, "unknown scalar type 'j8'", "types are i4, u4"),
    ("A = In(int8, 4)", 8, "unknown scalar type 'int8'", "did you mean 'i8'"),
    ("A = In(3, 4)", 8, "not a scalar type: 3", ""),
    ("A = In()", 5, "In takes a type and extents", "In\\(i8, 16, 16\\)"),
    ("A = In(i8, -1)", 12, "an extent of 'A' must be at least 1, but -1 is -1", ""),
    ("A = In(i8, n)", 12, "unknown name 'n'", "no names are defined"),
    ("A = In(i8, 2)\nA = In(i8, 2)", 1, "'A' is already a buffer", ""),
    ("i8 = In(i8, 2)", 1, "'i8' is already a reserved name", ""),
    ("for i in range(2):\n  pass\nelse:\n  pass", 3, "a loop has no 'else'", ""),
    ("for i in range(2):\n  r = i + 1\nA = Out(i8, 2)\nA[r] = 1", 3, "'i', which has ended", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "column", "message", "hint"), AT_TOP)
def test_mistake_outside_loops(text: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(KernelError) as caught:
        parse_semantics(text, "k")
    assert re.search(message, caught.value.message)
    assert re.search(hint, caught.value.hint)
    assert caught.value.loc is not None
    assert caught.value.loc.column == column


def test_positions_in_yaml_are_shifted_and_show_the_line() -> None:
    with pytest.raises(KernelError) as caught:
        parse_semantics("A = In(i8, 2)\nA[0] = Q", "k", {}, (), "s.yaml", 9, 4)
    assert str(caught.value) == (
        "s.yaml:11:12: unknown name 'Q'\n"
        "   11 |     A[0] = Q\n"
        "      |            ^\n"
        "hint: names here are A"
    )


FILES = [
    ("x = 1\n", {}, None, "has no kernel", "put @kernel"),
    ("@kernel\ndef f(n): pass\n", {}, None, "size 'n' needs a default", "n = In\\(i8"),
    ("@kernel\ndef f(*n): pass\n", {}, None, "no \\* or \\*\\*", ""),
    ("@kernel\ndef f(n='a'): pass\n", {}, None, "size 'n' must be integer arithmetic", ""),
    ("@kernel\ndef f(n=1): pass\n@kernel\ndef f(): pass\n", {}, None, "'f' is defined twice", ""),
    ("@kernel\ndef f(n=1): pass\n", {}, None, "kernel 'f' has no statement", ""),
    ("@kernel\ndef f(num=1): pass\n", {"nun": 2}, None, "no size 'nun'", "did you mean 'num'"),
    ("@kernel\ndef f(n=1): pass\n", {"n": 2.5}, None, "size n must be an integer, not 2.5", ""),
    ("@kernel\ndef f(n=1): pass\n", {}, "g", "has no kernel 'g'", "kernels are f"),
]


@pytest.mark.parametrize(("text", "sizes", "name", "message", "hint"), FILES)
def test_mistake_in_a_kernel_file(
    tmp_path: Path, text: str, sizes: dict[str, int], name: str | None, message: str, hint: str
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(text)
    with pytest.raises(KernelError) as caught:
        load_kernel(file, sizes, name)
    assert re.search(message, caught.value.message)
    assert re.search(hint, caught.value.hint)


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match="cannot read kernel file"):
        load_kernels(tmp_path / "missing.py")
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(KernelError, match="must be a .py file"):
        load_reference(tmp_path / "text.txt", "f")
    (tmp_path / "broken.py").write_text("import nothing_of_this_name")
    with pytest.raises(KernelError, match="cannot be imported: ModuleNotFoundError"):
        load_reference(tmp_path / "broken.py", "f")


@pytest.mark.parametrize(
    "name, hint",
    [("max", "it is Python's own: no import"), ("grids", "did you mean 'grid'?"), ("arange", "")],
)
def test_imports_of_words_that_are_none_are_told_before_anything_is_done(
    name: str, hint: str, tmp_path: Path
) -> None:
    """The file's reference would fail at the end of all."""
    file = tmp_path / "kernel.py"
    file.write_text(f"from isamap.lang import kernel, {name}\n")
    with pytest.raises(KernelError, match=f"isamap.lang has no '{name}'") as caught:
        load_kernels(file)
    assert (caught.value.loc, caught.value.hint) == (
        Loc(str(file), 1, 33, file.read_text().rstrip()), hint,
    )  # fmt: skip


def test_sizes_and_constants_reach_the_kernel(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(
        "TILE = 4\n@kernel\ndef f(n=2, *, m=TILE):\n"
        "    '''Words.'''\n    y = Out(i8, n, m * TILE)\n    y[0, 0] = 1\n"
    )
    assert load_kernel(file, {"n": 3}).buffers[0].shape == (3, 16)
    assert load_kernels(file)["f"].sizes == (("n", 2), ("m", 4))
    assert load_kernels(file)["f"].doc == "Words."


def chain(num_terms: int, term: str = "x[i]") -> str:
    """A sum; each addition lies within the next."""
    return " + ".join([term] * num_terms)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (HEAD + f"y[i] = {chain(102)}", 4, 5),  # found by verify
        (HEAD + f"y[i] = x[i] + 1\n    y[i] = {chain(200)}", 5, 12),
        (HEAD + f"y[i] = {chain(1500)}", 4, 12),
        (HEAD + f"y[i] = {chain(9000)}", 4, 5),  # Python reads no such tree
        (HEAD + f"y[i] = {'-' * 20000}x[i]", 4, 5),
        (HEAD + f"y[i] = x[{chain(1500, 'i')}]", 4, 12),
        (HEAD + f"y[i] = max({', '.join(['x[i]'] * 1500)})", 4, 5),
        (HEAD + f"y[i] -= {chain(101)}", 4, 5),
        (f"y = Out(i8, {chain(1500, '1')})", 1, 5),
    ],
)
def test_an_expression_too_deep_to_compare_is_refused(text: str, line: int, column: int) -> None:
    with pytest.raises(KernelError, match="more than 100 operations within each other") as caught:
        parse_semantics(text, "k", file="k.py")
    loc = caught.value.loc
    assert loc is not None and (loc.file, loc.line, loc.column) == ("k.py", line, column)
    assert "keep parts of it in a Temp" in caught.value.hint


def test_defaults_and_constants_too_deep_are_no_sizes(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    body = "@kernel\ndef f(n={}):\n    y = Out(i8, n)\n    y[0] = 1\n"
    file.write_text(body.format(chain(1500, "1")))
    with pytest.raises(KernelError, match="more than 100 operations") as caught:
        load_kernels(file)
    assert caught.value.loc is not None and caught.value.loc.column == 9
    file.write_text(f"TEXT = {chain(1500, repr('a'))}\n" + body.format(2))
    assert load_kernel(file).buffers[0].shape == (2,)


@pytest.mark.parametrize("value", [chain(101, "x[2 * i + j + 1]"), "-(" * 100 + "x[i]" + ")" * 100])
def test_the_deepest_expression_is_printed_and_compared(value: str) -> None:
    head = "x, y = In(i8, 9), Out(i8, 4)\nfor i, j in grid(4, 2):\n    y[i] = "
    first, second = (parse_semantics(head + value, "k") for _ in range(2))
    assert first == second == parse_semantics(pretty(first), "k")
    forms = [exact_form(k.statements[0].value, k) for k in (first, second)]
    assert forms[0] == forms[1] and hash(forms[0]) == hash(forms[1])


X, Y = Buffer("x", "i8", (4,), Role.IN), Buffer("y", "i8", (4,), Role.OUT)
I4, READ, WRITE = Loop("i", 4), Access("x", (Affine.var("i"),)), Access("y", (Affine.var("i"),))
DEEPER = Statement((Loop("j", 2), I4), WRITE, "=", READ)
GOOD = Kernel("k", (X, Y), (Statement((I4,), WRITE, "=", READ),))


def with_statement(**changes: object) -> Kernel:
    """GOOD with its statement changed."""
    return replace(GOOD, statements=(replace(GOOD.statements[0], **changes),))


BROKEN = [
    (replace(GOOD, buffers=(X, Y, X)), "name 'x' is used twice"),
    (replace(GOOD, immediates=("x",)), "name 'x' is used twice"),
    (replace(GOOD, buffers=(X, Y, replace(X, name="max"))), "'max' cannot be a name"),
    (replace(GOOD, buffers=(X, Y, replace(X, name="z", dtype="i9"))), "unknown type 'i9'"),
    (replace(GOOD, buffers=(X, Y, replace(X, name="z", shape=(0,)))), "extent below 1"),
    (with_statement(loops=(I4, I4)), "'i' is used for two different loops"),
    (replace(GOOD, statements=(GOOD.statements[0], DEEPER)),
     "'i' is used for two different loops"),
    (with_statement(loops=(Loop("x", 4),)), "loop 'x' has the name of a buffer"),
    (with_statement(update="-="), "unknown update '-='"),
    (with_statement(value=Access("q", ())), "unknown buffer 'q'"),
    (with_statement(value=Immediate("q")), "unknown immediate 'q'"),
    (with_statement(value=Literal(float("nan"))), "cannot be NaN"),
    (with_statement(value=replace(READ, pad=float("nan"))), "'pad' cannot be NaN"),
    (with_statement(target=replace(WRITE, pad=0)), "cannot have 'pad'"),
    (with_statement(value=Access("x", ())), "has 1 dimension"),
    (with_statement(value=Access("x", (Affine.var("j"),))), "uses 'j', which is no loop here"),
    (with_statement(value=Apply("+", (WRITE, READ))), "must be written '\\+='"),
    (with_statement(value=Apply("plus", (WRITE, READ))), "unknown operation 'plus'"),
    (with_statement(value=Apply("relu", (WRITE, READ))), "relu takes 1"),
    (with_statement(value=reduce(lambda x, _: Apply("neg", (x,)), range(5000), READ)),
     "more than 100 operations within each other"),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "message"), BROKEN)
def test_verify_refuses_what_text_cannot_even_say(kernel: Kernel, message: str) -> None:
    verify(GOOD)
    with pytest.raises(KernelError, match=message):
        verify(kernel)


def test_types_of_untyped_expressions_must_be_expected() -> None:
    assert type_of(Literal(3), GOOD, "i8") == "i8"
    with pytest.raises(KernelError, match="type of 3 cannot be told"):
        type_of(Literal(3), GOOD)


def test_type_table_answers() -> None:
    assert (size_bytes("i4"), size_bytes("bf16"), size_bytes("i64")) == (1, 2, 8)
    assert (integer_range("u4"), integer_range("i8")) == ((0, 15), (-128, 127))
    assert (wrap_integer(200, "i8"), wrap_integer(-1, "u8")) == (-56, 255)
    with pytest.raises(KernelError, match="unknown scalar type 'int8'"):
        scalar_type("int8")


def test_reading_kernels_loads_no_numpy() -> None:
    code = (
        "import sys, isamap.ir, isamap.lang;"
        "isamap.ir.parse_semantics('y = Out(i8)\\ny[()] = 1', 'k');"
        "sys.exit('numpy' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
