"""./glass on a fresh copy of the checkout: sets up once, then only runs.

The copy lies under a name with a space and is set up by two launchers at the
same time. What a machine has or lacks is made with PATH: a folder of links to
just the programs named, and small scripts that note they were called.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT

#: What every Debian has: the launcher may use these and no others.
ESSENTIAL = "sh env find readlink dirname id mkdir flock tail sed tr cp mv cat rm nproc"
MISSING = "missing packages; as root, run: apt-get update && apt-get install -y"

SMALL_TEST = """
def test_passes():
    assert True

def test_fails():
    assert False
"""


def environment() -> dict[str, str]:
    """This process's environment without what would steer the launcher."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("GLASS", "PYTEST", "MAKE"))}


def launch(
    glass: Path, *args: str, path: Path | None = None, cwd: Path | None = None, user: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a launcher with nothing on standard input; ``path`` replaces PATH."""
    env = environment()
    if path:
        env["PATH"] = str(path)
    return subprocess.run(
        [glass, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=cwd, env=env, user=user
    )


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A PATH folder with the essential programs, a user's ``id``, and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ESSENTIAL.split():
        add_real(folder, name)
    add_script(folder, "id", "echo 1000")
    return folder


def add_real(folder: Path, name: str) -> None:
    """Make an installed program part of the machine."""
    real = shutil.which(name)
    assert real, f"{name} is needed to run this test"
    (folder / name).symlink_to(real)


def add_script(folder: Path, name: str, body: str) -> None:
    """Make a script part of the machine, in place of what was there."""
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def copy_checkout(target: Path) -> None:
    """The checkout without what set-up makes."""
    ignore = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, target, ignore=ignore, symlinks=True)


class Fresh:
    """A copy of the checkout that two launchers, started together, have set up."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.glass = root / "glass"
        (root / "tests/unit/test_small.py").write_text(SMALL_TEST)
        env = environment() | {"CFLAGS": "-O0", "PIP_NO_COMPILE": "1"}  # the sooner it is done
        commands = (["--version"], ["test", "tests/unit/test_small.py", "-p", "no:cacheprovider"])
        running = [
            subprocess.Popen(
                [self.glass, *args],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=env,
            )
            for args in commands
        ]
        (self.out, self.err), (self.test_out, self.test_err) = (p.communicate() for p in running)
        self.rc, self.test_rc = (p.returncode for p in running)


@pytest.fixture(scope="module")
def fresh() -> Iterator[Fresh]:
    with tempfile.TemporaryDirectory(prefix="glass test ") as folder:
        root = Path(folder) / "a checkout"
        copy_checkout(root)
        made = Fresh(root)
        if "pip failed" in made.err and not os.environ.get("CI"):
            pytest.skip("no package index can be reached")
        yield made


def test_a_fresh_checkout_sets_itself_up_and_runs(fresh: Fresh) -> None:
    assert (fresh.rc, fresh.out) == (0, "glassstack 0.1.0\n"), fresh.err
    if shutil.which("cc") and shutil.which("make"):
        assert os.access(fresh.root / "build/bin/fakegpud", os.X_OK), fresh.err


def test_two_at_once_set_up_one_after_the_other(fresh: Fresh) -> None:
    both = fresh.err + fresh.test_err
    assert both.count("glass: making .venv") == 1
    assert both.count("another ./glass is setting up") == 1


def test_the_test_verb_ends_with_pytests_summary_and_status(fresh: Fresh) -> None:
    assert fresh.test_rc == 1, fresh.test_err
    assert fresh.test_out.splitlines()[-1].startswith("1 failed, 1 passed in ")


def test_once_set_up_it_only_runs(fresh: Fresh, machine: Path, tmp_path: Path) -> None:
    called = tmp_path / "called"
    for name in ("python3", "python3.11", "pip", "make", "cc", "apt-get", "apt-cache", "flock"):
        add_script(machine, name, f"echo {name} >>{called}; exit 1")
    done = launch(fresh.glass, "--version", path=machine)
    assert (done.returncode, done.stdout, done.stderr) == (0, "glassstack 0.1.0\n", "")
    assert not called.exists()


def test_runs_through_a_relative_link_from_anywhere(fresh: Fresh, tmp_path: Path) -> None:
    (tmp_path / "hop").symlink_to(os.path.relpath(fresh.glass, tmp_path))
    (tmp_path / "link").symlink_to("hop")
    done = launch(tmp_path / "link", "--version", cwd=Path("/"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "glassstack 0.1.0\n", "")


def test_without_a_compiler_it_says_so_once_and_goes_on(fresh: Fresh, machine: Path) -> None:
    (fresh.root / "kmod/SPEC.md").touch()
    add_script(machine, "apt-get", "exit 100")
    first, second = (launch(fresh.glass, "--version", path=machine) for _ in range(2))
    assert (first.returncode, first.stdout) == (0, "glassstack 0.1.0\n")
    assert f"{MISSING} gcc make libc6-dev libjansson-dev\n" in first.stderr
    assert (second.returncode, second.stdout, second.stderr) == (0, "glassstack 0.1.0\n", "")


def test_without_libjansson_it_goes_on_without_the_container_runtime(fresh: Fresh, machine: Path) -> None:
    (fresh.root / "minirt/README.md").touch()
    add_script(machine, "apt-get", "exit 100")
    add_script(machine, "cc", "! grep -q jansson")  # a compiler that has every header but that one
    add_script(machine, "make", "")
    add_real(machine, "grep")
    first, second = (launch(fresh.glass, "--version", path=machine) for _ in range(2))
    assert (first.returncode, first.stdout) == (0, "glassstack 0.1.0\n")
    assert f"{MISSING} libjansson-dev\n" in first.stderr
    assert "going on without minirt" in first.stderr
    assert (second.returncode, second.stdout, second.stderr) == (0, "glassstack 0.1.0\n", "")


def test_root_gets_the_missing_packages_installed(fresh: Fresh, machine: Path, tmp_path: Path) -> None:
    (fresh.root / "kmod/SPEC.md").touch()
    (fresh.root / "build/.no-compiler").unlink(missing_ok=True)
    asked = tmp_path / "asked"
    cc, make = tmp_path / "bin/cc", tmp_path / "bin/make"
    install = (
        f"case $* in *install*) printf '#!/bin/sh\\n' >{cc}; cp {cc} {make}; chmod +x {cc} {make};; esac"
    )
    add_script(machine, "apt-get", f'echo "$@" >>{asked}\ncase $* in *install*) {install};; esac')
    add_script(machine, "id", "echo 0")
    add_real(machine, "chmod")
    done = launch(fresh.glass, "--version", path=machine)
    assert (done.returncode, done.stdout) == (0, "glassstack 0.1.0\n")
    update, wanted = asked.read_text().splitlines()
    assert update.endswith(" update")
    assert wanted.endswith(" gcc make libc6-dev libjansson-dev")
    assert "building the embedded GPU" in done.stderr


def test_a_moved_checkout_is_set_up_again(fresh: Fresh, machine: Path) -> None:
    moved = fresh.root.with_name("moved")
    fresh.root.rename(moved)
    try:
        done = launch(moved / "glass", "--version", path=machine)
    finally:
        moved.rename(fresh.root)
    assert done.returncode == 4  # not with the old paths: it looks for a Python to make .venv with
    assert "nothing runs without it" in done.stderr


def test_no_python_ends_with_the_line_to_run(machine: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "glass", tmp_path)
    add_script(machine, "python3", "exit 1")  # as one older than 3.11 answers
    add_script(machine, "apt-get", "exit 100")
    add_script(machine, "apt-cache", '[ "$2" = python3.11-venv ]')
    done = launch(tmp_path / "glass", path=machine)
    assert done.returncode == 4
    assert done.stderr.splitlines() == [
        f"glass: {MISSING} python3.11 python3.11-venv gcc make libc6-dev libjansson-dev",
        "glass: no Python 3.11 or newer: nothing runs without it",
    ]


def test_a_checkout_that_cannot_be_written_is_refused() -> None:
    nobody = 65534 if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="glass-test-") as folder:
        shutil.copy(ROOT / "glass", folder)
        os.chmod(folder, 0o555)
        done = launch(Path(folder) / "glass", user=nobody)
        os.chmod(folder, 0o755)
    assert done.returncode == 4
    assert (
        done.stderr
        == f"glass: cannot write to {folder}/build to set up: use a copy of {folder} that is yours\n"
    )
