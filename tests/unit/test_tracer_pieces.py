"""The tracer's pure pieces: nodes, tables, events of calls, filters, lines, counts."""

from __future__ import annotations

import os
import random
import time

import msgspec
import pytest

from glassstack.cli.errors import CommandError
from glassstack.cli.trace_counts import Counts
from glassstack.cli.trace_filter import parse
from glassstack.cli.trace_format import call_line, line
from glassstack.collectors.tracer.calls import Item, RawCall, decode, encode, event_of
from glassstack.collectors.tracer.nodes import may_be_node, node_of
from glassstack.collectors.tracer.outbox import HOLD_NS, Outbox
from glassstack.collectors.tracer.tracees import Process
from glassstack.collectors.wire import WireReader, WireWriter
from glassstack.decoders import fakegpu, fakegpu_uapi
from glassstack.model.events import Event, Syscall
from glassstack.model.events import Process as ProcessEvent
from glassstack.model.values import Source

NODE = "/dev/fakegpu0"
ALLOC = fakegpu.BY_NAME["ALLOC"].request


@pytest.mark.parametrize(
    ("link", "node"),
    [
        ("/dev/fakegpu0", "/dev/fakegpu0"),
        ("/dev/fakegpuctl", "/dev/fakegpuctl"),
        ("/dev/fakegpu-uvm", "/dev/fakegpu-uvm"),
        ("/memfd:fakegpu3 (deleted)", "/dev/fakegpu3"),
        ("/memfd:fakegpu-uvm (deleted)", "/dev/fakegpu-uvm"),
        ("/memfd:fakegpuctl", "/dev/fakegpuctl"),
        ("/dev/nvidia0", "/dev/nvidia0"),
        ("/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-caps/nvidia-cap1"),
        ("/dev/dri/renderD128", "/dev/dri/renderD128"),
        ("/dev/kfd", "/dev/kfd"),
        ("/dev/null", ""),
        ("/tmp/dev/fakegpu0", ""),
        ("/memfd:wayland (deleted)", ""),
        ("/memfd:fakegpu (deleted)", ""),
        ("/dev/fakegpu0 (deleted)", ""),
        ("socket:[1234]", ""),
        ("", ""),
    ],
)
def test_node_of(link: str, node: str) -> None:
    assert node_of(link) == node


def test_any_node_takes_all_of_dev() -> None:
    assert node_of("/dev/null", any_node=True) == "/dev/null"
    assert node_of("/etc/passwd", any_node=True) == ""


def test_may_be_node_never_misses_a_node() -> None:
    assert all(map(may_be_node, ("/dev/fakegpu0", "fakegpu1", "../dev/nvidia0", "/x/renderD128", "/dev/kfd")))
    assert not may_be_node("/usr/lib/libc.so.6")


def test_ranges_are_cut_by_unmapping() -> None:
    process = Process(1, launched=True, any_node=False)
    process.executed()
    process.add_range(0x1000, 0x9000, "/dev/fakegpu0")
    process.remove_range(0x3000, 0x4000)
    assert process.ranges == [(0x1000, 0x3000, "/dev/fakegpu0"), (0x4000, 0x9000, "/dev/fakegpu0")]
    assert process.mapped(1, 0x3000, 0x4000) == ""
    assert process.mapped(1, 0x3FFF, 0x4001) == "/dev/fakegpu0"
    process.remove_range(0, 0x10000)
    assert process.ranges == []


def test_ranges_against_a_set_of_pages() -> None:
    chance = random.Random(23)
    process = Process(1, launched=True, any_node=False)
    process.executed()
    pages: set[int] = set()
    for _ in range(500):
        start = chance.randrange(64)
        end = start + chance.randrange(1, 8)
        if chance.random() < 0.5:
            process.add_range(start, end, "/dev/fakegpu0")
            pages |= set(range(start, end))
        else:
            process.remove_range(start, end)
            pages -= set(range(start, end))
        assert {page for page in range(80) if process.mapped(1, page, page + 1)} == pages


def raw(
    before: bytes | None,
    request: int = ALLOC,
    device: str = "/dev/fakegpu0",
    ret: int = 0,
    after: bytes = b"",
) -> RawCall:
    args = (3, request, 0x7000, 0, 0, 0)
    return (1, 2, "ioctl", device, 3, args, before, b"", ret, 1000, 4000, after)


def test_decoded_ioctl() -> None:
    layout = fakegpu_uapi.layout("alloc")
    event = event_of(raw(layout.pack(4096, 0, 0), after=layout.pack(4096, 0, 7)))
    assert (event.pid, event.tid, event.ts, event.dur_ns, event.raw) == (1, 2, 1000, 3000, ALLOC)
    assert (event.name, event.fields["size"], event.fields["handle"]) == ("ALLOC", 4096, 7)
    assert (event.ret, event.errno, event.source) == (0, None, Source.PTRACE)


def test_unreadable_argument_says_so() -> None:
    event = event_of(raw(b"", ret=-14))
    assert event.errno == "EFAULT"
    assert "missing" in str(event.fields)


@pytest.mark.parametrize(
    ("ret", "errno"),
    [(-25, "ENOTTY"), (-512, "ERESTARTSYS"), (-516, "ERESTART_RESTARTBLOCK"), (-1234, "errno 1234")],
)
def test_errors_have_names(ret: int, errno: str) -> None:
    assert event_of(raw(None, 0x1234, "/dev/null", ret)).errno == errno


def test_a_large_return_is_no_error() -> None:
    args = (0, 4096, 3, 1, 3, 0x1000)
    event = event_of((1, 1, "mmap", "/dev/fakegpu0", 3, args, None, b"", 0x7F0000000000, 0, 1, b""))
    assert event.errno is None
    assert (event.fields["prot"], event.fields["flags"]) == ("PROT_READ|PROT_WRITE", "MAP_SHARED")


def test_calls_cross_the_wire_as_they_are() -> None:
    items: list[Item] = [
        raw(None),
        raw(b"\0\1", ret=-25, after=b"\xff"),
        (1, 2, "mmap", "", None, (2**64 - 1, 0, 0, 0, 0, 0), None, b"", 0x7F0000000000, 0, 1, b""),
        ProcessEvent(0, Source.PTRACE, 5, 5, "exit", status=3),
    ]
    assert decode(encode(items)) == items


class Account:
    """A device that tells of its calls when asked, in pieces."""

    fd = -1

    def __init__(self, *pieces: list[Event]) -> None:
        self._pieces = list(pieces)

    def read(self) -> list[Event]:
        return self._pieces.pop(0) if self._pieces else []


def flushed(outbox: Outbox, reader: WireReader[Item]) -> list[int]:
    """When the items began that a flush of everything sends."""
    outbox.flush(everything=True)
    batch = reader.read(10)
    assert batch is not None
    return [item[9] if isinstance(item, tuple) else item.ts for item in batch]


def test_two_accounts_become_one_order() -> None:
    reading, writing = os.pipe()
    reader, writer = WireReader(reading, decode), WireWriter[Item](writing, encode=encode)
    # The device noted its second call after the program's next one had returned already.
    late = msgspec.structs.replace(call(), ts=500, dur_ns=9000)
    outbox = Outbox(writer, Account([msgspec.structs.replace(call(), ts=100)], [late]))
    outbox.found.append(raw(None))
    assert flushed(outbox, reader) == [100, 500, 1000]
    writer.close()
    reader.close()


def test_what_is_young_waits_for_the_device() -> None:
    reading, writing = os.pipe()
    reader, writer = WireReader(reading, decode), WireWriter[Item](writing, encode=encode)
    now = time.monotonic_ns()
    outbox = Outbox(writer, Account())
    outbox.add(ProcessEvent(now, Source.PTRACE, 5, 5, "exit", status=3))
    outbox.add(ProcessEvent(now - 2 * HOLD_NS, Source.PTRACE, 5, 5, "exec"))
    outbox.flush()
    sent = reader.read(10)
    assert sent is not None
    assert [item.what for item in sent if isinstance(item, ProcessEvent)] == ["exec"]
    assert flushed(outbox, reader) == [now]
    writer.close()
    reader.close()


def call(name: str = "ALLOC", syscall: str = "ioctl", errno: str | None = None, ns: int = 1500) -> Syscall:
    ret = -22 if errno else 0
    return Syscall(
        0, Source.PTRACE, 1, 2, syscall, "/dev/fakegpu0", name, {"size": 4096}, ret, errno, ns, 3, ALLOC
    )


@pytest.mark.parametrize(
    ("expressions", "shown"),
    [
        ([], True),
        (["ioctl"], True),
        (["alloc"], True),
        (["trace=ioctl,mmap"], True),
        (["mmap,close"], False),
        (["!ALLOC"], False),
        (["!mmap"], True),
        (["errno"], False),
        (["ioctl", "!FREE,ALLOC"], False),
        ([hex(ALLOC)], True),
        (["all"], True),
    ],
)
def test_filter(expressions: list[str], shown: bool) -> None:
    assert parse(expressions)[0](call()) is shown


def test_filter_for_failures() -> None:
    assert parse(["errno"])[0](call(errno="EINVAL"))


@pytest.mark.parametrize(("expression", "wide"), [("trace=ioctl", True), ("all", True), ("ioctl", False)])
def test_filter_on_any_file(expression: str, wide: bool) -> None:
    assert parse([expression])[1] is wide


@pytest.mark.parametrize("expression", ["", "nonsense", "ioctl,nonsense", "!", "trace="])
def test_filter_refuses_what_names_nothing(expression: str) -> None:
    with pytest.raises(CommandError) as refused:
        parse([expression])
    assert refused.value.code == 2


def test_lines() -> None:
    assert call_line(call()) == "ioctl(3</dev/fakegpu0>, ALLOC, size=4KiB) = 0 <1.5µs>"
    failed = line(call(errno="EINVAL"), prefix=True)
    assert (
        failed == "[pid 2] ioctl(3</dev/fakegpu0>, ALLOC, size=4KiB) = -1 EINVAL (Invalid argument) <1.5µs>"
    )
    ended = ProcessEvent(0, Source.PTRACE, 5, 5, "exit", status=3)
    assert line(ended, prefix=False) == "+++ exited with 3 +++"


def test_lines_are_safe_to_show() -> None:
    evil = Syscall(0, Source.PTRACE, 1, 1, "openat", "", "openat", {"path": "/dev/\x1b[2J\nx"}, 0, None, 1)
    text = call_line(evil)
    assert "\x1b" not in text
    assert "\n" not in text


def test_counts_percentiles_within_three_per_cent() -> None:
    chance = random.Random(23)
    durations = sorted(int(chance.lognormvariate(9, 2)) + 1 for _ in range(5000))
    counts = Counts()
    for ns in durations:
        counts.add(call(ns=ns))
    row = counts.rows["ALLOC"]
    assert (row.calls, row.errors, row.total_ns, row.max_ns) == (5000, 0, sum(durations), durations[-1])
    for share in (0.5, 0.9, 0.99):
        exact = durations[int(share * 5000) - 1]
        assert abs(row.percentile(share) - exact) <= max(1, 0.032 * exact)


def test_nvidia_calls_are_filtered_by_either_of_their_names() -> None:
    fields: dict[str, int | float | str | bool | None] = {"nv_status": "NO_MEMORY (0x51)"}
    alloc = Syscall(1, Source.PTRACE, 7, 7, "ioctl", "/dev/nvidiactl", "RM_ALLOC", fields, 0, None, 9, 3)
    for words, shown in (
        (["NV_ESC_RM_ALLOC"], True),
        (["rm_alloc"], True),
        (["UVM_FREE"], False),
        (["errno"], True),
    ):
        assert parse(words)[0](alloc) is shown, words
    assert parse(["errno"])[0](msgspec.structs.replace(alloc, fields={"nv_status": "OK"})) is False
