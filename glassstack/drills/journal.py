"""What a drill did to the machine, on disk before it is done, so that it can be undone whatever happens.

Owns the undo table. Every entry is written and flushed first, and every undo
may be repeated: a SIGKILL between the two leaves an entry too many, never one
too few. Entries of processes hold the boot and the start time: after a reboot
they mean nobody.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from glassstack.collectors.cgroup_files import CgroupGoneError, members
from glassstack.collectors.control import Control, ControlError
from glassstack.collectors.identity import pids, read_bytes

FILE = "journal.jsonl"
_END_S = 5.0


class Journal:
    """Entries of one drill's folder."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE

    def note(self, undo: str, tag: str = "", **words: Any) -> None:
        """Writes how to undo what comes next. Raises OSError: then it must not be done."""
        if undo not in _UNDO:
            raise KeyError(undo)
        entry = {"undo": undo, "tag": tag, **words}
        line = (json.dumps(entry) + "\n").encode()
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def entries(self) -> list[dict[str, Any]]:
        """In the order in which they were written; half a line at the end was never acted on."""
        try:
            lines = self._file.read_bytes().splitlines()
        except OSError:
            return []
        found = []
        for line in lines:
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    def undo(self, tag: str | None = None) -> list[str]:
        """Undoes, newest first: all, or what carries a tag. Returns what could not be undone."""
        failed = []
        for entry in reversed(self.entries()):
            if tag is not None and entry["tag"] != tag:
                continue
            try:
                _UNDO[entry["undo"]](entry)
            except (OSError, ControlError, TimeoutError, subprocess.TimeoutExpired) as error:
                failed.append(f"{entry['undo']}: {error}")
        return failed


def marked(mark: str) -> list[int]:
    """The processes that have a variable (NAME=VALUE) in their environment; only one's own can be seen."""
    wanted = mark.encode()
    found = []
    for pid in pids("/proc"):
        try:
            if wanted in read_bytes(f"/proc/{pid}/environ").split(b"\0"):
                found.append(pid)
        except OSError:
            continue
    return found


def _processes(entry: dict[str, Any]) -> None:
    """Everything that runs in a world, by the variable that all of it inherits."""

    def gone() -> bool:
        alive = [pid for pid in marked(entry["mark"]) if pid != os.getpid()]
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return not alive

    if not _wait(gone, _END_S):
        raise TimeoutError("processes of the world do not end")


def _wait(done: Callable[[], bool], seconds: float = _END_S / 2) -> bool:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _device(entry: dict[str, Any]) -> None:
    """The embedded device of that name: its programs get an error and end."""
    control = Control(entry["name"])
    try:
        pid = control.status().pid
    except ControlError:
        return  # nobody has that name any more
    os.kill(pid, signal.SIGTERM)
    if not _wait(lambda: not _answers(control), _END_S):
        os.kill(pid, signal.SIGKILL)


def _answers(control: Control) -> bool:
    try:
        control.status()
    except ControlError:
        return False
    return True


def _restore(entry: dict[str, Any]) -> None:
    """A file or link as it was; ``copy`` is "" where there was none."""
    path = Path(entry["path"])
    if path.is_symlink() or path.is_file():
        path.unlink()
    if entry["copy"] and Path(entry["copy"]).exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(entry["copy"], path, follow_symlinks=False)


def _cgroup(entry: dict[str, Any]) -> None:
    """A cgroup and those below it, their processes killed."""
    top = Path(entry["path"])
    for folder in sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True):
        _remove_cgroup(folder)
    _remove_cgroup(top)


def _remove_cgroup(folder: Path) -> None:
    def emptied() -> bool:
        try:
            pids = members(folder)
        except CgroupGoneError:
            return True
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    if folder.is_dir() and _wait(emptied, _END_S):
        with contextlib.suppress(FileNotFoundError):
            folder.rmdir()


def _faults(entry: dict[str, Any]) -> None:
    """The faults armed at a device."""
    with contextlib.suppress(ControlError):
        Control(entry["name"]).ask("fault clear")


def _containers(entry: dict[str, Any]) -> None:
    """Every container in a folder of minirt's, whoever started it there."""
    state = Path(entry["state"])
    for folder in sorted(state.iterdir()) if state.is_dir() else ():
        if not folder.name.startswith(".") and folder.is_dir():
            _run([entry["program"], "delete", "--force", folder.name], {"MINIRT_STATE_DIR": str(state)})


def _modules(entry: dict[str, Any]) -> None:
    """The driver's modules as they were: unloaded, and loaded again from the files noted.

    A kernel that has begun to enforce signatures takes none before it boots again.
    """
    version = Path("/sys/module/fakegpu/parameters/version")
    there = all(Path(f"/sys/module/{name}").exists() for name in entry["names"])
    if entry["load"] and there and version.read_text().strip() == entry["version"]:
        return
    for name in reversed(entry["names"]):
        if Path(f"/sys/module/{name}").exists():
            _run(["rmmod", name], dict(os.environ))
    enforced = Path(entry["enforce"])
    if enforced.exists() and enforced.read_text().strip() == "Y":
        return
    for words in entry["load"]:
        _run(["insmod", *words], dict(os.environ))


def _run(words: list[str], environ: dict[str, str]) -> None:
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=20, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


_UNDO: dict[str, Callable[[dict[str, Any]], None]] = {
    "processes": _processes,
    "device": _device,
    "restore": _restore,
    "cgroup": _cgroup,
    "faults": _faults,
    "containers": _containers,
    "modules": _modules,
}
