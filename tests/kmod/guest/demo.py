#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The screen's demo on the kernel's own device, and eBPF with this kernel. Prints KTAP."""

import functools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.kmod import ktap  # noqa: E402
from tests.support import eventually  # noqa: E402

BIN = Path(os.environ.get("FAKEGPU_BIN", ROOT / "build/bin"))
GLASSSTACK = (sys.executable, "-m", "glassstack.cli.main")
CONTEXTS = Path("/sys/class/fakegpu/fakegpu0/contexts")
# Not in /tmp, where the host's sockets show through.
TMUX = ("tmux", "-f", "/dev/null", "-S", "/run/glassstack-demo.tmux")
PATIENCE_S = 90.0
LAUNCHES = ("fcuLaunchKernel", "fcudaLaunchKernel")


def tmux(*words: str) -> str:
    return subprocess.run([*TMUX, *words], check=True, capture_output=True, text=True).stdout


@contextmanager
def screen(*words: str) -> Iterator[None]:
    """glassstack in a terminal of 160 × 48."""
    command = f"cd {shlex.quote(str(ROOT))} && exec {shlex.join([*GLASSSTACK, *words])}"
    tmux("new-session", "-d", "-s", "demo", "-x", "160", "-y", "48", command)
    try:
        yield
    finally:
        subprocess.run([*TMUX, "kill-server"], capture_output=True)


def shown(pattern: str) -> str:
    """What stands in the group of the pattern once the screen shows it."""

    def look() -> re.Match[str]:
        text = tmux("capture-pane", "-p", "-t", "demo")
        found = re.search(pattern, text, re.MULTILINE)
        assert found, f"no {pattern} in\n{text}"
        return found

    return eventually(look, PATIENCE_S, every=0.3)[1]


def contexts() -> dict[str, dict[str, int]]:
    """Program to the counters of its context, as the driver tells them."""
    found = {}
    for folder in CONTEXTS.iterdir():
        name = (folder / "name").read_text().strip()
        found[name] = {key: int((folder / key).read_text()) for key in ("pid", "completions", "doorbells")}
    return found


def test_home_shows_launches_of_the_kernels_device() -> None:
    with screen():
        shown(r"(demo on the kernel's /dev/fakegpu0, by ptrace)")
        shown(r"device .* ([1-9]\S*) doorbell .* [1-9]\S* job")
        shown(r"boundary .* ([1-9]\S*) ioctl ")
        caller = int(shown(r"^ +[\d.]+ +(\d+) +SUBMIT "))
        before = contexts()
        assert set(before) == {"fakegpu-train", "fakegpu-burst"}, before
        assert caller == before["fakegpu-burst"]["pid"]
        eventually(lambda: contexts()["fakegpu-train"]["doorbells"] > before["fakegpu-train"]["doorbells"])
        eventually(
            lambda: contexts()["fakegpu-burst"]["completions"] > before["fakegpu-burst"]["completions"]
        )
        assert "fakegpud" not in subprocess.run(["ps", "-eo", "comm"], capture_output=True, text=True).stdout
        tmux("send-keys", "-t", "demo", "q")
        eventually(lambda: not list(CONTEXTS.iterdir()))


@functools.cache
def by_ebpf() -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """`trace` of a short program, and `top` of one that goes on, at the same time: compiling takes long here."""
    from tests import tracing

    burst = subprocess.Popen([BIN / "fakegpu-burst", "--rate", "4", "--size", "8"], stdout=subprocess.DEVNULL)
    top = subprocess.Popen(
        [*GLASSSTACK, "top", "--once", "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        traced = tracing.trace(
            "--source", "ebpf", "--json", "--gpu", "kernel", "--", BIN / "fakegpu-vectoradd", "--ioctl"
        )
        out, err = top.communicate(timeout=PATIENCE_S)
    finally:
        top.kill()
        burst.kill()
        burst.wait()
    assert top.returncode == 0, err
    events = [json.loads(line) for line in out.splitlines()]
    return traced, [event for event in events if event.get("pid") == burst.pid]


def test_ebpf_sees_the_calls_that_ptrace_sees() -> None:
    from tests import tracing

    ours, _ = by_ebpf()
    assert ours.returncode == 0, ours.stderr
    theirs = tracing.trace("--json", "--gpu", "kernel", "--", BIN / "fakegpu-vectoradd", "--ioctl")
    assert theirs.returncode == 0, theirs.stderr
    (seen,) = tracing.by_thread(ours.stdout).values()
    (expected,) = tracing.by_thread(theirs.stdout).values()
    assert seen == expected, f"{seen} is not {expected}"
    assert sum(one.syscall == "ioctl" for one in seen) > 5


def test_top_counts_ioctls_and_launches() -> None:
    _, events = by_ebpf()
    (told,) = [event for event in events if event["kind"] == "tallies"]
    counts = {tally["name"]: tally["calls"] for tally in told["tallies"]}
    assert counts["SUBMIT"] >= 8, counts
    assert sum(counts.get(name, 0) for name in LAUNCHES) >= 8, counts
    assert [event for event in events if event["kind"] == "channels"], "no channels of it"


if __name__ == "__main__":
    sys.exit(ktap.main(globals()))
