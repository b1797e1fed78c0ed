"""Finding the native programs and choosing a GPU, over made-up folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from glassstack.gpu.artifacts import Artifacts, MissingArtifactError
from glassstack.gpu.choose import NoGpuError, choose, demo_node, kernel_node


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "glassstack").mkdir()
    return tmp_path / "glassstack"


def test_the_checkouts_build_comes_before_the_installed_one(package: Path) -> None:
    installed = program(package / "_native/bin/fakegpu-run")
    assert Artifacts({}, package).bin("fakegpu-run") == installed
    built = program(package.parent / "build/bin/fakegpu-run")
    assert Artifacts({}, package).bin("fakegpu-run") == built


def test_a_named_folder_is_the_only_one(package: Path, tmp_path: Path) -> None:
    program(package.parent / "build/bin/fakegpu-run")
    named = program(tmp_path / "named/bin/fakegpu-train")
    artifacts = Artifacts({"GLASSSTACK_NATIVE": str(tmp_path / "named")}, package)
    assert artifacts.bin("fakegpu-train") == named
    with pytest.raises(MissingArtifactError, match=r"no fakegpu-run in .*named; unset GLASSSTACK_NATIVE"):
        artifacts.bin("fakegpu-run")


def test_what_is_missing_says_what_to_do(package: Path) -> None:
    with pytest.raises(MissingArtifactError, match=r"installed without libfakecuda\.so\.1; install gcc"):
        Artifacts({}, package).lib("libfakecuda.so.1")
    (package.parent / "kmod").mkdir()
    (package.parent / "kmod/Makefile").touch()
    with pytest.raises(MissingArtifactError, match="fakegpu-run is not built; run `make build`"):
        Artifacts({}, package).bin("fakegpu-run")


def test_a_file_that_can_not_run_is_no_program(package: Path) -> None:
    program(package.parent / "build/bin/fakegpu-run").chmod(0o644)
    with pytest.raises(MissingArtifactError):
        Artifacts({}, package).bin("fakegpu-run")


def test_choices_without_a_node(package: Path, tmp_path: Path) -> None:
    artifacts = Artifacts({}, package)
    dev = tmp_path / "dev"
    dev.mkdir()
    assert choose("none", dev, artifacts).kind == "none"
    with pytest.raises(NoGpuError, match="load a driver"):
        choose("kernel", dev, artifacts)
    with pytest.raises(NoGpuError, match="installed without fakegpu-run"):
        choose("embedded", dev, artifacts)
    nothing = choose("auto", dev, artifacts)
    assert (nothing.kind, nothing.launcher) == ("none", None)
    assert "install gcc" in nothing.reason
    built = program(package.parent / "build/bin/fakegpu-run")
    for gpu in ("auto", "embedded"):
        decision = choose(gpu, dev, artifacts)
        assert (decision.kind, decision.launcher) == ("embedded", built)
        assert decision.reason


def test_a_plain_file_is_no_node(tmp_path: Path) -> None:
    (tmp_path / "fakegpu0").touch()
    assert kernel_node(tmp_path) == ""


def test_the_demo_takes_only_a_stand_in_of_the_kernels(tmp_path: Path) -> None:
    os.symlink("/dev/null", tmp_path / "nvidia0")
    assert demo_node(tmp_path, {}) == ""
    os.symlink("/dev/null", tmp_path / "fakegpu0")
    assert demo_node(tmp_path, {}) == str(tmp_path / "fakegpu0")
    # On an embedded device, a node of that name is not the kernel's.
    assert demo_node(tmp_path, {"FAKEGPU_DEVICE": "fakegpu/0/x"}) == ""


def test_a_node_of_the_kernels_comes_first(package: Path, tmp_path: Path) -> None:
    program(package.parent / "build/bin/fakegpu-run")
    dev = tmp_path / "dev"
    dev.mkdir()
    os.symlink("/dev/null", dev / "nvidia0")  # a character device that everybody has
    decision = choose("auto", dev, Artifacts({}, package))
    assert (decision.kind, decision.node) == ("kernel", str(dev / "nvidia0"))
    assert choose("kernel", dev, Artifacts({}, package)).kind == "kernel"
    assert choose("embedded", dev, Artifacts({}, package)).kind == "embedded"
