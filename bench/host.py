"""What a benchmark ran on.

In: nothing. Out: header lines. Not its job: measuring.
"""

import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from isamap.c_compiler import find_compiler


def header(packages: Iterable[str]) -> list[str]:
    """Date, command, processor, compiler, versions of Python and of `packages`, one line each."""
    versions = [f"{name} {version(name)}" for name in packages]
    command = ["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]]
    return [
        f"date       {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"command    {shlex.join(command)}",
        f"processor  {processor()}",
        f"compiler   {compiler()}",
        f"versions   {', '.join([f'Python {platform.python_version()}', *versions])}",
    ]


def processor() -> str:
    """The processor's name and number of cores, as the system tells them."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.processor()


def compiler() -> str:
    """First line of what the emulator's C compiler says about itself."""
    command = find_compiler()
    if not command:
        return "none (emulated in Python)"
    answer = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    return answer.stdout.splitlines()[0]
