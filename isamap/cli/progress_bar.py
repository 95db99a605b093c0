"""How far a long command is, on a terminal.

In: a console, how much there is to do. Out: a bar that is gone at the end. Not its job: what is
done.
"""

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)


def progress_bar(console: Console) -> Progress:
    """A spinner, what is done, a bar, how many of how many, how long still; nothing elsewhere."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
