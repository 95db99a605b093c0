"""A `main` around generated functions, for machines whose programs run under an emulator.

In: generated functions. Out: C text of a program that reads all arrays from one file, calls every
function once and writes all arrays to another. Not its job: compiling, layouts.
"""

from collections.abc import Sequence

from .generate import CSource

ALIGN_BYTES = 64  # of every array, so that the machine's largest vectors may be aligned


def generate_main(sources: Sequence[CSource]) -> str:
    """`program INPUT OUTPUT`: both files hold every parameter's bytes, in order, without gaps,
    function by function; functions have names of their own."""
    rows = [(f"{source.name}_{p.name}_bytes", p) for source in sources for p in source.parameters]
    lines = ["#include <stdint.h>", "#include <stdio.h>"]
    lines += [*(f'#include "{source.name}.h"' for source in sources), ""]
    lines += [
        f"static _Alignas({ALIGN_BYTES}) uint8_t {name}[{p.layout.size_bytes}];" for name, p in rows
    ]
    lines += [
        "",
        "static int fail(const char *what) {",
        "  perror(what);",
        "  return 1;",
        "}",
        "",
        "int main(int count, char **arguments) {",
        '  if (count != 3) return fail("two files are wanted");',
        '  FILE *input = fopen(arguments[1], "rb");',
        "  if (!input) return fail(arguments[1]);",
    ]
    for name, p in rows:
        lines.append(f"  if (fread({name}, 1, sizeof {name}, input) != sizeof {name})")
        lines.append(f'    return fail("{p.name}");')
    lines.append("  fclose(input);")
    for source in sources:
        given = (f"({p.c_type} *){source.name}_{p.name}_bytes" for p in source.parameters)
        lines.append(f"  {source.name}({', '.join(given)});")
    lines += [
        '  FILE *output = fopen(arguments[2], "wb");',
        "  if (!output) return fail(arguments[2]);",
    ]
    for name, p in rows:
        lines.append(f"  if (fwrite({name}, 1, sizeof {name}, output) != sizeof {name})")
        lines.append(f'    return fail("{p.name}");')
    lines += ["  return fclose(output) ? fail(arguments[2]) : 0;", "}", ""]
    return "\n".join(lines)
