"""Guest scripts, the tests they declare, and what a run of them said.

Owns the reading of KTAP. Guest scripts are the executables of ``guest/``; with
--list they print the names of their tests and need nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.support import ROOT

GUEST = ROOT / "tests/kmod/guest"
RUN_S = 1200
"""What booting and running everything may take."""
SCRIPT_S = 900
_LINE = re.compile(r"(?P<not>not )?ok \d+ (?:- )?(?P<name>\S+)(?: *# *(?P<rest>.*))?")


def scripts() -> list[Path]:
    """All guest scripts, in the order they run."""
    return sorted(path for path in GUEST.iterdir() if path.is_file() and os.access(path, os.X_OK))


def names(script: Path) -> list[str]:
    """The tests that a script says it has."""
    listed = subprocess.run([script, "--list"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


class Result(NamedTuple):
    """What a guest said of a test.

    Attributes:
        passed: or not.
        skipped: why it was not tried, "" when it was.
        said: its line and those before it since the last one.
    """

    passed: bool
    skipped: str
    said: str


class Run(NamedTuple):
    """One boot.

    Attributes:
        results: by script and test.
        statuses: exit status of each script that ended.
        status: of the whole.
        end: the last lines of all output.
        seconds: for all of it, with the boot.
    """

    results: dict[tuple[str, str], Result]
    statuses: dict[str, int]
    status: int
    end: str
    seconds: float


def read_run(done: subprocess.CompletedProcess[str], seconds: float) -> Run:
    """Sorts what came out of the guest by script and test."""
    results: dict[tuple[str, str], Result] = {}
    statuses: dict[str, int] = {}
    script, before = "", list[str]()
    for line in done.stdout.splitlines():
        if line.startswith("# script "):
            script, before = line.split()[2], []
        elif line.startswith("# status "):
            statuses[script] = int(line.split()[2])
        elif found := _LINE.fullmatch(line.rstrip()):
            said = "\n".join([*before, line])
            rest = found["rest"] or ""
            skipped = (
                rest.removeprefix("SKIP").strip() or "the guest says no more"
                if rest.startswith("SKIP")
                else ""
            )
            results[script, found["name"]] = Result(not found["not"], skipped, said)
            before = []
        else:
            before.append(line)
    return Run(results, statuses, done.returncode, done.stdout[-3000:] + done.stderr[-3000:], seconds)
