"""The shape of the code: layers, budgets, docstrings.

In: the package's source text. Out: failures that name file and line. Not its job: style that ruff
checks.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "isamap"
MODULES = sorted(PACKAGE.rglob("*.py"))

# What each top-level part may import; `isamap` stands for the package's own lazy names.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "errors": (),
    "lang": (),
    "version": (),
    "resources": ("errors",),
    "write_all": ("errors",),
    "shortest_paths": (),
    "cache_folder": (),
    "work_folder": (),
    "c_compiler": ("errors",),
    "lazy": (),
    "import_file": (),
    "ir": ("errors", "lang", "lazy", "import_file"),
    "cexpr": ("errors", "ir"),
    "rewrites": ("errors", "ir"),
    "hwdesc": ("errors", "lazy", "resources", "shortest_paths", "ir"),
    "program": ("errors", "ir", "hwdesc"),
    "emulator": ("errors", "c_compiler", "work_folder", "ir", "cexpr", "hwdesc", "program"),
    "codegen": (
        "errors", "cache_folder", "c_compiler", "ir", "cexpr", "hwdesc", "program", "write_all",
    ),
    "report": ("errors", "ir", "hwdesc", "program", "emulator"),
    "exercise": ("errors", "ir", "hwdesc", "program"),
    "mapper": ("errors", "shortest_paths", "ir", "rewrites", "hwdesc", "program"),
    "costmodels": (
        "errors", "import_file", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper",
    ),
    "scheduler": (
        "errors", "lazy", "ir", "rewrites", "hwdesc", "program", "mapper", "costmodels",
    ),
    "planner": (
        "errors", "shortest_paths", "ir", "rewrites", "hwdesc", "program", "mapper", "costmodels",
        "scheduler",
    ),
    "processor": (
        "errors", "cache_folder", "resources", "work_folder", "write_all", "ir", "hwdesc",
        "codegen",
    ),
    "measured": (  # where candidates meet the C that runs them
        "errors", "cache_folder", "work_folder", "ir", "hwdesc", "program", "codegen", "costmodels",
        "processor", "version",
    ),
    "verify": (
        "errors", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper", "costmodels",
        "scheduler", "planner",
    ),
    "compile": (
        "errors", "resources", "ir", "rewrites", "hwdesc", "program", "emulator", "costmodels",
        "scheduler", "planner", "verify", "measured", "processor",
    ),
    "bindings": ("errors", "ir", "rewrites", "hwdesc", "mapper", "compile"),
    "pareto": (
        "errors", "resources", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper",
        "costmodels", "scheduler", "planner", "verify", "compile",
    ),
    "native": (
        "errors", "ir", "hwdesc", "program", "emulator", "codegen", "costmodels", "scheduler",
        "planner", "measured", "compile", "verify", "work_folder", "write_all",
    ),
    "files": (
        "errors", "resources", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper",
        "costmodels", "scheduler", "planner", "verify", "compile",
    ),
    "sweep": (
        "errors", "cache_folder", "resources", "ir", "hwdesc", "costmodels", "scheduler", "compile",
        "measured", "processor", "verify", "write_all",
    ),
    "cli": (
        "errors", "resources", "ir", "rewrites", "hwdesc", "program", "emulator", "mapper",
        "costmodels", "scheduler", "planner", "verify", "compile", "bindings", "codegen", "native",
        "files", "write_all", "exercise", "pareto", "measured", "processor", "report", "isamap",
        "sweep",
    ),
    "__main__": ("cli",),
    "__init__": (  # for type checkers only
        "errors", "version", "lazy", "ir", "hwdesc", "program", "costmodels", "compile",
        "bindings", "files", "native", "sweep",
    ),
}  # fmt: skip
FILE_LINES, FUNCTION_LINES, COLUMNS = 400, 60, 100


def part_of(path: Path) -> str:
    """The top-level part of `isamap` that a module belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def lines_of(path: Path) -> list[str]:
    """The text of a module."""
    return path.read_text(encoding="utf-8").splitlines()


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a module, parsed once for all rules."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of that tree."""
    return tuple(ast.walk(tree(path)))


@cache
def imported(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and absolute dotted name of everything from isamap that a module imports."""
    return tuple(find_imported(path))


def find_imported(path: Path) -> Iterator[tuple[int, str]]:
    """As `imported`, module by module anew."""
    inside = ("isamap", *path.relative_to(PACKAGE).parts[:-1])
    for node in nodes(path):
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


def place(path: Path, line: int = 1) -> str:
    """Where, as an editor takes it."""
    return f"{path.relative_to(ROOT)}:{line}"


@cache
def functions(path: Path) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    """Every function of a module, inner ones too."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return tuple(node for node in nodes(path) if isinstance(node, kinds))


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


def test_imports_point_left() -> None:
    assert not [
        f"{place(path, line)}: {part}"
        for path in MODULES
        for line, part, _ in foreign_imports(path)
        if part not in MAY_IMPORT[part_of(path)]
    ]


def test_imports_come_from_packages_not_from_files_inside_them() -> None:
    assert not [
        f"{place(path, line)}: {'.'.join(parts)}"
        for path in MODULES
        for line, _, parts in foreign_imports(path)
        if parts[2:]
    ]


def test_imports_are_at_the_top() -> None:
    assert not [
        place(path, node.lineno)
        for path in MODULES
        if part_of(path) != "cli"  # commands import what they run, so that --help is fast
        for node in nodes(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and any(f.lineno <= node.lineno <= (f.end_lineno or 0) for f in functions(path))
    ]


def test_no_star_imports() -> None:
    assert not [
        place(path, node.lineno)
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]


def test_modules_say_what_they_do() -> None:
    texts = {path: " ".join((ast.get_docstring(tree(path)) or "").split()) for path in MODULES}
    assert not [place(path) for path, text in texts.items() if not text]
    assert not [
        place(path)
        for path, text in texts.items()
        if path.name != "__init__.py" and "Not its job" not in text
    ]


def test_files_are_within_budget() -> None:
    assert not [place(path) for path in MODULES if len(lines_of(path)) > FILE_LINES]


def test_functions_are_within_budget() -> None:
    assert not [
        f"{place(path, node.lineno)}: {node.name}"
        for path in MODULES
        for node in functions(path)
        if (node.end_lineno or node.lineno) - node.lineno >= FUNCTION_LINES
    ]


def test_lines_are_within_budget() -> None:
    assert not [
        place(path, number)
        for path in [*MODULES, *sorted((ROOT / "tests").rglob("*.py"))]
        for number, line in enumerate(lines_of(path), 1)
        if len(line) > COLUMNS
    ]


def test_names_of_test_files_are_unique() -> None:
    """pytest imports them by their names alone, and ends a whole run at the second of a name."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert not [name for name, count in names.items() if count > 1]
