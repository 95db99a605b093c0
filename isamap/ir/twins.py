"""Large frozen values that are compared in depth once.

In: two values of one class. Out: are they equal? Not its job: hashes.

What is remembered of machines and coverings is looked up thousands of times, often by one that was
built anew, such as the same file read again.
"""

from dataclasses import fields
from typing import Any


def are_equal(one: Any, other: Any) -> bool:
    """Are two dataclass values of one class equal? `_hash` must be equal where they are, and
    `_twin` may be set: one that is known to be equal."""
    if one._hash != other._hash:
        return False
    if one._twin is other or other._twin is one:
        return True
    names = (field.name for field in fields(one) if field.compare)
    if any(getattr(one, name) != getattr(other, name) for name in names):
        return False
    object.__setattr__(other, "_twin", one)
    return True
