"""Every drill obeys the law, and nothing of one is left, whoever is killed when."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from glassstack.drills import gates
from glassstack.drills.engine import Drill
from glassstack.drills.law import PROOFS, leftovers, prove
from glassstack.drills.scenario import FILE, Scenario, find, load
from tests.support import ROOT

DRILLS = [load(folder) for folder in find([ROOT / "scenarios"])]
OUTSIDE = [one for one in DRILLS if set(one.places) != {"lab"}]
"""Those of the lab alone are proved in there, by tests/kmod/guest/scenarios.py."""
CODE = "import sys; from glassstack.cli.main import main; sys.exit(main())"


def place_here(scenario: Scenario) -> str:
    """The first place of a drill that this machine offers; skips where none does."""
    closed = {place: gates.missing(place, scenario.requires) for place in scenario.places}
    for place, why in closed.items():
        if why is None:
            return place
    pytest.skip("; ".join(f"{place}: {why.why}" for place, why in closed.items() if why))


@pytest.mark.parametrize("scenario", OUTSIDE, ids=[one.id for one in OUTSIDE])
def test_the_law(scenario: Scenario, tmp_path: Path) -> None:
    for result in prove(scenario, place_here(scenario), tmp_path):
        assert (result.cause, result.why) == (result.cause, "")
        assert result.held == list(PROOFS)


def glassstack(state: Path, *words: str) -> subprocess.Popen[str]:
    """The command, with its state in a folder of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *words],
        cwd=ROOT,
        env={**os.environ, "XDG_STATE_HOME": str(state)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def runs(state: Path) -> list[Path]:
    """Folders of drills that are not gone."""
    return [path for path in (state / "glassstack/drills").iterdir() if path.is_dir()]


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def leave_nothing(state: Path, before: list[Path]) -> None:
    """``stop`` takes away whatever is there."""
    assert end(glassstack(state, "drill", "stop")) == (0, "", "")
    assert runs(state) == []
    scenario = next(one for one in DRILLS if one.id == "half-done-upgrade")
    for folder in before:
        assert leftovers(Drill(scenario, folder)) == []


@pytest.mark.parametrize(
    ("drill", "seed"),
    [
        *(("half-done-upgrade", seed) for seed in range(20)),
        *(("gpu-lost-in-container", s) for s in range(20)),
    ],
)
def test_killed_at_any_moment_of_its_start(drill: str, seed: int, tmp_path: Path) -> None:
    place_here(next(one for one in DRILLS if one.id == drill))
    process = glassstack(tmp_path, "drill", "start", drill, "--seed", "1")
    moment = time.monotonic() + random.Random(seed).uniform(0.1, 1.2)
    seen: set[Path] = set()
    while time.monotonic() < moment and process.poll() is None:
        seen |= set((tmp_path / "glassstack/drills").glob(f"{drill}-*"))
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    (tmp_path / "glassstack/drills").mkdir(parents=True, exist_ok=True)
    seen |= set((tmp_path / "glassstack/drills").glob(f"{drill}-*"))
    leave_nothing(tmp_path, sorted(seen))


def test_a_drill_from_start_to_debrief(tmp_path: Path) -> None:
    place_here(next(one for one in DRILLS if one.id == "half-done-upgrade"))
    code, out, _ = end(glassstack(tmp_path, "drill", "start", "half-done-upgrade", "--seed", "7"))
    assert code == 0
    assert "fakegpu-smi fails on this node" in out
    folders = runs(tmp_path)
    assert end(glassstack(tmp_path, "drill", "start", "half-done-upgrade"))[0] == 1
    code, out, _ = end(glassstack(tmp_path, "drill", "check"))
    assert (code, out.splitlines()[0]) == (1, "not yet")
    assert "550.54.14" not in out.replace("code=803", "")
    code, out, _ = end(glassstack(tmp_path, "drill", "hint"))
    assert (code, out.startswith("hint 1 of 3")) == (0, True)
    code, out, _ = end(glassstack(tmp_path, "drill", "shell", "--", "sh", "-c", "dmesg; exit 5"))
    assert code == 5
    assert "API mismatch" in out
    code, out, _ = end(glassstack(tmp_path, "drill", "solve"))
    assert code == 0
    assert "90 of 100 points" in out
    assert "Debrief" in out
    leave_nothing(tmp_path, folders)
    assert end(glassstack(tmp_path, "drill", "check"))[0] == 1


def test_a_drill_of_the_lab_says_how_to_get_there(tmp_path: Path) -> None:
    if gates.missing("lab", ()) is None:
        pytest.skip("this is the lab")
    code, _, err = end(glassstack(tmp_path, "drill", "start", "cannot-rmmod", "--place", "lab"))
    assert code == 4
    assert "`glassstack lab`, and in its shell `glassstack drill start cannot-rmmod`" in err


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (("id = ", "idd = "), "top level: object contains unknown field `idd`"),
        (("level = 1", 'level = "x"'), "level: expected `int`, got `str`"),
        (('places = ["here", "rootless"]', 'places = ["moon"]'), "'moon' is none of here, rootless, lab"),
        (("[[hint]]", "[[hints]]"), "unknown field `hints`"),
        (('says = "Test PASSED"', "says = "), "not TOML"),
    ],
)
def test_a_mistake_is_named_with_its_place(change: tuple[str, str], cause: str, tmp_path: Path) -> None:
    original = ROOT / "scenarios/half-done-upgrade"
    folder = tmp_path / "half-done-upgrade"
    folder.mkdir()
    (folder / FILE).write_text((original / FILE).read_text().replace(*change))
    code, _, err = end(glassstack(tmp_path, "drill", "start", str(folder)))
    assert code == 2
    assert cause in err
    assert str(folder / FILE) in err


def fill(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_a_new_drill_needs_two_lines(tmp_path: Path) -> None:
    place_here(next(one for one in DRILLS if one.id == "half-done-upgrade"))
    folder = tmp_path / "my-drill"
    assert end(glassstack(tmp_path, "drill", "new", str(folder)))[0] == 0
    code, out, _ = end(glassstack(tmp_path, "drill", "test", str(folder)))
    assert (code, "shows no symptom" in out) == (1, True)
    fill(folder / FILE, "injections = []", 'injections = [{ fault = "uvm-missing" }]')
    fill(folder / FILE, 'solve = "false"', 'solve = "modprobe fakegpu-uvm"')
    code, out, _ = end(glassstack(tmp_path, "drill", "test", str(folder)))
    assert (code, "6 of 6" in out) == (0, True)
    assert end(glassstack(tmp_path, "drill", "new", str(folder)))[0] == 2
    assert end(glassstack(tmp_path, "drill", "new", str(tmp_path / "Not A Name")))[0] == 2


def test_the_report_tells_what_was_done(tmp_path: Path) -> None:
    place_here(next(one for one in DRILLS if one.id == "sticky-error"))
    state = tmp_path / "state"
    assert end(glassstack(state, "drill", "start", "sticky-error", "--seed", "1"))[0] == 0
    folders = runs(state)
    assert end(glassstack(state, "drill", "report"))[0] == 1
    assert end(glassstack(state, "drill", "check"))[0] == 1
    for command in ("verdict program; verdict memory; dmesg", "svc restart web"):
        end(glassstack(state, "drill", "shell", "--", "sh", "-c", command))
    cause = Drill(next(one for one in DRILLS if one.id == "sticky-error"), folders[0])
    verdict = "program" if "xid=31" in cause.notes.read()[1].text else "memory"
    end(glassstack(state, "drill", "shell", "--", "verdict", verdict))
    assert end(glassstack(state, "drill", "check"))[0] == 0
    code, out, _ = end(glassstack(state, "drill", "report", "--output", str(tmp_path / "out")))
    assert (code, len(out.splitlines())) == (0, 2)
    text = (tmp_path / "out/sticky-error-report.md").read_text()
    for said in (
        "svc restart web",
        "| check | accepted |",
        "Xid (PCI:0000:01:00)",
        "verdict",
        "Prevent it.",
    ):
        assert said in text
    page = (tmp_path / "out/sticky-error-report.html").read_text()
    assert page.count("<circle") >= 8
    assert "http" not in page
    leave_nothing(state, folders)


@pytest.mark.parametrize("kind", ["size=200k", "noexec"])
def test_a_file_system_that_will_not_do(kind: str, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root mounts one")
    subprocess.run(["mount", "-t", "tmpfs", "-o", kind, "odd", tmp_path], check=True)
    try:
        code, _, err = end(glassstack(tmp_path, "drill", "start", "half-done-upgrade"))
        assert code == 1
        assert err.count("\n") == 1
        assert "XDG_STATE_HOME" in err
        assert runs(tmp_path) == []
    finally:
        subprocess.run(["umount", tmp_path], check=True)
