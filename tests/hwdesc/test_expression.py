"""Cost expressions: exact values, C with the same values, errors with a caret."""

import pickle
import shutil
import subprocess
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from isamap.errors import Loc, SpecError
from isamap.hwdesc import Expression

TEXTS = (
    "16",
    "40 + r * ceil(c / dim)",
    "r * c / 7",
    "-r",
    "-(r - c) - (c - r)",
    "r - (c - 3)",
    "0.3 * r + 0.1",
    "r / 3 - c / 2",
    "ceil(r / 3) * floor(c / 2)",
    "ceil((r - c) / 3) + floor((r - c) / 4)",
    "(r - c) // 3",
    "(r - c) % 3",
    "r % c + r // c",
    "7 / 2 % r",
    "min(r / 2, c / 3, 4) * 6",
    "max(r - c, 1) + r / max(c - 2, 1)",
    "r if r > c else 2 * c",
    "(r if r == 3 else c / 2) + (1 if c != 4 else 0) + (5 if r <= c else 6)",
    "r if 2 >= c else r / 3 if r < 4 else 9",
    "ceildiv(r * c, 5) + ceillog2(r * c) + ceillog2(r - c)",
)


def reference(text: str, r: int, c: int) -> Fraction:
    """The value by hand-written Python over fractions."""
    values: dict[str, Fraction] = {"r": Fraction(r), "c": Fraction(c), "dim": Fraction(16)}
    r_, c_, dim = values["r"], values["c"], values["dim"]

    def up(x: Fraction) -> int:
        return -((-x) // 1)

    def down(x: Fraction) -> int:
        return x // 1

    def log2(x: Fraction) -> int:
        return next(n for n in range(64) if 2**n >= x)

    table = (
        Fraction(16),
        40 + r_ * up(c_ / dim),
        r_ * c_ / 7,
        -r_,
        Fraction(0),
        r_ - c_ + 3,
        Fraction(3, 10) * r_ + Fraction(1, 10),
        r_ / 3 - c_ / 2,
        up(r_ / 3) * down(c_ / 2),
        up((r_ - c_) / 3) + down((r_ - c_) / 4),
        (r_ - c_) // 3,
        (r_ - c_) % 3,
        r_ % c_ + r_ // c_,
        Fraction(7, 2) % r_,
        min(r_ / 2, c_ / 3, Fraction(4)) * 6,
        max(r_ - c_, Fraction(1)) + r_ / max(c_ - 2, Fraction(1)),
        r_ if r > c else 2 * c_,
        (r_ if r == 3 else c_ / 2) + (1 if c != 4 else 0) + (5 if r <= c else 6),
        r_ if c <= 2 else (r_ / 3 if r < 4 else Fraction(9)),
        up(r_ * c_ / 5) + log2(r_ * c_) + log2(r_ - c_),
    )
    return Fraction(table[TEXTS.index(text)])


POINTS = tuple(product((1, 2, 3, 4, 5, 7, 16, 17), repeat=2))


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_exact_and_round_up_once_at_the_end(text: str) -> None:
    expression = Expression.parse(text, parameters={"dim": 16})
    for r, c in POINTS:
        expected = reference(text, r, c)
        assert expression.evaluate_exact({"r": r, "c": c}) == expected, (r, c)
        assert expression.evaluate({"r": r, "c": c}) == -(-expected // 1), (r, c)


@pytest.mark.parametrize("text", TEXTS)
def test_normalised_text_reads_back_to_an_equal_expression(text: str) -> None:
    expression = Expression.parse(text, parameters={"dim": 16})
    again = Expression.parse(expression.text)
    assert again == expression
    for r, c in POINTS:
        values = {"r": r, "c": c}
        assert again.evaluate_exact(values) == expression.evaluate_exact(values)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_c_has_the_same_values(tmp_path: Path) -> None:
    expressions = [Expression.parse(text, parameters={"dim": 16}) for text in TEXTS]
    prints = "".join(
        f'printf("%lld\\n", (long long)({e.to_c({"c": "c_"})}));\n' for e in expressions
    )
    source = (
        "#include <stdint.h>\n#include <stdio.h>\nint main(void) {\n"
        "int64_t r, c_;\n"
        'while (scanf("%ld %ld", &r, &c_) == 2) {\n' + prints + "}\nreturn 0;\n}\n"
    )
    (tmp_path / "t.c").write_text(source)
    flags = ["-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run(["cc", *flags, "t.c", "-o", "t"], cwd=tmp_path, check=True, timeout=60)
    lines = "".join(f"{r} {c}\n" for r, c in POINTS)
    done = subprocess.run(
        [tmp_path / "t"], input=lines, capture_output=True, text=True, check=True, timeout=60
    )
    expected = [e.evaluate({"r": r, "c": c}) for r, c in POINTS for e in expressions]
    assert [int(line) for line in done.stdout.split()] == expected


def test_big_quotients_stay_exact() -> None:
    expression = Expression.parse("ceil(n / 3)")
    assert expression.evaluate({"n": 3 * 2**60 + 1}) == 2**60 + 1


def test_expressions_compare_by_normalised_text_and_pickle() -> None:
    first, second = Expression.parse("r*( c+1 )"), Expression.parse("r * (c + 1)")
    assert first == second
    assert hash(first) == hash(second)
    assert pickle.loads(pickle.dumps(first)).evaluate({"r": 2, "c": 3}) == 8


def test_names_substitution_and_constants() -> None:
    expression = Expression.parse("r * ceil(c / w)")
    assert expression.names == ("c", "r", "w")
    assert expression.substitute({"w": 4, "c": 9}) == Expression.parse("r * 3")
    assert Expression.constant(7) == Expression.parse("7")
    assert Expression.parse("ceil(16 * 16 / 8)").text == "32"


def test_a_name_is_offered_once() -> None:
    """A repeat may be called like a loop."""
    with pytest.raises(SpecError) as caught:
        Expression.parse("x", names=("i", "i", "b"))
    assert caught.value.hint == "known names: i, b"


ALLOWED = "allowed are numbers, names, + - * / // %"
ERRORS = (
    ("2 * cel(r / 4)", "cel", "unknown function 'cel'", "did you mean 'ceil'?"),
    ("exp(r)", "exp", "unknown function 'exp'", "functions: ceil, floor,"),
    ("ceil(r, 2)", "ceil", "'ceil' takes 1 arguments, found 2", ALLOWED),
    ("max(r)", "max", "'max' takes 2 to 16 arguments, found 1", ALLOWED),
    ("1 + rows", "rows", "unknown name 'rows'", "known names: r, c, dim"),
    ("1 + dmi", "dmi", "unknown name 'dmi'", "did you mean 'dim'?"),
    ("1 + r.real", "r.real", "'r.real' is not allowed in an expression", ALLOWED),
    ("r ** 2", "r ** 2", "'r ** 2' is not allowed in an expression", ALLOWED),
    ("r if c else 2", "r if", "'r if c else 2' is not allowed in an expression", ALLOWED),
    ("1 + (r < c)", "r < c", "'r < c' is not allowed in an expression", ALLOWED),
    ("1 + True", "True", "'True' is not allowed in an expression", ALLOWED),
    ("1 + 1e999", "1e999", "the number 1e999 is too large", "numbers go up to 4611686018427387904"),
    (f"r + {10**25} * c", "1000", f"the number {10**25} is too large", "numbers go up to 46116"),
    ("(lambda: 1)()", "(lambda", "'(lambda: 1)()' is not allowed in an expression", ALLOWED),
    ("__import__('os').getcwd()", "__import", "'__import__('os').getcwd()' is not", ALLOWED),
    ("r / (c - 1)", "c - 1", "divisor 'c - 1' may be zero or negative", "write max(..., 1)"),
    ("r % 0", "0", "divisor '0' may be zero or negative", "names are at least 1"),
    ("ceildiv(r, -2)", "-2", "divisor '-2' may be zero or negative", "names are at least 1"),
    ("r +", "r +", "cannot read 'r +': invalid syntax", ALLOWED),
    ("r) + (c", "r)", "cannot read 'r) + (c': unmatched ')'", ALLOWED),
    ("r + " * 400 + "1", "r + ", "expression is longer than 1000 characters", ALLOWED),
)


@pytest.mark.parametrize(("text", "at", "message", "hint"), ERRORS)
def test_mistakes_name_place_and_remedy(text: str, at: str, message: str, hint: str) -> None:
    line = f"issue: {text}"
    with pytest.raises(SpecError) as caught:
        Expression.parse(text, Loc("f.yaml", 3, 8, line), ["r", "c"], {"dim": 16})
    error = caught.value
    assert error.message.startswith(message)
    assert hint in error.hint
    assert error.loc is not None
    assert line[error.loc.column - 1 :].startswith(at)


FACTORS = (
    ("r * c", "rc"),
    ("2 * r * (c + 1)", "r"),
    ("(c if c < 3 else 4) * r", "r"),
    ("r * r * c", "c"),
    ("max(r, 4) * c", "c"),
    ("7 + r * c", ""),
    ("r * c / 3", ""),  # rounded up as a whole, and not by each name
    ("r * ceil(c / 3)", ""),
    ("0.5 * r * c", ""),
)


@pytest.mark.parametrize(("text", "factors"), FACTORS)
def test_a_factor_times_the_value_at_one_is_the_value(text: str, factors: str) -> None:
    expression = Expression.parse(text)
    assert expression.factors() == frozenset(factors)
    for name, other in ("rc", "cr"):
        for value, of in product(range(1, 9), repeat=2):
            alone = expression.evaluate({name: 1, other: of})
            is_multiple = expression.evaluate({name: value, other: of}) == value * alone
            assert is_multiple or name not in factors
