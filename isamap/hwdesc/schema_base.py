"""Leaves that all parts of a hardware file's schema share.

In: plain data. Out: text. Not its job: the entries themselves (`schema`, `schema_encoding`).
"""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema


def _as_text(value: object) -> object:
    """Numbers become text, so that `units` can say which unit is missing."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def short_form(key: str, model: object = None) -> BeforeValidator:
    """`x` for `{key: x}`; `model` is what the JSON Schema says."""

    def expand(value: object) -> object:
        return value if isinstance(value, dict | BaseModel) else {key: _as_text(value)}

    return BeforeValidator(expand, json_schema_input_type=model)


Text = Annotated[str, Field(min_length=1)]
Amount = Annotated[str, BeforeValidator(_as_text)]
Integer = Annotated[
    str,
    BeforeValidator(_as_text),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
]
Number = Annotated[
    str,
    BeforeValidator(_as_text),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]}),
]
SOURCE = "Where the figures come from: document and section; a guess says 'estimate'."


class Model(BaseModel):
    """Unknown keys are errors; instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)
