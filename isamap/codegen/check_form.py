"""Can a machine's programs be written in a form at all?

In: a machine, a form. Out: nothing, or an error, before anybody searches for a program. Not its
job: whether a certain program can (`assemble`, `write_asm`, `generate_c`).
"""

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware

from .bits import check_base


def check_form(form: str, hw: Hardware, base: int | None = None) -> None:
    """`form`: bin, c or asm; `base`: where a binary's data is to lie (None: the machine's default).

    Raises:
        ProgramError: nothing that the machine does has such a form, or the base is not aligned.
    """
    if form == "bin" or (form == "c" and hw.encoding is not None):
        encoding = check_base(hw, base)
        if form == "c" and not any(record.c for record in encoding.formats):
            raise ProgramError(
                f"{hw.name} does not say how records are written in C",
                hint="add 'c:' to the formats under 'encoding'",
            )
    elif form == "c" and not any(x.c_form for x in hw.instructions):
        raise ProgramError(
            f"no instruction of {hw.name} has C text",
            hint=f"add 'emit: {{c: ..}}' to them in {hw.file or 'the hardware file'}",
        )
    elif form == "asm" and not any(x.asm_form for x in hw.instructions):
        raise ProgramError(
            f"no instruction of {hw.name} has assembly text",
            hint=f"add 'emit: {{asm: ..}}' to them in {hw.file or 'the hardware file'}",
        )
