"""Random kernels, machines and ways to build them, for what compiles and runs C.

In: a seed. Out: a case, or what building and checking it in full came to. Not its job: how many,
when to stop.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod

import isamap
from isamap.codegen import missing_features
from isamap.errors import IsamapError, MappingError
from isamap.hwdesc import Hardware, MemoryKind
from isamap.ir import Kernel, Role, load_kernels, parse_semantics
from isamap.native import WrongError
from isamap.resources import bundled, find_hardware

MACHINES = ("x86_avx2", "x86_avx512", "x86_golden_cove", "x86_redwood_cove")
RIGHT, NO_PLAN, TOO_LARGE, WRONG, CRASH = "right", "no plan", "too large", "wrong", "crash"
REFUSED, ONE_THREAD = "refused for several threads", "build it for one thread"
SIZES = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33, 48, 50, 64, 65, 97, 100, 130)
FEW = (1, 2, 3)  # of what is rarely more
NARROW = ("r", "s", "stride", "dilation", "pad", "steps", "depth")
MAX_ITERATIONS = 400_000
# how many times smaller caches are: what is done for large arrays is done for small ones
CACHES = (1, 1, 16, 128)
TYPES = (
    ("f32", "f32", "f32"), ("f32", "f32", "f32"), ("bf16", "bf16", "f32"), ("i8", "i8", "i32"),
    ("u8", "i8", "i32"), ("f64", "f64", "f64"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """What is built, and how; `caches`: how many times smaller than the machine's they are."""

    kernel: Kernel
    machine: str
    caches: int
    ahead: tuple[str, ...]
    threads: int
    layouts: str
    may_reassociate: bool

    def __str__(self) -> str:
        shapes = ", ".join(f"{b.name} {b.role.value} {b.dtype}{list(b.shape)}"
                           for b in self.kernel.buffers if b.role is not Role.TEMP)  # fmt: skip
        how = f"ahead {','.join(self.ahead) or '-'}, {self.threads} threads, {self.layouts}"
        order = "any order" if self.may_reassociate else "in order"
        caches = f", caches / {self.caches}" if self.caches > 1 else ""
        return f"{self.kernel.name} on {self.machine}{caches}, {how}, {order}: {shapes}"

    @property
    def hardware(self) -> Hardware:
        """The machine, with such caches."""
        found = isamap.load_hardware(find_hardware(self.machine))
        memories = tuple(
            replace(m, size_bytes=max(m.granule_bytes, m.size_bytes // self.caches), left_bytes=0)
            if self.caches > 1 and m.kind is MemoryKind.CACHE else m
            for m in found.memories
        )  # fmt: skip
        return replace(found, memories=memories)


@cache
def running_here(names: Sequence[str] = MACHINES) -> tuple[str, ...]:
    """The machines that this processor is."""
    rules = {name: isamap.load_hardware(find_hardware(name)).compiler for name in names}
    return tuple(n for n, rule in rules.items() if rule is not None and not missing_features(rule))


def draw_case(seed: int, machines: Sequence[str]) -> Case | None:
    """None where the sizes that were drawn make no kernel, or one too large."""
    draw = random.Random(f"compiled {seed}")
    kernel = _product(draw) if draw.random() < 0.4 else _bundled(draw)
    if kernel is None:
        return None
    points = sum(prod(loop.extent for loop in s.loops) for s in kernel.statements)
    if points > MAX_ITERATIONS:
        return None
    inputs = [b.name for b in kernel.buffers if b.role is Role.IN]
    ahead = tuple(name for name in inputs if draw.random() < 0.5) if draw.random() < 0.4 else ()
    threads = draw.choice((1, 1, 1, 2, 3))
    layouts = draw.choice(("natural", "natural", "natural", "packed"))
    may_reassociate = draw.random() < 0.8
    machine, caches = draw.choice(machines), draw.choice(CACHES)
    return Case(kernel, machine, caches, ahead, threads, layouts, may_reassociate)


def try_case(case: Case, time_limit_s: float) -> str:
    """What building it and checking it in full comes to; the first word says what kind."""
    try:
        built = isamap.build(
            case.kernel, case.hardware, time_limit_s=time_limit_s, ahead=case.ahead,
            threads=case.threads, layouts=case.layouts, may_reassociate=case.may_reassociate,
            verify="full",
        )  # fmt: skip
    except WrongError as error:
        return f"{WRONG}: {error.message}"
    except MappingError:
        return NO_PLAN
    except IsamapError as error:
        return REFUSED if error.hint == ONE_THREAD else f"{CRASH}: {error}"
    except Exception as error:  # whatever it is, it is what is looked for
        return f"{CRASH}: {type(error).__name__}: {error}"
    found = built.verification
    return RIGHT if found.is_verified else f"not verified: {found.failure}"


def _product(draw: random.Random) -> Kernel:
    """A matrix product in any order of its dimensions and loops, and what may follow it."""
    size = {name: draw.choice(SIZES) for name in "ijk"}

    def place(name: str, loops: str) -> tuple[str, str]:
        order = draw.sample(loops, len(loops))
        extents = ", ".join(str(size[loop]) for loop in order)
        return f"{name}[{', '.join(order)}]", extents

    left, right, total = draw.choice(TYPES)
    (a, a_shape), (b, b_shape), (c, c_shape) = place("A", "ik"), place("B", "kj"), place("C", "ij")
    role = draw.choice(("Out", "InOut"))
    after = draw.choice(("", "", "D[i, j] = max({c} + Z[j], 0)", "D[j, i] = {c} - Z[i]"))
    if after:
        role = "Temp"
    lines = [f"A, B = In({left}, {a_shape}), In({right}, {b_shape})"]
    lines.append(f"C = {role}({total}, {c_shape})")
    if after:
        shape = f"{size['i']}, {size['j']}" if "D[i" in after else f"{size['j']}, {size['i']}"
        width = size["j"] if "Z[j" in after else size["i"]
        lines.append(f"D, Z = Out({total}, {shape}), In({total}, {width})")
    loops = draw.sample("ijk", 3)
    cast = "{}" if left == total else f"{total}({{}})"
    lines.append(f"for {', '.join(loops)} in grid({', '.join(str(size[x]) for x in loops)}):")
    lines.append(f"  {c} += {cast.format(a)} * {cast.format(b)}")
    if after:
        lines.append(f"for i, j in grid({size['i']}, {size['j']}):")
        lines.append(f"  {after.format(c=c)}")
    return parse_semantics("\n".join(lines), "product")


def _bundled(draw: random.Random) -> Kernel | None:
    """One of the bundled kernels at other sizes."""
    files = bundled("kernels", ".py")
    path = files[draw.choice(sorted(files))]
    sources = load_kernels(path)
    source = sources[draw.choice(sorted(sources))]
    sizes = {}
    for name, default in source.sizes:
        if not isinstance(default, int):
            continue
        narrow = name in NARROW or default <= 4
        sizes[name] = draw.choice(FEW if narrow else SIZES[: draw.choice((5, 12, 20))])
        if name == "pad":
            sizes[name] -= 1
    try:
        return source.build(sizes)
    except IsamapError:
        return None
