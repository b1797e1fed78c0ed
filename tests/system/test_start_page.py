"""docs/how-containers-start.md shows what minirt and runc do when they start, by strace."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from glassstack.cli.compare import markdown, walk
from tests import pages

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: both runtimes as root"),
]
COMMAND = "glassstack compare --phases container --markdown minirt.strace runc.strace"
STRACE = ("strace", "-f", "-ttt", "-T", "-y", "-o")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    for program in ("runc", "strace", "busybox"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program}")
    if not Path("/sys/fs/cgroup/unified").is_dir():
        pytest.skip("the page shows a machine with both versions of cgroups")
    (tmp_path / "rootfs/bin").mkdir(parents=True)
    shutil.copy2(shutil.which("busybox") or "", tmp_path / "rootfs/bin/busybox")
    subprocess.run(["runc", "spec"], cwd=tmp_path, check=True)
    config = json.loads((tmp_path / "config.json").read_text())
    config["process"].update(args=["/bin/busybox", "true"], terminal=False)
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


def test_both_starts_by_phase(minirt: Path, bundle: Path) -> None:
    ours, theirs = bundle / "minirt.strace", bundle / "runc.strace"
    environ = os.environ | {"MINIRT_STATE_DIR": str(bundle / "states")}
    words = [str(minirt), "run", str(bundle / "rootfs"), "/bin/busybox", "true"]
    subprocess.run([*STRACE, str(ours), *words], env=environ, check=True)
    words = ["runc", "--root", str(bundle / "state"), "run", "-b", str(bundle), "glassstack-page"]
    subprocess.run([*STRACE, str(theirs), *words], check=True)

    lines = markdown(walk(ours, "container"), walk(theirs, "container"), ("minirt", "runc"))
    pages.check("how-containers-start.md", COMMAND, "\n".join(map(settled, lines)), {})


def settled(line: str) -> str:
    """A row with its names in order: which comes first, and how often, differs from run to run."""
    cells = line.split(" | ")
    names = (", ".join(sorted(re.sub(r" ×\d+", "", cell).strip(" |").split(", "))) for cell in cells[2:])
    return " | ".join([*cells[:2], *names]) + (" |" if len(cells) > 2 else "")
