"""Are all mappings listed, and only right ones? Many random kernels and instructions.

In: how many examples. Out: a text table in `bench/results/complete_mappings.txt`;
`python bench/complete_mappings.py`. Not its job: the oracle (`tests/mapper/brute_mappings.py`).
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from host import header
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from isamap.hwdesc import Instruction  # noqa: E402
from isamap.ir import Kernel, pretty  # noqa: E402
from tests.mapper.brute_mappings import (  # noqa: E402
    SMOPA,
    found_mappings,
    instructions,
    kernels,
    right_mappings,
    sliding,
)

RESULT = ROOT / "bench" / "results" / "complete_mappings.txt"


def main() -> None:
    """Compare, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    subjects = st.one_of(st.sampled_from((SMOPA, sliding())), instructions())
    modes = st.booleans()

    @seed(arguments.seed)
    @settings(
        max_examples=arguments.examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(kernels(), subjects, modes)
    def compare(kernel: Kernel, instruction: Instruction, replicate: bool) -> None:
        found = found_mappings(kernel, instruction, replicate=replicate)
        right = right_mappings(kernel, instruction, replicate=replicate)
        counts["examples"] += 1
        counts["with mappings"] += bool(right)
        counts["mappings"] += len(right)
        counts["listed twice"] += len(found) - len(set(found))
        counts["missing"] += len(right - set(found))
        counts["wrong"] += len(set(found) - right)
        if set(found) != right:
            wrong.append(f"{pretty(kernel)}\n{pretty(instruction.semantics)}\n{replicate=}")

    begin = time.perf_counter()
    compare()
    lines = header(("numpy", "hypothesis"))
    lines += [f"seconds        {time.perf_counter() - begin:.0f}"]
    lines += [
        f"{name:<14} {counts[name]}"
        for name in ("examples", "with mappings", "mappings", "missing", "wrong", "listed twice")
    ]
    text = "\n".join([*lines, *wrong[:10]]) + "\n"
    print(text)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(text)


if __name__ == "__main__":
    main()
