"""docs/how-a-gpu-enters-a-container.md shows what a real start is told as."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import pages
from tests.injecting import NAME, Place
from tests.support import ROOT, eventually

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: nodes and mounts"),
]
PAGE = "how-a-gpu-enters-a-container.md"


@pytest.fixture
def place(minirt: Path) -> Iterator[Place]:
    folder = Path(subprocess.check_output(["mktemp", "-d", "/tmp/page-XXXXXX"], text=True).strip())
    yield Place(folder, minirt.parent).make(1)
    shutil.rmtree(folder, ignore_errors=True)


def test_the_story_of_a_start(place: Place) -> None:
    environ = os.environ | {
        "MINIRT_STATE_DIR": str(place.folder / "state"),
        "MINIRT_CDI_DIRS": str(place.specs),
        "PYTHONPATH": str(ROOT),
    }
    words = ["fakegpu-run", "--", str(place.native / "minirt"), "run", "--id", "gpu", "--gpu", NAME]
    command = [*words, str(place.root), "/usr/bin/train", "--stay"]
    environ["PATH"] = f"{place.native}:{environ['PATH']}"
    running = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        steps = place.folder / "state/.steps/gpu.jsonl"
        eventually(lambda: steps.exists() and '"step":"exec"' in steps.read_text())
        eventually(lambda: '"status":"running"' in _state(place, environ))
        told = subprocess.run(
            [sys.executable, "-m", "glassstack.cli.main", "container", "explain", "gpu"],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        running.terminate()
        running.wait(10)
    folders = {place.native: "build/bin", place.native.parent: "build", place.folder: "…"}
    pages.check(PAGE, "glassstack container explain gpu", told.stdout, folders)


def _state(place: Place, environ: dict[str, str]) -> str:
    words = [str(place.native / "minirt"), "state", "gpu"]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    return "".join(done.stdout.split())
