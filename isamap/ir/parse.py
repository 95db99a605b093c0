"""Kernels from text: functions in `.py` files and `semantics:` of instructions.

In: paths or text. Out: verified kernels; nothing is executed. Not its job: the grammar of bodies
(`parse_body`).
"""

import ast
import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from os import PathLike
from pathlib import Path
from typing import SupportsIndex

from isamap.errors import KernelError, Loc, closest
from isamap.lang import WORDS

from .affine import Affine
from .kernel import Kernel
from .parse_body import parse_body
from .scope import Scope, read_integer
from .source import SourceText
from .verify import verify


@dataclass(frozen=True, slots=True)
class KernelSource:
    """One `@kernel` function without sizes yet; `sizes` are its arguments with defaults."""

    name: str
    sizes: tuple[tuple[str, int], ...]
    doc: str
    loc: Loc
    source: SourceText
    constants: tuple[tuple[str, int], ...]  # integers defined at the top of the file

    def build(self, sizes: Mapping[str, int] | None = None) -> Kernel:
        """The kernel for the given sizes (defaults for the others)."""
        chosen = dict(self.sizes)
        for name, value in (sizes or {}).items():
            if name not in chosen:
                hint = closest(name, chosen) or f"sizes are {', '.join(chosen) or 'none'}"
                raise KernelError(
                    f"kernel {self.name!r} has no size {name!r}", loc=self.loc, hint=hint
                )
            if isinstance(value, bool) or not isinstance(value, SupportsIndex):
                raise KernelError(f"size {name} must be an integer, not {value!r}", loc=self.loc)
            chosen[name] = index(value)  # NumPy's too
        function = find_functions(self.source)[self.name]
        names = {**dict(self.constants), **chosen}
        kernel = build_kernel(self.name, function.body, self.source, names, ())
        if not kernel.statements:
            raise KernelError(f"kernel {self.name!r} has no statement", loc=self.loc)
        return kernel


def load_kernels(path: str | PathLike[str]) -> dict[str, KernelSource]:
    """All `@kernel` functions of a file, in order; KernelError when there is none."""
    file = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KernelError(f"cannot read kernel file {file}: {error}") from error
    source = SourceText(text, file)
    check_imports(source)
    functions = find_functions(source)
    if not functions:
        raise KernelError(
            f"{file} has no kernel", hint="put @kernel (from isamap.lang) above a function"
        )
    constants = read_constants(source)
    return {name: read_header(node, source, constants) for name, node in functions.items()}


def load_kernel(
    path: str | PathLike[str], sizes: Mapping[str, int] | None = None, name: str | None = None
) -> Kernel:
    """The kernel called `name` (default: the first) of a file, with the given sizes."""
    kernels = load_kernels(path)
    chosen = next(iter(kernels)) if name is None else name
    if chosen not in kernels:
        hint = closest(chosen, kernels) or f"kernels are {', '.join(kernels)}"
        raise KernelError(f"{path} has no kernel {chosen!r}", hint=hint)
    return kernels[chosen].build(sizes)


def parse_semantics(
    text: str,
    name: str,
    names: Mapping[str, int] | None = None,
    immediates: tuple[str, ...] = (),
    file: str = "<text>",
    line_offset: int = 0,
    column_offset: int = 0,
) -> Kernel:
    """The kernel written as a bare body.

    Args:
        names: integers that the text may use (parameters of a hardware file).
        immediates: names that stand for scalars chosen by each call.
        line_offset, column_offset: line 1 of `text` is line 1 + line_offset of `file`; likewise
        columns.
    """
    source = SourceText(text, file, line_offset, column_offset)
    return build_kernel(name, source.parse().body, source, names or {}, immediates)


def build_kernel(
    name: str,
    body: list[ast.stmt],
    source: SourceText,
    names: Mapping[str, int],
    immediates: tuple[str, ...],
) -> Kernel:
    """Read a body and verify the result."""
    source.check_depth(body)
    written = {
        node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)
    }  # fmt: skip
    integers = {key: Affine((), value) for key, value in names.items()}
    scope = Scope(source, integers, immediates, frozenset(written))
    statements = parse_body(body, scope)
    kernel = Kernel(name, tuple(scope.buffers.values()), statements, immediates)
    verify(kernel)
    return kernel


def check_imports(source: SourceText) -> None:
    """KernelError where the file imports from `isamap.lang` what is not there: its reference, which
    is executed, would fail when everything else is done."""
    for node in source.parse().body:
        if isinstance(node, ast.ImportFrom) and node.module == "isamap.lang":
            for alias in node.names:
                if alias.name not in WORDS | {"*"}:
                    is_builtin = hasattr(builtins, alias.name)
                    hint = "it is Python's own: no import" if is_builtin else ""
                    hint = hint or closest(alias.name, WORDS)
                    raise source.error(f"isamap.lang has no {alias.name!r}", alias, hint)


def find_functions(source: SourceText) -> dict[str, ast.FunctionDef]:
    """Functions decorated with `@kernel` (or `@lang.kernel`), by name, in order."""
    found: dict[str, ast.FunctionDef] = {}
    for node in source.parse().body:
        if isinstance(node, ast.FunctionDef) and any(map(is_marker, node.decorator_list)):
            if node.name in found:
                raise source.error(f"kernel {node.name!r} is defined twice", node)
            found[node.name] = node
    return found


def is_marker(node: ast.expr) -> bool:
    """Is this decorator `kernel`?"""
    match node:
        case ast.Name(id="kernel") | ast.Attribute(attr="kernel"):
            return True
        case ast.Call(func=func):
            return is_marker(func)
        case _:
            return False


def read_constants(source: SourceText) -> tuple[tuple[str, int], ...]:
    """Integers assigned at the top of the file, such as `TILE = 16`; others are skipped."""
    scope = Scope(source, {}, (), frozenset())
    for node in source.parse().body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    source.check_depth([value])
                    scope.integers[name] = Affine((), read_integer(value, scope, name))
                except KernelError:
                    continue  # not an integer: meant for the reference function
    return tuple((name, value.constant) for name, value in scope.integers.items())


def read_header(
    node: ast.FunctionDef, source: SourceText, constants: tuple[tuple[str, int], ...]
) -> KernelSource:
    """Name, sizes and defaults of a kernel function."""
    arguments = node.args
    source.check_depth([arguments])
    if arguments.vararg or arguments.kwarg:
        raise source.error("a kernel's arguments are sizes: no * or **", node)
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(plain) - len(arguments.defaults)), *arguments.defaults]
    pairs = [*zip(plain, defaults, strict=True)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    scope = Scope(source, {name: Affine((), value) for name, value in constants}, (), frozenset())
    sizes: list[tuple[str, int]] = []
    for argument, default in pairs:
        if default is None:
            size = argument.arg
            hint = f"write {size}=64; arrays are declared in the body, {size} = In(i8, ..)"
            raise source.error(f"size {size!r} needs a default", argument, hint=hint)
        sizes.append((argument.arg, read_integer(default, scope, f"size {argument.arg!r}")))
    doc = ast.get_docstring(node) or ""
    return KernelSource(node.name, tuple(sizes), doc, source.loc_of(node), source, constants)
