"""pip install: the wheel brings the C programs, the sdist brings what builds them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support import ROOT

#: hatchling here writes to a folder of ours; -I keeps the checkout off sys.path.
HATCH = [sys.executable, "-I", "-m", "hatchling", "build"]

needs_cc = pytest.mark.skipif(
    not (shutil.which("make") and shutil.which("cc")),
    reason="no C compiler: apt-get install gcc make libc6-dev",
)


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    """Standard output and error of a command that must succeed."""
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@needs_cc
def test_pip_install_into_a_clean_venv_gives_a_working_program(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", venv)
    quick = {"CFLAGS": "-O0", "PIP_NO_COMPILE": "1"}
    run(venv / "bin/python", "-I", "-m", "pip", "install", "--quiet", ROOT, env=quick)
    assert run(venv / "bin/glassstack", "--version", cwd=tmp_path) == "glassstack 0.1.0\n"
    (package,) = venv.glob("lib/python3.*/site-packages/glassstack")
    find = "from glassstack.gpu.artifacts import Artifacts; print(Artifacts().bin('fakegpu-run'))"
    launcher = run(venv / "bin/python", "-I", "-c", find, cwd=tmp_path).strip()
    assert launcher == str(package / "_native/bin/fakegpu-run")
    output = run(launcher, package / "_native/bin/fakegpu-vectoradd", cwd=tmp_path)
    assert output.strip(), "the workload on the embedded GPU said nothing"


def test_without_a_compiler_the_wheel_is_pure_and_says_so(tmp_path: Path) -> None:
    said = run(*HATCH, "-t", "wheel", "-d", tmp_path, env={"CC": "no-such-compiler"})
    assert "without the embedded GPU" in said
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "glassstack/cli/main.py" in names
    assert not [name for name in names if "_native" in name]


def test_the_sdist_has_the_sources_and_nothing_built(tmp_path: Path) -> None:
    run(*HATCH, "-t", "sdist", "-d", tmp_path)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"kmod/Makefile", "kmod/uapi/fakegpu.h", "hatch_build.py", "LICENSE", "glass"} <= names
    assert not [
        n for n in names if n.startswith(("build/", ".venv/", ".git/")) or "_native" in n or n.endswith(".o")
    ]


def test_the_toy_that_hides_bcc_is_never_asked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    locked = [line for lock in ROOT.glob("requirements*.lock") for line in lock.read_text().splitlines()]
    assert len(locked) > 100
    assert not [line for line in wanted + locked if line.split("=")[0].split(">")[0].strip() == "bcc"]


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_pins_and_hashes_everything_and_names_no_place(lock: str) -> None:
    text = (ROOT / lock).read_text().replace("\\\n", " ")
    entries = [line for line in text.splitlines() if not line.startswith("#")]
    assert entries
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)
    assert not [word for word in ("://", "--find-links", "--index-url", " @ ") if word in text]


def test_the_development_lock_agrees_with_the_runtime_lock() -> None:
    pins = [
        {line.split()[0] for line in (ROOT / lock).read_text().splitlines() if "==" in line}
        for lock in ("requirements.lock", "requirements-dev.lock")
    ]
    assert pins[0] < pins[1]
