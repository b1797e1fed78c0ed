"""Which devices a program sees, and host memory that it may not lock."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from glassstack.gpu.artifacts import Artifacts
from tests.system.umd_lab import on_device

NATIVE = Artifacts().bin("fakegpu-run").parent


def serve(*words: str, devices: str = "2", **extra: str) -> tuple[int, str]:
    done = on_device(
        NATIVE, NATIVE / "fakegpu-serve", "--requests", "1", *words, options=("--devices", devices), **extra
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("visible", ["0", "1", "1,0", "0,7", "1,x"])
def test_a_list_with_a_device_at_its_head(visible: str) -> None:
    assert serve(FAKECUDA_VISIBLE_DEVICES=visible) == (0, "request 1: ok\n")


@pytest.mark.parametrize("visible", ["", "2", "x", "-1", "7,0"])
def test_a_list_that_names_none(visible: str) -> None:
    code, text = serve(FAKECUDA_VISIBLE_DEVICES=visible)
    assert code == 4
    assert "cudaErrorNoDevice" in text


def test_the_second_device_is_the_one_that_is_used(tmp_path: Path) -> None:
    script = (
        'FAKECUDA_VISIBLE_DEVICES=1 "$0/fakegpu-serve" & trap "kill $!" EXIT; '
        'for i in $(seq 100); do "$0/fakegpu-smi" pmon -c 1 | grep "^ *1 .*serve" && exit; sleep 0.05; done'
        "; exit 9"
    )
    done = on_device(NATIVE, "sh", "-c", script, str(NATIVE), options=("--devices", "2"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_pinned_memory_is_bounded_by_memlock() -> None:
    if not shutil.which("prlimit") or not shutil.which("setpriv"):
        pytest.skip("no prlimit or setpriv: apt-get install -y util-linux")
    drop = ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"] if os.geteuid() == 0 else []
    words: list[str | Path] = [
        *drop,
        "prlimit",
        "--memlock=65536:65536",
        NATIVE / "fakegpu-serve",
        "--requests",
        "1",
    ]
    refused = on_device(NATIVE, *words, "--pinned", "1")
    assert refused.returncode == 1
    assert "fcudaMallocHost" in refused.stderr
    assert "cudaErrorMemoryAllocation" in refused.stderr
    assert on_device(NATIVE, *words).returncode == 0
