"""The shape of a hardware file.

In: plain data. Out: models whose leaves are still text (quantities, expressions, names), and the
JSON Schema for editors. Not its job: positions, units, whether names exist (`build_*`, `check`).
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, WithJsonSchema

from .schema_base import SOURCE, Amount, Integer, Model, Number, Text, short_form
from .schema_encoding import AssemblyModel, BitsModel, EncodingModel, StateModel
from .schema_memory import MemoryModel


class UnitModel(Model):
    """An in-order queue that executes instructions."""

    count: Integer = Field(default="1", description="How many identical ones there are.")


class ChannelModel(Model):
    """A token queue from one unit to another."""

    from_: Text = Field(alias="from", description="The unit that pushes.")
    to: Text = Field(description="The unit that pops.")
    depth: Integer = Field(description="How many tokens it holds.")


class ExtentModel(Model):
    """`exactly`, `at_most` or `{multiple_of: n}`: which extents a call may choose for one loop."""

    form: Literal["exactly", "at_most"] | None = Field(default=None, alias="=")
    multiple_of: Integer | None = Field(
        default=None, description="Any multiple of it up to the maximum."
    )


class StrideModel(Model):
    """Byte distance of neighbours: '16 bytes' (always that), free, dense, or limits."""

    form: Amount | None = Field(default=None, alias="=")
    multiple_of: Amount | None = Field(
        default=None, description="The distance is a multiple of it."
    )
    at_most: Amount | None = Field(default=None, description="The largest distance.")
    nonzero: StrictBool = Field(
        default=False, description="The distance 0 (broadcast) is not allowed."
    )


EXTENT_SCHEMA = {
    "anyOf": [
        {"enum": ["exactly", "at_most"]},
        {
            "type": "object",
            "properties": {"multiple_of": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
            "required": ["multiple_of"],
            "additionalProperties": False,
        },
    ],
    "description": "Extents a call may choose; the semantics' own extent is the maximum.",
}
STRIDE_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "multiple_of": {"type": "string"},
                "at_most": {"type": "string"},
                "nonzero": {"type": "boolean"},
            },
            "additionalProperties": False,
        },
    ],
    "description": "'16 bytes', free, dense, or {multiple_of: .., at_most: .., nonzero: true}.",
}
Extent = Annotated[ExtentModel, short_form("="), WithJsonSchema(EXTENT_SCHEMA)]
Stride = Annotated[StrideModel, short_form("="), WithJsonSchema(STRIDE_SCHEMA)]


class OperandModel(Model):
    """Where one buffer of the semantics lives."""

    memory: Text = Field(description="Name of a memory.")
    strides: list[Stride] | None = Field(
        default=None,
        description="One per dimension of the buffer; dense at the full shape if left out.",
    )
    align: Amount | None = Field(
        default=None, description="Start alignment; the memory's granule if left out."
    )


Operand = Annotated[OperandModel, short_form("memory", OperandModel | str)]


class RepeatModel(Model):
    """A hardware loop around the whole instruction."""

    at_most: Integer = Field(description="Largest number of repetitions.")
    strides: dict[str, Stride] = Field(description="How far each operand advances per repetition.")


class ImmediateModel(Model):
    """A number that each call chooses."""

    type: Literal["integer", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"] = Field(
        default="integer", description="integer, or the float type that a call encodes."
    )
    min: Number = Field(description="Smallest value.")
    max: Number = Field(description="Largest value.")


class CModel(Model):
    """C text of a call, with holes."""

    full: Text = Field(description="C statements; holes as in '{C} = f({A}, {j});'.")
    partial: Text | None = Field(
        default=None, description="C statements where an extent may be less than its maximum."
    )


class StreamModel(Model):
    """The loop whose iterations follow each other as in a pipeline."""

    loop: Text = Field(description="A loop of the semantics.")
    every: Amount = Field(default="1 cycle", description="Cycles from iteration to iteration.")


Stream = Annotated[StreamModel, short_form("loop", StreamModel | str)]


class EmitModel(Model):
    """How a call is written."""

    asm: Text | None = Field(default=None, description="Assembly text, with holes as in C.")
    c: Annotated[CModel, short_form("full", CModel | str)] | None = Field(
        default=None, description="C with intrinsics; one text, or {full: .., partial: ..}."
    )
    bits: BitsModel | None = Field(default=None, description="Binary records and their fields.")


class InstructionModel(Model):
    """One machine operation."""

    semantics: Text | None = Field(
        default=None,
        description="What it computes, in the language of kernels; write it as a | block.",
    )
    extents: dict[str, Extent] = Field(
        default_factory=dict,
        description="Each loop of the semantics: exactly, at_most, {multiple_of: n}.",
    )
    operands: dict[str, Operand] = Field(
        default_factory=dict,
        description="Each buffer of the semantics: memory, strides, alignment.",
    )
    repeat: dict[str, RepeatModel] = Field(
        default_factory=dict, description="Hardware loops around it, outermost first."
    )
    immediates: dict[str, ImmediateModel] = Field(
        default_factory=dict, description="Encoded numbers that the semantics may name."
    )
    unit: Text = Field(description="The unit that executes it.")
    issue: Amount = Field(
        description="Cycles that a call keeps its unit busy: '8 + ceil(r / 4) cycles'."
    )
    latency: Amount | None = Field(
        default=None,
        description="Cycles from start until results are visible; the issue time if left out.",
    )
    accumulate: Amount | None = Field(
        default=None,
        description="Cycles after which the same instruction may add to the same bytes again.",
    )
    stream: Stream | None = Field(
        default=None,
        description="The loop whose iterations follow each other: each reads and writes its part "
        "of the operands in its turn. Left out: a call touches all for the whole of its time.",
    )
    energy: Amount | None = Field(
        default=None, description="Energy of a call beside its memory accesses."
    )
    emit: EmitModel = Field(
        default=EmitModel(), description="How a call is written as assembly, C and bits."
    )
    obeys: dict[str, dict[str, Integer]] = Field(
        default_factory=dict,
        description="Registers of a state that must have these values: {ld: {stride: S.r}}.",
    )
    is_sync: StrictBool = Field(
        default=False, description="Does nothing but carry tokens; has no semantics."
    )
    only_computed: StrictBool = Field(
        default=False,
        description="Reads what an instruction has computed where it lies, not what a copy has put "
        "there.",
    )
    multicast: Literal["all"] | list[Text] = Field(
        default_factory=list,
        description="A call writes the same bytes to all cores, or to those along these axes of "
        "the grid: all, [row].",
    )
    source: Text = Field(description=SOURCE)


class HostModel(Model):
    """A processor that runs what no instruction computes, on arrays in the external memory."""

    unit: Text = Field(description="The unit it is.")
    start: Amount = Field(description="Cycles that each call costs beside its operations.")
    operation: Amount = Field(
        description="Cycles per scalar operation and per element read or written, '1 / 4 cycles'."
    )
    energy: Amount | None = Field(
        default=None, description="Energy of the same, beside the external memory's, '70 pJ'."
    )
    apart: StrictBool = Field(
        default=True, description="False: it is the core whose instructions these are, one stream."
    )
    lanes: Integer = Field(
        default="1", description="f32 elements in a vector of its compiled loops; 1: it has none."
    )
    source: Text = Field(description=SOURCE)


class CompilerModel(Model):
    """How C for this machine is compiled and run."""

    command: Text | None = Field(
        default=None, description="The compiler; the system's own ($CC, cc, ..) if left out."
    )
    flags: list[Text] = Field(default_factory=list, description="For the processor, '-mavx2'.")
    headers: list[Text] = Field(default_factory=list, description="Included, 'immintrin.h'.")
    preamble: Text | None = Field(default=None, description="C before every function.")
    functions: dict[str, Text] = Field(
        default_factory=dict,
        description="C functions that the instructions' C calls, by name, in any order; a file gets"
        " those that it needs.",
    )
    unroll: Integer = Field(
        default="0",
        description="Calls that all rounds of an innermost loop, or four of them, may have to be "
        "compiled as one.",
    )
    begin: Text | None = Field(default=None, description="C at the start of every function.")
    end: Text | None = Field(default=None, description="C at the end of every function.")
    around: list[Text] = Field(
        default_factory=list,
        description="Memories: 'begin' and 'end' stand only in functions that use one of them (left"
        " out: in all).",
    )
    features: list[Text] = Field(
        default_factory=list,
        description="Processor features, spelt as in /proc/cpuinfo, that the code needs.",
    )
    run: list[Text] = Field(
        default_factory=list, description="Command that runs its programs elsewhere, an emulator."
    )
    packages: list[Text] = Field(
        default_factory=list, description="Debian packages with compiler and emulator."
    )
    source: Text = Field(description=SOURCE)


class CoresModel(Model):
    """Identical processors that run one program, each with memories and units of its own."""

    count: Integer | None = Field(
        default=None, description="How many there are; short for grid: {core: n}."
    )
    grid: dict[str, Integer] = Field(
        default_factory=dict, description="Size of each axis of the grid, {row: 2, column: 2}."
    )
    memories: list[Text] = Field(
        min_length=1, description="Managed memories that each core has of its own."
    )
    units: list[Text] = Field(min_length=1, description="Units that each core has of its own.")
    source: Text = Field(description=SOURCE)


class DistanceModel(Model):
    """Least cycles between the starts of two calls, beside what latencies and units ask for."""

    from_: Text = Field(alias="from", description="Instruction of the earlier call.")
    to: Text = Field(description="Instruction of the later call.")
    when: Literal["always", "new_entry"] = Field(
        default="always",
        description="always, or new_entry: only calls that are the first to read an entry of a "
        "fifo memory.",
    )
    cycles: Amount = Field(description="Least distance, over the loops of the earlier call.")
    source: Text = Field(description=SOURCE)


class HardwareModel(Model):
    """A machine, for isamap."""

    base: Text | None = Field(
        default=None,
        description="A hardware file that this one builds on: a path from this file's folder, or a "
        "bundled name. Mappings merge, null removes an entry, everything else replaces.",
    )
    name: Text = Field(description="Name of the machine.")
    clock: Amount = Field(description="The one clock, '1 GHz'.")
    synchronisation: Literal["interlocked", "tokens", "exposed"] = Field(
        description="interlocked: the hardware waits for data; tokens: the program synchronises; "
        "exposed: nothing waits, the program says in which cycle each call starts."
    )
    issue_width: Integer | None = Field(
        default=None,
        description="Calls that may start in one cycle, all units but the host's together; any "
        "number if left out. Only with synchronisation: exposed.",
    )
    source: Text | None = Field(default=None, description=SOURCE)
    parameters: dict[str, Integer] = Field(
        default_factory=dict,
        description="Integers that all expressions and semantics below may name.",
    )
    memories: dict[str, MemoryModel] = Field(min_length=1, description="Memories by name.")
    units: dict[str, UnitModel | None] = Field(min_length=1, description="Units by name.")
    channels: dict[str, ChannelModel] = Field(
        default_factory=dict, description="Token queues by name; only with synchronisation: tokens."
    )
    instructions: dict[str, InstructionModel] = Field(
        min_length=1, description="Instructions by name."
    )
    compiler: CompilerModel | None = Field(
        default=None, description="How generated C is compiled and run."
    )
    state: dict[str, StateModel] = Field(
        default_factory=dict,
        description="Registers that one command sets and others obey, by name.",
    )
    encoding: EncodingModel | None = Field(
        default=None, description="How programs are written as bits."
    )
    assembly: AssemblyModel | None = Field(default=None, description="Text around 'emit: asm'.")
    distances: list[DistanceModel] = Field(
        default_factory=list,
        description="Least cycles between calls; only with synchronisation: exposed.",
    )
    host: HostModel | None = Field(
        default=None, description="Runs the statements that no instruction computes."
    )
    cores: CoresModel | None = Field(
        default=None,
        description="Several identical cores; what they do not list is shared by all of them.",
    )
