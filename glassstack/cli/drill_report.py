"""``glassstack drill report`` and ``new``: what a drill leaves behind, and how one of your own begins."""

from pathlib import Path

from glassstack.cli.errors import OK
from glassstack.drills.engine import Drill, DrillError
from glassstack.drills.report import markdown, timeline
from glassstack.drills.report_html import page
from glassstack.drills.scenario import FILE
from glassstack.drills.skeleton import make


def write(drill: Drill, folder: Path, anyway: bool) -> int:
    """Writes the report in both forms and names the files. Raises DrillError: it is not solved; OSError."""
    if not drill.run.solved and not anyway:
        raise DrillError(
            "it is not solved yet, and the report names the cause", "`--anyway` writes it all the same"
        )
    notes = timeline(drill)
    text = markdown(drill, notes)
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, content in (("md", text), ("html", page(drill, notes, text))):
        file = folder / f"{drill.run.scenario}-report.{suffix}"
        file.write_text(content)
        print(file)
    return OK


def new(folder: Path) -> int:
    """Makes a skeleton and says what is left to do. Raises ScenarioError, OSError."""
    make(folder.absolute())
    print(f"{folder / FILE}: fill in the lines `injections` and `solve`, then")
    print(f"  glassstack drill test {folder}")
    return OK
