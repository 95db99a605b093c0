"""A small right hardware file, and edits that make it wrong."""

from dataclasses import dataclass
from pathlib import Path

from isamap.errors import IsamapError
from isamap.hwdesc import check_hardware

TINY = """\
name: tiny
clock: 1 GHz
synchronisation: interlocked
parameters: {dim: 4}
memories:
  dram: {kind: external, size: 1 GiB, source: estimate}
  sram:
    kind: managed
    size: 1 KiB
    granule: 4 bytes
    ports: {read: 4 bytes/cycle, write: 4 bytes/cycle}
    source: "Tiny manual, section 1"
units: {dma: {}, matrix: {count: 1}}
instructions:
  load:
    semantics: |
      S, D = In(i32, dim), Out(i32, dim)
      for n in range(dim):
        D[n] = S[n]
    extents: {n: at_most}
    operands:
      S: {memory: dram, strides: [free]}
      D: {memory: sram, strides: [4 bytes]}
    unit: dma
    issue: n cycles
    source: "Tiny manual, section 2"
  scale:
    semantics: |
      X = InOut(i32, dim)
      for n in range(dim):
        X[n] = X[n] * factor
    extents: {n: {multiple_of: 2}}
    operands: {X: sram}
    repeat: {times: {at_most: 8, strides: {X: {multiple_of: 4 bytes, at_most: 64 bytes}}}}
    immediates: {factor: {min: 0, max: 15}}
    unit: matrix
    issue: n * times cycles
    latency: 2 + n * times cycles
    accumulate: 1 cycle
    energy: 0.5 * n pJ
    source: estimate
  store:
    semantics: |
      S, D = In(i32, dim), Out(i32, dim)
      for n in range(dim):
        D[n] = S[n]
    extents: {n: exactly}
    operands: {S: sram, D: dram}
    unit: dma
    issue: dim cycles
    emit: {asm: "st"}
    source: estimate
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One edit of TINY; where the caret must stand, what must be said."""

    old: str
    new: str
    at: str
    message: str
    hint: str


def errors_of(text: str, folder: Path) -> tuple[IsamapError, ...]:
    """Everything wrong in a file with this text."""
    file = folder / "tiny.yaml"
    file.write_text(text)
    return check_hardware(file)


def check_case(case: Case, folder: Path) -> None:
    """The edit gives one such error, at the place and with the hint that the case names."""
    text = TINY.replace(case.old, case.new, 1)
    assert text != TINY
    errors = errors_of(text, folder)
    matching = [error for error in errors if error.message.startswith(case.message)]
    assert len(matching) == 1, [str(error) for error in errors]
    error = matching[0]
    assert case.hint in error.hint
    assert error.loc is not None
    assert error.loc.text == text.split("\n")[error.loc.line - 1]
    assert error.loc.text[error.loc.column - 1 :].startswith(case.at)
