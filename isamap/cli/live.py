"""The search as it goes, on a terminal, and Ctrl-C.

In: progress, key presses. Out: lines that are gone when the search ends; a wish to stop. Not its
job: the answer.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from isamap.costmodels import pretty_value
from isamap.scheduler import Progress

from .units import show_seconds, show_share

REFRESHES_PER_SECOND = 8


class LiveWatch:
    """Shows the newest progress. The first Ctrl-C ends the search, the next one what follows it."""

    def __init__(self) -> None:
        self.newest: Progress | None = None
        self.begin = time.perf_counter()
        self._is_stopped = False

    @property
    def is_stopped(self) -> bool:
        """Was Ctrl-C pressed?"""
        return self._is_stopped

    def see(self, progress: Progress) -> None:
        """Keep it for the next refresh."""
        self.newest = progress

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Answer a SIGINT."""
        if self._is_stopped:
            raise KeyboardInterrupt
        self._is_stopped = True

    @contextmanager
    def attached(self, console: Console) -> Iterator["LiveWatch"]:
        """Answer Ctrl-C, and show progress if the console is a terminal."""
        shown: Live | nullcontext[None] = nullcontext()
        if console.is_terminal:
            rate = REFRESHES_PER_SECOND
            render = _Rendering(self)
            shown = Live(render, console=console, refresh_per_second=rate, transient=True)
        is_main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, self.stop) if is_main else None
        try:
            with shown:
                yield self
        finally:
            if is_main:
                signal.signal(signal.SIGINT, before)

    def text(self) -> str:
        """What is being solved, and best, bound and gap."""
        seconds = show_seconds(time.perf_counter() - self.begin)
        head = f"searching and checking, {seconds} (Ctrl-C keeps the best so far)"
        if self._is_stopped:
            head = f"checking the best so far, {seconds} (Ctrl-C skips it)"
        return head if self.newest is None else f"{head}\n{progress_text(self.newest)}"


class _Rendering:
    """The text beside a spinner, as it is at every refresh."""

    def __init__(self, watch: LiveWatch) -> None:
        self.watch = watch
        self.spinner = Spinner("dots")

    def __rich__(self) -> RenderableType:
        self.spinner.update(text=Text(self.watch.text(), no_wrap=True, overflow="ellipsis"))
        return self.spinner


def progress_text(progress: Progress) -> str:
    """`gemm, covering 2: bound 1 190 cycles`, of the covering being solved, and below it, of all,
    `best 1 200 cycles, bound 1 180 cycles, gap 1.7 %`."""
    aim = progress.aim
    best = "nothing yet" if progress.value is None else pretty_value(aim, progress.value)
    gap = "" if progress.gap is None else f", gap {show_share(progress.gap)}"
    own = f"bound {pretty_value(aim, progress.covering_bound)}"
    return (
        f"{progress.subject}, covering {progress.num_coverings}: {own}\n"
        f"best {best}, bound {pretty_value(aim, progress.bound)}{gap}"
    )
