"""Leaves that all parts of a hardware file's schema share.

In: plain data. Out: text. Not its job: the entries themselves (`schema`, `schema_encoding`).
"""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticKnownError


def _as_text(value: object) -> object:
    """Numbers become text, so that `units` can say which unit is missing."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _whole(value: object) -> object:
    """Text of a whole number or an expression; what is neither lacks a whole number, not text."""
    return _or_error(value, PydanticKnownError("int_type"))


def _real(value: object) -> object:
    """As `_whole`, of any number."""
    return _or_error(value, PydanticKnownError("float_type"))


def _or_error(value: object, error: PydanticKnownError) -> object:
    text = _as_text(value)
    if not isinstance(text, str):
        raise error
    return text


def short_form(key: str, model: object = None) -> BeforeValidator:
    """`x` for `{key: x}`; `model` is what the JSON Schema says."""

    def expand(value: object) -> object:
        return value if isinstance(value, dict | BaseModel) else {key: _as_text(value)}

    return BeforeValidator(expand, json_schema_input_type=model)


Text = Annotated[str, Field(min_length=1)]
Amount = Annotated[str, BeforeValidator(_as_text)]
Integer = Annotated[
    str,
    BeforeValidator(_whole),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
]
Number = Annotated[
    str,
    BeforeValidator(_real),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]}),
]
SOURCE = "Where the figures come from: document and section; a guess says 'estimate'."


class Model(BaseModel):
    """Unknown keys are errors; instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)
