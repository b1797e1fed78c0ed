"""The end of a lab that does not end by itself: nothing of it stays, and one line says what happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from glassstack.gpu.lab import machine, needs
from tests.support import ROOT, eventually

pytestmark = [pytest.mark.kmod, pytest.mark.root]


class Lab:
    """A lab on its way up, with a cache of its own."""

    def __init__(self, cache: Path) -> None:
        self.runs = cache / "glassstack/lab/runs"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "glassstack.cli.main", "lab", "--no-kvm", "--memory", "256", "--", "true"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT)},
        )
        (self.qemu,) = eventually(self._find_qemu, 60)

    def _find_qemu(self) -> list[psutil.Process]:
        assert self.process.poll() is None, self.process.communicate()[1]
        children = psutil.Process(self.process.pid).children()
        return [child for child in children if child.name().startswith("qemu-system")]

    def gone(self) -> bool:
        return not self.qemu.is_running() or self.qemu.status() == psutil.STATUS_ZOMBIE


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        needs.find()
    except needs.LabMissingError as error:
        pytest.skip(str(error))
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def lab(cache: Path) -> Iterator[Lab]:
    started = Lab(cache)
    yield started
    started.process.kill()
    started.process.communicate()
    eventually(started.gone)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_ends_it_in_order(lab: Lab, number: signal.Signals, status: int) -> None:
    lab.process.send_signal(number)
    assert lab.process.wait(20) == status
    assert lab.gone()
    assert list(lab.runs.iterdir()) == []


def test_a_vm_that_is_killed_is_one_line(lab: Lab) -> None:
    lab.qemu.kill()
    out, err = lab.process.communicate(timeout=20)
    assert (lab.process.returncode, out) == (125, "")
    assert err.splitlines()[-1].startswith("glassstack: the VM ended before the boot did")
    assert list(lab.runs.iterdir()) == []


def test_after_sigkill_the_vm_ends_and_the_next_start_cleans_up(lab: Lab) -> None:
    lab.process.kill()
    eventually(lab.gone)
    assert len(list(lab.runs.iterdir())) == 1
    machine.sweep(lab.runs)
    assert list(lab.runs.iterdir()) == []
