"""`isamap build`: a kernel as C and a shared library.

In: arguments. Out: files, and what was written. Not its job: any decision.
"""

import click

from .map_command import read_sizes


@click.command()
@click.argument("kernel")
@click.option("--hw", "hardware", required=True, help="Hardware file, or a bundled name.")
@click.option("--out", "-o", required=True, metavar="FOLDER", help="Where the files go.")
@click.option("--size", "sizes", multiple=True, metavar="NAME=N", help="A size of the kernel.")
@click.option("--kernel", "name", help="Kernel in the file (default: the first).")
@click.option(
    "--layout",
    "layouts",
    type=click.Choice(["natural", "packed"]),
    default="natural",
    show_default=True,
    help="Prefer buffers as they lie, or fewest cycles.",
)
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=click.Choice(["reassociate"]),
    help="Allow reordering floating-point sums.",
)
@click.option("--time-limit", default=10.0, show_default=True, help="Seconds for the search.")
def build_command(
    kernel: str, hardware: str, out: str, sizes: tuple[str, ...], name: str | None, layouts: str,
    allowed: tuple[str, ...], time_limit: float,
) -> None:  # fmt: skip
    """Compile KERNEL (a file, a bundled name, either with :NAME) for this processor."""
    from isamap.native import build  # start-up time: the solver and NumPy load only now

    built = build(
        kernel, hardware, sizes=read_sizes(sizes), name=name, out=out, layouts=layouts,
        time_limit_s=time_limit, may_reassociate="reassociate" in allowed,
    )  # fmt: skip
    files = built.files
    for path in (files.source, files.header, files.depfile, files.library):
        click.echo(str(path))
    for buffer in built.packed:
        click.echo(f"{buffer} is wanted in another layout: {files.header} has its bytes")
