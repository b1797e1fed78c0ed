"""The guards on running containers: device list, network, masks, capabilities, filter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.minirt.containers import Runtime
from tests.support import eventually

pytestmark = [pytest.mark.root, pytest.mark.cgroup]

NULL = "/dev/null"


def change(runtime: Runtime, name: str, *rules: str) -> None:
    changed = runtime.host([runtime.program, "devices", name, *rules])
    assert changed.returncode == 0, changed


def test_the_list_of_a_running_container_changes_in_both_directions(rootful: Runtime) -> None:
    """Back to allowed too: were the new program attached beside the old one, a denial would stay."""
    with rootful.running("list") as name:
        for rule, said in [
            ("deny c 1:3 rwm", "refused EPERM"),
            ("allow c 1:3 r", "refused EPERM"),
            ("allow c 1:3 w", "done"),
            ("deny a *:* rwm", "refused EPERM"),
            ("allow c 1:3 rw", "done"),
        ]:
            change(rootful, name, rule)
            assert rootful.inside(name, "opendev", NULL, "rw").stdout == f"{said} {NULL}\n", rule


def test_a_node_that_is_denied_leaves_its_neighbours_alone(rootful: Runtime) -> None:
    with rootful.running("one-node") as name:
        change(rootful, name, "deny c 1:3 rwm")
        assert rootful.inside(name, "opendev", NULL, "r").stdout.startswith("refused EPERM")
        assert rootful.inside(name, "opendev", "/dev/zero", "r").stdout.startswith("done")


def test_mknod_of_what_is_not_on_the_list_is_refused(rootful: Runtime) -> None:
    options = ["--cap-add", "MKNOD"]
    refused = rootful.run("mknod", "/node", "c", "1", "11", options=options)
    allowed = rootful.run("mknod", "/tmp/null", "c", "1", "3", options=options)
    assert refused.stdout == "refused EPERM /node\n"
    assert allowed.stdout == "done /tmp/null\n"


def links() -> set[str]:
    return {name for name in os.listdir("/sys/class/net") if name.startswith("mr")}


def test_a_network_has_an_address_and_leaves_nothing(rootful: Runtime) -> None:
    before = links()
    with rootful.running("net", "--net") as name:
        (link,) = links() - before
        assert Path(f"/sys/class/net/{link}/ifalias").read_text() == "minirt:net\n"
        devices = rootful.inside(name, "cat", "/proc/net/dev").stdout
        routes = rootful.inside(name, "cat", "/proc/net/route").stdout.splitlines()[1:]
    assert {line.split(":")[0].strip() for line in devices.splitlines()[2:]} >= {"lo", "eth0"}
    assert sum(line.split()[1] == "00000000" for line in routes) == 1, routes
    eventually(lambda: links() == before)


def test_two_networks_have_two_addresses(rootful: Runtime) -> None:
    def gateways(name: str) -> set[str]:
        routes = rootful.inside(name, "cat", "/proc/net/route").stdout.splitlines()[1:]
        return {line.split()[2] for line in routes if line.split()[1] == "00000000"}

    with rootful.running("one", "--net") as one, rootful.running("two", "--net") as two:
        assert gateways(one)
        assert not gateways(one) & gateways(two)


def test_without_a_network_only_lo_is_there(rootful: Runtime) -> None:
    done = rootful.run("cat", "/proc/net/dev")
    assert "lo:" in done.stdout
    assert "eth" not in done.stdout


def test_masks_are_empty_and_cover_what_there_is(rootful: Runtime) -> None:
    with rootful.running("masks") as name:
        mounts = [line.split() for line in rootful.inside(name, "mounts").stdout.splitlines()]
        masked = {words[4] for words in mounts if words[3] in ("/file", "/directory")}
        assert masked >= {"/proc/keys", "/proc/timer_list", "/sys/firmware"}
        for path in masked:
            verb = "ls" if Path(path).is_dir() else "cat"
            done = rootful.inside(name, verb, path)
            assert (done.returncode, done.stdout) == (0, ""), path
        assert all("ro" in words[5].split(",") for words in mounts if words[4] in masked)


def test_privilege_is_a_short_list_and_never_more(rootful: Runtime) -> None:
    lines = dict(line.split(":\t") for line in rootful.run("caps").stdout.splitlines())
    kept = {lines[name] for name in ("CapPrm", "CapEff", "CapBnd")}
    assert len(kept) == 1
    assert int(kept.pop(), 16).bit_count() == 11
    assert {lines["CapInh"], lines["CapAmb"]} == {"0" * 16}
    assert lines["NoNewPrivs"] == "1"
    assert rootful.run("seccomp").stdout.splitlines()[0] == "Seccomp:\t2"
