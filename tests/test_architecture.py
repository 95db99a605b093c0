"""The shape of the code: layers, budgets, docstrings.

In: the package's source text. Out: failures that name file and line. Not its job: style that ruff
checks.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "isamap"
MODULES = sorted(PACKAGE.rglob("*.py"))

# What each top-level part may import; `isamap` stands for the package's own lazy names.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "errors": (),
    "lang": (),
    "resources": ("errors",),
    "write_all": ("errors",),
    "ir": ("errors",),
    "rewrites": ("errors", "ir"),
    "hwdesc": ("errors", "ir"),
    "program": ("errors", "ir", "hwdesc"),
    "emulator": ("errors", "ir", "hwdesc", "program"),
    "codegen": ("errors", "ir", "hwdesc", "program"),
    "exercise": ("errors", "ir", "hwdesc", "program"),
    "mapper": ("errors", "ir", "rewrites", "hwdesc", "program"),
    "costmodels": ("errors", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper"),
    "scheduler": ("errors", "ir", "rewrites", "hwdesc", "program", "mapper", "costmodels"),
    "planner": (
        "errors", "ir", "rewrites", "hwdesc", "program", "mapper", "costmodels", "scheduler",
    ),
    "verify": (
        "errors", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper", "costmodels",
        "scheduler", "planner",
    ),
    "compile": (
        "errors", "resources", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper",
        "costmodels", "scheduler", "planner", "verify",
    ),
    "pareto": (
        "errors", "resources", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper",
        "costmodels", "scheduler", "planner", "verify", "compile",
    ),
    "native": ("errors", "ir", "hwdesc", "program", "codegen", "compile", "verify"),
    "files": (
        "errors", "resources", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper",
        "costmodels", "scheduler", "planner", "verify", "compile",
    ),
    "cli": (
        "errors", "resources", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper",
        "costmodels", "scheduler", "planner", "verify", "compile", "codegen", "native", "files",
        "write_all", "exercise", "pareto", "isamap",
    ),
    "__main__": ("cli",),
    "__init__": (  # for type checkers only
        "errors", "ir", "hwdesc", "program", "costmodels", "compile", "files", "native",
    ),
}  # fmt: skip
FILE_LINES, FUNCTION_LINES, COLUMNS = 400, 60, 100


def part_of(path: Path) -> str:
    """The top-level part of `isamap` that a module belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything from isamap that a module imports."""
    inside = ("isamap", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = inside[: len(inside) - node.level + 1] if node.level else ()
            name = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{name}.{alias.name}" for alias in node.names] if not node.module else [name]
            yield from ((node.lineno, found) for found in names)


def foreign_imports(path: Path) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Line, top-level part and dotted parts of imports from other parts of isamap."""
    for line, name in imported(path):
        parts = tuple(name.split("."))
        if parts[0] == "isamap":
            part = parts[1] if len(parts) > 1 else "isamap"
            is_own_name = len(parts) == 2 and not (
                (PACKAGE / f"{part}.py").is_file() or (PACKAGE / part).is_dir()
            )
            part = "isamap" if is_own_name else part
            if part != part_of(path):
                yield line, part, parts


def identify(path: Path) -> str:
    """Short name of a module in test reports."""
    return str(path.relative_to(PACKAGE))


every_module = pytest.mark.parametrize("path", MODULES, ids=identify)


def test_every_part_has_a_layer() -> None:
    assert {part_of(path) for path in MODULES} <= set(MAY_IMPORT)


def test_layers_have_no_cycle() -> None:
    done: set[str] = {"isamap"}
    left = {part: set(names) for part, names in MAY_IMPORT.items() if part != "__init__"}
    while left:
        free = [part for part, names in left.items() if names <= done]
        assert free, f"these import each other: {sorted(left)}"
        done.update(free)
        left = {part: names for part, names in left.items() if part not in free}


@every_module
def test_imports_point_left(path: Path) -> None:
    wrong = [
        f"line {line}: {part}"
        for line, part, _ in foreign_imports(path)
        if part not in MAY_IMPORT[part_of(path)]
    ]
    assert not wrong


@every_module
def test_imports_come_from_packages_not_from_files_inside_them(path: Path) -> None:
    wrong = [f"line {n}: {'.'.join(parts)}" for n, _, parts in foreign_imports(path) if parts[2:]]
    assert not wrong


@every_module
def test_imports_are_at_the_top(path: Path) -> None:
    if part_of(path) == "cli":
        return  # commands import what they run, so that `isamap --help` is fast
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    wrong = [
        f"line {node.lineno}"
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert not wrong


@every_module
def test_no_star_imports(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    stars = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert not stars


@every_module
def test_module_says_what_it_does(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert docstring
    if path.name != "__init__.py":
        assert "Not its job" in " ".join(docstring.split())


@every_module
def test_file_is_within_budget(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_LINES


@every_module
def test_functions_are_within_budget(path: Path) -> None:
    wrong = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                wrong.append(f"{node.name} at line {node.lineno}: {lines} lines")
    assert not wrong


@pytest.mark.parametrize(
    "path", [*MODULES, *sorted((ROOT / "tests").rglob("*.py"))], ids=lambda p: str(p.name)
)
def test_lines_are_within_budget(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    wrong = [f"line {n}: {len(line)}" for n, line in enumerate(lines, 1) if len(line) > COLUMNS]
    assert not wrong
