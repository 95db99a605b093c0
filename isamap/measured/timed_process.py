"""One program under the clock, in a process of its own.

In: an executable made of `generate_timer`. Out: how long calls take, or what became of the process.
Not its job: which programs, how often, statistics (`timer`).
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from isamap.codegen import MUST_EXECUTE
from isamap.errors import IsamapError

PASSING = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # sent from outside
GRACE_S = 2.0  # for the program's own alarm clock to be quicker than ours


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Of so many calls together."""

    own_s: float  # the calling thread's processor time
    wall_s: float


class RunError(Exception):
    """The process is gone or was ended. `is_lasting`: it would happen again."""

    def __init__(self, message: str, *, is_lasting: bool) -> None:
        super().__init__(message)
        self.is_lasting = is_lasting


class TimedProcess:
    """A process that waits to be asked; the terminal's Ctrl-C does not reach it.

    Raises:
        IsamapError: it cannot be started.
    """

    def __init__(self, command: Sequence[str], cpus: frozenset[int], limit_s: float) -> None:
        self.limit_s = limit_s
        try:
            self.process = subprocess.Popen(
                [*command, str(max(1, round(limit_s)))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            message = f"cannot run what was compiled: {error.strerror}"
            raise IsamapError(message, hint=MUST_EXECUTE) from error
        if cpus and hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):  # gone already: the first question says so
                os.sched_setaffinity(self.process.pid, cpus)

    def __enter__(self) -> "TimedProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def ask(self, count: int) -> Elapsed:
        """Call the function so often.

        Raises:
            RunError: it took longer than the limit, crashed or was killed.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(f"{count}\n".encode())
            self.process.stdin.flush()
        except OSError:
            raise self._ended() from None
        line = self._line(time.monotonic() + self.limit_s + GRACE_S)
        own, _, wall = line.partition(" ")
        return Elapsed(int(own) / 1e9, int(wall) / 1e9)

    def close(self) -> None:
        """End the process, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self.process.wait()

    def _line(self, deadline: float) -> str:
        """The next line of its output."""
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        text = b""
        while not text.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise self._late()
            part = os.read(pipe, 4096)
            if not part:
                raise self._ended()
            text += part
        return text.decode()

    def _late(self) -> RunError:
        self.process.kill()
        return RunError(f"ran longer than {self.limit_s:g} s", is_lasting=True)

    def _ended(self) -> RunError:
        """What became of it."""
        code = self.process.wait()
        assert self.process.stderr is not None
        said = self.process.stderr.read().decode(errors="replace").strip()[:300]
        if code == -signal.SIGALRM:
            return self._late()
        if code >= 0:
            return RunError(f"ended with status {code}: {said}", is_lasting=True)
        name = signal.Signals(-code).name
        if -code in PASSING:
            return RunError(f"was ended by {name}", is_lasting=False)
        return RunError(f"crashed with {name}" + (f": {said}" if said else ""), is_lasting=True)
