"""Programs as JSON and back, without loss.

In: a Program, or what `json.load` gives. Out: the other one. Not its job: files, legality on a
machine.
A node is `{"for": loop, ...}`, `{"when": [...], ...}` or `{"issue": instruction, ...}`.
"""

from collections.abc import Callable
from typing import TypeVar, assert_never

from isamap.errors import IsamapError, ProgramError
from isamap.ir import Affine, Kernel, parse_semantics, pretty

from .layout import Axis, Layout
from .program import (
    Address,
    Edge,
    For,
    Issue,
    Node,
    Operand,
    Placement,
    Program,
    Repeat,
    Rotation,
    Run,
    Span,
    Spread,
    When,
)

SCHEMA_VERSION = 4

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Item = TypeVar("Item")


def to_json(program: Program) -> dict[str, Json]:
    """The program as dictionaries, lists, strings and numbers; `from_json` gives an equal program
    back."""
    return {
        "schema": "isamap-program",
        "version": SCHEMA_VERSION,
        "name": program.name,
        "hardware": program.hardware,
        "inputs": [_write_placement(placement) for placement in program.inputs],
        "outputs": [_write_placement(placement) for placement in program.outputs],
        "scratch": [_write_placement(placement) for placement in program.scratch],
        "host_calls": [[call.name, pretty(call)] for call in program.host_calls],
        "may_reassociate": program.may_reassociate,
        "body": [_write_node(node) for node in program.body],
    }


def from_json(data: Json) -> Program:
    """The program that `to_json` wrote.

    Raises:
        ProgramError: another schema or version, a missing or unknown key, a value of the wrong
        type; the message says where.
    """
    record = _Record(data, "program")
    schema, version = record.text("schema"), record.integer("version")
    if (schema, version) != ("isamap-program", SCHEMA_VERSION):
        raise ProgramError(
            f"program: schema {schema!r} version {version},"
            f" expected 'isamap-program' version {SCHEMA_VERSION}",
            hint="write the program again with this version of isamap",
        )
    program = Program(
        record.text("name"),
        record.text("hardware"),
        record.items("inputs", _read_placement),
        record.items("outputs", _read_placement),
        record.items("body", _read_node),
        record.items("scratch", _read_placement),
        record.items("host_calls", _read_host_call),
        record.flag("may_reassociate"),
    )
    record.finish()
    return program


class _Record:
    """One JSON object being read: typed fields, and an error that says where."""

    def __init__(self, data: Json, where: str) -> None:
        if not isinstance(data, dict):
            raise ProgramError(f"{where}: expected an object, found {type(data).__name__}")
        self.data = data
        self.where = where
        self.unread = set(data)

    def take(self, key: str) -> Json:
        """Any value; the key must be there."""
        if key not in self.data:
            raise ProgramError(f"{self.where}: missing key {key!r}")
        self.unread.discard(key)
        return self.data[key]

    def text(self, key: str) -> str:
        """A string."""
        return _read_text(self.take(key), f"{self.where}.{key}")

    def integer(self, key: str) -> int:
        """A whole number."""
        return _read_integer(self.take(key), f"{self.where}.{key}")

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.take(key)
        if not isinstance(value, bool):
            raise ProgramError(f"{self.where}.{key}: expected true or false")
        return value

    def optional_integer(self, key: str) -> int | None:
        """A whole number or null."""
        return None if self.take(key) is None else self.integer(key)

    def items(self, key: str, read: Callable[[Json, str], Item]) -> tuple[Item, ...]:
        """A list, each item read by `read(value, where)`."""
        value = self.take(key)
        where = f"{self.where}.{key}"
        if not isinstance(value, list):
            raise ProgramError(f"{where}: expected a list, found {type(value).__name__}")
        return tuple(read(item, f"{where}[{n}]") for n, item in enumerate(value))

    def finish(self) -> None:
        """No key may be left over."""
        for key in sorted(self.unread):
            raise ProgramError(f"{self.where}: unknown key {key!r}")


def _read_text(value: Json, where: str) -> str:
    if not isinstance(value, str):
        raise ProgramError(f"{where}: expected a string, found {type(value).__name__}")
    return value


def _read_integer(value: Json, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ProgramError(f"{where}: expected a whole number, found {type(value).__name__}")
    return value


def _read_pair(value: Json, where: str) -> tuple[str, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise ProgramError(f"{where}: expected [name, number]")
    return _read_text(value[0], where), _read_integer(value[1], where)


def _read_immediate(value: Json, where: str) -> tuple[str, int | float]:
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], float):
        return _read_text(value[0], where), value[1]
    return _read_pair(value, where)


def _read_host_call(value: Json, where: str) -> Kernel:
    if not isinstance(value, list) or len(value) != 2:
        raise ProgramError(f"{where}: expected [name, semantics]")
    name, text = _read_text(value[0], where), _read_text(value[1], where)
    try:
        return parse_semantics(text, name)
    except IsamapError as error:
        raise ProgramError(f"{where}: {error.message}") from error


def _write_affine(affine: Affine) -> Json:
    return {"terms": [[n, c] for n, c in affine.terms], "constant": affine.constant}


def _read_affine(data: Json, where: str) -> Affine:
    record = _Record(data, where)
    affine = Affine.of(record.items("terms", _read_pair), record.integer("constant"))
    record.finish()
    return affine


def _write_span(span: Span) -> Json:
    offset = _write_affine(span.offset)
    return {"limit": span.limit, "total": span.total, "offset": offset, "unit": span.unit}


def _read_span(data: Json, where: str) -> Span:
    record = _Record(data, where)
    limit, total = record.integer("limit"), record.optional_integer("total")
    offset = _read_affine(record.take("offset"), f"{where}.offset")
    span = Span(limit, total, offset, record.integer("unit"))
    record.finish()
    if span.unit < 1:
        raise ProgramError(f"{where}.unit: {span.unit}, expected at least 1")
    return span


def _write_operand(operand: Operand) -> Json:
    rotations: list[Json] = [
        {
            "counter": _write_affine(rotation.counter),
            "modulo": rotation.modulo,
            "stride_bytes": rotation.stride_bytes,
        }
        for rotation in operand.address.rotations
    ]
    return {
        "name": operand.name,
        "memory": operand.memory,
        "offset": _write_affine(operand.address.offset),
        "rotations": rotations,
        "strides_bytes": list(operand.strides_bytes),
    }


def _read_rotation(data: Json, where: str) -> Rotation:
    record = _Record(data, where)
    counter = _read_affine(record.take("counter"), f"{where}.counter")
    rotation = Rotation(counter, record.integer("modulo"), record.integer("stride_bytes"))
    record.finish()
    if rotation.modulo < 1:
        raise ProgramError(f"{where}.modulo: {rotation.modulo}, expected at least 1")
    return rotation


def _read_operand(data: Json, where: str) -> Operand:
    record = _Record(data, where)
    offset = _read_affine(record.take("offset"), f"{where}.offset")
    address = Address(offset, record.items("rotations", _read_rotation))
    strides = record.items("strides_bytes", _read_integer)
    operand = Operand(record.text("name"), record.text("memory"), address, strides)
    record.finish()
    return operand


def _write_node(node: Node) -> Json:
    match node:
        case For(loop, span, body, spread):
            inner: list[Json] = [_write_node(child) for child in body]
            over: Json = [spread.axis, spread.step] if spread else None
            return {"for": loop, "span": _write_span(span), "spread": over, "body": inner}
        case When(conditions, body):
            pairs: list[Json] = [[loop, edge.value] for loop, edge in conditions]
            return {"when": pairs, "body": [_write_node(child) for child in body]}
        case Issue():
            return _write_issue(node)
        case _:
            assert_never(node)


def _write_issue(issue: Issue) -> Json:
    repeats: list[Json] = [
        {
            "name": repeat.name,
            "span": _write_span(repeat.span),
            "strides_bytes": list(repeat.strides_bytes),
        }
        for repeat in issue.repeats
    ]
    task: dict[str, Json] = {} if issue.task is None else {"task": issue.task}
    return {
        "issue": issue.instruction,
        "operands": [_write_operand(operand) for operand in issue.operands],
        "extents": [[loop, _write_span(span)] for loop, span in issue.extents],
        "repeats": repeats,
        "immediates": [[name, value] for name, value in issue.immediates],
        "pops": list(issue.pops),
        "pushes": list(issue.pushes),
        "starts": [[run.first, run.step, run.count] for run in issue.starts],
        **task,
    }


def _read_condition(value: Json, where: str) -> tuple[str, Edge]:
    if not isinstance(value, list) or len(value) != 2:
        raise ProgramError(f"{where}: expected [loop, 'first', 'last' or 'later']")
    edges = {edge.value: edge for edge in Edge}
    edge = edges.get(_read_text(value[1], where))
    if edge is None:
        raise ProgramError(f"{where}: expected one of {', '.join(edges)}, found {value[1]!r}")
    return _read_text(value[0], where), edge


def _read_extent(value: Json, where: str) -> tuple[str, Span]:
    if not isinstance(value, list) or len(value) != 2:
        raise ProgramError(f"{where}: expected [loop, span]")
    return _read_text(value[0], where), _read_span(value[1], where)


def _read_run(value: Json, where: str) -> Run:
    if not isinstance(value, list) or len(value) != 3:
        raise ProgramError(f"{where}: expected [first cycle, step, count]")
    return Run(*(_read_integer(number, f"{where}[{n}]") for n, number in enumerate(value)))


def _read_repeat(data: Json, where: str) -> Repeat:
    record = _Record(data, where)
    span = _read_span(record.take("span"), f"{where}.span")
    repeat = Repeat(record.text("name"), span, record.items("strides_bytes", _read_integer))
    record.finish()
    return repeat


def _read_spread(value: Json, where: str) -> Spread | None:
    return None if value is None else Spread(*_read_pair(value, where))


def _read_node(data: Json, where: str) -> Node:
    record = _Record(data, where)
    node: Node
    if "for" in record.data:
        span = _read_span(record.take("span"), f"{where}.span")
        spread = _read_spread(record.take("spread"), f"{where}.spread")
        node = For(record.text("for"), span, record.items("body", _read_node), spread)
    elif "when" in record.data:
        conditions = record.items("when", _read_condition)
        node = When(conditions, record.items("body", _read_node))
    elif "issue" in record.data:
        node = Issue(
            record.text("issue"),
            record.items("operands", _read_operand),
            record.items("extents", _read_extent),
            record.items("repeats", _read_repeat),
            record.items("immediates", _read_immediate),
            record.items("pops", _read_text),
            record.items("pushes", _read_text),
            record.items("starts", _read_run),
            record.integer("task") if "task" in record.data else None,
        )
    else:
        raise ProgramError(f"{where}: expected a 'for', 'when' or 'issue'")
    record.finish()
    return node


def _write_placement(placement: Placement) -> Json:
    layout = placement.layout
    axes: list[Json] = [
        {"dim": a.dim, "step": a.step, "size": a.size, "stride_bytes": a.stride_bytes}
        for a in layout.axes
    ]
    return {
        "buffer": placement.buffer,
        "address": placement.address,
        "dtype": layout.dtype,
        "shape": list(layout.shape),
        "axes": axes,
        "border": list(layout.border),
        "size_bytes": layout.size_bytes,
        "plane_bytes": layout.plane_bytes,
        "is_natural": layout.is_natural,
        "padding": layout.padding,
    }


def _read_axis(data: Json, where: str) -> Axis:
    record = _Record(data, where)
    axis = Axis(
        record.integer("dim"),
        record.integer("step"),
        record.integer("size"),
        record.integer("stride_bytes"),
    )
    record.finish()
    return axis


def _read_placement(data: Json, where: str) -> Placement:
    record = _Record(data, where)
    is_natural = record.flag("is_natural")
    layout = Layout(
        record.text("dtype"),
        record.items("shape", _read_integer),
        record.items("axes", _read_axis),
        record.items("border", _read_integer),
        record.integer("size_bytes"),
        record.optional_integer("plane_bytes"),
        is_natural,
        record.integer("padding"),
    )
    placement = Placement(record.text("buffer"), record.integer("address"), layout)
    record.finish()
    return placement
