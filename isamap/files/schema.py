"""The shape of a schedule file.

In: plain data. Out: models. Not its job: positions, whether names exist and rules hold (`rebuild`).
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

Name = Annotated[StrictStr, Field(min_length=1)]
FORMAT, VERSION = "isamap-schedule", 1


class Model(BaseModel):
    """Unknown keys are errors; instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class KernelRef(Model):
    """Which kernel, at which sizes."""

    file: Name = Field(description="A kernel file, or a bundled name.")
    name: Name = Field(description="The kernel in the file.")
    sizes: dict[str, StrictInt] = Field(description="Every size of the kernel.")
    digest: StrictStr = Field(default="", description="Of the kernel as it was.")


class HardwareRef(Model):
    """Which machine."""

    file: Name = Field(description="A hardware file, or a bundled name.")
    digest: StrictStr = Field(default="", description="Of the machine as it was.")


class Options(Model):
    """What the check depends on."""

    reassociate: StrictBool = Field(default=False, description="May float sums be reordered?")
    seed: StrictInt = Field(
        default=0, ge=0, le=2**31 - 1, description="Of the check's random inputs."
    )


class RewriteRef(Model):
    """One step from the kernel as it is written to the kernel that is mapped."""

    rewrite: Name = Field(description="Name of a rewrite.")
    site: Name = Field(description="Where it applies.")


class OperandRef(Model):
    """How an operand gets to its unit and back."""

    route: Name = Field(description="Memories and the copies between them.")
    layout: Name = Field(description="How its buffer lies in the external memory.")


class StayRef(Model):
    """What is held of an operand in one memory."""

    operand: Name = Field(description="An operand of the instruction.")
    memory: Name = Field(description="A memory on the operand's route.")
    holds: Literal["tile", "block"] = Field(description="A whole tile, or single blocks.")
    slots: StrictInt = Field(description="1, or 2 for double buffering; more for slow fetches.")
    keeps: tuple[Name, ...] = Field(
        default=(), description="Loops all of whose tiles are kept side by side."
    )


class TaskRef(Model):
    """One task: on the host, or by an instruction with its tiling."""

    number: StrictInt = Field(description="Of the statement that the task computes.")
    joined: tuple[StrictInt, ...] = Field(
        default=(), description="Numbers of all statements that the task computes."
    )
    not_kept: dict[str, tuple[Name, ...]] = Field(
        default={}, description="Held loops over which nothing of a buffer stays on chip."
    )
    runs: Name = Field(description="'host', or the instruction that computes the task.")
    binding: dict[str, tuple[Name, ...]] = Field(
        default={}, description="Loops of the instruction: the kernel's loops that each runs over."
    )
    operands: dict[str, OperandRef] = Field(
        default={}, description="Operands of the instruction with 'route' and 'layout'."
    )
    choice: StrictInt = Field(
        default=0, ge=0, description="Which of the coverings that are alike in all this, from 0."
    )
    cores: dict[str, dict[str, StrictInt]] = Field(
        default={}, description="Loops that cores share: the number of shares along each axis."
    )
    multicast: dict[str, Name] = Field(
        default={}, description="Operands that come to several cores at once: by which instruction."
    )
    tiles: dict[str, StrictInt] = Field(
        default={}, description="Iterations of each loop in a tile, on each core."
    )
    outer: tuple[Name, ...] = Field(default=(), description="Loops over tiles, outermost first.")
    inner: tuple[Name, ...] = Field(
        default=(), description="Loops over the blocks of a tile, outermost first."
    )
    stays: tuple[StayRef, ...] = Field(default=(), description="What is held in which memory.")


class Recorded(Model):
    """What the schedule took when the file was written."""

    emulated_cycles: StrictInt | None = Field(default=None, description="Whole program.")
    analytical_cycles: StrictInt | None = Field(default=None, description="Closed form.")
    bound_cycles: StrictInt | None = Field(default=None, description="Proven lower bound.")
    roofline_cycles: StrictInt | None = Field(default=None, description="No covering is faster.")
    energy_pj: StrictFloat | StrictInt | None = Field(default=None, description="Emulated.")
    external_read_bytes: StrictInt | None = Field(default=None, description="Emulated.")
    external_written_bytes: StrictInt | None = Field(default=None, description="Emulated.")
    minimised: StrictStr = Field(default="cycles", description="What the search minimised.")
    status: StrictStr = Field(default="", description="Of the search.")
    interrupted: StrictBool = Field(default=False, description="Did Ctrl-C end the search?")
    tasks: dict[str, StrictInt] = Field(default={}, description="Closed-form cycles per task.")


class ScheduleModel(Model):
    """A whole file."""

    format: Literal["isamap-schedule"] = Field(description=f"'{FORMAT}'.")
    version: Literal[1] = Field(description=f"{VERSION}")
    kernel: KernelRef = Field(description="Kernel file, name and sizes.")
    hardware: HardwareRef = Field(description="Hardware file.")
    options: Options = Field(default=Options(), description="What the check depends on.")
    form: Literal["single", "tasks"] = Field(
        description="One nest by itself, or tasks that hand arrays on."
    )
    rewrites: tuple[RewriteRef, ...] = Field(default=(), description="Steps, in order.")
    homes: dict[str, Name] = Field(
        default={}, description="Buffers that lie in a memory on chip between tasks, and which."
    )
    tasks: tuple[TaskRef, ...] = Field(min_length=1, description="Every task, in program order.")
    recorded: Recorded = Field(default=Recorded(), description="What it took.")
