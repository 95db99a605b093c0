"""The shape of a hardware file's entries on binary programs.

In: plain data. Out: models whose leaves are still text. Not its job: positions, whether names exist
(`build_encoding`, `build_bits`).
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from .schema_base import SOURCE, Amount, Integer, Model, Text, short_form

VALUE = "a sum of quantities times numbers: '(base + S) / 16', 'rows - 1'"


class FieldModel(Model):
    """Where a field lies: '0-2', '7', 'w1 16-31' (bits of word 1)."""

    at: Integer = Field(
        description="First and last bit, after the word if not the first: 'w1 0-9'."
    )
    signed: StrictBool = Field(default=False, description="Two's complement.")
    pops: list[Text] = Field(
        default_factory=list, description="Counts the call's pops of these channels."
    )
    pushes: list[Text] = Field(
        default_factory=list, description="Counts the call's pushes to these channels."
    )


BitFieldEntry = Annotated[FieldModel, short_form("at", FieldModel | int | str)]


class FormatModel(Model):
    """A record of fixed size."""

    size: Amount = Field(description="'16 bytes'.")
    fields: dict[str, BitFieldEntry] = Field(min_length=1, description="Fields by name.")
    c: Text | None = Field(
        default=None,
        description="A C statement for one record, with {field} for constants in the text of an "
        "instruction, and {w0}, {w1} for whole words.",
    )


class CommandModel(Model):
    """One record: fields without a value are 0."""

    format: Text = Field(description="Name of a format.")
    set: dict[str, Integer | list[Integer]] = Field(
        default_factory=dict,
        description=f"Each field's value, {VALUE}; a list has one per copy of the state obeyed.",
    )
    only: dict[str, Literal["new", "kept", "first", "later", "last", "earlier"]] = Field(
        default_factory=dict,
        description="Written only when this latched operand was newly loaded, or only when kept; "
        "'chain: first' and so on: only there in a chain.",
    )


class EntriesModel(Model):
    """Entries of a table that a call refers to."""

    over: Text | None = Field(
        default=None, description="The repeat whose rounds have one entry each; one if left out."
    )
    set: dict[str, Integer] = Field(description=f"Each field's value, {VALUE}.")


class BitsModel(Model):
    """The records of a call: one (format, set), several (commands), or none (latch)."""

    format: Text | None = Field(default=None, description="Name of a format.")
    set: dict[str, Integer | list[Integer]] = Field(
        default_factory=dict,
        description=f"Each field's value, {VALUE}; a list has one per copy of the state obeyed.",
    )
    commands: list[CommandModel] = Field(
        default_factory=list, description="Several records, in order."
    )
    entries: dict[str, EntriesModel] = Field(
        default_factory=dict, description="What the call needs in tables."
    )
    latch: StrictBool = Field(
        default=False,
        description="Writes nothing: the next call that reads what it wrote carries its operands, "
        "as 'W.loaded.B'.",
    )
    chain: Text | None = Field(
        default=None,
        description="An operand that is added to. Calls that follow each other on their unit and "
        "add to the same place are a chain, whose sums the unit keeps until its last call; "
        "'only: {chain: first}' (later, last, earlier) tells its calls apart.",
    )
    view_of: Text | None = Field(
        default=None,
        description="The instruction that this one is, described otherwise: its records are read "
        "back as that one's.",
    )


class TableModel(Model):
    """Records in a memory of the machine's own that instructions refer to."""

    format: Text = Field(description="Format of an entry.")
    capacity: Integer = Field(description="Entries that the machine holds.")
    unit: Text = Field(description="The unit that loads entries.")
    load: CommandModel = Field(
        description="Copies entries from the image; names: first, count, address, base."
    )
    source: Text = Field(description=SOURCE)


class StateModel(Model):
    """Registers that one command sets together."""

    registers: list[Text] = Field(min_length=1, description="Their names.")
    copies: Integer = Field(default="1", description="How many sets of them there are.")
    unit: Text = Field(description="The unit that sets them.")
    set_by: CommandModel = Field(
        description="Sets all registers of a copy; names: the registers and 'copy' (from 0)."
    )
    source: Text = Field(description=SOURCE)


class EndModel(Model):
    """The last record of a run."""

    unit: Text = Field(description="The unit that ends it; all others tell it that they are done.")
    command: CommandModel = Field(description="The record.")
    source: Text = Field(description=SOURCE)


class BaseAddressModel(Model):
    """Where the image with all data lies."""

    default: Integer = Field(default="0", description="Byte address unless given otherwise.")
    align: Amount = Field(default="1 byte", description="It is a multiple of it.")


class EncodingModel(Model):
    """How programs are written as bits."""

    endian: Literal["little", "big"] = Field(description="Byte order of a record.")
    word: Integer = Field(default="64", description="Bits of the words that fields count in.")
    base: BaseAddressModel = Field(
        default=BaseAddressModel(), description="The image with all data: its address."
    )
    formats: dict[str, FormatModel] = Field(min_length=1, description="Records by name.")
    tables: dict[str, TableModel] = Field(
        default_factory=dict, description="Tables that instructions refer to, by name."
    )
    zeros: dict[str, Amount] = Field(
        default_factory=dict,
        description="Blocks of zero bytes in the image, by the name that values use.",
    )
    end: EndModel | None = Field(default=None, description="What ends a run.")
    idle: CommandModel | None = Field(
        default=None,
        description="The record of a cycle in which nothing starts (exposed timing).",
    )
    c: Text | None = Field(default=None, description="C text before the program, for 'emit c'.")
    source: Text = Field(description=SOURCE)


class AssemblyModel(Model):
    """What stands around the calls of an assembly file."""

    extension: Text = Field(default="s", description="Of the file, 'ptx'.")
    comment: Text = Field(default="#", description="What begins a comment.")
    registers: dict[str, Text] = Field(
        default_factory=dict,
        description="Per memory the name of a granule, '%r{number}'; an operand of several is "
        "their names with commas. Operands in other memories are byte addresses.",
    )
    begin: Text | None = Field(default=None, description="Before a run's calls; hole: {name}.")
    end: Text | None = Field(default=None, description="Behind them; hole: {name}.")
    source: Text = Field(description=SOURCE)
