"""Records back to calls.

In: a run's bytes, the image's bytes, the machine. Out: its calls in normal form, equal to those
that were written. Not its job: files, which patterns there are (`patterns`), their numbers
(`solve_calls`).

All places where a record may begin are looked at together. Each takes the first pattern that fits
its bits; where that one's numbers then contradict each other, the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware

from .call import CallKind, Calls, in_order
from .encode import LIMB_BITS
from .normal_form import bits_by_name, normal_form
from .patterns import Pattern, make_patterns
from .solve_calls import Solver, read_limbs

NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """A run's bytes: `limbs` of the record of each size at every place (`step` bytes apart)."""

    step: int
    num_places: int
    limbs: Mapping[int, np.ndarray]


class Decoder:
    """Reads runs; `constants`: the base address and where blocks of zeros lie."""

    def __init__(self, hw: Hardware, image: bytes, constants: Mapping[str, int]) -> None:
        assert hw.encoding is not None
        self.hw = hw
        self.byte_order = hw.encoding.byte_order
        self.bits = bits_by_name(hw)
        self.patterns = make_patterns(hw, constants)
        self.solver = Solver(hw, image, constants)
        sizes = {s.layout.size_bytes for p in self.patterns for s in p.shapes}
        self.record_sizes = tuple(sorted(sizes))

    def decode(self, data: bytes) -> tuple[Calls, ...]:
        """The calls of one run, in normal form.

        Raises:
            ProgramError: bytes that are no call of this machine.
        """
        if not data:
            return ()
        reading = self._read(data)
        fits = np.stack([self._fits(pattern, reading) for pattern in self.patterns])
        while True:
            starts, chosen = self._walk(fits, reading)
            found, wrong = self._solve(starts, chosen, reading)
            if len(wrong):
                self._refuse(fits, wrong, starts, chosen)
                continue
            end = _end(starts, chosen, self.patterns, reading)
            if end * reading.step < len(data):
                self._fail(data, end * reading.step)
            merged = _merge_idle(found, starts)
            return in_order(own for calls in merged for own in normal_form(calls, self.bits))

    def _read(self, data: bytes) -> _Reading:
        step = gcd(*self.record_sizes)
        num_places = -(-len(data) // step)
        padded = np.frombuffer(data + bytes(2 * max(self.record_sizes)), np.uint8)
        limbs = {}
        for size in self.record_sizes:
            rows = np.arange(num_places)[:, None] * step + np.arange(size)
            limbs[size] = read_limbs(padded[rows], self.byte_order)
        return _Reading(step, num_places, limbs)

    def _fits(self, pattern: Pattern, reading: _Reading) -> np.ndarray:
        """At which places the constant bits of all its records are found."""
        holds = np.ones(reading.num_places, bool)
        offset = 0
        for shape in pattern.shapes:
            limbs = _shifted(reading.limbs[shape.layout.size_bytes], offset)
            for number in range(limbs.shape[1]):
                mask = np.uint64(shape.mask >> number * LIMB_BITS & (1 << LIMB_BITS) - 1)
                word = np.uint64(shape.word >> number * LIMB_BITS & (1 << LIMB_BITS) - 1)
                holds &= limbs[:, number] & mask == word
            offset += shape.layout.size_bytes // reading.step
        holds[max(0, reading.num_places - offset + 1) :] = False
        return holds

    def _walk(self, fits: np.ndarray, reading: _Reading) -> tuple[np.ndarray, np.ndarray]:
        """Where calls begin, one after another while any pattern fits, and which each takes."""
        choice = np.where(fits.any(axis=0), fits.argmax(axis=0), NONE).tolist()
        lengths = [pattern.size_bytes // reading.step for pattern in self.patterns]
        starts = []
        place = 0
        while place < reading.num_places and choice[place] != NONE:
            starts.append(place)
            place += lengths[choice[place]]
        return np.array(starts, np.int64), np.array([choice[p] for p in starts], np.int64)

    def _solve(
        self, starts: np.ndarray, chosen: np.ndarray, reading: _Reading
    ) -> tuple[list[Calls], np.ndarray]:
        """The calls, and the places whose numbers contradict each other."""
        found: list[Calls] = []
        wrong: list[np.ndarray] = []
        self.solver.begin()
        by_kind = sorted(  # tables and states first: instructions depend on them
            range(len(self.patterns)),
            key=lambda n: self.patterns[n].form.kind is CallKind.INSTRUCTION,
        )
        for number in by_kind:
            pattern, places = self.patterns[number], starts[chosen == number]
            if not len(places):
                continue
            records = []
            offset = 0
            for shape in pattern.shapes:
                records.append(reading.limbs[shape.layout.size_bytes][places + offset])
                offset += shape.layout.size_bytes // reading.step
            calls, refused = self.solver.solve(pattern, places, records)
            found += calls
            wrong.append(refused)
        return found, np.sort(np.concatenate([np.zeros(0, np.int64), *wrong]))

    def _refuse(
        self, fits: np.ndarray, wrong: np.ndarray, starts: np.ndarray, chosen: np.ndarray
    ) -> None:
        """Let wrong places take their next pattern; in place.

        What follows the first one was judged under what stood there. So all others wait, unless no
        refusal moves the calls behind it or changes what the machine holds.
        """
        taken = dict(zip(starts.tolist(), chosen.tolist()))
        rows = [taken[place] for place in wrong.tolist()]
        fits[rows, wrong] = False
        after = np.where(fits[:, wrong].any(axis=0), fits[:, wrong].argmax(axis=0), NONE).tolist()
        if not all(self._is_alike(a, b) for a, b in zip(rows, after)):
            fits[rows[1:], wrong[1:]] = True

    def _is_alike(self, first: int, second: int) -> bool:
        if NONE in (first, second):
            return False
        a, b = self.patterns[first], self.patterns[second]
        both_act = a.form.kind is b.form.kind is CallKind.INSTRUCTION
        return both_act and a.size_bytes == b.size_bytes

    def _fail(self, data: bytes, position: int) -> None:
        shown = data[position : position + 16].hex(" ")
        raise ProgramError(
            f"byte {position}: {shown} .. is no instruction of {self.hw.name}",
            hint="is it the right machine, and does the program begin here?",
        )


def _shifted(limbs: np.ndarray, places: int) -> np.ndarray:
    """Each place's record is that of a later one; behind the end nothing fits anyway."""
    if places == 0:
        return limbs
    return np.concatenate([limbs[places:], np.zeros_like(limbs[:places])])


def _end(
    starts: np.ndarray, chosen: np.ndarray, patterns: tuple[Pattern, ...], reading: _Reading
) -> int:
    """The place behind the last call."""
    if not len(starts):
        return 0
    return int(starts[-1]) + patterns[int(chosen[-1])].size_bytes // reading.step


def _merge_idle(found: list[Calls], starts: np.ndarray) -> list[Calls]:
    """Idle cycles that follow each other are one call."""
    result = []
    for calls in found:
        if calls.form.kind is CallKind.IDLE:
            numbers = np.searchsorted(starts, calls.places)
            firsts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
            lengths = np.diff(np.append(firsts, len(numbers)))
            calls = replace(calls.take(firsts), values={"cycles": lengths})
        result.append(calls)
    return result
