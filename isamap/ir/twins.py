"""Large frozen values that are compared in depth once.

In: two values of one class. Out: are they equal? Not its job: hashes.

What is remembered of machines and coverings is looked up thousands of times, often by one that was
built anew, such as the same file read again.
"""

from dataclasses import fields
from typing import Any


def are_equal(one: Any, other: Any) -> bool:
    """Are two dataclass values of one class equal? `_hash` must be equal where they are, and
    `_twins` may be set: a token that only values share which are known to be equal, or None."""
    if one._hash != other._hash:
        return False
    if one._twins is not None and one._twins is other._twins:
        return True
    names = (field.name for field in fields(one) if field.compare)
    if any(getattr(one, name) != getattr(other, name) for name in names):
        return False
    # of two tokens always the same one: a third value's would else come and go
    token = min([t for t in (one._twins, other._twins) if t is not None], key=id, default=object())
    for value in (one, other):
        object.__setattr__(value, "_twins", token)
    return True
