"""Instructions from their models.

In: a checked model and a reader. Out: `Instruction`; None for one with a mistake.
Not its job: the language of `semantics` (`isamap.ir`), rules between several parts (`check`).
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial

from isamap.errors import KernelError, closest
from isamap.ir import (
    Apply,
    Buffer,
    Expr,
    Immediate,
    Kernel,
    Role,
    argument_types,
    is_float,
    parse_semantics,
)

from .build_cores import multicast_axes
from .build_exposed import build_stream, check_stream
from .c_form import CForm, CTemplate, HoleNames, parse_c_template
from .document import Path
from .expression import Expression
from .hardware import (
    ExtentKind,
    ExtentRule,
    ImmediateRule,
    Instruction,
    OperandRule,
    RepeatRule,
)
from .reader import Reader
from .schema import (
    ExtentModel,
    HardwareModel,
    InstructionModel,
    OperandModel,
    RepeatModel,
)
from .strides import dense_strides, stride_rule
from .units import Quantity


@dataclass(frozen=True, slots=True)
class _Site:
    """The instruction being built."""

    name: str
    model: InstructionModel
    machine: HardwareModel
    reader: Reader

    def path(self, *keys: str | int) -> Path:
        """The path of an entry of this instruction."""
        return ("instructions", self.name, *keys)

    def error(self, message: str, path: Path, hint: str = "", at_key: bool = False) -> None:
        """Record a mistake."""
        self.reader.error(message, path, hint, at_key)


def build_instruction(
    name: str, model: InstructionModel, machine: HardwareModel, reader: Reader
) -> Instruction | None:
    """One instruction; None if it has a mistake (which is recorded)."""
    site = _Site(name, model, machine, reader)
    before = reader.problems.count
    reader.known("unit", model.unit, machine.units, site.path("unit"))
    immediates = _build_immediates(site)
    semantics = _build_semantics(site)
    if semantics is None:
        _check_without_semantics(site)
        return None
    _check_immediate_types(semantics, immediates, site)
    names = [*_loops(semantics), *model.repeat]
    issue = reader.expression(model.issue, Quantity.TIME, site.path("issue"), names)
    instruction = Instruction(
        name=name,
        semantics=semantics,
        extents=_build_extents(semantics, site),
        operands=_build_operands(semantics, site),
        unit=model.unit,
        issue_cycles=issue,
        latency_cycles=_optional(model.latency, Quantity.TIME, "latency", names, site) or issue,
        accumulate_cycles=_optional(model.accumulate, Quantity.TIME, "accumulate", names, site),
        repeats=_build_repeats(semantics, site),
        immediates=immediates,
        energy_pj=_optional(model.energy, Quantity.ENERGY, "energy", names, site),
        asm_form=_build_asm_form(semantics, site),
        c_form=_build_c_form(semantics, site),
        is_sync=model.is_sync,
        only_computed=model.only_computed,
        multicast=multicast_axes(model.multicast, machine),
        source=model.source,
        stream=build_stream(model.stream, semantics, site.path("stream"), reader),
        loc=reader.document.key_loc(site.path()),
    )
    if reader.problems.count == before:
        check_stream(instruction, reader)
    return instruction if reader.problems.count == before else None


def _build_c_form(semantics: Kernel, site: _Site) -> CForm | None:
    model = site.model.emit.c
    if model is None:
        return None
    names = _hole_names(semantics, site, ())
    templates: dict[str, CTemplate] = {}
    for key, text in (("full", model.full), ("partial", model.partial)):
        if text is not None:
            with site.reader.problems.caught():
                path = site.path("emit", "c", key)
                locate = partial(site.reader.document.loc_inside, path, text)
                templates[key] = parse_c_template(text, names, locate)
    return CForm(templates["full"], templates.get("partial")) if "full" in templates else None


def _build_asm_form(semantics: Kernel, site: _Site) -> CTemplate | None:
    text = site.model.emit.asm
    if text is None:
        return None
    repeats = tuple(site.model.repeat)
    steps = [f"{name}_step_{r}" for r in repeats for name in _operand_buffers(semantics)]
    with site.reader.problems.caught():
        locate = partial(site.reader.document.loc_inside, site.path("emit", "asm"), text)
        return parse_c_template(text, _hole_names(semantics, site, (*repeats, *steps)), locate)
    return None


def _hole_names(semantics: Kernel, site: _Site, more: tuple[str, ...]) -> HoleNames:
    """What holes in the text of a call may name, and `more` numbers."""
    buffers = _operand_buffers(semantics)
    strides = [f"{b.name}_stride{d}" for b in buffers.values() for d in range(len(b.shape))]
    addresses = [f"{name}_at" for name in buffers]
    numbers = [*_loops(semantics), *site.model.immediates, *addresses, *strides, *more]
    return HoleNames(tuple(buffers), numbers, site.reader.parameters)


def _check_without_semantics(site: _Site) -> None:
    """Finds further mistakes in an instruction whose loops and buffers are unknown."""
    for name, operand in site.model.operands.items():
        path = site.path("operands", name, "memory")
        site.reader.known("memory", operand.memory, site.machine.memories, path)
    for key in ("issue", "latency", "accumulate"):
        _optional(getattr(site.model, key), Quantity.TIME, key, None, site)


def _optional(
    text: str | None, quantity: Quantity, key: str, names: list[str] | None, site: _Site
) -> Expression | None:
    if text is None:
        return None
    return site.reader.expression(text, quantity, site.path(key), names)


def _build_semantics(site: _Site) -> Kernel | None:
    if site.model.is_sync:
        for key in ("semantics", "extents", "operands", "repeat", "immediates", "obeys"):
            if getattr(site.model, key):
                message = f"a sync instruction has no '{key}'"
                site.error(message, site.path(key), "remove it, or remove 'is_sync'", True)
        return Kernel(site.name, (), ())
    if site.model.semantics is None:
        hint = "say what it computes, or write 'is_sync: true'"
        site.error(f"instruction '{site.name}' has no 'semantics'", site.path(), hint, True)
        return None
    path = site.path("semantics")
    place = site.reader.document.place(path)
    if not place.is_block and "\n" in site.model.semantics.strip():
        site.error("semantics of several lines must be a block", path, "write 'semantics: |'")
        return None
    start = place.loc
    line, indent = place.block_start if place.is_block else (start.line - 1, start.column - 1)
    try:
        return parse_semantics(
            site.model.semantics,
            site.name,
            site.reader.parameters,
            tuple(site.model.immediates),
            place.text.file,
            line,
            indent,
        )
    except KernelError as error:
        text = place.text.lines[error.loc.line - 1] if error.loc else ""
        loc = replace(error.loc, text=text) if error.loc else start
        site.reader.problems.add(KernelError(error.message, loc=loc, hint=error.hint))
        return None


def _loops(semantics: Kernel) -> dict[str, int]:
    """Every loop once, in order of appearance, with its extent (`isamap.ir` renames clashes)."""
    extents: dict[str, int] = {}
    for statement in semantics.statements:
        for loop in statement.loops:
            extents.setdefault(loop.name, loop.extent)
    return extents


def _operand_buffers(semantics: Kernel) -> dict[str, Buffer]:
    """The buffers that live in memories, by name, in order: all but temporaries."""
    return {buffer.name: buffer for buffer in semantics.buffers if buffer.role is not Role.TEMP}


def _build_extents(semantics: Kernel, site: _Site) -> tuple[tuple[str, ExtentRule], ...]:
    loops = _loops(semantics)
    _match_names("extents", "loop", list(loops), list(site.model.extents), site)
    rules = []
    for name, maximum in loops.items():
        if name in site.model.extents:
            rule = _build_extent(name, maximum, site.model.extents[name], site)
            rules.append((name, rule))
    return tuple(rules)


def _build_extent(name: str, maximum: int, model: ExtentModel, site: _Site) -> ExtentRule:
    path = site.path("extents", name)
    if (model.form is None) == (model.multiple_of is None):
        hint = "write exactly, at_most or {multiple_of: 4}"
        site.error(f"the extent of '{name}' needs one rule", path, hint)
    if model.multiple_of is None:
        return ExtentRule(ExtentKind(model.form or "exactly"), maximum)
    multiple = site.reader.integer(model.multiple_of, (*path, "multiple_of"), 1)
    if maximum % multiple:
        message = f"the largest extent of '{name}', {maximum}, is no multiple of {multiple}"
        site.error(message, (*path, "multiple_of"), "change one of the two")
    return ExtentRule(ExtentKind.MULTIPLE_OF, maximum, multiple)


def _match_names(
    key: str, what: str, wanted: list[str], given: list[str], site: _Site, *more: str
) -> None:
    """The names below an entry must be exactly the semantics' own."""
    path = site.path(*(more or (key,)))
    for name in given:
        if name not in wanted:
            hint = closest(name, wanted) or f"the semantics has: {', '.join(wanted) or 'none'}"
            site.error(f"the semantics has no {what} '{name}'", (*path, name), hint, True)
    missing = [name for name in wanted if name not in given]
    if missing:
        message = f"'{key}' of '{site.name}' lacks {what} '{', '.join(missing)}'"
        site.error(message, path, f"add an entry to '{key}'{_renaming(missing, site)}", True)


def _renaming(missing: list[str], site: _Site) -> str:
    """Explains names that `isamap.ir` made."""
    text = site.model.semantics or ""
    made = [name for name in missing if name not in text]
    return f" ('{made[0]}' is a further loop of that name; name it otherwise)" if made else ""


def _build_operands(semantics: Kernel, site: _Site) -> tuple[OperandRule, ...]:
    buffers = _operand_buffers(semantics)
    _match_names("operands", "buffer", list(buffers), list(site.model.operands), site)
    models = site.model.operands
    return tuple(
        _build_operand(buffer, models[name], site)
        for name, buffer in buffers.items()
        if name in models
    )


def _build_operand(buffer: Buffer, model: OperandModel, site: _Site) -> OperandRule:
    path = site.path("operands", buffer.name)
    memories = site.machine.memories
    align = 1
    if site.reader.known("memory", model.memory, memories, (*path, "memory")):
        if memories[model.memory].kind == "cache":
            message = f"'{buffer.name}' cannot live in the cache '{model.memory}'"
            hint = "operands live in external or managed memories"
            site.error(message, (*path, "memory"), hint)
        granule = memories[model.memory].granule
        text, place = (
            (granule, ("memories", model.memory, "granule"))
            if model.align is None
            else (model.align, (*path, "align"))
        )
        align = site.reader.size(text, place)
    if model.strides is None:
        strides = dense_strides(buffer)
    else:
        strides = tuple(
            stride_rule(stride, (*path, "strides", i), site.reader)
            for i, stride in enumerate(model.strides)
        )
    if len(strides) != len(buffer.shape):
        message = f"'{buffer.name}' has {len(buffer.shape)} dimensions, but {len(strides)} strides"
        site.error(message, (*path, "strides"), "give one stride per dimension, outermost first")
    return OperandRule(buffer.name, model.memory, strides, align)


def _check_name(name: str, taken: Collection[str], path: Path, site: _Site) -> None:
    """A name that expressions or the semantics use must be new and a Python name."""
    if name in taken:
        hint = "loops, repeats, immediates and parameters share one name space"
        site.error(f"the name '{name}' is taken", path, hint, True)
    if not name.isidentifier():
        site.error(f"'{name}' is not a name", path, "use letters, digits and _", True)


def _build_repeats(semantics: Kernel, site: _Site) -> tuple[RepeatRule, ...]:
    for name in site.model.repeat:
        taken = (*_loops(semantics), *site.reader.parameters)
        _check_name(name, taken, site.path("repeat", name), site)
    return tuple(_build_repeat(n, m, semantics, site) for n, m in site.model.repeat.items())


def _build_repeat(name: str, model: RepeatModel, semantics: Kernel, site: _Site) -> RepeatRule:
    path = site.path("repeat", name)
    names = list(_operand_buffers(semantics))
    _match_names("strides", "buffer", names, list(model.strides), site, "repeat", name, "strides")
    strides = tuple(
        stride_rule(model.strides[buffer], (*path, "strides", buffer), site.reader)
        for buffer in names
        if buffer in model.strides
    )
    return RepeatRule(name, site.reader.integer(model.at_most, (*path, "at_most"), 1), strides)


def _build_immediates(site: _Site) -> tuple[ImmediateRule, ...]:
    result = []
    for name, model in site.model.immediates.items():
        path = site.path("immediates", name)
        _check_name(name, (*site.reader.parameters, *site.model.repeat), path, site)
        dtype = None if model.type == "integer" else model.type
        low, high = (
            site.reader.integer(text, (*path, key))
            if dtype is None
            else site.reader.real(text, dtype, (*path, key))
            for key, text in (("min", model.min), ("max", model.max))
        )
        if low > high:
            site.error(f"immediate '{name}': min {low} is above max {high}", path, "swap them")
        result.append(ImmediateRule(name, low, high, dtype))
    return tuple(result)


def _check_immediate_types(
    semantics: Kernel, immediates: tuple[ImmediateRule, ...], site: _Site
) -> None:
    """A float immediate stands only where its own type is wanted: nothing is converted silently."""
    used = [
        pair
        for statement in semantics.statements
        for pair in _immediate_types(
            statement.value, semantics, semantics.buffer(statement.target.buffer).dtype
        )
    ]
    for rule in immediates:
        others = [dtype for name, dtype in used if name == rule.name and dtype != rule.dtype]
        if rule.dtype is not None and others:
            message = (
                f"immediate '{rule.name}' is {rule.dtype}, the semantics uses it as {others[0]}"
            )
            hint = f"write 'type: {others[0]}'" if is_float(others[0]) else "leave out 'type'"
            site.error(message, site.path("immediates", rule.name, "type"), hint)


def _immediate_types(expr: Expr, semantics: Kernel, dtype: str) -> Iterator[tuple[str, str]]:
    """(name, type) of every immediate in `expr`, which has type `dtype`."""
    if isinstance(expr, Immediate):
        yield expr.name, dtype
    if isinstance(expr, Apply):
        for arg, wanted in zip(expr.args, argument_types(expr, semantics, dtype), strict=True):
            yield from _immediate_types(arg, semantics, wanted)
