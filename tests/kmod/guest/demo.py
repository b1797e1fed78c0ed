#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The screen's demo on the kernel's own device, and eBPF with this kernel. Prints KTAP."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.kmod import ktap  # noqa: E402
from tests.support import eventually  # noqa: E402

BIN = Path(os.environ.get("FAKEGPU_BIN", ROOT / "build/bin"))
GLASSSTACK = (sys.executable, "-m", "glassstack.cli.main")
CONTEXTS = Path("/sys/class/fakegpu/fakegpu0/contexts")
PATIENCE_S = 150.0
LAUNCHES = ("fcuLaunchKernel", "fcudaLaunchKernel")


class Terminal:
    """glassstack on a terminal of 160 × 48."""

    def __init__(self, *words: str) -> None:
        import pyte  # --list runs where nothing is installed

        self._screen = pyte.Screen(160, 48)
        self._stream = pyte.ByteStream(self._screen)
        pid, self._master = pty.fork()
        if not pid:
            os.chdir(ROOT)
            os.execvpe(GLASSSTACK[0], [*GLASSSTACK, *words], os.environ | {"TERM": "xterm-256color"})
        self._pid = pid
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 48, 160, 0, 0))
        os.set_blocking(self._master, False)

    def text(self) -> str:
        """What is on it now."""
        with contextlib.suppress(OSError):
            while data := os.read(self._master, 65536):
                self._stream.feed(data)
        return "\n".join(self._screen.display)

    def shown(self, pattern: str) -> str:
        """What stands in the group of the pattern once it is there."""

        def look() -> re.Match[str]:
            text = self.text()
            found = re.search(pattern, text, re.MULTILINE)
            assert found, f"no {pattern} in\n{text}"
            return found

        return eventually(look, PATIENCE_S, every=0.3)[1]

    def quit(self) -> int:
        """Leaves by the key; its exit status."""
        os.write(self._master, b"q")

        def ended() -> tuple[int, int] | None:
            self.text()
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            return (pid, status) if pid else None

        status = eventually(ended, PATIENCE_S, every=0.3)
        assert status
        return os.waitstatus_to_exitcode(status[1])

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._master)


def contexts() -> dict[str, dict[str, int]]:
    """Program to the counters of its context, as the driver tells them."""
    found = {}
    for folder in CONTEXTS.iterdir():
        name = (folder / "name").read_text().strip()
        found[name] = {key: int((folder / key).read_text()) for key in ("pid", "completions", "doorbells")}
    return found


def test_home_shows_launches_of_the_kernels_device() -> None:
    screen = Terminal()
    try:
        screen.shown(r"(demo on the kernel's /dev/fakegpu0, by ptrace)")
        screen.shown(r"device .* ([1-9]\S*) doorbell .* [1-9]\S* job")
        screen.shown(r"boundary .* ([1-9]\S*) ioctl ")
        caller = int(screen.shown(r"^ +[\d.]+ +(\d+) +fakegpu0 +SUBMIT "))
        before = contexts()
        assert set(before) == {"fakegpu-train", "fakegpu-burst"}, before
        assert caller == before["fakegpu-burst"]["pid"]
        eventually(lambda: contexts()["fakegpu-train"]["doorbells"] > before["fakegpu-train"]["doorbells"])
        eventually(
            lambda: contexts()["fakegpu-burst"]["completions"] > before["fakegpu-burst"]["completions"]
        )
        assert "fakegpud" not in subprocess.run(["ps", "-eo", "comm"], capture_output=True, text=True).stdout
        assert screen.quit() == 0
        eventually(lambda: not list(CONTEXTS.iterdir()))
    finally:
        screen.close()


def test_ebpf_sees_the_calls_that_ptrace_sees() -> None:
    from tests import tracing

    quiet = ("sh", "-c", f"exec {BIN}/fakegpu-vectoradd --ioctl >/dev/null")  # stdout is the trace's
    ours = tracing.trace("--source", "ebpf", "--json", "--gpu", "kernel", "--", *quiet)
    assert ours.returncode == 0, ours.stderr
    theirs = tracing.trace("--json", "--gpu", "kernel", "--", *quiet)
    assert theirs.returncode == 0, theirs.stderr
    (seen,) = tracing.by_thread(ours.stdout).values()
    (expected,) = tracing.by_thread(theirs.stdout).values()
    assert seen == expected, f"{seen} is not {expected}"
    assert sum(one.syscall == "ioctl" for one in seen) > 5


def test_top_counts_ioctls_launches_and_channels() -> None:
    words = (("fakegpu-burst", "--rate", "4", "--size", "8"), ("fakegpu-train", "--rate", "50"))
    running = [subprocess.Popen([BIN / name, *more], stdout=subprocess.DEVNULL) for name, *more in words]
    try:
        command = [*GLASSSTACK, "top", "--once", "--json"]
        top = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    finally:
        for one in running:
            one.kill()
            one.wait()
    assert top.returncode == 0, top.stderr
    events = [json.loads(line) for line in top.stdout.splitlines()]
    told = {event["pid"]: event["tallies"] for event in events if event["kind"] == "tallies"}
    burst, train = ({tally["name"]: tally["calls"] for tally in told[one.pid]} for one in running)
    assert burst["SUBMIT"] >= 8, burst
    for counts in (burst, train):
        assert sum(counts.get(name, 0) for name in LAUNCHES) >= 8, counts
    # The one that submits by ioctl maps no fence page that could be read from outside.
    assert running[1].pid in {event["pid"] for event in events if event["kind"] == "channels"}


if __name__ == "__main__":
    sys.exit(ktap.main(globals()))
