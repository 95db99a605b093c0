"""Random small machines nobody would build, as YAML, and small kernels for them.

In: a seeded generator. Out: text of a hardware file; kernels. Not its job: what becomes of them.
"""

import random
from dataclasses import dataclass

from isamap.ir import Kernel
from tests.scheduler.cases import kernel

KERNELS = (
    ("gemm", "gemm", ("m", "n", "k")),
    ("gemm", "gemm_nt", ("m", "n", "k")),
    ("gemm", "gemm_tn", ("m", "n", "k")),
    ("gemv", "gemv", ("m", "k")),
    ("batched_gemm", "batched_gemm", ("b", "m", "n", "k")),
    ("pointwise_conv", "pointwise_conv", ("h", "w", "c", "k")),
)
# operands' dimensions by loop, target last
COMPUTES = (
    ("ik", "kj", "ij"),
    ("ik", "jk", "ij"),
    ("ki", "kj", "ij"),
    ("ik", "k", "i"),
    ("k", "kj", "j"),
    ("k", "jk", "j"),
    ("i", "j", "ij"),
    ("k", "k", ""),
)
CHANNELS = """channels:
  load_to_compute: {from: load, to: compute, depth: 512}
  compute_to_load: {from: compute, to: load, depth: 512}
  compute_to_store: {from: compute, to: store, depth: 512}
  store_to_compute: {from: store, to: compute, depth: 512}
"""
OPERANDS = "ABC"
BYTES = {"i8": 1, "i16": 2, "i32": 4}


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy instruction between two memories, which may convert."""

    name: str
    dtype: str  # of what it writes
    source: str
    target: str
    unit: str
    reads: str | None = None  # another type


def random_kernel(generator: random.Random) -> Kernel:
    """A contraction with loops of 1 to 9."""
    file, name, loops = generator.choice(KERNELS)
    return kernel(file, name, tuple((loop, generator.randint(1, 9)) for loop in loops))


def random_machine(
    generator: random.Random, *, converts: bool = False, is_deep: bool = False
) -> str:
    """One compute instruction, copies for its operands, one or two levels of managed memory.

    `converts`: A is multiplied as i32 or i16, B as i8, i16 or i32, and copies convert the kernel's
    i8 somewhere on the way. `is_deep`: inputs pass two or three managed memories.
    """
    factors = ("i8", "i8")
    if converts:
        factors = (generator.choice(("i16", "i32")), generator.choice(("i8", "i16", "i32")))
    is_token = not is_deep and generator.random() < 0.3
    has_outer = is_deep or (not is_token and generator.random() < 0.4)
    shared = ("outer",) if has_outer else ()
    if is_deep and generator.random() < 0.5:
        shared = ("outer", "middle")
    size = {name: generator.choice((64, 128, 256, 1024)) for name in ("sa", "sb", "sc", "outer")}
    if is_deep:
        size |= {"outer": 4096, "middle": generator.choice((256, 1024))}
    lines = [
        "name: random",
        "clock: 1 GHz",
        f"synchronisation: {'tokens' if is_token else 'interlocked'}",
        "memories:",
        f"  dram: {{kind: external, size: 1 MiB, {_ports(generator)}source: estimate}}",
    ]
    for name in ("sa", "sb", "sc", *shared):
        lines.append(
            f"  {name}: {{kind: managed, size: {size[name]} bytes,"
            f" granule: {_granule(generator, name)}, {_ports(generator)}source: estimate}}"
        )
    units = "load: {}, compute: {}, store: {}"
    if not is_token and generator.random() < 0.3:
        units = "load: {count: 2}, compute: {}, store: {}"
    inward = "load"  # brings blocks from one managed memory to the next
    if is_deep and generator.random() < 0.7:
        units, inward = f"{units}, fetch: {{}}", "fetch"
    lines.append(f"units: {{{units}}}")
    text = "\n".join(lines) + "\n" + (CHANNELS if is_token else "") + "instructions:\n"
    text += _compute(generator, factors)
    for copy in _copies(generator, shared, factors, inward):
        text += _copy_text(copy, generator)
    text += _zero_text(generator) if generator.random() < 0.4 else ""
    if is_token:
        for unit in ("load", "compute", "store"):
            text += f"  nop_{unit}: {{is_sync: true, unit: {unit}, issue: 1 cycle,"
            text += " source: estimate}\n"
    return text


def _ports(generator: random.Random) -> str:
    if generator.random() < 0.5:
        return ""
    both = generator.random() < 0.5
    width = generator.choice((1, 4, 8))
    kinds = f"both: {width}" if both else f"read: {width} bytes/cycle, write: {width}"
    return f"ports: {{{kinds} bytes/cycle}}, "


def _granule(generator: random.Random, memory: str) -> str:
    return f"{generator.choice((4, 4, 4, 16) if memory == 'sc' else (1, 1, 1, 4))} bytes"


def _rule(generator: random.Random, size: int) -> str:
    kinds = ["at_most", "at_most", "exactly"]
    if size % 2 == 0:
        kinds.append("{multiple_of: 2}")
    return generator.choice(kinds)


def _compute(generator: random.Random, factors: tuple[str, str]) -> str:
    dims = generator.choice(COMPUTES)
    loops = sorted(set("".join(dims)))
    sizes = {loop: generator.randint(1, 5) for loop in loops}
    shapes = [", ".join(str(sizes[loop]) for loop in dim) for dim in dims]
    kinds = (*(f"In({dtype}" for dtype in factors), "InOut(i32")
    sizes_of = dict(zip(OPERANDS, (*(BYTES[dtype] for dtype in factors), 4), strict=True))
    given = [f"{kind}, {shape})" if shape else f"{kind})" for kind, shape in zip(kinds, shapes)]
    a, b, c = (f"{n}[{', '.join(dim)}]" for n, dim in zip(OPERANDS, dims, strict=True))
    head = f"for {', '.join(loops)} in grid({', '.join(str(sizes[x]) for x in loops)}):"
    head = f"for {loops[0]} in range({sizes[loops[0]]}):" if len(loops) == 1 else head
    c = c if dims[2] else "C[0]"
    given[2] = given[2] if dims[2] else "InOut(i32, 1)"
    rules = ", ".join(f"{loop}: {_rule(generator, sizes[loop])}" for loop in loops)
    operands = ", ".join(
        f"{n}: {{memory: {memory}{_strides(generator, dim, sizes_of[n])}}}"
        for n, memory, dim in zip(OPERANDS, ("sa", "sb", "sc"), dims, strict=True)
    )
    issue = generator.choice(("1 cycle", "4 cycles", f"2 * {loops[0]} cycles"))
    accumulate = generator.choice(("", "    accumulate: 1 cycle\n"))
    return (
        "  contract:\n    semantics: |\n"
        f"      A, B, C = {', '.join(given)}\n"
        f"      {head}\n        {c} += {_wide(a, factors[0])} * {_wide(b, factors[1])}\n"
        f"    extents: {{{rules}}}\n    operands: {{{operands}}}\n"
        f"    unit: compute\n    issue: {issue}\n    latency: {generator.randint(10, 20)} cycles\n"
        f"{accumulate}    source: estimate\n"
    )


def _strides(generator: random.Random, dim: str, element: int) -> str:
    """Sometimes free outer strides; else dense at the full shape."""
    if not dim or generator.random() < 0.5:
        return ""
    inner = generator.choice((f"{element} bytes", "free"))
    return f", strides: [{', '.join(['free'] * (len(dim) - 1) + [inner])}]"


def _wide(access: str, dtype: str) -> str:
    return access if dtype == "i32" else f"i32({access})"


def _copies(
    generator: random.Random, shared: tuple[str, ...], factors: tuple[str, str], inward: str
) -> tuple[Copy, ...]:
    route = ("dram", *shared)
    rows = []
    for letter, dtype in zip("ab", factors, strict=True):
        stops = (*route, f"s{letter}")
        ways = list(zip(stops, stops[1:], strict=False))
        converting = generator.choice(ways) if dtype != "i8" else None
        before = "i8"
        for source, target in ways:
            reads = before
            before = dtype if (source, target) == converting else before
            name = f"load_{letter}_{target}"
            unit = "load" if source == "dram" else inward
            rows.append(Copy(name, before, source, target, unit, reads))
    rows.append(Copy("load_c", "i32", "dram", "sc", "load"))
    rows.append(Copy("store_c", "i32", "sc", "dram", "store"))
    return tuple({row.name: row for row in rows}.values())


def _copy_text(copy: Copy, generator: random.Random) -> str:
    reads = copy.reads or copy.dtype
    rank = generator.choice((1, 2))
    sizes = [generator.randint(1, 6) for _ in range(rank)]
    loops = "rc"[-rank:]
    index = ", ".join(loops)
    shape = ", ".join(str(size) for size in sizes)
    head = f"for {index} in grid({shape}):" if rank == 2 else f"for c in range({sizes[0]}):"
    easy = generator.random() < 0.7  # else hardly any copy would fit
    rules = ", ".join(
        f"{x}: {'at_most' if easy else _rule(generator, n)}"
        for x, n in zip(loops, sizes, strict=True)
    )
    kinds = [(f"{BYTES[dtype]} bytes", "free", "free") for dtype in (reads, copy.dtype)]
    sides = [
        f"strides: [{', '.join(['free'] * (rank - 1) + [generator.choice(kind)])}]"
        for kind in kinds
    ]
    value = f"S[{index}]" if reads == copy.dtype else f"{copy.dtype}(S[{index}])"
    issue = generator.choice(("2 cycles", "c cycles"))
    return (
        f"  {copy.name}:\n    semantics: |\n"
        f"      S, D = In({reads}, {shape}), Out({copy.dtype}, {shape})\n"
        f"      {head}\n        D[{index}] = {value}\n"
        f"    extents: {{{rules}}}\n"
        f"    operands: {{S: {{memory: {copy.source}, {sides[0]}}},"
        f" D: {{memory: {copy.target}, {sides[1]}}}}}\n"
        f"    unit: {copy.unit}\n    issue: {issue}\n"
        f"    latency: {generator.randint(8, 20)} cycles\n    source: estimate\n"
    )


def _zero_text(generator: random.Random) -> str:
    size = generator.randint(1, 5)
    return (
        "  clear:\n    semantics: |\n"
        f"      D = Out(i32, {size})\n      for c in range({size}):\n        D[c] = 0\n"
        f"    extents: {{c: {_rule(generator, size)}}}\n"
        f"    operands: {{D: {{memory: sc, strides: [{generator.choice(('free', '4 bytes'))}]}}}}\n"
        "    unit: compute\n    issue: 1 cycle\n    source: estimate\n"
    )
