"""A `main` around a generated function, for machines whose programs run under an emulator.

In: a generated function. Out: C text of a program that reads all arrays from one file, calls the
function once and writes all arrays to another. Not its job: compiling, layouts.
"""

from .generate import CSource

ALIGN_BYTES = 64  # of every array, so that the machine's largest vectors may be aligned


def generate_main(source: CSource) -> str:
    """`program INPUT OUTPUT`: both files hold every parameter's bytes, in order, without gaps."""
    lines = ["#include <stdint.h>", "#include <stdio.h>", f'#include "{source.name}.h"', ""]
    for p in source.parameters:
        lines.append(
            f"static _Alignas({ALIGN_BYTES}) uint8_t {p.name}_bytes[{p.layout.size_bytes}];"
        )
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
    for p in source.parameters:
        read = f"fread({p.name}_bytes, 1, sizeof {p.name}_bytes, input)"
        lines.append(f'  if ({read} != sizeof {p.name}_bytes) return fail("{p.name}");')
    lines.append("  fclose(input);")
    given = ", ".join(f"({p.c_type} *){p.name}_bytes" for p in source.parameters)
    lines += [
        f"  {source.name}({given});",
        '  FILE *output = fopen(arguments[2], "wb");',
        "  if (!output) return fail(arguments[2]);",
    ]
    for p in source.parameters:
        write = f"fwrite({p.name}_bytes, 1, sizeof {p.name}_bytes, output)"
        lines.append(f'  if ({write} != sizeof {p.name}_bytes) return fail("{p.name}");')
    lines += ["  return fclose(output) ? fail(arguments[2]) : 0;", "}", ""]
    return "\n".join(lines)
