"""All files of an answer in one folder.

In: an answer, a folder. Out: the files, all of them or none. Not its job: what they say.
"""

from pathlib import Path

from isamap.compile import PlanResult, Result
from isamap.files import schedule_text, summary_text
from isamap.program import to_json
from isamap.write_all import make_folder, write_all

from .result_json import result_to_json
from .write import json_text

FILES = ("schedule.yaml", "program.json", "stats.json", "summary.csv")


def write_folder(folder: str, result: Result | PlanResult) -> None:
    """The files of an answer.

    Raises:
        IsamapError: one of them cannot be written; then all are as they were.
    """
    at = Path(folder)
    make_folder(at)
    texts = (
        schedule_text(result, at),
        json_text(to_json(result.program)),
        json_text(result_to_json(result)),
        summary_text(result),
    )
    write_all({at / name: text for name, text in zip(FILES, texts, strict=True)})
