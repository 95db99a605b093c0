"""How a machine's programs are written as assembly text.

In: a checked model and a reader. Out: `AssemblyRule`; mistakes are recorded. Not its job: the text
of each instruction (`build_instruction`), filling holes (`codegen`).
"""

from functools import partial

from .c_form import AssemblyRule, CTemplate, HoleNames, parse_c_template
from .document import Path
from .reader import Reader
from .schema import HardwareModel


def build_assembly(model: HardwareModel, reader: Reader) -> AssemblyRule:
    """The rule, a plain one where the file says nothing."""
    entry = model.assembly
    if entry is None:
        return AssemblyRule()
    registers: list[tuple[str, CTemplate]] = []
    names = HoleNames((), ("number", "address"), reader.parameters)
    for memory, text in entry.registers.items():
        path: Path = ("assembly", "registers", memory)
        if reader.known("memory", memory, model.memories, path):
            registers += [(memory, made) for made in _template(text, names, path, reader)]
    around = HoleNames(("name",), (), reader.parameters)
    begin = _template(entry.begin or "", around, ("assembly", "begin"), reader)
    end = _template(entry.end or "", around, ("assembly", "end"), reader)
    if not (begin and end):
        return AssemblyRule()
    return AssemblyRule(entry.extension, entry.comment, tuple(registers), begin[0], end[0])


def _template(text: str, names: HoleNames, path: Path, reader: Reader) -> list[CTemplate]:
    """The text with its holes; nothing if it has a mistake."""
    if not text:
        return [CTemplate(())]
    with reader.problems.caught():
        locate = partial(reader.document.loc_inside, path, text)
        return [parse_c_template(text, names, locate)]
    return []
