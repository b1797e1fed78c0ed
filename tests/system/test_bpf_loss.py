"""Nothing is lost silently: what was delivered and what was dropped is what was made."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.spawn import Probe
from glassstack.model.events import Dropped
from tests import bpf, tracing

pytestmark = pytest.mark.bpf
MADE = 300_007


@pytest.fixture(autouse=True)
def _possible() -> None:
    bpf.require()


def count(probe: Probe, enough: int | None) -> tuple[int, int]:
    """Calls delivered and dropped: until both together are ``enough``, or to the end."""
    delivered = dropped = 0
    deadline = time.monotonic() + bpf.STUCK
    while enough is None or delivered + dropped < enough:
        assert time.monotonic() < deadline, f"{delivered} delivered and {dropped} dropped"
        batch = probe.read_raw(1.0)
        if batch is None:
            break
        delivered += sum(
            records.count_ioctls(one.data, bpf.WHAT) for one in batch if isinstance(one, records.Block)
        )
        dropped += sum(one.count for one in batch if isinstance(one, Dropped))
    return delivered, dropped


def test_delivered_and_dropped_are_what_was_made(tmp_path: Path) -> None:
    storm = str(tracing.build("bpf_storm.c", tmp_path))
    options = Options(command=(storm, str(MADE)), any_node=True, ring_mib=1)
    probe = Probe(options, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stdin, stdout = probe.process.stdin, probe.process.stdout
    assert stdin is not None
    assert stdout is not None
    with stdin, stdout:
        # The pipe and the ring buffer fill while nobody reads; the program makes all its calls meanwhile.
        assert stdout.readline().strip().isdigit()
        delivered, dropped = count(probe, MADE)
        stdin.close()
        more = count(probe, None)
    delivered, dropped = delivered + more[0], dropped + more[1]
    assert probe.close() == 0
    assert dropped > 0
    assert delivered > 0
    assert delivered + dropped == MADE


def test_nothing_is_lost_when_somebody_reads(tmp_path: Path) -> None:
    storm = str(tracing.build("bpf_storm.c", tmp_path))
    calls = bpf.calls(bpf.run(Options(command=(storm, "50023"), any_node=True)))
    made = [call for call in calls if call.raw == bpf.WHAT]
    assert len(made) == 50_023
    assert {call.device for call in made} == {"/dev/null"}


def test_counting_alone_loses_nothing_either(tmp_path: Path) -> None:
    storm = str(tracing.build("bpf_storm.c", tmp_path))
    found = bpf.tallies(bpf.run(Options(command=(storm, "50023"), any_node=True, count=True)))
    assert found[f"ioctl {bpf.WHAT:#010x}"] == 50_023
