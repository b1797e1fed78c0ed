"""What comes of a command, and whether that is what a probe wants.

Owns time limits: a command that does not end is killed with all that it started.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from glassstack.drills.scenario import Probe


@dataclass(frozen=True)
class Outcome:
    """What came of a command; ``status`` ``None``: it did not end in time."""

    status: int | None
    output: str

    @property
    def last(self) -> str:
        """Its last line that says anything."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1] if lines else ""


def run(words: Sequence[str], environ: dict[str, str], seconds: float) -> Outcome:
    """What comes of a command, stdout and stderr together; with all that it started it ends in time."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environ,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        return Outcome(None, output.decode("utf-8", "replace"))
    return Outcome(_status(process.returncode), output.decode("utf-8", "replace"))


def _status(code: int) -> int:
    return 128 - code if code < 0 else code


def verdict(probe: Probe, outcome: Outcome) -> str:
    """Why a probe does not hold, "" when it does."""
    if outcome.status is None and not probe.hangs:
        problem = f"it does not end within {probe.seconds:g} s"
    elif outcome.status != (None if probe.hangs else probe.exit):
        problem = f"exit status {outcome.status}" + (f": {outcome.last}" if outcome.last else "")
    elif probe.says and not re.search(probe.says, outcome.output, re.MULTILINE):
        problem = f"its output lacks /{probe.says}/: {outcome.last}"
    elif probe.lacks and re.search(probe.lacks, outcome.output, re.MULTILINE):
        problem = f"its output has /{probe.lacks}/"
    else:
        return ""
    return f"{probe.else_ or probe.run}: {problem}"
