"""Images that bring a driver: found by name and by soname, inside the root and nowhere else."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest

from glassstack.cli.main import main
from glassstack.containers.elf import soname
from glassstack.containers.scan import scan


def shared_object(name: str, order: str = "<", wide: bool = True) -> bytes:
    """The least of a shared object that has a soname: one segment that is loaded, one dynamic."""
    head = 64 if wide else 52
    entry = 56 if wide else 32
    strings = b"\0" + name.encode() + b"\0"
    at = head + 2 * entry
    tags = ((5, 0x1000 + at), (14, 1), (0, 0))
    dynamic = b"".join(struct.pack(order + ("qQ" if wide else "iI"), *tag) for tag in tags)
    ident = b"\x7fELF" + bytes((2 if wide else 1, 1 if order == "<" else 2, 1)) + bytes(9)
    form = "HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"
    header = struct.pack(order + form, 3, 62, 1, 0, head, 0, 0, head, entry, 2, 0, 0, 0)
    segments = b""
    for kind, offset, size in (
        (1, 0, at + len(strings) + len(dynamic)),
        (2, at + len(strings), len(dynamic)),
    ):
        values = (offset, 0x1000 + offset, 0, size, size)
        segments += struct.pack(
            order + ("IIQQQQQQ" if wide else "IIIIIIII"),
            kind,
            *((0, *values, 0) if wide else (*values, 0, 0)),
        )
    return ident + header + segments + strings + dynamic


def put(path: Path, content: bytes = b"") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("wide", [True, False])
def test_the_soname_is_read_in_every_kind_of_elf(tmp_path: Path, order: str, wide: bool) -> None:
    put(tmp_path / "x", shared_object("libcuda.so.1", order, wide))
    with open(tmp_path / "x", "rb") as file:
        assert soname(file) == "libcuda.so.1"


def test_no_damage_to_a_file_breaks_the_reader(tmp_path: Path) -> None:
    whole = shared_object("libcuda.so.1")
    for cut in range(len(whole)):
        for damaged in (whole[:cut], whole[:cut] + b"\xff" + whole[cut + 1 :]):
            put(tmp_path / "x", damaged)
            with open(tmp_path / "x", "rb") as file:
                assert isinstance(soname(file), str)


def test_what_an_image_brings_is_told_by_kind(tmp_path: Path) -> None:
    put(tmp_path / "usr/lib/libfakecuda.so.550.54.14", shared_object("libfakecuda.so.1"))
    put(tmp_path / "usr/lib/libfakecudart.so.12.4", shared_object("libfakecudart.so"))
    put(tmp_path / "usr/lib/libnvidia-container.so.1", shared_object("libnvidia-container.so.1"))
    put(tmp_path / "usr/lib/libnvidia-ml.so.550.54.14")
    put(tmp_path / "usr/local/cuda-12.4/compat/libcuda.so.550.54.14", shared_object("libcuda.so.1"))
    put(tmp_path / "usr/local/cuda-12.4/lib64/stubs/libcuda.so", shared_object("libcuda.so.1"))
    put(tmp_path / "opt/vendor/renamed.bin", shared_object("libcuda.so.1"))
    found = {one.path: (one.kind, one.by, one.version) for one in scan(tmp_path)}
    assert found == {
        "/usr/lib/libfakecuda.so.550.54.14": ("driver", "name and soname", "550.54.14"),
        "/usr/lib/libnvidia-ml.so.550.54.14": ("driver", "name", "550.54.14"),
        "/usr/local/cuda-12.4/compat/libcuda.so.550.54.14": ("compat", "name and soname", "550.54.14"),
        "/usr/local/cuda-12.4/lib64/stubs/libcuda.so": ("stub", "name and soname", ""),
        "/opt/vendor/renamed.bin": ("driver", "soname", ""),
    }


def test_links_are_not_followed_and_odd_files_do_not_stop_it(tmp_path: Path) -> None:
    put(tmp_path / "outside/libcuda.so.550.54.14", shared_object("libcuda.so.1"))
    root = tmp_path / "root"
    put(root / "lib/ordinary")
    (root / "lib/libcuda.so.1").symlink_to("../../outside/libcuda.so.550.54.14")
    (root / "more").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(".")
    os.mkfifo(root / "libcuda.so")
    assert list(scan(root)) == []


def test_the_command_fails_when_something_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["image", "scan", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no driver in it\n"
    put(tmp_path / "stubs/libcuda.so")
    assert main(["image", "scan", str(tmp_path)]) == 0
    put(tmp_path / "lib/libcuda.so.550.54.14")
    assert main(["image", "scan", str(tmp_path)]) == 1
    assert "remove it from the image" in capsys.readouterr().out
    assert main(["image", "scan", "--json", str(tmp_path)]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["kind"] for line in lines] == ["driver", "stub"]
    assert main(["image", "scan", str(tmp_path / "none")]) == 2
