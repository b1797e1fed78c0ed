"""The readers against the embedded device and the lab's own programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from glassstack.collectors.channels import ChannelPoller
from glassstack.collectors.completions import CompletionPoller
from glassstack.collectors.control import Control, ControlError, discover
from glassstack.collectors.device import ContextIds, DevicePoller
from glassstack.collectors.maps import Maps
from glassstack.collectors.memory import DeviceFile
from glassstack.collectors.spaces import Spaces
from glassstack.collectors.witness import Witness
from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.decoders.pages import decode_fences
from glassstack.gpu.artifacts import Artifacts
from glassstack.gpu.embedded import DeviceError, EmbeddedGpu, Options, runner
from glassstack.model.entities import Channel
from glassstack.model.events import Channels, Completions, Devices, Dropped, Event, Log, Ring, Syscall
from tests.support import ROOT, eventually

STEPS = 23


@pytest.fixture
def artifacts(native: Path) -> Artifacts:
    return Artifacts({"GLASSSTACK_NATIVE": str(native.parent)})


@pytest.fixture
def witness() -> Iterator[Witness]:
    made = Witness()
    yield made
    made.close()


@pytest.fixture
def gpu(artifacts: Artifacts, witness: Witness) -> Iterator[EmbeddedGpu]:
    made = EmbeddedGpu(Options(devices=2), witness.fd, artifacts)
    yield made
    made.close()


def start(gpu: EmbeddedGpu, artifacts: Artifacts, name: str, *args: str) -> Callable[[], int]:
    """Starts a workload; gives a function that finds its pid once it holds the device."""
    gpu.start([str(artifacts.bin(name)), *args])

    def pid() -> int:
        contexts = [c for device in gpu.control.status().devices for c in device.contexts]
        return next((c.pid for c in contexts if c.name == name), 0)

    return pid


def channels_of(events: list[Event]) -> list[Channel]:
    return [channel for event in events if isinstance(event, Channels) for channel in event.channels]


def busiest(pid: int, spaces: Spaces) -> Channel:
    found = channels_of(ChannelPoller(lambda: [pid], spaces).sample())
    assert found, "no channel yet"
    return max(found, key=lambda channel: channel.jobs)


def once_done(jobs: int, pid: int, spaces: Spaces) -> Channel:
    """The busiest channel, as soon as it has done so many jobs."""

    def done() -> list[Channel]:
        channel = busiest(pid, spaces)
        return [channel] if channel.jobs >= jobs else []

    return eventually(done)[0]


def test_a_training_loop_is_classified_whole(gpu: EmbeddedGpu, artifacts: Artifacts) -> None:
    pid = eventually(start(gpu, artifacts, "fakegpu-train", "--rate", "200"))
    once_done(STEPS, pid, Spaces())  # its set-up is over
    maps = Maps()
    found = maps.read(pid)
    device = [m for m in found if m.device]
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    assert len(device) == sum("/memfd:fakegpu" in line for line in lines)
    assert {m.device for m in device} == {"/dev/fakegpu0"}
    assert {m.what for m in device} == {"doorbell", "fence", "completion", "ring", "buffer"}
    assert {m.channel for m in device if m.what == "ring"} == {0, 1}
    versions = {m.what: m.version for m in found if not m.device}
    assert versions == {"umd": gpu.control.status().version, "runtime": "12.4"}
    assert pid in maps.users()[0]
    assert gpu.pid not in maps.users()[0]


def test_doorbells_race_while_calls_stand_still(
    gpu: EmbeddedGpu, artifacts: Artifacts, witness: Witness
) -> None:
    pid = eventually(start(gpu, artifacts, "fakegpu-train", "--rate", "500"))
    spaces = Spaces(id_of=ContextIds(lambda: [gpu.control.name]))
    before = once_done(STEPS, pid, spaces)
    witness.read()
    after = once_done(before.jobs + 10 * STEPS, pid, spaces)
    seen = witness.read()
    assert [event for event in seen if isinstance(event, Syscall)] == []
    assert after.doorbells >= before.doorbells + 10 * STEPS
    assert after.done_ns > before.done_ns
    told = max(channels_of(seen), key=lambda channel: channel.jobs)
    assert told.jobs > before.jobs
    # Both witnesses call it by the same name, so that a store knows it is one channel.
    assert (told.pid, told.device, told.context, told.index) == (
        pid,
        after.device,
        after.context,
        after.index,
    )
    (context,) = gpu.control.status().devices[0].contexts
    assert after.context == context.id


def test_reading_the_devices_file_does_not_end_the_context(gpu: EmbeddedGpu, artifacts: Artifacts) -> None:
    pid = eventually(start(gpu, artifacts, "fakegpu-train", "--rate", "200"))
    spaces = Spaces()
    before = once_done(1, pid, spaces)
    (space,) = spaces.of(pid)
    file = DeviceFile(pid, space.inode)
    for _ in range(STEPS):
        fences = decode_fences(file.read(uapi.OFF_FENCE, uapi.PAGE))
    assert fences[before.index].jobs >= before.jobs
    assert once_done(before.jobs + STEPS, pid, spaces).error == 0
    assert [context.pid for context in gpu.control.status().devices[0].contexts] == [pid]


def test_ring_packets_are_the_programs_own(gpu: EmbeddedGpu, artifacts: Artifacts) -> None:
    pid = eventually(start(gpu, artifacts, "fakegpu-train", "--rate", "500", "--count", "64"))
    spaces = Spaces()
    eventually(lambda: busiest(pid, spaces).jobs >= STEPS)
    poller = ChannelPoller(lambda: [pid], spaces)
    names: set[str] = set()
    for _ in range(STEPS):
        for ring in poller.sample():
            if isinstance(ring, Ring) and ring.channel == 1:
                names |= {packet.name for packet in ring.packets}
                fills = [packet for packet in ring.packets if packet.name == "FILL"]
                assert all(packet.fields["length"] == 64 * 4 for packet in fills)
        eventually(lambda: busiest(pid, spaces).jobs % 7 != 0)
    assert names - {"NOP"} == {"FILL", "VECADD", "FENCE"}


def test_every_job_of_a_run_is_told_once(gpu: EmbeddedGpu, artifacts: Artifacts) -> None:
    pid = eventually(start(gpu, artifacts, "fakegpu-train", "--rate", "200", "--steps", str(STEPS), "--stay"))
    spaces = Spaces()
    poller = CompletionPoller(lambda: [pid], spaces)
    told: list[tuple[int, int]] = []

    def all_done() -> bool:
        for event in poller.sample():
            assert isinstance(event, Completions)
            assert event.lost == 0
            told.extend((entry.channel, entry.seqno) for entry in event.entries)
        return sum(channel == 1 for channel, _ in told) >= STEPS

    eventually(all_done)
    assert [seqno for channel, seqno in told if channel == 1] == list(range(1, STEPS + 1))
    assert busiest(pid, spaces).jobs == STEPS
    (context,) = gpu.control.status().devices[0].contexts
    assert context.completions == len(told)


def test_the_witness_tells_every_call_of_the_client(artifacts: Artifacts, witness: Witness) -> None:
    command = [*runner(artifacts=artifacts), "--witness-fd", str(witness.fd), "--"]
    done = subprocess.run(
        [*command, artifacts.bin("fakegpu-client")], pass_fds=(witness.fd,), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    events = witness.read(max_records=1_000_000)
    calls = [event for event in events if isinstance(event, Syscall)]
    assert not [event for event in events if isinstance(event, Dropped)]
    assert {"open", "INFO", "CHECK_VERSION", "ALLOC", "FREE", "MAP", "CHANNEL_CREATE", "SUBMIT", "WAIT"} <= {
        call.name for call in calls
    }
    for call in calls:
        assert call.dur_ns is not None
        assert call.dur_ns > 0
        assert call.device.startswith("/dev/fakegpu")
        assert (
            not [value for value in call.fields.values() if "missing" in str(value)] or call.errno == "EFAULT"
        )
        if call.name == "ALLOC" and not call.ret:
            assert call.fields["handle"]
    for tid in {call.tid for call in calls}:
        starts = [call.ts for call in calls if call.tid == tid]
        assert starts == sorted(starts)


def test_a_fault_is_seen_by_everybody(gpu: EmbeddedGpu, artifacts: Artifacts, witness: Witness) -> None:
    pid = eventually(start(gpu, artifacts, "fakegpu-train", "--rate", "100"))
    devices = DevicePoller(lambda: [gpu.control.name], log=True)
    gpu.control.fault("xid=31,after=1000000")
    gpu.control.clear()
    assert gpu.control.faults() == []
    spaces = Spaces()
    eventually(lambda: busiest(pid, spaces).jobs >= 1)
    os.kill(pid, signal.SIGSTOP)  # it would end by the fault, and its pages with it
    gpu.control.fault("xid=13,after=0")
    (event,) = [one for one in devices.sample() if isinstance(one, Devices)]
    assert event.devices[0].faults
    assert [device.path for device in event.devices] == ["/dev/fakegpu0", "/dev/fakegpu1"]
    assert event.devices[0].contexts == 1
    os.kill(pid, signal.SIGCONT)
    seen: list[Event] = []

    def more() -> list[Event]:
        seen.extend(witness.read())
        return seen

    eventually(lambda: [one for one in more() if isinstance(one, Log) and one.xid])
    (line,) = [one for one in seen if isinstance(one, Log) and one.xid]
    assert (line.xid, line.pid, line.device, line.level) == (13, pid, "/dev/fakegpu0", 3)
    (again,) = [one for one in devices.sample() if isinstance(one, Log)]
    assert (again.text, again.xid) == (line.text, 13)
    assert abs(again.ts - line.ts) < 1000
    assert not [one for one in devices.sample() if isinstance(one, Log)]
    eventually(lambda: [channel for channel in channels_of(more()) if channel.error == 13])


def test_control_refuses_and_says_why(gpu: EmbeddedGpu) -> None:
    with pytest.raises(ControlError, match="no such fault"):
        gpu.control.fault("nonsense=1")
    with pytest.raises(ControlError, match=r"no device named fakegpu/.*/nobody-here is running"):
        Control("nobody-here").status()
    assert gpu.control.name in discover()
    assert DevicePoller(lambda: [gpu.control.name]).probe().ready


def test_closing_leaves_nothing(artifacts: Artifacts) -> None:
    gpu = EmbeddedGpu(artifacts=artifacts)
    pids = [
        eventually(start(gpu, artifacts, "fakegpu-train", "--rate", "50")),
        eventually(start(gpu, artifacts, "fakegpu-burst", "--rate", "5")),
    ]
    name = gpu.control.name
    gpu.close()
    gpu.close()
    assert not gpu.alive
    assert name not in discover()
    eventually(lambda: not [pid for pid in pids if Path(f"/proc/{pid}").exists()])


def test_a_killed_device_leaves_no_program_behind(artifacts: Artifacts) -> None:
    gpu = EmbeddedGpu(artifacts=artifacts)
    pid = eventually(start(gpu, artifacts, "fakegpu-train", "--rate", "50"))
    os.kill(gpu.pid, signal.SIGKILL)
    eventually(lambda: not gpu.alive)
    gpu.close()
    eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_a_second_device_of_the_same_name_says_so(gpu: EmbeddedGpu, artifacts: Artifacts) -> None:
    with pytest.raises(DeviceError, match="is running already"):
        EmbeddedGpu(Options(name=gpu.control.name.rpartition("/")[2]), artifacts=artifacts)


def test_the_device_and_its_programs_end_with_a_killed_owner(artifacts: Artifacts) -> None:
    script = (
        "import sys, time\n"
        "from glassstack.gpu.artifacts import Artifacts\n"
        "from glassstack.gpu.embedded import EmbeddedGpu\n"
        "found = Artifacts({'GLASSSTACK_NATIVE': sys.argv[1]})\n"
        "gpu = EmbeddedGpu(artifacts=found)\n"
        "gpu.start([str(found.bin('fakegpu-train'))])\n"
        "print(gpu.control.name, flush=True)\n"
        "sys.stdin.read()\n"
    )
    native = artifacts.bin("fakegpu-run").parent.parent
    with subprocess.Popen(
        [sys.executable, "-c", script, str(native)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        control = Control(owner.stdout.readline().strip())
        (pid,) = eventually(lambda: [c.pid for c in control.status().devices[0].contexts])
        owner.kill()
    eventually(lambda: control.name not in discover())
    eventually(lambda: not Path(f"/proc/{pid}").exists())
