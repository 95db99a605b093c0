"""Random small machines with a vector instruction, as YAML, and kernels without a sum.

In: a seeded generator. Out: text of a hardware file; text of a kernel. Not its job: what becomes of
them.
"""

import random

HEAD = "from isamap.lang import *\n\n\n@kernel\ndef subject(m=1, n=1):\n"
NEST = "    for i, j in grid(m, n):\n        "
# accesses that a kernel may have to T and U
ACCESSES = (
    ("m, n", "i, j"),
    ("m, n", "i, j"),
    ("n, m", "j, i"),
    ("n", "j"),
    ("m", "i"),
    ("m + 1, n", "i + 1, j"),
    ("m + n", "i + j"),
    ("2 * m, n", "2 * i, j"),
)
# target and value of an instruction
COMPUTES = (
    ("X", "max(X, limit)"),
    ("X", "max(X, Y)"),
    ("D", "max(X, Y)"),
    ("X", "X + Y"),
    ("D", "X + Y"),
    ("X", "X * Y"),
    ("X", "X - Y"),
    ("Y", "X - Y"),
    ("X", "X >> limit"),
    ("D", "relu(X)"),
    ("X", "relu(X * Y + X)"),
    ("D", "relu(X * Y + X)"),
)


def random_value(generator: random.Random) -> tuple[str, str]:
    """Target and value of the instruction; the kernel computes the same."""
    return generator.choice(COMPUTES)


def random_kernel_text(value: str, generator: random.Random) -> str:
    """`D[i, j] = value` with T for X and U for Y, D perhaps larger than what is written, or T."""
    value = value.replace("X", "T").replace("Y", "U").replace("limit", "2")
    in_place = generator.random() < 0.2
    shapes = {"T": generator.choice(ACCESSES), "U": generator.choice(ACCESSES)}
    used = [name for name in shapes if name in value and not (name == "T" and in_place)]
    role = "InOut" if in_place or generator.random() < 0.3 else "Out"
    extra = generator.choice(("", "", " + 1"))
    target = f"D[i{extra}, j]"
    for name, (_, index) in shapes.items():
        access = target if name == "T" and in_place else f"{name}[{index}]"
        value = value.replace(name, access)
    names = [*used, "D"]
    given = [f"In(i32, {shapes[name][0]})" for name in used] + [f"{role}(i32, m{extra}, n)"]
    return f"{HEAD}    {', '.join(names)} = {', '.join(given)}\n{NEST}{target} = {value}\n"


def random_vector_machine(target: str, value: str, generator: random.Random) -> str:
    """One vector instruction of one or two dimensions, one memory, copies in and out."""
    memory = generator.choice((64, 256, 1024))
    lines = [
        "name: random",
        "clock: 1 GHz",
        "synchronisation: interlocked",
        "memories:",
        f"  dram: {{kind: external, size: 1 MiB, {_ports(generator)}source: estimate}}",
        f"  regs: {{kind: managed, size: {memory} bytes,"
        f" granule: {generator.choice((4, 4, 8, 16))} bytes, source: estimate}}",
        "units: {load: {}, compute: {}, store: {}}",
        "instructions:",
    ]
    text = "\n".join(lines) + "\n" + _compute(target, value, generator)
    text += _copy("load", "dram", "regs", generator) + _copy("store", "regs", "dram", generator)
    return text


def _ports(generator: random.Random) -> str:
    ports = generator.choice(("", "both: 8 bytes/cycle", "read: 4 bytes/cycle"))
    return f"ports: {{{ports}}}, " if ports else ""


def _rule(generator: random.Random, size: int) -> str:
    rules = ["at_most", "at_most", "exactly", "{multiple_of: 2}"]
    return generator.choice(rules if size % 2 == 0 else rules[:3])


def _nest(sizes: list[int]) -> tuple[str, str, str]:
    """Loop names, shape, loop head."""
    loops = "rc"[-len(sizes) :]
    shape = ", ".join(str(size) for size in sizes)
    kind = "grid" if len(sizes) > 1 else "range"
    return loops, shape, f"for {', '.join(loops)} in {kind}({shape}):"


def _compute(target: str, value: str, generator: random.Random) -> str:
    sizes = [generator.randint(1, 5) for _ in range(generator.choice((1, 1, 2)))]
    loops, shape, head = _nest(sizes)
    is_row = len(sizes) == 2 and generator.random() < 0.3 and target != "Y"
    names = [name for name in "XYD" if name in value or name == target]
    index = {name: ", ".join(loops) for name in names}
    shapes = dict.fromkeys(names, shape)
    if is_row and "Y" in names:
        index["Y"], shapes["Y"] = loops[-1], str(sizes[-1])
    kinds = dict.fromkeys(names, "In") | {target: "InOut" if target in value else "Out"}
    given = ", ".join(f"{kinds[name]}(i32, {shapes[name]})" for name in names)
    for name in names:
        value = value.replace(name, f"{name}[{index[name]}]")
    rules = ", ".join(f"{x}: {_rule(generator, n)}" for x, n in zip(loops, sizes, strict=True))
    operands = ", ".join(f"{name}: regs" for name in names)
    immediates = "    immediates: {limit: {min: -8, max: 8}}\n" if "limit" in value else ""
    return (
        "  work:\n    semantics: |\n"
        f"      {', '.join(names)} = {given}\n"
        f"      {head}\n        {target}[{index[target]}] = {value}\n"
        f"    extents: {{{rules}}}\n    operands: {{{operands}}}\n{immediates}"
        f"    unit: compute\n    issue: {generator.choice(('1 cycle', '2 * c cycles'))}\n"
        f"    latency: {generator.randint(10, 20)} cycles\n    source: estimate\n"
    )


def _copy(name: str, source: str, target: str, generator: random.Random) -> str:
    sizes = [generator.randint(1, 6) for _ in range(generator.choice((1, 2)))]
    loops, shape, head = _nest(sizes)
    index = ", ".join(loops)
    rules = ", ".join(f"{x}: {_rule(generator, n)}" for x, n in zip(loops, sizes, strict=True))
    sides = [
        f"strides: [{', '.join(generator.choice(('free', 'free', '4 bytes')) for _ in sizes)}]"
        for _ in range(2)
    ]
    return (
        f"  {name}:\n    semantics: |\n"
        f"      S, D = In(i32, {shape}), Out(i32, {shape})\n"
        f"      {head}\n        D[{index}] = S[{index}]\n"
        f"    extents: {{{rules}}}\n"
        f"    operands: {{S: {{memory: {source}, {sides[0]}}},"
        f" D: {{memory: {target}, {sides[1]}}}}}\n"
        f"    unit: {name}\n    issue: {generator.choice(('2 cycles', 'c cycles'))}\n"
        f"    latency: {generator.randint(8, 20)} cycles\n    source: estimate\n"
    )
