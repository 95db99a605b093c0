"""The solver's Python layer is loaded without pandas, and leaves no stand-in behind.

In: another interpreter. Out: failures. Not its job: solving.
"""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("before", ["pass", "import pandas"])
def test_the_solver_loads_no_pandas_and_hides_none(before: str) -> None:
    code = (
        f"import sys\n{before}\n"
        "loaded = 'pandas' in sys.modules\n"
        "from isamap.scheduler import on_demand\n"
        "assert callable(on_demand.prove) and 'ortools.sat.python.cp_model' in sys.modules\n"
        "assert ('pandas' in sys.modules) == loaded\n"
        "import pandas\n"
        "assert pandas.Series([1, 2]).sum() == 3\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
