"""Which parts make up each kind of session."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from glassstack.collectors.bpf.options import Options as ProbeOptions
from glassstack.collectors.capabilities import CapabilityCollector
from glassstack.collectors.cgroup import CgroupCollector
from glassstack.collectors.channels import ChannelPoller
from glassstack.collectors.completions import CompletionPoller
from glassstack.collectors.container_list import ContainerCollector
from glassstack.collectors.control import discover
from glassstack.collectors.device import ContextIds, DevicePoller
from glassstack.collectors.holders import HolderCollector
from glassstack.collectors.kmsg import KmsgCollector
from glassstack.collectors.maps import MapsCollector
from glassstack.collectors.polling import Polling
from glassstack.collectors.probe_machine import Absent
from glassstack.collectors.processes import ProcessCollector
from glassstack.collectors.reach import Reach
from glassstack.collectors.spaces import Spaces
from glassstack.collectors.steps import StepCollector, states
from glassstack.collectors.tracer.options import Options
from glassstack.collectors.udev import UdevCollector
from glassstack.gpu.artifacts import Artifacts, MissingArtifactError, libraries
from glassstack.session import Session
from glassstack.session.demo import Demo, together
from glassstack.session.tracing import Tracing

Names = Callable[[], Sequence[str]]
"""Embedded devices that a session asks."""


def _launcher() -> Path | Absent:
    try:
        return Artifacts().bin("fakegpu-run")
    except MissingArtifactError as error:
        return Absent(error.cause, error.remedy)


def watch(session: Session, devices: Names, log: bool = False, drill: bool = False) -> None:
    """Adds what looks at processes and devices.

    A thread each: a slow walk over all processes must not make rates uneven, nor the first look late.
    In a ``drill``, this machine's kernel log and devices are left out, for they are not the node's,
    and so is what was broken on purpose.
    """
    ids = ContextIds(devices)
    spaces = Spaces(id_of=ids)
    pids = session.targets
    jobs = CompletionPoller(pids, Reach(id_of=ids))
    quick = (DevicePoller(devices, log=log, armed=not drill), ChannelPoller(pids, spaces), jobs)
    holders = HolderCollector()
    grouped = CgroupCollector(lambda: sorted({*pids(), *(state.pid for state in states() if state.pid)}))
    slow = (MapsCollector(pids), grouped, ProcessCollector(holders=holders), holders)
    boxes = (StepCollector(), ContainerCollector(states))
    machine = (KmsgCollector(), UdevCollector()) if not drill else ()
    once = (CapabilityCollector(_launcher()),)
    for pollers in filter(None, (quick, slow, boxes, machine, once)):
        session.add(lambda sink, pollers=pollers: Polling(pollers, sink))  # type: ignore[misc]


def demo_session(
    title: str = "demonstration", record: Path | None = None, node: str = "", source: str = "ptrace"
) -> Session:
    """Two programs on the kernel's ``node``, seen by ``source``, or without one on an embedded GPU.

    Raises:
        MissingArtifactError, DeviceError: there is no embedded GPU, or the programs are not built.
        OSError, RecordingError: tracing can't start, ``record`` can't be written.
    """
    session = Session(title, record)
    if node:
        options = _tracing(source, command=together(Artifacts()))
        session.add(lambda sink: Tracing(sink, options, session.over))
        watch(session, tuple)
    else:
        demo = Demo(session.sink, Artifacts())
        session.add(lambda sink: demo)
        watch(session, lambda: (demo.device,))
    return session


def _tracing(
    source: str,
    pids: Sequence[int] = (),
    command: Sequence[str] = (),
    runner: Sequence[str] = (),
    each_call: bool = False,
) -> Options | ProbeOptions:
    """What to trace, by "ptrace" or "ebpf"; eBPF counts functions of the GPU libraries too."""
    if source == "ebpf":
        return ProbeOptions(
            tuple(command), tuple(pids), runner=tuple(runner), functions=True, libraries=libraries()
        )
    return Options(command=tuple(command), pids=tuple(pids), runner=tuple(runner), each_call=each_call)


def run_session(
    command: Sequence[str],
    runner: Sequence[str],
    each_call: bool = False,
    record: Path | None = None,
    source: str = "ptrace",
) -> Session:
    """A launched program; ``runner`` and ``each_call`` as in the tracer's Options.

    Raises:
        OSError, RecordingError: it can't be started, ``record`` can't be written.
    """
    session = Session(" ".join(command), record)
    name = f"glassstack-{os.getpid()}"
    words = (*runner, "--name", name) if runner else ()
    options = _tracing(source, command=command, runner=words, each_call=each_call)
    session.add(lambda sink: Tracing(sink, options, session.over))
    watch(session, lambda: (f"fakegpu/{os.getuid()}/{name}",) if runner else discover())
    return session


def attach_session(pid: int, record: Path | None = None, source: str = "ptrace") -> Session:
    """A running process. Raises as run_session."""
    session = Session(f"pid {pid}", record, pids=[pid])
    session.add(lambda sink: Tracing(sink, _tracing(source, [pid]), session.over))
    watch(session, discover, log=True)
    return session


def attach(session: Session, pid: int) -> None:
    """Watches one more process in a session, which goes on when that one ends."""
    session.add(lambda sink: Tracing(sink, Options(pids=(pid,)), lambda: None))
