"""Tasks run in their order, statement by statement, mean what the kernel means.

In: random kernels. Out: failures. Not its job: how a task runs.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isamap.ir import (
    Affine,
    Expr,
    Kernel,
    Literal,
    Role,
    Statement,
    interpret,
    normalise_update,
    numpy_dtype,
    parse_semantics,
    random_arrays,
)
from isamap.ir.kernel import Access, Apply
from isamap.mapper import Task, TaskNode, cut_tasks, flatten
from tests.strategies import INTEGERS, kernels
from tests.task_kernels import make_kernel

QUICK = settings(max_examples=150, derandomize=True, suppress_health_check=list(HealthCheck))
State = dict[str, np.ndarray]


def fixed(statement: Statement, values: dict[str, int]) -> Statement:
    """The statement with some loops at one value each, where it may read its own target."""
    numbers = {name: Affine((), value) for name, value in values.items()}
    loops = tuple(loop for loop in statement.loops if loop.name not in values)
    target = at(statement.target, numbers)
    value = everywhere(statement.value, numbers)
    return Statement(loops, target, *normalise_update(target, statement.update, value))


def at(access: Access, numbers: dict[str, Affine]) -> Access:
    """The access with numbers for loops."""
    return replace(access, indices=tuple(index.substitute(numbers) for index in access.indices))


def everywhere(value: Expr, numbers: dict[str, Affine]) -> Expr:
    """The expression with numbers for loops."""
    match value:
        case Access():
            return at(value, numbers)
        case Apply(op, args):
            return Apply(op, tuple(everywhere(arg, numbers) for arg in args))
        case _:
            return value


def run(kernel: Kernel, statement: Statement, state: State) -> State:
    """All arrays after one statement."""
    buffers = tuple(replace(b, role=Role.INOUT) for b in kernel.buffers)
    return {**state, **interpret(Kernel("one", buffers, (statement,)), state)}


def execute(
    kernel: Kernel, nodes: tuple[TaskNode, ...], state: State, values: dict[str, int]
) -> State:
    """All arrays after the tasks, held loops at `values`."""
    for node in nodes:
        if isinstance(node, Task):
            assert set(node.held) == set(values)
            statement = fixed(node.statement, values)
            if begins_with_zeros(node, values):
                ones = replace(statement, update="=", value=Literal(1))
                name = statement.target.buffer
                blank = {n: np.zeros_like(array) for n, array in state.items()}
                touched = run(kernel, ones, blank)[name]
                assert not np.any(state[name][touched == 1]), "said to be zero"
            state = run(kernel, statement, state)
        else:
            for value in range(node.loop.extent):
                state = execute(kernel, node.body, state, {**values, node.loop.name: value})
    return state


def begins_with_zeros(task: Task, values: dict[str, int]) -> bool:
    """Is the sum claimed to be zero before this iteration?"""
    target = task.statement.target
    is_claimed = task.kernel.buffer(target.buffer).role is Role.OUT and task.statement.update != "="
    return is_claimed and all(target.moves_with(n) or v == 0 for n, v in values.items())


def assert_tasks_mean(kernel: Kernel) -> None:
    """The tasks of a kernel compute what it says."""
    arrays = random_arrays(kernel, 0)
    state = {b.name: np.zeros(b.shape, numpy_dtype(b.dtype)) for b in kernel.buffers} | arrays
    nodes = cut_tasks(kernel)
    assert sorted(task.number for task in flatten(nodes)) == list(range(len(kernel.statements)))
    found = execute(kernel, nodes, state, {})
    for name, expected in interpret(kernel, arrays).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name)


@QUICK
@given(kernels(INTEGERS))
def test_tasks_of_any_kernel_mean_the_kernel(kernel: Kernel) -> None:
    assert_tasks_mean(kernel)


@QUICK
@given(st.data())
def test_tasks_of_sums_and_steps_mean_the_kernel(data: st.DataObject) -> None:
    kernel = make_kernel(lambda options: data.draw(st.sampled_from(options)))
    if kernel is not None:
        assert_tasks_mean(kernel)


def test_a_step_that_reads_its_own_target_means_the_kernel() -> None:
    """Of B[0] = A[0] + B[j], the iteration with j = 0 is a sum."""
    text = "A, B = In(i8, 1), Out(i8, 2)\nfor i, j in grid(2, 2):\n  B[0] = A[0] + B[j]\n"
    assert_tasks_mean(parse_semantics(text, "own"))


def test_a_sum_that_a_later_statement_begins_in_the_iteration_before_is_no_new_one() -> None:
    """B[1] is D[1] when A[1] is added to it; where each iteration has its own, it is zero."""
    head = "A, D, C = In(i8, 4), In(i8, 4), Out(i8, 4)\nB = Out(i8, 5)\nfor i in range(4):\n"
    sums = head + "  B[i] += A[i]\n  C[i] = B[i]\n"
    roles = []
    for last in ("  for j in range(4):\n    B[j] = D[j]\n", "  B[i + 1] = D[i]\n",
                 "  B[i] = B[i] - C[-i + 3]\n"):  # fmt: skip
        kernel = parse_semantics(sums + last, "later")
        assert_tasks_mean(kernel)
        roles.append(next(flatten(cut_tasks(kernel))).kernel.buffer("B").role)
    assert roles == [Role.INOUT, Role.INOUT, Role.OUT]


def splits(text: str) -> list[tuple[str, ...]]:
    """The held loops of every task."""
    return [task.held for task in flatten(cut_tasks(parse_semantics(text, "cut")))]


def test_a_shared_loop_is_split_only_where_dependences_allow_it() -> None:
    """With D[i] and T[3 - i], iterations of one statement need those of the other in turn."""
    text = "A, T, D = In(i8, 4), Temp(i8, 4), Out(i8, 4)\nfor i in range(4):\n  T[i] = A[i]\n"
    assert splits(text + "  D[i] = T[i]\n") == [(), ()]
    assert splits(text + "  D[i] = T[-i + 3]\n") == [("i",), ("i",)]


@pytest.mark.parametrize(("dtype", "held"), [("i32", ()), ("f32", ("k",))])
def test_sums_of_integers_into_one_array_are_split_whatever_their_order(
    dtype: str, held: tuple[str, ...]
) -> None:
    text = f"""
A, B, D = In({dtype}, 4, 3), In({dtype}, 4, 3), Out({dtype}, 4)
for i in range(4):
  for k in range(3):
    D[i] += A[i, k]
    D[i] += B[i, k] * B[i, k]
"""
    assert splits(text) == [held, held]


def test_brute_force_notices_a_wrong_split() -> None:
    """The same tasks, with the held loop split although it must not be."""
    text = "A, T, D = In(i8, 4), Temp(i8, 4), Out(i8, 4)\nfor i in range(4):\n"
    kernel = parse_semantics(text + "  T[i] = A[i]\n  D[i] = T[-i + 3]\n", "cut")
    arrays = random_arrays(kernel, 0)
    state = {b.name: np.zeros(b.shape, np.int8) for b in kernel.buffers} | arrays
    torn = tuple(replace(task, held=()) for task in flatten(cut_tasks(kernel)))
    found = execute(kernel, torn, state, {})
    assert np.any(found["D"] != interpret(kernel, arrays)["D"])


def test_what_a_statement_reads_of_another_step_is_not_written_in_this_one() -> None:
    """Under `s` the state of the step before, h[t], may stay; the temporary may not."""
    kernel = parse_semantics(
        "U, h = In(i32, 4, 4), InOut(i32, 3, 4)\nR = Temp(i32, 2)\n"
        "for t, s in grid(2, 2):\n  for j in range(2):\n    R[j] = 0\n"
        "  for j, p in grid(2, 4):\n    R[j] += h[t, p] * U[p, 2 * s + j]\n"
        "  for j in range(2):\n    h[t + 1, 2 * s + j] = R[j]",
        "strips",
    )
    volatile = [set(task.volatile) for task in flatten(cut_tasks(kernel))]
    assert volatile == [{("R", "t"), ("R", "s")}] * 3


@pytest.mark.parametrize(
    ("loops", "statement", "held"),
    [
        ("s, i in grid(3, 8)", "u[s + 1, i] = u[s, i] + u[s, i + 1]", ("s",)),
        ("i, s in grid(8, 3)", "u[s + 1, i + 1] = u[s + 1, i] + u[s, i + 1]", ("i", "s")),
        ("s, i in grid(3, 7)", "u[s + 1, i + 1] = u[s + 1, i] + u[s, i + 2]", ("s", "i")),
    ],
)
def test_loops_inside_one_that_ties_a_statement_to_itself_are_held_where_they_tie_it_too(
    loops: str, statement: str, held: tuple[str, ...]
) -> None:
    text = f"u = InOut(i32, 4, 9)\nfor {loops}:\n  {statement}"
    (task,) = flatten(cut_tasks(parse_semantics(text, "steps")))
    assert task.held == held


def test_loops_that_tie_nothing_run_inside_of_those_that_do() -> None:
    """Samples `z` around time steps `t` do not depend on each other, but where they share room."""
    text = """
H, S, U = InOut(i32, 3, 5, 2), Temp(i32, {room}, 2), In(i32, 2, 2)
for z in range(3):
  for t in range(4):
    for i, k in grid(2, 2):
      S[{at}, i] += H[z, t, k] * U[k, i]
    for i in range(2):
      H[z, t + 1, i] = S[{at}, i]
"""
    assert splits(text.format(room=3, at="z")) == [("t",), ("t",)]
    assert splits(text.format(room=1, at="0")) == [("z", "t"), ("z", "t")]
