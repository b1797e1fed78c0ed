"""What may not be in a CDI specification; above all what the published JSON schema lets through."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from glassstack.containers.cdi_check import check, minimum_version
from glassstack.containers.cdi_rules import split_name

Document = dict[str, Any]
NODE = {"path": "/dev/fakegpu0", "type": "c", "major": 120, "minor": 0}


def spec(**changes: Any) -> Document:
    """A good one, changed."""
    document: Document = {
        "cdiVersion": "0.5.0",
        "kind": "glassstack.dev/gpu",
        "devices": [{"name": "0", "containerEdits": {"deviceNodes": [dict(NODE)]}}],
    }
    return document | changes


def edited(**edits: Any) -> Document:
    """A good one whose device has these edits."""
    return spec(devices=[{"name": "0", "containerEdits": {"deviceNodes": [dict(NODE)]} | edits}])


def faults(document: object) -> list[str]:
    return [str(fault) for fault in check(document)]


def test_a_good_one_has_no_fault() -> None:
    assert faults(spec()) == []
    assert faults(edited(env=["A=b=c", "EMPTY="], mounts=[{"hostPath": "/a", "containerPath": "/b"}])) == []
    assert faults(edited(deviceNodes=[NODE | {"permissions": "none"}])) == []


# What the schema of 1.1.0 accepts and its reference implementation refuses.
HOLES: dict[str, tuple[Document, str]] = {
    "malformed kind": (
        spec(kind="glassstack.dev"),
        "kind: 'glassstack.dev' is not VENDOR/CLASS; VENDOR/CLASS, ",
    ),
    "unknown version": (spec(cdiVersion="9.9"), "cdiVersion: '9.9' is no version of CDI; one of 0.1.0, "),
    "unknown member": (
        spec(devicez=[]),
        "devicez: there is no such member; remove it; known here: cdiVersion, ",
    ),
    "no devices": (spec(devices=[]), "devices: is empty; at least one device"),
    "permissions": (
        edited(deviceNodes=[NODE | {"permissions": "zzz"}]),
        "devices[0].containerEdits.deviceNodes[0].permissions: 'zzz' is not allowed; letters of",
    ),
    "unknown hook": (
        edited(hooks=[{"hookName": "createPod", "path": "/bin/true"}]),
        "devices[0].containerEdits.hooks[0].hookName: 'createPod' is unknown; one of prestart, ",
    ),
    "annotations under 0.5.0": (
        spec(annotations={"a": "b"}),
        "cdiVersion: 0.5.0 has not all that is used here; write 0.6.0 or newer",
    ),
    "env that is no text": (
        edited(env=[23]),
        "devices[0].containerEdits.env[0]: is the number 23, not NAME=VALUE; write NAME=VALUE",
    ),
}


@pytest.mark.parametrize("hole", HOLES)
def test_what_the_schema_lets_through_is_refused(hole: str) -> None:
    document, said = HOLES[hole]
    found = faults(document)
    assert len(found) == 1
    assert found[0].startswith(said)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ([], ""),
        (spec(kind="9lives/gpu"), "kind"),
        (spec(kind="a/b/c"), "kind"),
        (spec(containerEdits=None), "containerEdits"),
        (spec(devices=[{"name": "0"}]), "devices[0].containerEdits"),
        (spec(devices=[{"name": "0", "containerEdits": {}}]), "devices[0].containerEdits"),
        (spec(devices=[{"name": "-0", "containerEdits": {"env": ["A=b"]}}]), "devices[0].name"),
        (spec(devices=spec()["devices"] * 2), "devices[1].name"),
        (edited(env=["=x"]), "devices[0].containerEdits.env[0]"),
        (edited(env=["A=\0"]), "devices[0].containerEdits.env[0]"),
        (edited(deviceNodes=[{"path": "dev/x"}]), "devices[0].containerEdits.deviceNodes[0].path"),
        (edited(deviceNodes=[{"path": ""}]), "devices[0].containerEdits.deviceNodes[0].path"),
        (edited(deviceNodes=[NODE | {"type": "d"}]), "devices[0].containerEdits.deviceNodes[0].type"),
        (edited(deviceNodes=[NODE | {"major": True}]), "devices[0].containerEdits.deviceNodes[0].major"),
        (edited(deviceNodes=[NODE | {"fileMode": -1}]), "devices[0].containerEdits.deviceNodes[0].fileMode"),
        (edited(mounts=[{"hostPath": "/a"}]), "devices[0].containerEdits.mounts[0].containerPath"),
        (edited(hooks=[{"hookName": "poststop"}]), "devices[0].containerEdits.hooks[0].path"),
        (edited(hooks={}), "devices[0].containerEdits.hooks"),
    ],
)
def test_other_faults_name_the_member(document: object, path: str) -> None:
    assert [fault.path for fault in check(document)] == [path]


def test_all_faults_are_told_at_once() -> None:
    document = spec(kind="x", devices=[], cdiVersion="2")
    assert len(faults(document)) == 3


@pytest.mark.parametrize(
    ("change", "version"),
    [
        ({}, "0.3.0"),
        ({"mounts": [{"hostPath": "/a", "containerPath": "/a", "type": "bind"}]}, "0.4.0"),
        ({"deviceNodes": [NODE | {"hostPath": "/dev/x"}]}, "0.5.0"),
        ({"additionalGids": [44]}, "0.7.0"),
        ({"intelRdt": {"closID": "a"}}, "0.7.0"),
        ({"intelRdt": {"closID": "a", "schemata": ["MB:0=20"]}}, "1.1.0"),
        ({"netDevices": [{"hostInterfaceName": "eth0", "name": "eth0"}]}, "1.1.0"),
        ({"netDevices": [], "additionalGids": []}, "0.3.0"),
    ],
)
@pytest.mark.parametrize("where", ["device", "spec"])
def test_the_version_is_the_oldest_that_has_what_is_used(change: Document, version: str, where: str) -> None:
    document = copy.deepcopy(spec())
    document["devices"][0]["name"] = "gpu"
    target = document if where == "spec" else document["devices"][0]
    target["containerEdits"] = {"env": ["A=b"]} | change
    assert minimum_version(document) == version


def test_names_and_kinds_need_versions_too() -> None:
    assert minimum_version(spec()) == "0.5.0"
    assert minimum_version(spec(kind="glassstack.dev/gpu.small")) == "0.6.0"
    assert split_name("glassstack.dev/gpu=GPU-12:3") == ("glassstack.dev/gpu", "GPU-12:3")
    assert split_name("glassstack.dev/gpu") == split_name("gpu=0") == ("", "")
