"""Launches followed from the API to the fence on the embedded device: stages in order, exact counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassstack.collectors.bpf.options import Options
from glassstack.gpu.artifacts import libraries
from glassstack.model.entities import Launch
from glassstack.model.events import Event, Launches
from tests import bpf, tracing

pytestmark = pytest.mark.bpf
STEPS = 89


@pytest.fixture(autouse=True)
def _possible() -> None:
    bpf.require()


def followed(events: list[Event]) -> list[Launch]:
    return [launch for event in events if isinstance(event, Launches) for launch in event.launches]


def run(native: Path, *command: str) -> list[Event]:
    """A program with its functions probed; everything that was told."""
    program, *words = command
    return bpf.run(
        Options(
            command=(str(native / program), *words),
            runner=bpf.launched(native),
            functions=True,
            libraries=libraries(),
        )
    )


def test_ring_launches_are_followed_to_the_fence_that_covers_them(native: Path) -> None:
    events = run(native, "fakegpu-train", "--rate", "100", "--steps", str(STEPS))
    assert bpf.tallies(events)["fcuLaunchKernel"] == 2 * STEPS + 1, "every one is counted"
    launches = followed(events)
    # Some of all, in full; only the first ones come before anybody knows where their channel is.
    whole = [launch for launch in launches if not launch.note]
    assert len(whole) > len(launches) * 0.7
    assert len(launches) < 2 * STEPS
    for launch in whole:
        assert (launch.function, launch.via, launch.device) == ("fcuLaunchKernel", "ring", "/dev/fakegpu0")
        assert (launch.status, launch.by) == (0, "completion ring")
        assert launch.start_ns is not None
        assert launch.done_ns is not None
        assert launch.called_ns < launch.returned_ns
        assert max(launch.called_ns, launch.start_ns) < launch.done_ns
        if launch.doorbell_ns is not None:
            assert launch.called_ns <= launch.doorbell_ns <= launch.start_ns
    # The second launch of a step shares its fence with the first; a step is two packets and a fence.
    by_fence: dict[int | None, list[int]] = {}
    for launch in whole:
        by_fence.setdefault(launch.seqno, []).append(launch.wptr or 0)
    assert set(map(len, by_fence.values())) <= {1, 2}
    pairs = [sorted(positions) for positions in by_fence.values() if len(positions) == 2]
    assert pairs
    assert {second - first for first, second in pairs} == {48}
    assert [launch.seqno for launch in whole] == sorted(launch.seqno or 0 for launch in whole)


def test_submits_are_followed_too(native: Path) -> None:
    launches = followed(run(native, "fakegpu-burst", "--rate", "20", "--size", "4", "--bursts", "23"))
    whole = [launch for launch in launches if not launch.note]
    assert len(whole) > 23
    assert {(launch.via, launch.channel, launch.wptr) for launch in whole} == {("submit", 0, None)}
    assert len({launch.seqno for launch in whole}) == len(whole), "each is a job of its own"
    for launch in whole:
        assert launch.doorbell_ns is not None
        assert launch.called_ns <= launch.doorbell_ns <= launch.returned_ns


def test_trace_tells_them_as_json(native: Path) -> None:
    words = ("--launches", "-e", "ALLOC")
    program = native / "fakegpu-train"
    train = ("sh", "-c", 'exec "$0" "$@" >/dev/null', program, "--rate", "100", "--steps", "41")
    told = tracing.trace(*words, "--json", "--", *train)
    assert told.returncode == 0, told.stderr
    lines = tracing.objects(told.stdout)
    launches = [launch for line in lines if line["kind"] == "launches" for launch in line["launches"]]
    assert [
        launch for launch in launches if launch.get("done_ns") and launch["function"] == "fcuLaunchKernel"
    ]
    counts = [line for line in lines if line["kind"] == "tallies"][-1]
    assert {tally["name"]: tally["calls"] for tally in counts["tallies"]}["fcuLaunchKernel"] == 83
    assert counts["cost_ns"] > 0, "what the counting costs is measured"


def test_stacks_lead_from_the_call_up_to_the_program(native: Path) -> None:
    burst = (native / "fakegpu-burst", "--rate", "20", "--bursts", "7", "--size", "2")
    silent = ("sh", "-c", 'exec "$0" "$@" >/dev/null', *burst)
    told = tracing.trace("--stack", "--json", "-e", "SUBMIT", "--", *silent)
    assert told.returncode == 0, told.stderr
    stacks = [line["stack"] for line in tracing.objects(told.stdout)]
    assert len(stacks) == 14
    named = [stack for stack in stacks if stack[0].startswith("ioctl+")]
    assert named, "the process lived long enough to ask for names"
    functions = [function.split("+")[0] for function in named[-1]]
    assert functions.index("fcuLaunchKernel") < functions.index("fcudaLaunchKernel") < functions.index("main")
    assert all("[" in function for function in named[-1])
