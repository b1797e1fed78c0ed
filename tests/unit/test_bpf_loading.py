"""Finding bcc and kernel headers on made-up machines, and the word about headers of another kernel."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from glassstack.collectors import probe_bpf
from glassstack.collectors.bpf import loading
from glassstack.collectors.bpf.loading import BpfError, Headers, find_bcc, find_headers, warning
from tests import tracing

REAL = "class BPF(object):\n    pass\n"
IMPOSTOR = "def lattice():\n    pass\n"


def package(folder: Path, text: str) -> Path:
    """A module bcc in a folder."""
    (folder / "bcc").mkdir(parents=True)
    (folder / "bcc" / "__init__.py").write_text(text)
    return folder / "bcc" / "__init__.py"


def importable(path: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModuleSpec("bcc", None, origin=str(path)) if path else None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)


def test_the_systems_bcc_is_found_from_any_venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = package(tmp_path / "system", REAL)
    importable(None, monkeypatch)
    assert find_bcc(tmp_path / "system") == real


def test_an_impostor_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    importable(package(tmp_path / "venv", IMPOSTOR), monkeypatch)
    with pytest.raises(BpfError) as failure:
        find_bcc(tmp_path / "system")
    assert "is another program" in failure.value.cause
    assert failure.value.remedy.startswith("pip uninstall bcc; apt-get install")
    real = package(tmp_path / "system", REAL)
    assert find_bcc(tmp_path / "system") == real


def test_headers_exact_other_or_none(tmp_path: Path) -> None:
    with pytest.raises(BpfError) as failure:
        find_headers(tmp_path, tmp_path, "6.18.1")
    assert failure.value.remedy.startswith("apt-get install -y linux-headers-6.18.1")
    for release in ("5.10.0-9-amd64", "5.10.0-30-amd64", "5.9.0-99-amd64"):
        (tmp_path / release / "build" / "include").mkdir(parents=True)
    other = find_headers(tmp_path, tmp_path, "6.18.1")
    assert other == Headers("5.10.0-30-amd64", False)
    assert "compiled with those of 5.10.0-30-amd64" in warning(other)
    (tmp_path / "6.18.1" / "build").mkdir(parents=True)
    exact = find_headers(tmp_path, tmp_path, "6.18.1")
    assert exact == Headers("6.18.1", True)
    assert warning(exact) == ""


@pytest.mark.parametrize(
    ("held", "may"),
    [
        ("0000000000000000", False),
        ("0000000000200000", True),
        ("000000c000000000", True),
        ("8000000000", False),
    ],
)
def test_capabilities(tmp_path: Path, held: str, may: bool) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/status").write_text(f"Name:\tx\nCapEff:\t{held}\n")
    assert loading.may_load(tmp_path) is may


def test_kprobes_are_told_from_the_kernels_symbols(tmp_path: Path) -> None:
    assert "can't be read" in probe_bpf.probe_kprobes(tmp_path).why
    (tmp_path / "kallsyms").write_text("0 T vfs_open\n")
    without = probe_bpf.probe_kprobes(tmp_path)
    assert not without.ready
    assert without.remedy.startswith("not needed")
    (tmp_path / "kallsyms").write_text("0 T vfs_open\n0 T register_kprobe\n")
    assert probe_bpf.probe_kprobes(tmp_path).ready


def test_what_is_missing_is_said_with_what_is_used_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Headers:
        raise BpfError("bcc is not installed", "apt-get install -y python3-bpfcc")

    monkeypatch.setattr(loading, "check", refuse)
    found = probe_bpf.probe_ebpf()
    assert not found.ready
    assert found.why == f"bcc is not installed; {probe_bpf.FALLBACK}"
    assert found.remedy == "apt-get install -y python3-bpfcc"


def test_the_process_with_bcc_never_has_python_ptrace() -> None:
    """Their licences do not go together in one program."""
    script = "import sys, glassstack.collectors.bpf.__main__; sys.exit('ptrace' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], env=tracing.environment(), check=True, timeout=60)
