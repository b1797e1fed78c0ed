"""The doctor's report and its probes over made-up machines."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from glassstack.cli import doctor
from glassstack.cli.columns import cells
from glassstack.cli.doctor import Style, report
from glassstack.collectors import probe_bpf, probe_machine, probe_terminal, probe_trace
from glassstack.collectors.capabilities import NEEDED, CapabilityCollector, ask
from glassstack.collectors.probe_terminal import probe_terminal as terminal
from glassstack.model.entities import Capability

READY = tuple(Capability(name, True, "works") for name in NEEDED)
EXTRA = (Capability("bcc", False, "not installed", "apt-get install -y python3-bpfcc"),)


def test_report_says_each_state_in_words_and_ends_with_the_verdict() -> None:
    lines = report(READY + EXTRA, Style(colour=False, utf8=True, width=80))
    assert sum("✓ ready" in line for line in lines) == len(NEEDED)
    assert any("✗ missing  bcc" in line for line in lines)
    assert any(line.strip() == "→ apt-get install -y python3-bpfcc" for line in lines)
    assert lines[-1] == "the embedded GPU can run here"


def test_verdict_names_what_is_needed() -> None:
    broken = (Capability("ptrace", False, "refused", "allow it"), *READY[2:], READY[0], *EXTRA)
    assert report(broken, Style(False, True, 0))[-1] == "the embedded GPU can not run: ptrace"


def test_ascii_where_the_locale_is_not_utf8() -> None:
    odd = (Capability("ptrace", True, "80×24 \x1b[31m é"), *EXTRA)
    lines = report(odd, Style(colour=False, utf8=False, width=0))
    assert all(line.isascii() for line in lines)
    assert not any("\x1b" in line for line in lines)
    assert any("MISSING  bcc" in line for line in lines)


@pytest.mark.parametrize("width", [40, 80, 132])
def test_fits_the_terminal(width: int) -> None:
    long = (Capability("ptrace", False, "word " * 60, "do this " * 30), *EXTRA)
    body = report(long, Style(colour=False, utf8=True, width=width))[2:-1]
    assert max(cells(line) for line in body) <= width


@pytest.mark.parametrize(
    ("environ", "tty", "colour"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm"}, False, False),
    ],
)
def test_colour_only_where_it_is_wanted(environ: dict[str, str], tty: bool, colour: bool) -> None:
    style = Style.of(environ, tty)
    assert style.colour is colour
    assert ("\x1b[" in "".join(report(READY + EXTRA, style))) is colour


@pytest.mark.parametrize(("broken", "code"), [((), 0), (("embedded device",), 4), (("bcc",), 0)])
def test_exit_code(
    broken: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    all_of_them = tuple(Capability(one.name, one.name not in broken, "x") for one in READY + EXTRA)
    monkeypatch.setattr(CapabilityCollector, "look", lambda self: all_of_them)
    assert doctor.run(argparse.Namespace(json=True)) == code
    event = json.loads(capsys.readouterr().out)
    assert event["kind"] == "capabilities"
    assert [one["name"] for one in event["capabilities"]] == [one.name for one in all_of_them]


def module(folder: Path, text: str) -> Path:
    (folder / "bcc").mkdir(parents=True)
    (folder / "bcc" / "__init__.py").write_text(text)
    return folder


REAL, OTHER = "class BPF(object):\n    pass\n", '"""Lattices."""\n'


def importable(folder: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModuleSpec("bcc", None, origin=str(folder / "bcc" / "__init__.py")) if folder else None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)


def test_bcc_is_told_from_its_impostor_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    real, other, none = module(tmp_path / "real", REAL), module(tmp_path / "other", OTHER), tmp_path / "none"

    importable(None, monkeypatch)
    assert probe_machine.probe_bcc(real).ready
    assert probe_machine.probe_bcc(none).remedy == "apt-get install -y python3-bpfcc"

    importable(other, monkeypatch)
    hidden = probe_machine.probe_bcc(real)
    assert hidden.ready
    assert "another program, ignored" in hidden.why
    impostor = probe_machine.probe_bcc(none)
    assert not impostor.ready
    assert impostor.remedy == "pip uninstall bcc; apt-get install -y python3-bpfcc"
    assert "bcc" not in sys.modules


def test_bcc_needs_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    importable(None, monkeypatch)
    assert probe_machine.probe_bcc(module(tmp_path, REAL)).remedy == "run as root"


def test_headers_btf_and_tracefs(tmp_path: Path) -> None:
    release = os.uname().release
    absent = probe_bpf.probe_headers(tmp_path, tmp_path)
    assert absent.remedy.startswith(f"apt-get install -y linux-headers-{release}, or linux-headers-")
    (tmp_path / "5.10.0-9-amd64/build/include").mkdir(parents=True)
    (tmp_path / "5.9.0-11-amd64/build/include").mkdir(parents=True)
    other = probe_bpf.probe_headers(tmp_path, tmp_path)
    assert other.ready
    assert "compiled with those of 5.10.0-9-amd64" in other.why
    (tmp_path / release / "build").mkdir(parents=True)
    assert probe_bpf.probe_headers(tmp_path, tmp_path).ready
    assert not probe_machine.probe_btf(tmp_path).ready
    assert not probe_machine.probe_tracefs(tmp_path).ready
    (tmp_path / "kernel/tracing/events").mkdir(parents=True)
    assert probe_machine.probe_tracefs(tmp_path).ready
    (tmp_path / "kernel/btf").mkdir()
    (tmp_path / "kernel/btf/vmlinux").touch()
    assert probe_machine.probe_btf(tmp_path).ready


@pytest.mark.parametrize("scope", [0, 1, 2, 3])
@pytest.mark.parametrize("capabilities", ["0000000000000000", "000001ffffffffff"])
def test_yama(tmp_path: Path, scope: int, capabilities: str) -> None:
    (tmp_path / "sys/kernel/yama").mkdir(parents=True)
    (tmp_path / "sys/kernel/yama/ptrace_scope").write_text(f"{scope}\n")
    (tmp_path / "self").mkdir()
    (tmp_path / "self/status").write_text(f"Name:\tx\nCapEff:\t{capabilities}\n")
    found = probe_trace.probe_attach(tmp_path)
    privileged = capabilities.startswith("000001")
    assert found.ready == (scope == 0 or (privileged and scope < 3))
    assert found.ready or f"ptrace_scope is {scope}" in found.why
    assert found.ready or found.remedy


@pytest.mark.parametrize(
    ("environ", "tty", "ready", "why"),
    [
        ({"TERM": "xterm-256color", "LANG": "en_GB.UTF-8"}, True, True, "xterm-256color, 256 colours, 80×24"),
        ({"TERM": "linux", "LC_ALL": "C", "LANG": "x.UTF-8"}, True, True, "80x24, not UTF-8: drawn in ASCII"),
        ({"TERM": "xterm", "COLORTERM": "truecolor", "LANG": "C.utf8"}, True, True, "truecolor"),
        ({"TERM": "xterm", "NO_COLOR": "1", "LANG": "C.utf8"}, True, True, "no colour"),
        ({"TERM": "dumb"}, True, False, "TERM is dumb"),
        ({}, True, False, "TERM is not set"),
        ({"TERM": "xterm"}, False, False, "not a terminal"),
    ],
)
def test_terminal(
    environ: dict[str, str], tty: bool, ready: bool, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_terminal, "_size", lambda: os.terminal_size((80, 24)))
    found = terminal(environ, tty)
    assert found.ready is ready
    assert why in found.why


def test_a_small_terminal_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_terminal, "_size", lambda: os.terminal_size((79, 24)))
    assert "80 columns by 24" in terminal({"TERM": "xterm"}, True).remedy


def test_space_is_looked_at_where_the_state_will_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe_machine.probe_space(tmp_path / "not/there/yet").ready
    monkeypatch.setattr(probe_machine, "NEEDED_SPACE", 1 << 62)
    assert not probe_machine.probe_space(tmp_path).ready


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_a_home_that_is_closed_is_said(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    os.seteuid(65534)
    try:
        found = probe_machine.probe_space(tmp_path / "closed/state")
    finally:
        os.seteuid(0)
    assert (found.ready, found.why) == (False, f"{tmp_path}/closed/state can't be written")


def test_a_probe_that_fails_takes_no_other_with_it() -> None:
    def broken() -> Capability:
        raise RuntimeError("boom")

    found = ask("x", broken)
    assert (found.name, found.ready) == ("x", False)
    assert "RuntimeError: boom" in found.why


def launcher(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_embedded_device_is_tried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe_machine.probe_embedded(launcher(tmp_path / "a", '[ "$1" = -- ] && exec "$2"')).ready
    broken = probe_machine.probe_embedded(
        launcher(tmp_path / "b", "echo 1st >&2; echo no seccomp >&2; exit 4")
    )
    assert (broken.ready, broken.why) == (False, "no seccomp")
    monkeypatch.setattr(probe_machine, "_RUN_TIMEOUT", 0.05)
    assert "timed out" in probe_machine.probe_embedded(launcher(tmp_path / "c", "exec sleep 60")).why
    absent = probe_machine.probe_embedded(probe_machine.Absent("not built", "make build"))
    assert (absent.ready, absent.why, absent.remedy) == (False, "not built", "make build")


def test_tools_name_their_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [one.remedy for one in probe_machine.probe_tools(["strace"])] == ["apt-get install -y strace"]
