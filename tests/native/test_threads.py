"""Kernels on several threads: the same bits as on one, what cannot be shared out is told."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.codegen import Toolchain, generate_c
from isamap.compile import build_kernel
from isamap.errors import ProgramError
from isamap.hwdesc import Hardware
from isamap.ir import interpret, random_arrays
from isamap.native import execute_c, whole_arrays
from isamap.native.mapped import map_program
from isamap.native.threads import on_threads
from isamap.program import For, Issue, Node, Program, Spread
from isamap.scheduler import Wishes, find_schedule

CODEGEN = Path(__file__).parent.parent / "codegen"
KERNELS = CODEGEN / "c_kernels.py"
HW = isamap.load_hardware(CODEGEN / "vec4.yaml")
STRICT = ("-Wall", "-Wextra", "-Werror")
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)


def scheduled(name: str, hw: Hardware, **sizes: int) -> Program:
    kernel, _ = build_kernel(f"{KERNELS}:{name}", sizes, None)
    return find_schedule(kernel, hw, Wishes(time_limit_s=0.3, may_reassociate=True)).best.program


@pytest.mark.parametrize(
    "m, n, k, threads", [(2, 1, 1, 2), (5, 7, 3, 3), (1, 18, 5, 2), (13, 18, 7, 4)]
)
def test_threads_give_the_same_bits_as_one(m: int, n: int, k: int, threads: int) -> None:
    kernel, _ = build_kernel(f"{KERNELS}:sgemm_adds", {"m": m, "n": n, "k": k}, None)
    arrays = random_arrays(kernel, 1)
    results = []
    for count in (1, threads):
        hw = on_threads(HW, count)
        wishes = Wishes(time_limit_s=0.3, may_reassociate=True)
        program = find_schedule(kernel, hw, wishes).best.program
        results.append(execute_c(program, hw, arrays, (*STRICT, "-fsanitize=address,undefined")))
    assert results[0]["C"].tobytes() == results[1]["C"].tobytes()


def test_the_work_is_shared_out_and_every_thread_has_its_own_registers() -> None:
    hw = on_threads(HW, 2)
    source = generate_c(scheduled("sgemm", hw, m=8, n=12, k=3), hw)
    assert source.num_threads == 2 and source.flags == ("-fopenmp",)
    head, _, body = source.text.partition("#pragma omp parallel for num_threads(2)")
    assert "vec4 regs0" in body and "vec4 regs0" not in head
    alone = generate_c(scheduled("sgemm", HW, m=8, n=12, k=3), HW)
    assert alone.num_threads == 1 and alone.flags == () and "#pragma omp" not in alone.text


def test_a_built_kernel_runs_on_threads(tmp_path: Path) -> None:
    kernel = f"{KERNELS}:sgemm"
    built = isamap.build(
        kernel, HW, sizes={"m": 9, "n": 11, "k": 4}, threads=2, out=tmp_path, may_reassociate=True,
        time_limit_s=0.5,
    )  # fmt: skip
    assert built.source.num_threads == 2
    arrays = whole_arrays(built.kernel, 0)
    assert np.array_equal(built(**arrays), interpret(built.kernel, arrays)["C"])


def test_tasks_that_hand_on_arrays_wait_for_each_other(tmp_path: Path) -> None:
    built = isamap.build(
        f"{KERNELS}:sgemm_relu", "x86_avx2", sizes={"m": 13, "n": 18, "k": 7}, threads=2,
        out=tmp_path, may_reassociate=True, time_limit_s=1,
    )  # fmt: skip
    assert built.source.num_threads == 2
    arrays = whole_arrays(built.kernel, 0)
    assert np.array_equal(built(**arrays), interpret(built.kernel, arrays)["C"])


def test_time_steps_on_threads_give_the_same_bits_as_on_one() -> None:
    kernel, _ = build_kernel("gru", {"steps": 3, "batch": 2, "inputs": 5, "hidden": 17}, None)
    arrays = random_arrays(kernel, 1)
    wishes = Wishes(time_limit_s=0.2, may_reassociate=True)
    results = []
    for threads in (1, 2):
        mapped = map_program(kernel, "x86_avx2", wishes, threads=threads)
        flags = (*STRICT, "-fsanitize=address,undefined") if threads > 1 else STRICT
        results.append(execute_c(mapped.program, mapped.hardware, arrays, flags)["h"].tobytes())
    assert results[0] == results[1]
    assert generate_c(mapped.program, mapped.hardware, mapped.given).num_threads == 2


@pytest.mark.parametrize("limit", ["1", "2"])
def test_what_cores_pack_is_kept_over_time_steps_on_however_many_threads(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"steps": 3, "batch": 2, "inputs": 16, "hidden": 64}
    mapped = map_program("gru:gru_i8", "x86_avx2", Wishes().within(0.5), sizes=sizes, threads=2)
    text = generate_c(mapped.program, mapped.hardware, mapped.given).text
    assert "panel_of_cores + isamap_core * " in text, "the packed weights are read in every step"
    monkeypatch.setenv("OMP_THREAD_LIMIT", limit)
    arrays = whole_arrays(mapped.kernel, 1)
    flags = (*STRICT, "-fsanitize=address,undefined")
    found = execute_c(mapped.program, mapped.hardware, arrays, flags)["h"]
    assert np.array_equal(found, interpret(mapped.kernel, arrays)["h"])


def test_a_compiler_without_openmp_is_told_by_its_package(tmp_path: Path) -> None:
    compiler = tmp_path / "clang"
    compiler.write_text("#!/bin/sh\necho 'ld: cannot find -lomp: No such file' >&2\nexit 1\n")
    compiler.chmod(0o755)
    toolchain = Toolchain(str(compiler), (), ())
    with pytest.raises(isamap.IsamapError, match="cannot find -lomp") as caught:
        toolchain.compile_shared(tmp_path / "a.c", tmp_path / "a.so", ("-fopenmp",))
    assert caught.value.hint is not None and "apt-get install libomp-dev" in caught.value.hint


def first_spread(nodes: tuple[Node, ...]) -> For:
    for node in nodes:
        if isinstance(node, For) and node.spread is not None:
            return node
        if not isinstance(node, Issue):
            return first_spread(node.body)
    raise AssertionError("no loop is spread")


def stores(nodes: tuple[Node, ...], hw: Hardware) -> tuple[Node, ...]:
    """The nodes with what is stored read back by the same call, one row further."""
    made: list[Node] = []
    for node in nodes:
        if not isinstance(node, Issue):
            made.append(replace(node, body=stores(node.body, hw)))
            continue
        made.append(node)
        if node.instruction == "store":
            target = node.operands[1]
            further = replace(target.address, offset=target.address.offset + 16)
            moved = replace(node, operands=(node.operands[0], replace(target, address=further)))
            made.append(moved)
    return tuple(made)


def test_cores_that_write_at_two_places_may_meet_and_are_refused() -> None:
    hw = on_threads(HW, 2)
    program = scheduled("sgemm", hw, m=4, n=8, k=2)
    with pytest.raises(ProgramError, match="cores") as caught:
        generate_c(replace(program, body=stores(program.body, hw)), hw)
    assert caught.value.hint == "build it for one thread"


def test_a_loop_that_is_spread_in_two_ways_is_refused() -> None:
    hw = on_threads(HW, 4)
    program = scheduled("sgemm", hw, m=4, n=16, k=2)
    loop = first_spread(program.body)
    other = replace(loop, spread=Spread("thread", 2))
    with pytest.raises(ProgramError, match="is spread over cores in two ways"):
        generate_c(replace(program, body=(loop, other)), hw)


def test_calls_between_which_registers_are_lost_are_refused() -> None:
    hw = on_threads(HW, 2)
    program = scheduled("sgemm", hw, m=8, n=4, k=2)
    clear = next(i for i in issues(program.body) if i.instruction == "clear")
    alone = replace(clear, operands=(replace(clear.operands[0]),))
    with pytest.raises(ProgramError, match="cores keep data in regs between tasks"):
        generate_c(replace(program, body=(alone, without_clear(program.body))), hw)


def issues(nodes: tuple[Node, ...]) -> list[Issue]:
    found: list[Issue] = []
    for node in nodes:
        found += [node] if isinstance(node, Issue) else issues(node.body)
    return found


def without_clear(nodes: tuple[Node, ...]) -> Node:
    """The nest without the calls that begin its sums."""

    def kept(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        made = []
        for node in nodes:
            if isinstance(node, Issue):
                made += [node] if node.instruction != "clear" else []
            elif body := kept(node.body):
                made.append(replace(node, body=body))
        return tuple(made)

    (nest,) = kept(nodes)
    return nest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_is_told_that_it_has_no_threads(tmp_path: Path) -> None:
    script = tmp_path / "forks.py"
    script.write_text(FORKS.format(kernel=f"{KERNELS}:sgemm", hw=CODEGEN / "vec4.yaml"))
    ran = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.splitlines() == [
        "sgemm runs on 2 threads, which this process, forked off from one that has run such"
        " functions, cannot start",
        "of one thread: 12.0",
        "parent: 12.0",
    ]


FORKS = """
import os
import numpy as np
import isamap

def built(threads):
    sizes = dict(m=4, n=8, k=3)
    return isamap.build("{kernel}", "{hw}", sizes=sizes, threads=threads, may_reassociate=True)

def run(function):
    a, b = np.ones((4, 3), np.float32), np.full((3, 8), 4, np.float32)
    return function(A=a, B=b)[0, 0]

one, two = built(1), built(2)
child = os.fork()
if not child:
    try:
        run(two)
    except isamap.IsamapError as error:
        print(error.message)
    print("of one thread:", run(one), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("parent:", run(two))
"""


@pytest.mark.parametrize("threads", [0, 257])
def test_a_number_of_threads_that_is_none_is_told(threads: int) -> None:
    with pytest.raises(isamap.IsamapError, match=f"{threads} threads are wanted, expected 1 to"):
        isamap.build(f"{KERNELS}:sgemm", HW, threads=threads)


def test_a_machine_that_describes_its_cores_has_no_threads() -> None:
    with pytest.raises(isamap.IsamapError, match="mesh has 4 cores by its own description"):
        isamap.build("gemm", "mesh", threads=2)
