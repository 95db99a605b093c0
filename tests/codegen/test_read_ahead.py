"""Headers read before: the same programs, anew when anything changed, never in the way."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from isamap.codegen import Toolchain
from isamap.codegen.c.read_ahead import BUSY, ENOUGH, KEPT, READ, USELESS, read_ahead
from isamap.errors import IsamapError

HEADER = """#ifndef SLOW
#define SLOW
#ifndef BASE
#define BASE 0
#endif
enum {{ ANSWER = BASE + {} }};
#endif
"""


@pytest.fixture(params=["gcc", "clang"])
def toolchain(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Toolchain:
    """A compiler for which every file includes `slow.h`, with a cache of its own."""
    found = shutil.which(request.param)
    if found is None:
        pytest.skip(f"no {request.param}: apt-get install {request.param}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CPATH", str(tmp_path))
    (tmp_path / "slow.h").write_text(HEADER.format(1))
    return Toolchain(found, ("-O1",), (), ("slow.h",))


def answer(toolchain: Toolchain, folder: Path) -> int:
    """What a program returns that is compiled now."""
    source, program = folder / "main.c", folder / "main"
    source.write_text("#include <slow.h>\nint main(void) { return ANSWER; }\n")
    toolchain.compile_program((source,), program, ("-Wall", "-Wextra", "-Werror"))
    return subprocess.run([program], check=False).returncode


def read(folder: Path) -> list[Path]:
    """What is kept."""
    return list(folder.glob(f"cache/isamap/headers/*/{READ}"))


def test_headers_are_read_once_it_pays_and_again_when_they_change(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    for _ in range(ENOUGH - 1):
        assert answer(toolchain, tmp_path) == 1 and not read(tmp_path)
    assert answer(toolchain, tmp_path) == 1 and len(read(tmp_path)) == 1
    header = tmp_path / "slow.h"
    before = header.stat()
    header.write_text(HEADER.format(2))
    os.utime(header, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert answer(toolchain, tmp_path) == 1  # nobody can tell: what was read before is taken
    header.write_text(HEADER.format(33))
    assert answer(toolchain, tmp_path) == 33
    header.unlink()
    with pytest.raises(IsamapError, match="slow.h"):
        answer(toolchain, tmp_path)


def test_other_flags_read_for_themselves(toolchain: Toolchain, tmp_path: Path) -> None:
    for _ in range(ENOUGH):
        answer(toolchain, tmp_path)
    other = Toolchain(toolchain.compiler, ("-O1", "-DBASE=6"), (), toolchain.headers)
    assert answer(other, tmp_path) == 7
    for _ in range(ENOUGH):
        assert answer(other, tmp_path) == 7
    assert len(read(tmp_path)) == 2


def test_what_is_damaged_is_not_used(toolchain: Toolchain, tmp_path: Path) -> None:
    for _ in range(ENOUGH):
        answer(toolchain, tmp_path)
    read(tmp_path)[0].write_bytes(b"nothing that a compiler wrote")
    assert answer(toolchain, tmp_path) == 1
    (tmp_path / "slow.h").write_text(HEADER.format(5))
    assert answer(toolchain, tmp_path) == 5


def test_what_cannot_be_kept_is_not(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    for _ in range(ENOUGH + 1):
        assert answer(toolchain, tmp_path) == 1


def test_folders_that_are_useless_busy_or_too_many_are_left_alone(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    def ask(flag: str) -> tuple[str, ...]:
        return read_ahead((toolchain.compiler, flag), "1", toolchain.headers, ENOUGH)

    for number in range(KEPT + 2):
        assert ask(f"-DN={number}")
    folders = [path.parent for path in read(tmp_path)]
    assert len(folders) == KEPT
    (Path(ask("-DN=9")[-1]).parent / USELESS).touch()
    assert ask("-DN=9") == ()
    folder = Path(ask("-DN=8")[-1]).parent
    (folder / READ).unlink()
    (folder / BUSY).touch()
    assert ask("-DN=8") == ()
    os.utime(folder / BUSY, (0, 0))  # whoever began was killed
    assert ask("-DN=8")
