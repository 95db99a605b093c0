"""Plain values as one line of YAML.

In: text, numbers, lists, mappings. Out: flow-style text that reads back as the same values. Not its
job: the order of keys, comments.
"""

import json
import re
from collections.abc import Mapping, Sequence

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
WORDS = {"true", "false", "null", "yes", "no", "on", "off"}  # some reader's booleans

Value = None | bool | int | float | str | Sequence["Value"] | Mapping[str, "Value"]


def yaml_text(value: Value) -> str:
    """`{m: 64, names: [a, "b c"]}`."""
    match value:
        case str():
            is_plain = PLAIN.fullmatch(value) and value.lower() not in WORDS
            return value if is_plain else json.dumps(value, ensure_ascii=False)
        case None | bool() | int() | float():
            return json.dumps(value)
        case Mapping():
            return (
                "{" + ", ".join(f"{yaml_text(k)}: {yaml_text(v)}" for k, v in value.items()) + "}"
            )
        case _:
            return "[" + ", ".join(yaml_text(item) for item in value) + "]"
