"""Text of an instruction with holes, `{C} = _mm512_fmadd_ps({A}, {B}, {C});`, and of what is
around it.

In: the text of `emit: c` or `emit: asm`, the names that holes may use. Out: a frozen template.
Not its job: what stands in the holes of a particular call (`codegen`).

A hole is an operand (`{A}`: its variable, or a pointer to its first element) or an expression over
the instruction's loops (extents of the call), immediates, parameters, `A_at` (the operand's address
in its memory) and `A_stride0` (bytes between neighbours along its dimension 0), for example
`{A_stride0 / 4}`. `{{` and `}}` are braces.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from isamap.errors import Loc, SpecError

from .expression import Expression


@dataclass(frozen=True, slots=True)
class OperandHole:
    """The operand called `name`."""

    name: str


Part = str | OperandHole | Expression
VOLATILE = re.compile(r"\b(__)?asm(__)?\s+(__)?volatile")


@dataclass(frozen=True, slots=True)
class CTemplate:
    """Text, operands and numbers, in order."""

    parts: tuple[Part, ...]

    @property
    def operands(self) -> tuple[str, ...]:
        """Operands that stand in a hole of their own."""
        return tuple(part.name for part in self.parts if isinstance(part, OperandHole))

    @property
    def is_volatile(self) -> bool:
        """Is it assembly that a compiler runs as often as it stands there?"""
        return any(isinstance(part, str) and VOLATILE.search(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class CForm:
    """How a call is written in C. `partial`: where an extent may be less than its maximum, if that
    is written otherwise (with a mask)."""

    full: CTemplate
    partial: CTemplate | None = None


@dataclass(frozen=True, slots=True)
class CopyForm:
    """How one register's bytes are brought to memory and back in C.

    Holes: `{bytes}`, a pointer to a granule's room; `{register}`, its variable; `at`, its address
    in its memory.
    """

    save: CTemplate
    restore: CTemplate


@dataclass(frozen=True, slots=True)
class PrefetchForm:
    """How C asks a cache for a line (hole: `{line}`, a pointer into it), and how many cycles before
    it is used; `walk`: how it asks in loops that move along a single row, however fast they are
    (None: as elsewhere, where they are not too fast), except for what these read once of arrays of
    at least `once_from_bytes`, which `c` asks for `once_bytes` ahead (0: `walk` does)."""

    ahead_cycles: float
    c: CTemplate
    walk: CTemplate | None = None
    once_bytes: int = 0
    once_from_bytes: int = 0


COPY_OPERANDS, COPY_NUMBERS = ("bytes", "register"), ("at",)


@dataclass(frozen=True, slots=True)
class CompilerRule:
    """How C for the machine is compiled and run.

    `command` None: the system's compiler. `preamble`: C before every function; `functions`: C of
    those that programs may call, by name; `begin`, `end`: around a program's body.
    `features`: of the processor, as /proc/cpuinfo spells them. `run`: what runs the programs, none
    on the machine itself. `packages`: where compiler and emulator come from. `unrolled_calls`: so
    many at most in rounds of an innermost loop that are compiled as one, all of them or four.
    `around`: memories whose use asks for `begin` and `end` (none: every program asks).
    """

    command: str | None = None
    flags: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    preamble: str = ""
    functions: tuple[tuple[str, str], ...] = ()
    begin: str = ""
    end: str = ""
    features: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    unrolled_calls: int = 0
    around: tuple[str, ...] = ()

    def using(self, memories: Collection[str]) -> "CompilerRule":
        """The rule for programs that use these memories only."""
        if not self.around or any(name in memories for name in self.around):
            return self
        return replace(self, begin="", end="")

    def preamble_for(self, text: str) -> list[str]:
        """Lines before C text: the preamble, and the functions that the text names, after those
        that they name."""
        known = dict(self.functions)
        used: dict[str, str] = {}

        def add(text: str) -> None:
            for name in sorted(known.keys() & set(re.findall(r"\w+", text))):
                body = known.pop(name, None)
                if body is not None:
                    add(body)
                    used[name] = body

        add(text)
        return [line for part in (self.preamble, *used.values()) for line in part.splitlines()]


@dataclass(frozen=True, slots=True)
class AssemblyRule:
    """What stands around the calls. `comment` begins one; `extension`: of the file.

    `registers`: per memory, the name of each granule (holes: `number` counts granules, `address`
    bytes). `begin`, `end`: around each run (hole: `name`).
    """

    extension: str = "s"
    comment: str = "#"
    registers: tuple[tuple[str, CTemplate], ...] = ()
    begin: CTemplate = CTemplate(())
    end: CTemplate = CTemplate(())


@dataclass(frozen=True, slots=True)
class HoleNames:
    """What holes may name."""

    operands: Collection[str]
    numbers: Collection[str]
    parameters: Mapping[str, int]


def parse_c_template(text: str, names: HoleNames, locate: Callable[[int], Loc]) -> CTemplate:
    """Read a template; `locate` gives the place of the text's n-th character.

    Raises:
        SpecError: a brace without its partner, an empty hole, an unknown name in a hole.
    """
    parts: list[Part] = []
    literal = ""
    at = 0
    while at < len(text):
        end = text.find("}", at)
        if text[at : at + 2] in ("{{", "}}"):
            literal += text[at]
            at += 2
        elif text[at] == "{" and end > 0:
            parts += [literal, _parse_hole(text[at + 1 : end], names, locate(at + 1))]
            literal, at = "", end + 1
        elif text[at] in "{}":
            other = "}" if text[at] == "{" else "{"
            raise SpecError(
                f"'{text[at]}' without '{other}' in C text",
                loc=locate(at),
                hint=f"write '{text[at] * 2}' for a brace of C",
            )
        else:
            literal += text[at]
            at += 1
    parts.append(literal)
    return CTemplate(tuple(part for part in parts if part != ""))


def _parse_hole(text: str, names: HoleNames, loc: Loc) -> Part:
    if text.strip() in names.operands:
        return OperandHole(text.strip())
    if not text.strip():
        raise SpecError("empty hole in C text", loc=loc, hint="write '{{}}' for braces of C")
    known = [*names.numbers, *names.operands]
    expression = Expression.parse(text, loc, known, names.parameters)
    inside = [name for name in expression.names if name in names.operands]
    if inside:
        hint = f"'{inside[0]}_at' is its address, '{inside[0]}_stride0' a distance in bytes"
        raise SpecError(f"operand '{inside[0]}' is no number", loc=loc, hint=hint)
    return expression
