"""A schedule file as models that remember where everything stood.

In: a path. Out: a `ScheduleFile`. Not its job: whether its names exist and its rules hold
(`rebuild`).
"""

from dataclasses import dataclass
from pathlib import Path

from isamap.errors import SpecErrors
from isamap.hwdesc import ANY, Models, Problems, Reader, read_document, validate_as

from .schema import (
    FORMAT,
    HardwareRef,
    KernelRef,
    OperandRef,
    Options,
    Recorded,
    RewriteRef,
    ScheduleModel,
    StayRef,
    TaskRef,
)

MODELS: Models = (
    ((), "schedule file", ScheduleModel),
    (("kernel",), "kernel", KernelRef),
    (("hardware",), "hardware", HardwareRef),
    (("options",), "options", Options),
    (("rewrites", ANY), "rewrite", RewriteRef),
    (("tasks", ANY), "task", TaskRef),
    (("tasks", ANY, "operands", ANY), "operand", OperandRef),
    (("tasks", ANY, "stays", ANY), "stay", StayRef),
    (("recorded",), "recorded", Recorded),
)


@dataclass(frozen=True, slots=True)
class ScheduleFile:
    """The file's content, and a reader that knows its positions and collects mistakes."""

    path: Path
    content: ScheduleModel
    reader: Reader

    def raise_problems(self) -> None:
        """SpecErrors with every mistake found so far, if there are any."""
        if self.reader.problems.count:
            raise SpecErrors(self.reader.problems.sorted())


def read_schedule(path: Path) -> ScheduleFile:
    """Read a schedule file.

    Raises:
        SpecErrors: everything that is wrong in its shape, sorted by position.
    """
    problems = Problems()
    document = read_document(path, problems, first=f"format: {FORMAT}")
    content = validate_as(document, problems, ScheduleModel, MODELS) if document else None
    if content is None or document is None or problems.count:
        raise SpecErrors(problems.sorted())
    return ScheduleFile(path, content, Reader(document, problems, {}))
