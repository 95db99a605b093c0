"""`isamap build`: a kernel as C and a shared library.

In: arguments. Out: files, and what was written. Not its job: any decision.
"""

import click

from .options import allow_option, layout_option, read_sizes, subject_options


@click.command()
@subject_options
@click.option("--out", "-o", required=True, metavar="FOLDER", help="Where the files go.")
@layout_option
@allow_option
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
