"""Functions of the GPU libraries, counted through uprobes: exact, and of a process that runs already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from glassstack.collectors.bpf.options import Options
from glassstack.gpu.artifacts import Artifacts
from glassstack.gpu.embedded import EmbeddedGpu
from glassstack.model.events import Tallies
from tests import bpf, tracing

pytestmark = pytest.mark.bpf
STEPS = 23


@pytest.fixture(autouse=True)
def _possible() -> None:
    bpf.require()


def test_launches_of_a_training_run_are_counted_exactly(native: Path) -> None:
    libraries = tuple(str(Artifacts().lib(name)) for name in ("libfakecuda.so.1", "libfakecudart.so"))
    events = bpf.run(
        Options(
            command=(str(native / "fakegpu-train"), "--rate", "0", "--steps", str(STEPS)),
            runner=bpf.launched(native),
            count=True,
            functions=True,
            libraries=libraries,
        )
    )
    found = bpf.tallies(events)
    # One fill to set up, then two launches and one wait a step.
    assert found["fcuLaunchKernel"] == found["fcudaLaunchKernel"] == 2 * STEPS + 1
    assert found["fcuStreamSynchronize"] == found["fcudaStreamSynchronize"] == STEPS
    assert "SUBMIT" not in found, "the ring is silent"
    newest = [event for event in events if isinstance(event, Tallies)][-1]
    launch = next(tally for tally in newest.tallies if tally.name == "fcuLaunchKernel")
    assert launch.library == "umd"
    assert launch.timed == launch.calls == sum(launch.buckets)
    assert 0 < launch.percentile(0.5) <= launch.percentile(0.99) <= launch.max_ns


def test_counting_stops_where_it_would_slow_the_program_down(native: Path) -> None:
    libraries = tuple(str(Artifacts().lib(name)) for name in ("libfakecuda.so.1", "libfakecudart.so"))
    events = bpf.run(
        Options(
            command=(str(native / "fakegpu-train"), "--rate", "0", "--seconds", "3"),
            runner=bpf.launched(native),
            functions=True,
            libraries=libraries,
        )
    )
    newest = [event for event in events if isinstance(event, Tallies)][-1]
    assert newest.functions.startswith("stopped: counting "), newest.functions
    assert all(tally.calls for tally in newest.tallies), "what was counted before stays"


def test_top_shows_the_launches_of_a_running_program(native: Path) -> None:
    gpu = EmbeddedGpu()
    try:
        gpu.start((str(native / "fakegpu-train"), "--rate", "100"))
        command = [*tracing.GLASSSTACK, "top", "--once", "--json", "--interval", "0.5"]
        done = subprocess.run(
            command, env=tracing.environment(), capture_output=True, text=True, timeout=bpf.STUCK, check=True
        )
    finally:
        gpu.close()
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    mine = [
        line for line in lines if line["kind"] == "tallies" and "fakegpu-train --rate 100" in line["command"]
    ]
    assert mine, done.stdout + done.stderr
    counts = {tally["name"]: tally["calls"] for tally in mine[0]["tallies"]}
    # Two launches a step, and one wait; the probes are set one after the other.
    assert counts["fcuStreamSynchronize"] > 10
    assert 1.5 < counts["fcuLaunchKernel"] / counts["fcuStreamSynchronize"] < 2.5
    assert [line for line in lines if line["kind"] == "channels" and line["pid"] == mine[0]["pid"]]


def test_without_privilege_it_says_so_and_goes_on_with_less(native: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give its privileges up")
    words = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--", *tracing.GLASSSTACK]
    environment = tracing.environment()

    def glassstack(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*words, *more], env=environment, capture_output=True, text=True, timeout=bpf.STUCK, check=False
        )

    refused = glassstack("trace", "--source", "ebpf", "--gpu", "none", "--", "true")
    assert refused.returncode == 4
    assert refused.stderr.splitlines()[-1].endswith("run as root")
    instead = glassstack("trace", "--source", "auto", "--gpu", "none", "--", sys.executable, "-c", "exit(7)")
    assert instead.returncode == 7, instead.stderr
    assert "tracing with ptrace" in instead.stderr
    top = glassstack("top", "--once", "--interval", "0.05")
    assert top.returncode == 0
    assert "ioctls and launches: missing: " in top.stdout
