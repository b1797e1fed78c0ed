"""Specifications in directories: precedence, conflicts, bad files; and the command over them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glassstack.cli.main import main
from glassstack.containers import cdi_cache

NAME = "glassstack.dev/gpu=0"


def put(path: Path, *names: str, **more: Any) -> Path:
    """A specification of devices of these names, told apart by an environment variable."""
    devices = [{"name": name, "containerEdits": {"env": [f"FROM={path.name}"]}} for name in names]
    path.parent.mkdir(exist_ok=True)
    kind = "glassstack.dev/gpu"
    path.write_text(json.dumps({"cdiVersion": "0.5.0", "kind": kind, "devices": devices} | more))
    return path


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    return tmp_path / "etc"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "run"


def test_the_later_directory_wins(etc: Path, run: Path) -> None:
    put(etc / "a.json", "0", "1")
    put(run / "b.json", "0")
    cache = cdi_cache.load((etc, run))
    assert {name: device.path.name for name, device in cache.devices.items()} == {
        NAME: "b.json",
        "glassstack.dev/gpu=1": "a.json",
    }
    assert cdi_cache.load((run, etc)).devices[NAME].path.name == "a.json"


def test_a_conflict_in_a_directory_costs_that_name_only(etc: Path, run: Path) -> None:
    put(etc / "a.json", "0", "1")
    put(etc / "b.json", "0", "2")
    cache = cdi_cache.load((etc, run))
    assert sorted(cache.devices) == ["glassstack.dev/gpu=1", "glassstack.dev/gpu=2"]
    with pytest.raises(
        cdi_cache.CdiError, match=r"gpu=0 is claimed by .*a\.json, .*b\.json; remove all but one"
    ):
        cache.resolve([NAME])
    put(run / "c.json", "0")
    assert cdi_cache.load((etc, run)).resolve([NAME])[0].path.name == "c.json"


def test_a_bad_file_is_told_of_and_left_out(etc: Path) -> None:
    put(etc / "a.json", "0")
    put(etc / "b.json", "1", cdiVersion="9.9")
    (etc / "c.json").write_text('{"kind": "a/b", "kind": "a/c"}')
    (etc / "d.yaml").write_text("cdiVersion: 0.5.0")
    (etc / "e.txt").write_text("not mine")
    (etc / "f.json").mkdir()
    cache = cdi_cache.load((etc, etc / "none"))
    assert list(cache.devices) == [NAME]
    told = {path.name: str(fault) for path, fault in cache.faults}
    assert sorted(told) == ["b.json", "c.json", "d.yaml"]
    assert told["c.json"] == "document: is no JSON: the member 'kind' is there twice; correct it there"
    assert told["d.yaml"].startswith("document: YAML is not read here; write it as JSON")


def test_a_name_that_nobody_has_is_named(etc: Path) -> None:
    put(etc / "a.json", "0")
    cache = cdi_cache.load((etc,))
    with pytest.raises(
        cdi_cache.CdiError, match=r"unresolvable CDI devices glassstack\.dev/gpu=9, a/b=c; see"
    ):
        cache.resolve(["glassstack.dev/gpu=9", NAME, "a/b=c"])
    with pytest.raises(cdi_cache.CdiError, match="'gpu=0' is no CDI name"):
        cache.resolve(["gpu=0"])


def test_list_and_validate(etc: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = put(etc / "a.json", "0")
    where = ["--spec-dir", str(etc), "--spec-dir", str(run)]
    assert main(["cdi", "list", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": NAME, "file": str(good)}
    assert main(["cdi", "validate", str(good)]) == 0
    assert capsys.readouterr().out == f"{good}: ok, 1 devices of glassstack.dev/gpu\n"
    bad = put(etc / "b.json", "0", devices=[], kind="x")
    assert main(["cdi", "validate", str(good), str(bad)]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"glassstack: {bad}: devices: is empty; at least one device"
    assert said[1].startswith(f"glassstack: {bad}: kind: 'x' is not VENDOR/CLASS; ")
    assert main(["cdi", "list", *where]) == 1


def test_apply_edits_the_configuration_of_a_bundle(
    etc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(etc / "a.json", "0")
    config = tmp_path / "config.json"
    config.write_text('{"ociVersion": "1.0.2"}')
    words = ["cdi", "apply", NAME, "--config", str(config), "--spec-dir", str(etc)]
    assert main(words) == 0
    assert json.loads(config.read_text())["process"]["env"] == ["FROM=a.json"]
    assert main(["cdi", "apply", "glassstack.dev/gpu=5", *words[3:]]) == 1
    assert "unresolvable CDI devices glassstack.dev/gpu=5" in capsys.readouterr().err
    config.write_text("{}")
    assert main(words) == 1
    assert "is no OCI configuration" in capsys.readouterr().err
