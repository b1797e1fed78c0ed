"""Containers for the test_minirt_* files: the runtime under the sanitizers, a root with one static program.

Owns starting them, rootful or as an ordinary user, with a state folder of their own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT, eventually

NOBODY = 65534
STUCK = 60.0
UNIFIED = (
    Path("/sys/fs/cgroup/unified") if Path("/sys/fs/cgroup/unified").is_dir() else Path("/sys/fs/cgroup")
)
SANITIZED = "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"


def built(target: str, *options: str) -> None:
    """``make`` in a folder of the checkout; the test fails with the compiler's words."""
    done = subprocess.run(
        ["make", "-s", f"-j{os.cpu_count() or 1}", "-C", ROOT / target, *options],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.fail(f"make -C {target}:\n{done.stderr[-2000:]}", pytrace=False)


def sanitized() -> Path:
    """minirt under ASan and UBSan; what it allocates it keeps until it ends, so leaks are not looked for."""
    built("minirt", "OUT=../build/asan", "STATIC=", f"CFLAGS={SANITIZED}")
    return ROOT / "build/asan/bin/minirt"


@dataclass
class Runtime:
    """minirt, as root or as an ordinary user.

    Attributes:
        program: the runtime.
        root: a root file system with /guest in it.
        work: a folder that both this test and the container's user can write.
        rootless: as an ordinary user, who gets --rootless on every run.
    """

    program: Path
    root: Path
    work: Path
    rootless: bool
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "MINIRT_STATE_DIR": str(self.work / "state"),
            "ASAN_OPTIONS": "detect_leaks=0",
            "SECRET": "of the host",
        }

    def options(self) -> dict[str, Any]:
        """For subprocess: the user, the environment, texts."""
        given: dict[str, Any] = {"text": True, "env": self.environment, "cwd": self.work}
        if self.rootless and os.geteuid() == 0:
            given |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        return given

    def command(self, verb: str, *words: str | Path) -> list[str]:
        """The command line of a verb."""
        start = [str(self.program), verb]
        if verb == "run" and self.rootless:
            start.append("--rootless")
        return [*start, *map(str, words)]

    def call(self, verb: str, *words: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        """Runs a verb to its end."""
        given = {"capture_output": True, "timeout": STUCK, "stdin": subprocess.DEVNULL}
        return subprocess.run(self.command(verb, *words), **(self.options() | given | more))

    def run(self, *words: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        """``run OPTIONS ROOT COMMAND``, where words before "--" are options."""
        at = words.index("--") if "--" in words else 0
        rest = words[at + 1 :] if "--" in words else words
        return self.call("run", *words[:at], self.root, *rest, **more)

    def ok(self, *words: str | Path) -> str:
        """The output of a run that must succeed and say nothing of errors."""
        done = self.run(*words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """A run that goes on, ended when the test ends."""
        at = words.index("--")
        command = self.command("run", *words[:at], self.root, *words[at + 1 :])
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._started.append(subprocess.Popen(command, **(self.options() | pipes)))
        return self._started[-1]

    def state(self, name: str) -> dict[str, Any]:
        """What ``state NAME`` prints; empty when there is no such container."""
        done = self.call("state", name)
        found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
        return found

    def running(self, name: str) -> dict[str, Any]:
        """Its state, once it runs."""

        def found() -> dict[str, Any]:
            state = self.state(name)
            return state if state.get("status") == "running" else {}

        return eventually(found)

    def names(self) -> list[str]:
        """The containers that there are."""
        return [line.split()[0] for line in self.call("ps").stdout.splitlines()[1:]]

    def steps(self, *words: str | Path) -> list[dict[str, Any]]:
        """The steps of a run."""
        told = self.work / "steps"
        told.unlink(missing_ok=True)
        self.run("--steps", told, *words)
        return [json.loads(line) for line in told.read_text().splitlines()]

    def end(self) -> None:
        """Ends what a test left running."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=STUCK)
        for name in self.names():
            self.call("delete", "--force", name)


@contextmanager
def runtime(program: Path, guest: Path, rootless: bool) -> Iterator[Runtime]:
    """A runtime whose files an ordinary user can read, in a folder that is removed."""
    folder = Path(tempfile.mkdtemp(prefix="minirt-test-"))
    owner = NOBODY if rootless and os.geteuid() == 0 else -1
    folder.chmod(0o755)
    made = Runtime(folder / "minirt", folder / "root", folder / "work", rootless)
    for place in (made.root, made.root / "tmp", made.work):
        place.mkdir()
        os.chown(place, owner, owner)
    shutil.copy(program, made.program)
    shutil.copy(guest, made.root / "guest")
    try:
        yield made
    finally:
        made.end()
        shutil.rmtree(folder)


def processes_of(root: Path) -> list[int]:
    """Pids of whatever runs on ``root`` or was started from beside it."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes()
            mounts = (entry / "mountinfo").read_text()
        except OSError:
            continue
        if str(root.parent).encode() in words or f" {root} " in mounts:
            found.append(int(entry.name))
    return found


def words_of(text: str) -> Sequence[str]:
    """Lines, stripped."""
    return [line.strip() for line in text.splitlines()]
