"""Concrete calls of a binary program: every number is known.

In: nothing but these nodes. Out: frozen values. Not its job: making them (`flatten`), bits.

Calls that differ in nothing but numbers stand together, one column per number, so that programs of
millions of calls are handled by a few operations on arrays.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from isamap.hwdesc import Hardware

Column = int | np.ndarray  # the same number in all calls, or [n] i64


class CallKind(Enum):
    """What a record of a binary program is for."""

    INSTRUCTION = "instruction"
    LOAD_TABLE = "load"  # brings entries of a table into the machine
    SET_STATE = "set"  # sets the registers of a copy of a state
    IDLE = "idle"  # cycles in which nothing starts
    END = "end"  # ends the run


@dataclass(frozen=True, slots=True)
class Form:
    """What calls have in common. `name`: of the instruction, table or state.

    `fresh`: latched operands, or entries of fifos, that the calls find newly loaded; whether they
    begin or end a chain. `copies`: per obeyed state with several copies, the one they obey.
    """

    kind: CallKind
    name: str
    pops: tuple[str, ...] = ()
    pushes: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()
    copies: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """Calls of one form. `places`: [n] i64, ascending: where each stands among all of its run.

    `values`: their quantities (`hwdesc.quantities`). `starts`: [n], the cycle in which each starts,
    where the program says so.
    """

    form: Form
    places: np.ndarray
    values: Mapping[str, Column]
    starts: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.places)

    def take(self, chosen: np.ndarray, form: Form | None = None) -> "Calls":
        """Some of them (a mask or indices), under another form if given."""
        values = {n: v if isinstance(v, int) else v[chosen] for n, v in self.values.items()}
        starts = None if self.starts is None else self.starts[chosen]
        return Calls(form or self.form, self.places[chosen], values, starts)

    def row(self, number: int) -> dict[str, int]:
        """The quantities of one of them."""
        return {n: v if isinstance(v, int) else int(v[number]) for n, v in self.values.items()}

    def column(self, name: str) -> np.ndarray:
        """One quantity, a number per call."""
        value = self.values[name]
        return np.full(len(self), value) if isinstance(value, int) else value

    def with_values(self, values: Mapping[str, Column]) -> "Calls":
        """The same calls with further quantities, or others."""
        return replace(self, values={**self.values, **values})


def one_call(form: Form, place: int, values: Mapping[str, int]) -> Calls:
    """A single call."""
    return Calls(form, np.array([place]), dict(values))


def split_by(keys: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(key, mask of the rows that have it) for every key; keys: [n] or [n, m]."""
    if len(keys) and (keys == keys[0]).all():
        yield keys[0], np.ones(len(keys), bool)
        return
    distinct, numbers = np.unique(keys, axis=0, return_inverse=True)
    for number, key in enumerate(distinct):
        yield key, numbers.reshape(-1) == number


def in_order(batches: Iterable[Calls]) -> tuple[Calls, ...]:
    """The same calls with places 0, 1, ..; equal places keep the order of the batches."""
    kept = [calls for calls in batches if len(calls)]
    if not kept:
        return ()
    ranks = rank(np.concatenate([calls.places for calls in kept]))
    ends = np.cumsum([len(calls) for calls in kept])
    parts = np.split(ranks, ends[:-1])
    return tuple(replace(calls, places=part) for calls, part in zip(kept, parts, strict=True))


def rank(keys: np.ndarray) -> np.ndarray:
    """Where each stands when sorted; equal ones keep their order."""
    found = np.empty(len(keys), np.int64)
    found[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    return found


def count_calls(batches: Iterable[Calls]) -> int:
    """How many calls there are."""
    return sum(len(calls) for calls in batches)


@dataclass(frozen=True, slots=True)
class HostStep:
    """A call that the machine's host runs between two runs of the machine: which (a kernel of that
    name), and where each operand lies."""

    name: str
    operands: tuple[tuple[str, int, tuple[int, ...]], ...]  # name, byte address, byte strides


@dataclass(frozen=True, slots=True)
class Run:
    """Calls that the machine executes from an entry to the end."""

    calls: tuple[Calls, ...]


Part = Run | HostStep


@dataclass(frozen=True, slots=True)
class TableRange:
    """`entries`: records of a table, as they lie at byte `address` of the image."""

    table: str
    address: int
    entries: tuple[int, ...]


def unit_of(form: Form, hw: Hardware) -> str:
    """The unit that executes calls of a form ('' for idle cycles, where nothing ends a run)."""
    assert hw.encoding is not None
    match form.kind:
        case CallKind.INSTRUCTION:
            return hw.instruction(form.name).unit
        case CallKind.LOAD_TABLE:
            return hw.encoding.table(form.name).unit
        case CallKind.SET_STATE:
            return hw.encoding.state(form.name).unit
        case CallKind.END | CallKind.IDLE:
            return hw.encoding.ending.unit if hw.encoding.ending is not None else ""
