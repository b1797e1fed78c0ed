"""What evidence comes packed in: gzip, also half of one, tar, UTF-16, endless lines."""

from __future__ import annotations

import gzip
import io
import random
import subprocess
import sys
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from glassstack.diagnose.gather import Look, gather, read_into
from glassstack.diagnose.intake import Piece
from glassstack.diagnose.verdict import judge
from tests.evidence import CASES, look_at, roots

XID = b"[   12.000001] NVRM: Xid (PCI:0000:44:00): 79, pid=7, name=x, GPU has fallen off the bus.\n"
NOISE = b"[    1.000000] usb 1-1: new high-speed USB device number 2 using xhci_hcd\n"


def ids(look: Look) -> list[str]:
    return roots(judge(look.evidence))


def tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def written(folder: Path, data: bytes, name: str = "evidence") -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


def test_gzip_and_tar_in_any_order(tmp_path: Path) -> None:
    inner = tar({"var/log/a": NOISE * 9, "var/log/dmesg.gz": gzip.compress(NOISE * 5 + XID)})
    for data in (gzip.compress(XID), inner, gzip.compress(inner)):
        look = gather([written(tmp_path, data)])
        assert ids(look) == ["XID_79"]
        assert look.notes == []
    (fact,) = look.evidence.all("xid")
    assert str(fact.where) == f"{tmp_path}/evidence!var/log/dmesg:6"


def test_half_a_gzip_is_read_and_said(tmp_path: Path) -> None:
    packed = gzip.compress(XID + bytes(random.Random(3).randbytes(200_000)))
    look = gather([written(tmp_path, packed[: len(packed) // 2])])
    assert ids(look) == ["XID_79"]
    assert any("cut off" in note for note in look.notes)


def test_a_damaged_gzip_is_read_up_to_the_damage(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(XID + bytes(random.Random(3).randbytes(3_000_000))))
    packed[len(packed) // 2 : len(packed) // 2 + 200] = bytes(200)
    look = gather([written(tmp_path, bytes(packed))])
    assert look.readable
    assert any("gzip" in note for note in look.notes)


def test_half_a_tar_is_read_and_said(tmp_path: Path) -> None:
    data = tar({"dmesg": XID, "big": NOISE * 1000})
    look = gather([written(tmp_path, data[: len(data) // 2])])
    assert ids(look) == ["XID_79"]


def test_several_gzip_members_are_one_text(tmp_path: Path) -> None:
    look = gather([written(tmp_path, gzip.compress(NOISE) + gzip.compress(XID))])
    assert ids(look) == ["XID_79"]


def test_utf16_is_converted_and_said(tmp_path: Path) -> None:
    look = gather([written(tmp_path, XID.decode().encode("utf-16"))])
    assert ids(look) == ["XID_79"]
    assert any("UTF-16" in note for note in look.notes)


def test_what_can_not_be_read_is_said(tmp_path: Path) -> None:
    look = gather([str(tmp_path / "absent"), str(tmp_path), written(tmp_path, b"")])
    assert not look.readable
    assert len(look.notes) == 3


def test_what_cleaning_did_is_said() -> None:
    look = look_at(b"\x1b[31m" + XID.strip() + b"\x1b[0m\r\n\xff\xfe NVRM\0: nvidia\n")
    assert ids(look) == ["XID_79"]
    told = " ".join(look.notes)
    for words in ("terminal codes", "CR LF", "NUL", "not UTF-8"):
        assert words in told


def test_sections_of_a_bug_report_are_told_apart() -> None:
    report = b"""\
*** /proc/driver/nvidia/version
*** ls: -r--r--r-- 1 root root 0 2026-01-01 00:00:00.0 +0000 /proc/driver/nvidia/version
NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.173.02  Tue Jun 23 08:38:17 UTC 2026

____________________________________________

*** /proc/self/limits
Max locked memory         8388608              8388608              bytes
NVML library version: 580.178
"""
    assert ids(look_at(report)) == ["SKEW_MODULE_OLD"]


def test_environment_of_a_process_is_read() -> None:
    look = look_at(b"PATH=/bin\0LD_LIBRARY_PATH=/usr/local/cuda/compat:/x\0NVIDIA_VISIBLE_DEVICES=all\0")
    assert look.evidence.all("ld_library_path", path="/usr/local/cuda/compat:/x")
    assert look.evidence.all("visible", value="all")


def test_out_of_order_lines_and_lines_of_other_sources_between() -> None:
    text = b"""\
[ 7386.26] NVRM: API mismatch: the client has the version 515.48.07, but
[ 7386.27] usb 1-1: reset high-speed USB device
[ 7386.26] NVRM: this kernel module has the version 510.73.05.  Please
[    1.00] NVRM: make sure that this kernel module and all NVIDIA driver
"""
    assert ids(look_at(text)) == ["SKEW_MODULE_OLD"]


def test_half_a_mismatch_still_names_one_side() -> None:
    look = look_at(b"[ 7386.2] NVRM: API mismatch: the client has the version 515.48.07, but\n")
    assert ids(look) == ["SKEW_MODULE_OLD"]


class Endless:
    """``size`` bytes of a pattern, made as they are read."""

    def __init__(self, pattern: bytes, size: int) -> None:
        self._pattern, self._left = pattern * (1 + (1 << 16) // len(pattern)), size

    def read(self, size: int, /) -> bytes:
        take = min(size, self._left, len(self._pattern))
        self._left -= take
        return self._pattern[:take]


@pytest.mark.parametrize(
    "pattern",
    [NOISE, XID, b"x", b"nvidia " * 9, b"\0", b"\n"],
    ids=["noise", "Xids", "one line", "one word", "NULs", "empty"],
)
def test_memory_stays_flat(pattern: bytes) -> None:
    tracemalloc.start()
    try:
        look = Look()
        size = 1 << 20 if pattern in (XID, b"\0") else 24 << 20
        read_into(look, [Piece("x", Endless(pattern, size))])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 24 << 20


COMMAND = (sys.executable, "-m", "glassstack.cli.main", "diagnose")


def run(*args: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run((*COMMAND, *args), input=given, capture_output=True, timeout=30)


def test_exit_codes(tmp_path: Path) -> None:
    assert run(given=XID).returncode == 1
    assert run("-", given=NOISE).returncode == 0
    assert b"nothing recognised" in run("-", given=NOISE).stdout
    assert run("--json", "--markdown").returncode == 2
    unread = run(str(tmp_path / "absent"))
    assert (unread.returncode, unread.stdout) == (4, b"")
    assert unread.stderr.count(b"\n") == 1
    assert run(given=b"").returncode == 4


def test_a_reader_that_leaves_does_not_hurt() -> None:
    text = "\n".join(case["text"] for case in CASES).encode()
    with subprocess.Popen(
        (*COMMAND, "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdin
        assert process.stderr
        process.stdout.close()
        process.stdin.write(text)
        process.stdin.close()
        assert b"Traceback" not in process.stderr.read()
