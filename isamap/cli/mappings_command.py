"""`isamap mappings`: options in, the list or the count out.

In: arguments. Out: printed mappings, a file. Not its job: finding them.
"""

import click

from .options import read_sizes, subject_options


@click.command()
@subject_options
@click.option(
    "--gather/--no-gather",
    default=True,
    show_default=True,
    help="May copies, views or packed layouts form an operand's tile?",
)
@click.option(
    "--replicate", is_flag=True, help="A tile may also hold an element several times (broadcast)."
)
@click.option(
    "--rewrites",
    "max_rewrites",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Also map what up to so many rewrites make of the kernel.",
)
@click.option("--count", is_flag=True, help="Print how many there are, not which.")
@click.option("--limit", type=click.IntRange(1), help="List only so many.")
@click.option("--json", "json_path", metavar="FILE", help="Write them as JSON (-: stdout).")
def mappings_command(
    kernel: str, hardware: str, sizes: tuple[str, ...], name: str | None, gather: bool,
    replicate: bool, max_rewrites: int, count: bool, limit: int | None, json_path: str | None,
) -> None:  # fmt: skip
    """List all distinct mappings of KERNEL (a file, a bundled name, either with :NAME).

    A mapping says which of the kernel's loops each loop of an instruction runs over, and which
    access each operand stands for. Tile sizes, order and layouts are the scheduler's: 'isamap map'.
    """
    from isamap.bindings import list_mappings  # start-up time

    from .show_mappings import show_mappings

    found = list_mappings(
        kernel,
        hardware,
        sizes=read_sizes(sizes),
        name=name,
        gather=gather,
        replicate=replicate,
        max_rewrites=max_rewrites,
    )
    show_mappings(found, counts_only=count, limit=limit, json_path=json_path)
