"""A bundle that another runtime wrote: minirt and runc make the same container of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.system.minirt_lab import STUCK, Runtime, words_of

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("host_mounts")]


@pytest.fixture
def config(rootful: Runtime) -> dict[str, Any]:
    """What ``runc spec`` writes, on the root of the tests."""
    if not shutil.which("runc"):
        pytest.skip("no runc: apt-get install runc")
    subprocess.run(["runc", "spec"], cwd=rootful.work, check=True)
    written: dict[str, Any] = json.loads((rootful.work / "config.json").read_text())
    written["root"] = {"path": str(rootful.root), "readonly": True}
    written["process"]["terminal"] = False
    return written


def both(runtime: Runtime, config: dict[str, Any], *command: str) -> tuple[str, str]:
    """What the command says in a container of minirt and in one of runc."""
    config["process"]["args"] = ["/guest", *command]
    (runtime.work / "config.json").write_text(json.dumps(config))
    ours = runtime.call("run", runtime.work)
    peer = ["runc", "run", "--bundle", str(runtime.work), f"minirt-test-{runtime.work.parent.name}"]
    theirs = subprocess.run(peer, capture_output=True, text=True, timeout=STUCK, stdin=subprocess.DEVNULL)
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)
    return ours.stdout, theirs.stdout


@pytest.mark.parametrize("verb", ["hostname", "env", "cwd", "caps", "ids", "tty"])
def test_it_is_the_same_container(rootful: Runtime, config: dict[str, Any], verb: str) -> None:
    config["process"]["cwd"] = "/tmp"
    config["process"]["env"].append("A=b")
    config["hostname"] = "bundled"
    ours, theirs = both(rootful, config, verb)
    if verb == "ids":  # runc leaves the groups of root; none is what the bundle says
        ours, theirs = ("\n".join(t.splitlines()[:2]) for t in (ours, theirs))
    if verb == "env":  # runc looks the user's HOME up in the container's /etc/passwd
        theirs = theirs.replace("HOME=/\n", "")
    if verb == "caps":  # runc keeps the inheritable set, which CVE-2022-24769 is about, or not, by version
        ours, theirs = (
            "\n".join(line for line in t.splitlines() if "CapInh" not in line and "CapAmb" not in line)
            for t in (ours, theirs)
        )
    assert sorted(words_of(ours)) == sorted(words_of(theirs))


def test_it_has_the_same_resource_limits(rootful: Runtime, config: dict[str, Any]) -> None:
    config["process"]["rlimits"] = [
        {"type": "RLIMIT_NOFILE", "soft": 23, "hard": 29},
        {"type": "RLIMIT_CORE", "soft": 0, "hard": 0},
    ]
    ours, theirs = both(rootful, config, "cat", "/proc/self/limits")
    assert ours == theirs
    assert "Max open files            23                   29" in ours


def test_it_has_the_same_mounts(rootful: Runtime, config: dict[str, Any]) -> None:
    places = []
    for text in both(rootful, config, "cat", "/proc/self/mounts"):
        targets = {line.split()[1] for line in words_of(text)}
        # Groups of version 1 are no container's; nodes come from the host in neither.
        places.append({target for target in targets if not target.startswith("/sys/fs/cgroup")})
    assert places[0] == places[1]


def test_the_root_is_read_only_as_it_says(rootful: Runtime, config: dict[str, Any]) -> None:
    ours, theirs = both(rootful, config, "create", "/tmp/new")
    assert ours == theirs
    assert "EROFS" in ours


def test_flags_win_over_the_bundle(rootful: Runtime, config: dict[str, Any]) -> None:
    config["hostname"] = "bundled"
    (rootful.work / "config.json").write_text(json.dumps(config))
    done = rootful.call("run", "--hostname", "flagged", rootful.work, "/guest", "hostname")
    assert done.stdout == "flagged\n"


def _without_root(config: dict[str, Any]) -> None:
    del config["root"]


def _joined(config: dict[str, Any]) -> None:
    config["linux"]["namespaces"][1]["path"] = "/proc/1/ns/net"


def _bad_capability(config: dict[str, Any]) -> None:
    config["process"]["capabilities"]["bounding"].append("CAP_NOSUCH")


def _bad_rule(config: dict[str, Any]) -> None:
    config["linux"]["resources"]["devices"] = [{"allow": True, "type": "c", "access": "x"}]


def _sysctl(config: dict[str, Any]) -> None:
    config["linux"]["sysctl"] = {"kernel.shmmax": "1"}


def _bad_rlimit(config: dict[str, Any]) -> None:
    config["process"]["rlimits"] = [{"type": "RLIMIT_NOSUCH", "soft": 1, "hard": 1}]


@pytest.mark.parametrize("damage", [_sysctl, _bad_rlimit, _without_root, _joined, _bad_capability, _bad_rule])
def test_what_it_cant_do_it_refuses(rootful: Runtime, config: dict[str, Any], damage: Any) -> None:
    config["process"]["args"] = ["/guest", "true"]
    damage(config)
    (rootful.work / "config.json").write_text(json.dumps(config))
    done = rootful.call("run", rootful.work)
    assert done.returncode == 2
    assert "config.json" in done.stderr


def test_a_config_that_is_no_json_is_told_with_its_line(rootful: Runtime) -> None:
    (rootful.work / "config.json").write_text('{\n "root": ,\n}')
    done = rootful.call("run", rootful.work)
    assert done.returncode == 2
    assert Path(rootful.work / "config.json").name + ":2" in done.stderr
