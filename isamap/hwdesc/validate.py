"""Holds a document against the schema.

In: a document, the models of its entries. Out: a model; every deviation is recorded with its
position and a hint. Not its job: the schema itself, rules beyond shape and type.
"""

from typing import TypedDict, TypeVar

from pydantic import BaseModel, ValidationError

from isamap.errors import Loc, SpecError, closest

from .document import Document, Path
from .problems import Problems
from .schema import (
    ChannelModel,
    CModel,
    CompilerModel,
    CoresModel,
    DistanceModel,
    EmitModel,
    ExtentModel,
    HardwareModel,
    HostModel,
    ImmediateModel,
    InstructionModel,
    OperandModel,
    RepeatModel,
    StreamModel,
    StrideModel,
    UnitModel,
)
from .schema_encoding import (
    AssemblyModel,
    BaseAddressModel,
    BitsModel,
    CommandModel,
    EncodingModel,
    EndModel,
    EntriesModel,
    FieldModel,
    FormatModel,
    StateModel,
    TableModel,
)
from .schema_memory import (
    CopyModel,
    FifoModel,
    LargePagesModel,
    MemoryModel,
    PortsModel,
    PrefetchModel,
)

ANY = "*"  # a name or a position that the author of the file chooses
# pattern of a path, what stands there, its model
Models = tuple[tuple[Path, str, type[BaseModel]], ...]
Root = TypeVar("Root", bound=BaseModel)
MODELS: Models = (
    ((), "hardware file", HardwareModel),
    (("memories", ANY), "memory", MemoryModel),
    (("memories", ANY, "ports"), "ports", PortsModel),
    (("memories", ANY, "fifo"), "fifo", FifoModel),
    (("memories", ANY, "c_copy"), "c_copy", CopyModel),
    (("memories", ANY, "prefetch"), "prefetch", PrefetchModel),
    (("memories", ANY, "large_pages"), "large_pages", LargePagesModel),
    (("units", ANY), "unit", UnitModel),
    (("channels", ANY), "channel", ChannelModel),
    (("instructions", ANY), "instruction", InstructionModel),
    (("instructions", ANY, "extents", ANY), "extent", ExtentModel),
    (("instructions", ANY, "operands", ANY), "operand", OperandModel),
    (("instructions", ANY, "operands", ANY, "strides", ANY), "stride", StrideModel),
    (("instructions", ANY, "repeat", ANY), "repeat", RepeatModel),
    (("instructions", ANY, "repeat", ANY, "strides", ANY), "stride", StrideModel),
    (("instructions", ANY, "immediates", ANY), "immediate", ImmediateModel),
    (("instructions", ANY, "stream"), "stream", StreamModel),
    (("instructions", ANY, "emit"), "emit", EmitModel),
    (("instructions", ANY, "emit", "c"), "C text", CModel),
    (("instructions", ANY, "emit", "bits"), "bits", BitsModel),
    (("instructions", ANY, "emit", "bits", "commands", ANY), "command", CommandModel),
    (("instructions", ANY, "emit", "bits", "entries", ANY), "entries", EntriesModel),
    (("compiler",), "compiler", CompilerModel),
    (("host",), "host", HostModel),
    (("cores",), "cores", CoresModel),
    (("state", ANY), "state", StateModel),
    (("state", ANY, "set_by"), "command", CommandModel),
    (("assembly",), "assembly", AssemblyModel),
    (("encoding",), "encoding", EncodingModel),
    (("encoding", "base"), "base", BaseAddressModel),
    (("encoding", "formats", ANY), "format", FormatModel),
    (("encoding", "formats", ANY, "fields", ANY), "field", FieldModel),
    (("encoding", "tables", ANY), "table", TableModel),
    (("encoding", "tables", ANY, "load"), "command", CommandModel),
    (("encoding", "end"), "end", EndModel),
    (("encoding", "end", "command"), "command", CommandModel),
    (("encoding", "idle"), "command", CommandModel),
    (("distances", ANY), "distance", DistanceModel),
)
EXPECTED = {
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "too_short": "at least one entry",
    "string_too_short": "text that is not empty",
}


class _Error(TypedDict):
    """The part of pydantic's error records that is used here."""

    type: str
    loc: Path
    msg: str
    expected: str


def validate(document: Document, problems: Problems) -> HardwareModel | None:
    """The hardware file as models; None if anything does not fit the schema."""
    return validate_as(document, problems, HardwareModel, MODELS)


def validate_as(
    document: Document, problems: Problems, root: type[Root], models: Models
) -> Root | None:
    """The file as a model `root`; None if anything does not fit. `models`: of its entries, `root`
    first."""
    try:
        return root.model_validate(document.data)
    except ValidationError as error:
        records = error.errors(include_url=False)
        within = {record["loc"][:end] for record in records for end in range(len(record["loc"]))}
        for record in records:
            if record["type"] == "too_short" and record["loc"] in within:
                continue  # not empty: its entries are wrong, and pydantic counts the others
            expected = str(record.get("ctx", {}).get("expected", ""))
            problems.add(
                _translate(
                    {
                        "type": record["type"],
                        "loc": record["loc"],
                        "msg": record["msg"],
                        "expected": expected,
                    },
                    document,
                    models,
                )
            )
        return None


def _translate(error: _Error, document: Document, models: Models) -> SpecError:
    path = error["loc"]
    key = str(path[-1]) if path else ""
    owner, model = _owner(path[:-1], models)
    named = _named(path) or models[0][1]
    fields = [f.alias or n for n, f in model.model_fields.items() if f.alias != "="]
    loc: Loc = document.loc(path)
    match error["type"]:
        case "extra_forbidden":
            hint = closest(key, fields) or f"keys are: {', '.join(fields)}"
            return SpecError(
                f"unknown key '{key}' in {owner}", loc=document.key_loc(path), hint=hint
            )
        case "missing":
            field = next(f for n, f in model.model_fields.items() if key in (n, f.alias))
            loc = document.missing_loc(path)
            return SpecError(f"{owner} has no '{key}'", loc=loc, hint=field.description or "")
        case "literal_error":
            value = _value_at(document, path)
            names = [
                name.strip("'") for name in error["expected"].replace(" or ", ", ").split(", ")
            ]
            hint = " ".join(
                filter(None, (closest(str(value), names), f"one of: {', '.join(names)}"))
            )
            return SpecError(f"'{value}' is no choice for '{named}'", loc=loc, hint=hint)
        case kind if kind in EXPECTED:
            message = f"'{named}' must be {EXPECTED[kind]}"
            return SpecError(message, loc=loc, hint=_describe(path, model))
        case _:
            return SpecError(f"'{named}': {error['msg']}", loc=loc)


def _owner(path: Path, models: Models) -> tuple[str, type[BaseModel]]:
    """What the entry at `path` is called, and its model."""
    for pattern, what, model in models:
        if len(pattern) == len(path) and all(
            p in (ANY, k) for p, k in zip(pattern, path, strict=True)
        ):
            named = pattern and pattern[-1] == ANY
            return (f"{what} '{path[-1]}'" if named else what), model
    return _owner(path[:-1], models)


def _named(path: Path) -> str:
    """The last key of `path` that a person wrote; empty at the top of the file."""
    keys = [str(key) for key in path if isinstance(key, str) and key != "="]
    return keys[-1] if keys else ""


def _describe(path: Path, model: type[BaseModel]) -> str:
    for name, field in model.model_fields.items():
        if path and path[-1] in (name, field.alias):
            return field.description or ""
    return ""


def _value_at(document: Document, path: Path) -> object:
    value: object = document.data
    for key in path:
        if isinstance(value, dict):
            value = value.get(key, value)
        elif isinstance(value, list) and isinstance(key, int):
            value = value[key]
    return value
