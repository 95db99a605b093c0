"""A program as assembly text: one call after another, each as its instruction's text says.

In: a Program and its machine (whose instructions have `emit: asm`), a folder. Out: an assembly
file, a data image and a manifest. Not its job: bits (`encode`), assembling.

Loops are written out. Calls stand in program order (where the program says when they start: by
start), so text of a machine without interlocks needs the machine's own order of issue.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from isamap.errors import ProgramError
from isamap.hwdesc import CTemplate, Expression, Hardware, Instruction, OperandHole
from isamap.ir import Kernel, size_bytes
from isamap.program import Program
from isamap.write_all import make_folder, write_all

from .assemble import data_bytes
from .call import CallKind, Calls, HostStep, Part, Run, count_calls, in_order
from .cut_runs import cut_runs
from .flatten import flatten
from .list_calls import show_host_step
from .manifest import IMAGE, MANIFEST, Json, array_places, manifest_text, show_step
from .write_binary import fill_image
from .write_c import c_name


def write_asm(program: Program, kernel: Kernel, hw: Hardware, folder: str | Path) -> Path:
    """Write the assembly file and the manifest of its arrays; the file's path comes back.

    Raises:
        ProgramError: an instruction has no assembly text, or a loop is spread over cores.
        IsamapError: nothing can be written.
    """
    path = Path(folder) / f"{c_name(program.name)}.{hw.assembly.extension}"
    parts = cut_runs(flatten(program, hw), hw)
    names = _run_names(parts, c_name(program.name))
    text = _text(program, parts, names, hw)
    image = fill_image(program, data_bytes(program))
    placed: Json = {"file": IMAGE, "bytes": image.size, "base": 0, "base_align": 1}
    whole: Json = {"file": path.name, "parts": _parts(parts, names)}
    manifest: dict[str, Json] = {
        "isamap_assembly": 1,
        "kernel": program.name,
        "machine": hw.name,
        "program": whole,
        "image": placed,
        **array_places(program, kernel),
    }
    make_folder(path.parent)
    write_all(
        {
            path: text,
            path.parent / MANIFEST: manifest_text(manifest),
            path.parent / IMAGE: image.tobytes(),
        }
    )
    return path


def _run_names(parts: tuple[Part, ...], name: str) -> tuple[str, ...]:
    """The kernel's name, with a number behind it where there are several runs."""
    count = sum(isinstance(part, Run) for part in parts)
    return tuple(f"{name}_{number}" for number in range(count)) if count > 1 else (name,)


def _parts(parts: tuple[Part, ...], names: tuple[str, ...]) -> list[Json]:
    left = iter(names)
    return [
        {"host": show_step(part)} if isinstance(part, HostStep) else {"run": {"name": next(left)}}
        for part in parts
    ]


def _text(program: Program, parts: tuple[Part, ...], names: tuple[str, ...], hw: Hardware) -> str:
    """Each run of the machine between the file's `begin` and `end`; what the host does between them
    as comments."""
    rule = hw.assembly
    lines = [f"{rule.comment} {program.name} on {hw.name}"]
    left = iter(names)
    for part in parts:
        if isinstance(part, HostStep):
            lines.append(f"{rule.comment} {show_host_step(part)}")
            continue
        name = next(left)
        lines += [*_around(rule.begin, name), *_run_lines(part, hw), *_around(rule.end, name)]
    return "\n".join(lines) + "\n"


def _around(template: CTemplate, name: str) -> list[str]:
    parts = [name if isinstance(part, OperandHole) else str(part) for part in template.parts]
    return "".join(parts).splitlines()


def _run_lines(run: Run, hw: Hardware) -> list[str]:
    batches = in_order(
        calls if calls.starts is None else replace(calls, places=calls.starts)
        for calls in run.calls
        if calls.form.kind is CallKind.INSTRUCTION  # how a run ends is said by the text around it
    )
    texts = [""] * count_calls(batches)
    for calls in batches:
        writer = _Writer(hw, hw.instruction(calls.form.name), calls)
        for row, place in enumerate(calls.places.tolist()):
            texts[place] = writer.text(row)
    return [f"    {line}" for text in texts for line in text.splitlines()]


class _Writer:
    """Writes the calls of one form."""

    def __init__(self, hw: Hardware, instruction: Instruction, calls: Calls) -> None:
        if instruction.asm_form is None and not instruction.is_sync:
            raise ProgramError(
                f"instruction '{instruction.name}' of {hw.name} has no assembly text",
                loc=instruction.loc,
                hint="add 'emit: {asm: ..}' to it",
            )
        self.hw = hw
        self.instruction = instruction
        self.calls = calls
        self.form = instruction.asm_form or CTemplate(())
        self.registers = dict(hw.assembly.registers)
        tokens = [f"pop {c}" for c in calls.form.pops] + [f"push {c}" for c in calls.form.pushes]
        self.note = f"  {hw.assembly.comment} {', '.join(tokens)}" if tokens else ""

    def text(self, row: int) -> str:
        """One call, its tokens in a comment."""
        values = self.calls.row(row)
        numbers = self._numbers(values)
        parts = []
        for part in self.form.parts:
            match part:
                case str():
                    parts.append(part)
                case OperandHole(name):
                    parts.append(self._operand(name, values))
                case Expression():
                    parts.append(_number(part, numbers))
        return "".join(parts).strip() + self.note

    def _numbers(self, values: Mapping[str, int]) -> dict[str, int]:
        """Everything that an expression may name."""
        found = {name: value for name, value in values.items() if "." not in name}
        for rule in self.instruction.operands:
            found[f"{rule.name}_at"] = values[rule.name]
            for dim, index in enumerate(self.instruction.access(rule.name).indices):
                strides = [values[f"{rule.name}.{loop}"] // factor for loop, factor in index.terms]
                found[f"{rule.name}_stride{dim}"] = strides[0] if strides else 0
            for repeat in self.instruction.repeats:
                step = values[f"{rule.name}.{repeat.name}"]
                found[f"{rule.name}_step_{repeat.name}"] = step
        return found

    def _operand(self, name: str, values: Mapping[str, int]) -> str:
        """The names of its registers, or its address."""
        rule = self.instruction.operand(name)
        template = self.registers.get(rule.memory)
        if template is None:
            return str(values[name])
        granule = self.hw.memory(rule.memory).granule_bytes
        first, end = _span(self.instruction, name, values)
        return ", ".join(
            "".join(
                part
                if isinstance(part, str)
                else _number(part, {"number": at // granule, "address": at})
                for part in template.parts
                if not isinstance(part, OperandHole)
            )
            for at in range(first // granule * granule, end, granule)
        )


def _span(instruction: Instruction, operand: str, values: Mapping[str, int]) -> tuple[int, int]:
    """The first byte of an operand and the place behind its last."""
    buffer = instruction.semantics.buffer(operand)
    last = 0
    for index in instruction.access(operand).indices:
        for loop, _ in index.terms:
            last += values[f"{operand}.{loop}"] * (values[loop] - 1)
    return values[operand], values[operand] + last + size_bytes(buffer.dtype)


def _number(expression: Expression, values: Mapping[str, int]) -> str:
    """An exact number: whole ones as such."""
    value: Fraction = expression.evaluate_exact(values)
    return str(value.numerator) if value.denominator == 1 else str(float(value))
