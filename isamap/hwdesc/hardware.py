"""A machine as data: what `load` makes of a YAML file.

In: nothing but these nodes. Out: frozen values. Not its job: reading YAML, checking, costs of whole
programs. Sizes are bytes, times are cycles of the machine's one clock, bandwidths are bytes per
cycle.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from math import prod

from isamap.errors import Loc
from isamap.ir import Access, Kernel, are_equal, is_copy

from .c_form import AssemblyRule, CForm, CompilerRule, CTemplate
from .encoding import Bits, Encoding, Obeyed
from .expression import Expression
from .memory import Memory, MemoryKind
from .timing import Distance, Stream


@dataclass(frozen=True, slots=True)
class Unit:
    """An in-order queue that executes one kind of work; `count` identical ones."""

    name: str
    count: int = 1
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Cores:
    """Identical processors on a grid that run one program.

    `axes`: name and size of every direction. Each core has `memories` and `units` of its own, under
    the same names; everything else is shared by all.
    """

    axes: tuple[tuple[str, int], ...]
    memories: tuple[str, ...]
    units: tuple[str, ...]
    source: str = ""
    loc: Loc | None = field(default=None, compare=False)

    @property
    def count(self) -> int:
        """How many cores there are."""
        return prod(size for _, size in self.axes)

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """How far the core's number advances per position along each axis; the last is densest."""
        sizes = [size for _, size in self.axes]
        return tuple((name, prod(sizes[n + 1 :])) for n, (name, _) in enumerate(self.axes))


class ExtentKind(Enum):
    """Which extents of an instruction's loop one call may choose."""

    EXACTLY = "exactly"
    AT_MOST = "at_most"
    MULTIPLE_OF = "multiple_of"  # and at most the loop's extent


@dataclass(frozen=True, slots=True)
class ExtentRule:
    """The loop's extent in `semantics` is the maximum; `multiple` matters for MULTIPLE_OF only."""

    kind: ExtentKind
    maximum: int
    multiple: int = 1

    def allows(self, extent: int) -> bool:
        """May one call run this many iterations?"""
        match self.kind:
            case ExtentKind.EXACTLY:
                return extent == self.maximum
            case ExtentKind.AT_MOST:
                return 1 <= extent <= self.maximum
            case ExtentKind.MULTIPLE_OF:
                return extent % self.multiple == 0 and 0 < extent <= self.maximum


@dataclass(frozen=True, slots=True)
class StrideRule:
    """Byte distance between neighbours along one operand dimension.

    `fixed_bytes` set: exactly that. Otherwise any multiple of `multiple_bytes` from 0 (broadcast)
    or from `multiple_bytes` (`may_be_zero` False) to `maximum_bytes` (None: unlimited).
    `is_dense`: the distance that leaves no gap, computed from the inner dimension's stride and
    extent (for repeats: from the next inner repeat's, or from the operand's own block).
    """

    fixed_bytes: int | None = None
    multiple_bytes: int = 1
    maximum_bytes: int | None = None
    may_be_zero: bool = True
    is_dense: bool = False

    def allows(self, stride_bytes: int) -> bool:
        """May a call use this stride? (`is_dense` needs its neighbour and is judged by the
        caller.)"""
        if self.fixed_bytes is not None:
            return stride_bytes == self.fixed_bytes
        low = 0 if self.may_be_zero else self.multiple_bytes
        high = self.maximum_bytes
        in_range = stride_bytes >= low and (high is None or stride_bytes <= high)
        return in_range and stride_bytes % self.multiple_bytes == 0


@dataclass(frozen=True, slots=True)
class OperandRule:
    """Where one buffer of `semantics` lives, one stride rule per dimension, alignment of its
    start."""

    name: str
    memory: str
    strides: tuple[StrideRule, ...]
    align_bytes: int


@dataclass(frozen=True, slots=True)
class RepeatRule:
    """A hardware loop around the whole instruction: every operand advances by its own stride.

    Extent 1..maximum. `strides` has one rule per operand, in the order of the instruction's
    operands.
    """

    name: str
    maximum: int
    strides: tuple[StrideRule, ...]


@dataclass(frozen=True, slots=True)
class ImmediateRule:
    """A number that each call is given, from minimum to maximum: an integer, or a value of the
    float type `dtype` (`immediate_value`)."""

    name: str
    minimum: int | float
    maximum: int | float
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine operation.

    `issue_cycles`: how long a call keeps its unit busy; `latency_cycles`: from start until its
    results are visible (never less than issue). Both are expressions over loop extents, repeat
    names (their extents) and spec parameters. `accumulate_cycles`: distance from this call's start
    after which the same instruction on the same unit may read-modify-write the same bytes
    (pipelined accumulation); None: the latency. `stream`: None when a call touches all its bytes
    for the whole of its time.
    `is_sync`: does nothing but carry tokens (its semantics has no statement).
    `only_computed`: reads what an instruction has computed where it lies, not what a copy put
    there.
    `multicast`: axes of the cores along which a call writes the same bytes to every core.
    """

    name: str
    semantics: Kernel
    extents: tuple[tuple[str, ExtentRule], ...]
    operands: tuple[OperandRule, ...]
    unit: str
    issue_cycles: Expression
    latency_cycles: Expression
    accumulate_cycles: Expression | None = None
    repeats: tuple[RepeatRule, ...] = ()
    immediates: tuple[ImmediateRule, ...] = ()
    energy_pj: Expression | None = None
    asm_form: CTemplate | None = None
    c_form: CForm | None = None
    bits: Bits | None = None
    obeys: tuple[Obeyed, ...] = ()
    is_sync: bool = False
    only_computed: bool = False
    multicast: tuple[str, ...] = ()
    source: str = ""
    stream: Stream | None = None
    loc: Loc | None = field(default=None, compare=False)
    _operand_of: Mapping[str, OperandRule] = field(init=False, repr=False, compare=False)
    _extent_of: Mapping[str, ExtentRule] = field(init=False, repr=False, compare=False)
    _access_of: Mapping[str, Access] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rules = {operand.name: operand for operand in self.operands}
        object.__setattr__(self, "_operand_of", rules)
        object.__setattr__(self, "_extent_of", dict(self.extents))
        first = {access.buffer: access for access in reversed(self.uses)}
        object.__setattr__(self, "_access_of", first)

    @property
    def result(self) -> Access:
        """What the last statement of the semantics writes."""
        return self.semantics.statements[-1].target

    @property
    def uses(self) -> tuple[Access, ...]:
        """All accesses of the semantics, each statement's target before what it reads."""
        return tuple(access for s in self.semantics.statements for access in s.accesses)

    @property
    def is_copy(self) -> bool:
        """Does it only put elsewhere what it reads, cast or not?"""
        statements = self.semantics.statements
        return len(statements) == 1 and is_copy(statements[0]) and len(statements[0].touched) == 2

    def operand(self, name: str) -> OperandRule:
        """The rule of the operand called `name`."""
        return self._operand_of[name]

    def access(self, operand: str) -> Access:
        """How the semantics touches the operand, in the first statement that does."""
        return self._access_of[operand]

    def immediate(self, name: str) -> ImmediateRule:
        """The rule of the immediate called `name`."""
        return {rule.name: rule for rule in self.immediates}[name]

    def extent(self, loop: str) -> ExtentRule:
        """The rule of the loop called `loop`."""
        return self._extent_of[loop]


def is_same_work(one: Instruction, other: Instruction) -> bool:
    """Do calls of both do the same (to whichever cores), whatever they take?"""
    same = (one.semantics.buffers, one.semantics.statements, one.operands, one.extents)
    if same != (
        other.semantics.buffers, other.semantics.statements, other.operands, other.extents
    ):  # fmt: skip
        return False
    return (one.repeats, one.immediates) == (other.repeats, other.immediates)


class Synchronisation(Enum):
    """Who keeps calls on different units from overtaking each other's data."""

    INTERLOCKED = "interlocked"  # the hardware waits
    TOKENS = "tokens"  # the program pushes and pops tokens; a missing one is a hazard
    EXPOSED = "exposed"  # the program says in which cycle each call starts; too early is a hazard


@dataclass(frozen=True, slots=True)
class Channel:
    """A token FIFO from one unit to another."""

    name: str
    source_unit: str
    target_unit: str
    depth: int


@dataclass(frozen=True, slots=True)
class HostRule:
    """A processor that runs any statement on arrays in the external memory.

    A call keeps `unit` busy for start_cycles + operation_cycles per scalar operation and per
    element read or written (`host.count_operations`), each of which takes operation_energy_pj.
    `is_apart`: a processor of its own, which works beside the machine's units. `lanes`: how many
    f32 a vector of compiled loops holds.
    """

    unit: str
    start_cycles: Fraction
    operation_cycles: Fraction
    operation_energy_pj: Fraction = Fraction()
    source: str = ""
    is_apart: bool = True
    lanes: int = 1
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Hardware:
    """A whole machine. `parameters` are already substituted in everything else.

    `issue_width`: calls that may start in one cycle on all units but the host's together (None: any
    number). It and `distances` are for machines with exposed timing.
    """

    name: str
    clock_hz: float
    memories: tuple[Memory, ...]
    units: tuple[Unit, ...]
    instructions: tuple[Instruction, ...]
    synchronisation: Synchronisation
    channels: tuple[Channel, ...] = ()
    parameters: tuple[tuple[str, int], ...] = ()
    host: HostRule | None = None
    compiler: CompilerRule | None = None
    cores: Cores | None = None
    encoding: Encoding | None = None
    assembly: AssemblyRule = AssemblyRule()
    issue_width: int | None = None
    distances: tuple[Distance, ...] = ()
    files: tuple[str, ...] = field(default=(), compare=False)
    # where kernels' inputs and outputs live
    external: Memory = field(init=False, repr=False, compare=False)
    # in front of it, the smallest (nearest) first
    caches: tuple[Memory, ...] = field(init=False, repr=False, compare=False)
    _memories: Mapping[str, Memory] = field(init=False, repr=False, compare=False)
    _units: Mapping[str, Unit] = field(init=False, repr=False, compare=False)
    _instructions: Mapping[str, Instruction] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)
    _twins: object = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # what is remembered of machines is looked up thousands of times; those that differ in one
        # number, or lack an instruction, would be compared all over each time
        calls = tuple(
            [(x.name, x.operands, x.issue_cycles, x.latency_cycles) for x in self.instructions]
        )
        own = self.name, self.parameters, self.clock_hz, self.memories, self.units, self.host, calls
        object.__setattr__(self, "_hash", hash(own))
        object.__setattr__(self, "_twins", None)
        object.__setattr__(self, "_memories", {entry.name: entry for entry in self.memories})
        object.__setattr__(self, "_units", {entry.name: entry for entry in self.units})
        object.__setattr__(
            self, "_instructions", {entry.name: entry for entry in self.instructions}
        )
        external = next(m for m in self.memories if m.kind is MemoryKind.EXTERNAL)
        object.__setattr__(self, "external", external)
        caches = (memory for memory in self.memories if memory.kind is MemoryKind.CACHE)
        nearest = tuple(sorted(caches, key=lambda memory: memory.size_bytes))
        object.__setattr__(self, "caches", nearest)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Hardware) and are_equal(self, other))

    def __hash__(self) -> int:
        return self._hash

    @property
    def has_tokens(self) -> bool:
        """Do programs synchronise the units by tokens?"""
        return self.synchronisation is Synchronisation.TOKENS

    @property
    def is_interlocked(self) -> bool:
        """Does the hardware wait for data?"""
        return self.synchronisation is Synchronisation.INTERLOCKED

    @property
    def is_exposed(self) -> bool:
        """Do programs say when calls start?"""
        return self.synchronisation is Synchronisation.EXPOSED

    @property
    def file(self) -> str:
        """The file that describes it, empty if none does; `files` has those it builds on, too."""
        return self.files[0] if self.files else ""

    def last_cache(self, cache: Memory) -> Memory:
        """The farthest one with lines like those of `cache`."""
        return [one for one in self.caches if one.granule_bytes == cache.granule_bytes][-1]

    def memory(self, name: str) -> Memory:
        """The memory called `name`."""
        return self._memories[name]

    def instruction(self, name: str) -> Instruction:
        """The instruction called `name`."""
        return self._instructions[name]

    def channel(self, source: str, target: str) -> Channel | None:
        """The token channel from one unit to another, if there is one."""
        ends = source, target
        return next((c for c in self.channels if (c.source_unit, c.target_unit) == ends), None)

    def has(self, instruction: Instruction) -> bool:
        """Is the instruction, itself and not only its name, one of the machine's?"""
        return self._instructions.get(instruction.name) is instruction

    def entry_operand(self, instruction: Instruction) -> str | None:
        """The operand through which an instruction reads an entry of a fifo memory."""
        reads = {a.buffer for s in instruction.semantics.statements for a in s.reads}
        for operand in instruction.operands:
            if self.memory(operand.memory).fifo is not None and operand.name in reads:
                return operand.name
        return None

    @property
    def num_cores(self) -> int:
        """How many cores the machine has."""
        return self.cores.count if self.cores else 1

    def num_units(self, name: str) -> int:
        """How many identical units of that name (each core's own) take calls in turn."""
        return self._units[name].count

    def num_copies(self, name: str) -> int:
        """How many there are of the memory or unit called `name`: one, or one per core."""
        if self.cores is None or name not in (*self.cores.memories, *self.cores.units):
            return 1
        return self.cores.count
