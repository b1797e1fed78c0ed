"""Builds a directory that reads like /proc and the cgroup mounts of a machine.

Owns only the making of files. Imported as ``from tests.fs.cgroup_tree import Machine``.
"""

from __future__ import annotations

from pathlib import Path

NO_LIMIT_V1 = "9223372036854771712"


class Machine:
    """``root`` holds proc/ and the mount points; files get the text they are given."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.proc = root / "proc"
        (self.proc / "self").mkdir(parents=True)
        self._lines: list[str] = ["20 1 254:0 / / rw - ext4 /dev/vda rw"]
        self._write_mounts()

    def mount(self, point: str, kind: str, options: str = "rw", root: str = "/", parent: str = "20") -> str:
        """Adds a mountinfo line (fields as the kernel escapes them) and returns its id."""
        number = str(20 + len(self._lines))
        self._lines.append(f"{number} {parent} 0:{number} {root} {point} rw - {kind} {kind} {options}")
        self._write_mounts()
        return number

    def process(self, pid: int, cgroup: str) -> None:
        """A process whose /proc/PID/cgroup has that text."""
        (self.proc / str(pid)).mkdir(exist_ok=True)
        (self.proc / str(pid) / "cgroup").write_text(cgroup)

    def v2(self, point: str, path: str, is_root: bool = False, **files: str) -> Path:
        """A v2 cgroup; ``memory_max="1"`` becomes the file memory.max."""
        kinds = {} if is_root else {"cgroup_type": "domain"}
        base = {"cgroup_controllers": "cpu memory pids", "cgroup_procs": ""}
        return self._cgroup(point, path, {**base, **kinds, **files})

    def v1(self, point: str, path: str, is_root: bool = False, **files: str) -> Path:
        """A v1 cgroup; the root of a hierarchy has a release_agent."""
        agent = {"release_agent": ""} if is_root else {}
        return self._cgroup(point, path, {"cgroup_procs": "", **agent, **files})

    def _cgroup(self, point: str, path: str, files: dict[str, str]) -> Path:
        directory = self.root / point.lstrip("/") / path.lstrip("/")
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name.replace("_", ".", 2 if name.endswith("_local") else 1)).write_text(text + "\n")
        return directory

    def _write_mounts(self) -> None:
        (self.proc / "self" / "mountinfo").write_text("\n".join(self._lines) + "\n")
