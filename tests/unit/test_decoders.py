"""Decoders: bytes in, names and fields out; never an exception, whatever comes."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from glassstack.decoders import fakegpu, ioc, kmsg, registry, syscalls, xid
from glassstack.decoders.explain import explain
from glassstack.decoders.fakegpu import BY_NAME, IOCTLS
from glassstack.model.events import Syscall
from glassstack.model.values import Source

GPU0 = "/dev/fakegpu0"


def decode(name: str, before: bytes, after: bytes = b"", ret: int = 0) -> dict[str, Any]:
    """The fields of a call on the first device, after a look at its name."""
    decoded = registry.decode_ioctl(GPU0, BY_NAME[name].request, before, after, ret=ret)
    assert decoded.name == name
    return decoded.fields


def call(**changed: Any) -> Syscall:
    """A finished call with what a test does not care about filled in."""
    known: dict[str, Any] = {"syscall": "ioctl", "device": GPU0, "name": "ALLOC", "ret": 0, "errno": None}
    return Syscall(1, Source.DEVICE, pid=7, tid=7, fields={}, dur_ns=1, **{**known, **changed})


VERSION = b"550.54.14".ljust(64, b"\0")
IN_OUT = [
    ("ALLOC", struct.pack("<QII", 4096, 0, 0), struct.pack("<QII", 4096, 0, 3), {"size": 4096, "handle": 3}),
    ("FREE", struct.pack("<II", 3, 0), b"", {"handle": 3}),
    (
        "MAP",
        struct.pack("<IIIIQQ", 1, 4, 0, 0, 0, 0),
        struct.pack("<IIIIQQ", 1, 4, 0, 0, 0x100000, 65536),
        {"what": "RING", "handle": 4, "offset": 0x100000, "length": 65536},
    ),
    (
        "CHANNEL_CREATE",
        struct.pack("<IIII", 1, 65536, 0, 0),
        struct.pack("<IIII", 1, 65536, 4, 2),
        {"flags": "RING", "ring_size": 65536, "handle": 4, "index": 2},
    ),
    ("CHANNEL_DESTROY", struct.pack("<II", 4, 0), b"", {"handle": 4}),
    (
        "WAIT",
        struct.pack("<IIQQQ", 4, 0, 23, 999, 0),
        struct.pack("<IIQQQ", 4, 0, 23, 999, 24),
        {"channel": 4, "seqno": 23, "deadline_ns": 999, "signalled": 24},
    ),
    (
        "CHECK_VERSION",
        struct.pack("<II64s", 1, 0, b"535.54.03\0"),
        struct.pack("<II64s", 1, 0, VERSION),
        {"mode": "QUERY", "version": "535.54.03", "reply": "different", "driver_version": "550.54.14"},
    ),
    (
        "FENCE_EVENTFD",
        struct.pack("<IIQiI", 2, 0, 23, 7, 0),
        b"",
        {"channel": 2, "seqno": 23, "fd": 7},
    ),
    ("UVM_INIT", struct.pack("<II", 0, 0), b"", {}),
]


@pytest.mark.parametrize(("name", "before", "after", "fields"), IN_OUT, ids=[row[0] for row in IN_OUT])
def test_arguments_become_fields(name: str, before: bytes, after: bytes, fields: dict[str, Any]) -> None:
    assert decode(name, before, after) == fields


def test_info_tells_the_device_apart_from_the_control_node() -> None:
    numbers = struct.pack("<8I3Q", 0, 0xFFFFFFFF, 2, 1, 0, 1, 0, 32, 1 << 34, 1 << 20, 1 << 33)
    fields = decode("INFO", bytes(168), numbers + bytes(range(16)) + b"Fake".ljust(32, b"\0") + VERSION)
    assert fields["device"] == "control node"
    assert fields["uuid"] == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert (fields["name"], fields["version"], fields["vram_total"]) == ("Fake", "550.54.14", 1 << 34)
    assert "flags" not in fields


def test_ctx_info_has_every_counter() -> None:
    after = struct.pack("<IIII5QII", 0, 7, 1, 2, 3, 4, 5, 6, 8, 1, 31)
    fields = decode("CTX_INFO", bytes(64), after)
    assert fields == {
        "id": 7, "buffers": 1, "channels": 2, "bytes": 3, "quota": 4,
        "submits": 5, "completions": 6, "doorbells": 8, "poisoned": 1, "xid": 31,
    }  # fmt: skip


def test_processes_are_listed_in_one_field() -> None:
    def entry(context: int, pid: int, xid: int, name: bytes) -> bytes:
        return struct.pack("<4I2Q32s", context, pid, 1, xid, 4096, 23, name)

    after = struct.pack("<4IQ", 0, 5, 2, 9, 77) + entry(6, 41, 0, b"a") + entry(8, 42, 31, b"b") + bytes(64)
    assert decode("PROCESSES", struct.pack("<4IQ", 0, 5, 0, 0, 0) + bytes(192), after) == {
        "after": 5, "count": 2, "more": 9, "now_ns": 77,
        "entries": "context 6 pid 41 a 4096 B; context 8 pid 42 b 4096 B Xid 31",
    }  # fmt: skip


def test_a_failure_shows_what_went_in_and_nothing_that_never_came_out() -> None:
    before = struct.pack("<QII", 4096, 0, 77)
    assert decode("ALLOC", before, before, ret=-12) == {"size": 4096}


def test_failures_that_answer_nevertheless() -> None:
    version = struct.pack("<II64s", 0, 0, VERSION)
    assert decode("CHECK_VERSION", version, version, ret=-22)["driver_version"] == "550.54.14"
    wait = struct.pack("<IIQQQ", 4, 0, 23, 999, 22)
    assert decode("WAIT", wait, wait, ret=-62)["signalled"] == 22


def test_what_must_be_zero_shows_when_it_is_not() -> None:
    assert decode("FREE", struct.pack("<II", 3, 5)) == {"handle": 3, "pad": "0x5 (must be 0)"}
    assert decode("ALLOC", struct.pack("<QII", 1, 2, 0))["flags"] == "0x2 (must be 0)"
    flags = decode("CHANNEL_CREATE", struct.pack("<IIII", 9, 0, 0, 0))["flags"]
    assert flags == "RING|0x8"


def test_memory_that_could_not_be_read_says_so() -> None:
    assert decode("ALLOC", b"") == {"argument": "missing: 0 of 16 bytes could be read"}
    half = struct.pack("<QII", 4096, 0, 0)
    assert decode("ALLOC", half, half[:9])["answer"] == "missing: 9 of 16 bytes could be read"


def test_a_text_without_end_says_so() -> None:
    fields = decode("CHECK_VERSION", struct.pack("<II", 0, 0) + b"x" * 64)
    assert fields["version"] == "x" * 64 + " (no NUL)"


def test_submit_summarises_its_packets() -> None:
    packets = struct.pack("<HHIIIQQ", 1, 32, 0, 3, 0, 0, 64) + struct.pack("<HHIQ", 4, 16, 0, 9) * 2
    before = struct.pack("<IIQIIQ", 4, 0, 0x7F0000, len(packets), 0, 0)
    for kept, text in ((packets, "FILL, DELAY ×2"), (packets[:40], "FILL, DELAY, …"), (b"", None)):
        fields = registry.decode_ioctl(GPU0, BY_NAME["SUBMIT"].request, before, b"", kept).fields
        assert fields.get("ops") == text


def test_an_ioctl_of_another_size_is_named_with_a_mark() -> None:
    request = BY_NAME["ALLOC"].request + (8 << 16)
    decoded = registry.decode_ioctl(GPU0, request, b"", b"")
    assert decoded.name == "ALLOC?"
    assert decoded.fields["expected"] == f"0x{BY_NAME['ALLOC'].request:08x}"


@pytest.mark.parametrize(
    "device", ["/dev/nvidia-modeset", "/dev/dri/renderD128", "/dev/kfd", "/dev/null", ""]
)
def test_without_a_decoder_the_number_is_taken_apart(device: str) -> None:
    decoded = registry.decode_ioctl(device, 0xC020462A, b"", b"")
    assert decoded.name == "ioctl 0xc020462a"
    assert decoded.fields == {"dir": "read|write", "type": "0x46 'F'", "nr": 0x2A, "size": 32}


def test_uvm_numbers_are_whole() -> None:
    decoded = registry.decode_ioctl("/dev/nvidia-uvm", 0x30000009, b"", b"")
    assert decoded == ("ioctl 0x30000009", {"request": 0x30000009, "unknown": "uvm 0x30000009"})


def test_families() -> None:
    paths = {
        "/dev/fakegpu7": "fakegpu", "/dev/fakegpuctl": "fakegpu", "/dev/fakegpu-uvm": "fakegpu",
        "/dev/nvidia0": "nvidia", "/dev/nvidiactl": "nvidia", "/dev/nvidia-uvm": "nvidia-uvm",
        "/dev/dri/card0": "drm", "/dev/kfd": "kfd", "/dev/nvidiafoo": "", "/tmp/dev/fakegpu0": "",
    }  # fmt: skip
    assert {path: registry.family(path) for path in paths} == paths


def test_request_numbers_split_and_join() -> None:
    for ioctl in IOCTLS:
        parts = ioc.split(ioctl.request)
        assert ioc.join(*parts) == ioctl.request
        assert (parts.type, parts.nr, parts.direction) == (0xFA, ioctl.nr, ioctl.direction)


def test_random_bytes_never_raise() -> None:
    chance = random.Random(23)
    devices = (GPU0, "/dev/fakegpuctl", "/dev/fakegpu-uvm", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/null")
    known = [ioctl.request for ioctl in IOCTLS]
    for _ in range(4000):
        request = chance.choice([*known, chance.getrandbits(32), -1, chance.getrandbits(64)])
        before, after, payload = (chance.randbytes(chance.randrange(200)) for _ in range(3))
        ret = chance.choice((0, -22, -62, -25, chance.getrandbits(31)))
        decoded = registry.decode_ioctl(chance.choice(devices), request, before, after, payload, ret)
        assert decoded.name
        assert all(isinstance(value, int | str) for value in decoded.fields.values())
        kmsg.parse_xid(payload.decode("latin-1"))


def test_every_ioctl_is_explained_with_its_counterpart() -> None:
    for ioctl in IOCTLS:
        said = explain(call(name=ioctl.name))
        assert said.text == ioctl.text
        assert said.counterpart
    assert "NV_ESC_CHECK_VERSION_STR" in explain(call(name="CHECK_VERSION")).counterpart
    assert "doorbell" in explain(call(name="SUBMIT")).counterpart


def test_a_failure_is_explained_by_its_errno() -> None:
    said = explain(call(name="ALLOC", ret=-122, errno="EDQUOT"))
    assert said.text.endswith("It failed with EDQUOT: the context would hold more than its quota.")
    assert explain(call(name="MAP", ret=-5, errno="EIO")).text.count("poisoned") == 1
    assert explain(call(ret=-4, errno="E2BIG")).text.endswith("It failed with E2BIG.")


@pytest.mark.parametrize("name", ["open", "openat", "mmap", "munmap", "close", "dup3", "fcntl", "statx"])
def test_other_calls_are_explained(name: str) -> None:
    said = explain(call(syscall=name, name=name))
    assert len(said.text) > 20
    assert said.counterpart
    assert explain(call(syscall=name, name=name, device="/dev/null")).counterpart == ""


def test_what_nobody_knows_is_explained_as_that() -> None:
    assert "no decoder" in explain(call(name="ioctl 0x1", device="/dev/nvidia0")).text
    assert "another size" in explain(call(name="ALLOC?")).text
    assert explain(call(syscall="syscall 999", name="syscall 999")).text == "The syscall syscall 999."


XID_LINES = [
    (
        "FGPU: Xid (PCI:0000:01:00): 31, pid=42, name=a b, Ch 00000001, MMU Fault: ENGINE, x",
        (31, "0000:01:00", 42, "a b", "Ch 00000001, MMU Fault: ENGINE, x", True),
    ),
    (
        "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        (79, "0000:3b:00", None, "<unknown>", "GPU has fallen off the bus.", False),
    ),
    (
        "[ 12.3] NVRM: Xid (PCI:0000:01:00 GPU-I:02): 94, pid=7, name=x, Contained",
        (94, "0000:01:00", 7, "x", "Contained", False),
    ),
    (
        "NVRM: Xid (0000:01:00): 13, Graphics Exception",
        (13, "0000:01:00", None, "", "Graphics Exception", False),
    ),
    ("NVRM: Xid (PCI:0000:01:00): 43", (43, "0000:01:00", None, "", "", False)),
]


@pytest.mark.parametrize(("line", "parts"), XID_LINES)
def test_xid_lines(line: str, parts: tuple[Any, ...]) -> None:
    assert kmsg.parse_xid(line) == parts


@pytest.mark.parametrize(
    "line", ["", "NVRM: loading", "FGPU: API mismatch: the client", "Xid 31", "SXid (PCI:1): 2"]
)
def test_lines_without_an_xid(line: str) -> None:
    assert kmsg.parse_xid(line) is None


def test_the_stand_ins_bus_numbers() -> None:
    assert kmsg.fakegpu_node("0000:01:00") == GPU0
    assert kmsg.fakegpu_node("0000:08:00.0") == "/dev/fakegpu7"
    assert kmsg.fakegpu_node("0000:09:00") == ""
    assert kmsg.fakegpu_node("nonsense") == ""


def test_xids_are_explained() -> None:
    assert "MMU" in xid.explain(31)
    assert "restart the program" in xid.explain(31)
    assert "not in the table" in xid.explain(4242)
    assert all(len(xid.explain(number)) < 200 for number in xid.XIDS)


def test_syscall_words() -> None:
    assert syscalls.syscall_name(16, "x86_64") == syscalls.syscall_name(29, "aarch64") == "ioctl"
    assert syscalls.syscall_name(9999, "x86_64") == "syscall 9999"
    assert syscalls.syscall_name(16, "riscv64") == "syscall 16"
    assert [syscalls.errno_name(ret) for ret in (-22, -512, -4095, -4096, 0, 7)] == [
        "EINVAL", "ERESTARTSYS", "errno 4095", None, None, None,
    ]  # fmt: skip
    assert syscalls.prot_text(3) == "PROT_READ|PROT_WRITE"
    assert syscalls.prot_text(0) == "PROT_NONE"
    assert syscalls.map_text(0x8001) == "MAP_SHARED|MAP_POPULATE"
    assert syscalls.map_text(0) == "0"
    assert syscalls.open_text(0o2000002) == "O_RDWR|O_CLOEXEC"
    assert syscalls.open_text(0) == "O_RDONLY"


def test_paths_of_calls() -> None:
    cwd = 2**64 - 100
    assert syscalls.path_fields("openat", (cwd, 0, 2), "/dev/x") == {"path": "/dev/x", "flags": "O_RDWR"}
    assert syscalls.path_fields("openat", (5, 0, 0), "x") == {"path": "x", "dirfd": 5, "flags": "O_RDONLY"}
    assert syscalls.path_fields("open", (0, 1), "x")["flags"] == "O_WRONLY"
    assert (
        syscalls.path_fields("openat2", (cwd, 0, 0, 24), "x", struct.pack("<QQQ", 2, 0, 0))["flags"]
        == "O_RDWR"
    )
    assert syscalls.path_fields("creat", (0, 0o600), "x") == {"path": "x"}
    assert syscalls.path_fields("stat", (0, 0), "x") == {"path": "x"}


def test_every_ioctl_error_named_is_an_errno() -> None:
    import errno

    names = set(errno.errorcode.values())
    assert set(fakegpu.COMMON_ERRORS) <= names
    assert {name for ioctl in IOCTLS for name in ioctl.errors} <= names
