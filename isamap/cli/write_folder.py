"""All files of an answer in one folder.

In: an answer, a folder. Out: the files, all of them or none. Not its job: what they say.
"""

from pathlib import Path

from isamap.compile import PlanResult, Result
from isamap.files import schedule_text, summary_text
from isamap.program import to_json
from isamap.write_all import make_folder, write_all

from .plan_json import plan_to_json
from .result_json import result_to_json
from .write import json_text


def write_folder(folder: str, result: Result | PlanResult) -> None:
    """All files of an answer: `schedule.yaml`, `program.json`, `stats.json`, `summary.csv`.

    Raises:
        IsamapError: one of them cannot be written; then all are as they were.
    """
    program = result.program
    stats = plan_to_json(result) if isinstance(result, PlanResult) else result_to_json(result)
    at = Path(folder)
    make_folder(at)
    write_all(
        {
            at / "schedule.yaml": schedule_text(result, at),
            at / "program.json": json_text(to_json(program)),
            at / "stats.json": json_text(stats),
            at / "summary.csv": summary_text(result),
        }
    )
