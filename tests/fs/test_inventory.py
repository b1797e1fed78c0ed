"""Nodes and libraries that a container could get, found over made-up folders."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from glassstack.containers.inventory import kernel_inventory, umd_libraries
from glassstack.gpu.artifacts import Artifacts, MissingArtifactError


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes nodes")
def test_the_kernels_nodes_with_numbers_mode_and_owner(tmp_path: Path) -> None:
    dev, sysfs, proc = (tmp_path / name for name in ("dev", "sys", "proc"))
    dev.mkdir()
    for name, major, minor in (("fakegpu0", 120, 0), ("fakegpuctl", 120, 255), ("fakegpu-uvm", 241, 0)):
        os.mknod(dev / name, stat.S_IFCHR | 0o660, os.makedev(major, minor))
        os.chown(dev / name, 0, 44)
    (dev / "fakegpu1").write_text("no node")
    folder = sysfs / "class/fakegpu/fakegpu0"
    folder.mkdir(parents=True)
    (folder / "uuid").write_text("GPU-23\n")
    (folder / "version").write_text("550.54.14\n")
    assert kernel_inventory(dev, sysfs, proc) is None  # nodes without a driver
    (proc / "driver/fakegpu").mkdir(parents=True)
    (proc / "driver/fakegpu/version").touch()
    found = kernel_inventory(dev, sysfs, proc)
    assert found is not None
    assert (found.source, found.version) == ("kernel", "550.54.14")
    assert [(gpu.index, gpu.uuid, gpu.node.mode & 0o007, gpu.node.gid) for gpu in found.gpus] == [
        (0, "GPU-23", 0, 44)
    ]
    assert [(node.path, node.major) for node in found.shared] == [
        ("/dev/fakegpuctl", 120),
        ("/dev/fakegpu-uvm", 241),
    ]


def test_libraries_are_those_of_the_drivers_version(tmp_path: Path) -> None:
    artifacts = Artifacts({"GLASSSTACK_NATIVE": str(tmp_path)})
    (tmp_path / "lib").mkdir()
    for name in ("libfakecuda.so", "libfakeml.so"):
        (tmp_path / "lib" / f"{name}.535.54.03").touch()
        (tmp_path / "lib" / f"{name}.1").symlink_to(f"{name}.535.54.03")
    names = ["libfakecuda.so.535.54.03", "libfakeml.so.535.54.03"]
    assert [path.name for path in umd_libraries(artifacts, "535.54.03")] == names
    assert [path.name for path in umd_libraries(artifacts, "")] == names
    with pytest.raises(MissingArtifactError, match=r"make -C kmod umd ml VERSION=550\.54\.14"):
        umd_libraries(artifacts, "550.54.14")
