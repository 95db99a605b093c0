"""`isamap specs` and `isamap kernels`: what comes with isamap.

In: the bundled files. Out: one line each. Not its job: loading machines.
"""

from pathlib import Path

import click

from isamap.resources import bundled


@click.command()
def specs_command() -> None:
    """List the bundled machines; any of these names can follow --hw."""
    rows = [(name, _first_comment(path)) for name, path in bundled("hw_specs", ".yaml").items()]
    _print_rows(rows)


@click.command()
def kernels_command() -> None:
    """List the bundled kernels with their sizes and defaults."""
    from isamap.ir import load_kernels  # start-up time

    rows = []
    for file, path in bundled("kernels", ".py").items():
        for number, source in enumerate(load_kernels(path).values()):
            name = file if number == 0 else f"{file}:{source.name}"
            sizes = " ".join(f"{size}={value}" for size, value in source.sizes)
            doc = source.doc.partition("\n")[0]
            rows.append((name, f"{doc}  [{sizes}]"))
    _print_rows(rows)


def _first_comment(path: Path) -> str:
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def _print_rows(rows: list[tuple[str, str]]) -> None:
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        click.echo(f"{name:<{width}}  {text}")
