"""The JSON Schema of files that may build on another one.

In: the model of a whole file. Out: its schema, and beside it the schema of a patch. Not its job:
the models.

A file with `base` is a JSON Merge Patch: nothing in its mappings is required but a name and a
source, null removes. Lists in it are whole, as what is in them.
"""

from pydantic import BaseModel

from .overlay import BASE, OWN

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
PATCH = "Patch"  # a definition's name in a patch ends with it
REFERENCE = "#/$defs/"
TEXT: dict[str, Json] = {"anyOf": [{"type": "string", "minLength": 1}]}


def make_json_schema(model: type[BaseModel]) -> dict[str, object]:
    """JSON Schema (2020-12); files with `base` are held against the patch's half."""
    whole = model.model_json_schema(by_alias=True)
    definitions = {**whole.pop("$defs"), model.__name__: whole}
    patches = {f"{name}{PATCH}": _patch_of(entry) for name, entry in definitions.items()}
    own = {key: {**whole["properties"][key], **TEXT} for key in (BASE, *OWN)}
    top = patches[model.__name__ + PATCH]
    top["required"] = list(own)
    top["properties"] = {**_entries(top["properties"]), **own}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "if": {"required": [BASE]},
        "then": {"$ref": f"{REFERENCE}{model.__name__}{PATCH}"},
        "else": {"$ref": f"{REFERENCE}{model.__name__}"},
        "$defs": {**definitions, **patches},
    }


def _patch_of(schema: dict[str, Json]) -> dict[str, Json]:
    """What may stand in a patch where `schema` holds in the whole."""
    result: dict[str, Json] = {}
    for key, value in schema.items():
        match key, value:
            case (("required" | "minProperties"), _):
                continue
            case "$ref", str():
                result[key] = value + PATCH
            case "anyOf", list():
                result[key] = [_patch_of(_entries(choice)) for choice in value]
            case "properties", dict():
                result[key] = {name: _or_null(_entries(entry)) for name, entry in value.items()}
            case "additionalProperties", dict():
                result[key] = _or_null(value)
            case _:
                result[key] = value
    return result


def _or_null(schema: dict[str, Json]) -> Json:
    """The same in a patch, or null; the description stays where editors look for it."""
    patch = _patch_of(schema)
    result: dict[str, Json] = {"anyOf": [patch, {"type": "null"}]}
    return result | {key: patch.pop(key) for key in ("description", "title") if key in patch}


def _entries(value: Json) -> dict[str, Json]:
    assert isinstance(value, dict)
    return value
