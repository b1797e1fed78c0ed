"""The device list of cgroup v1, and what a list says about one device."""

from __future__ import annotations

import pytest

from glassstack.decoders.device_list import EVERYTHING, parse
from glassstack.model.entities import Context, Device, DeviceList, DeviceProgram, DeviceRule
from glassstack.model.events import Containers
from glassstack.store.containers import access, contrasts, rule_text
from tests.snapshots import fake_containers


def test_lines_of_v1() -> None:
    assert parse("c 1:3 rwm\nb *:* m\nc 136:* rw\nnonsense\n") == (
        DeviceRule("c", 1, 3, "rwm"),
        DeviceRule("b", None, None, "m"),
        DeviceRule("c", 136, None, "rw"),
    )
    assert parse("a *:* rwm\n") == EVERYTHING


@pytest.mark.parametrize(
    ("minor", "verdict"), [(0, "rwm"), (1, ""), (7, "rwm")], ids=["wide rule", "taken out", "another"]
)
def test_the_narrowest_rule_counts(minor: int, verdict: str) -> None:
    program = DeviceProgram(1, "x", "0" * 16, "/a")
    rules = (DeviceRule("c", 120, None, "rwm"), DeviceRule("c", 120, 1, ""))
    assert access(DeviceList("/a", (program,), rules), "c", 120, minor) == verdict
    assert access(DeviceList("/a", (program,), rules), "b", 120, minor) == ""
    assert access(DeviceList("/a", (), None, "root only"), "c", 120, minor) is None


def test_rules_read_as_their_files_do() -> None:
    assert [rule_text(rule) for rule in (DeviceRule("c", 1, 3, "rw"), DeviceRule("b", None, None, ""))] == [
        "c 1:3 rw",
        "b *:* denied",
    ]


@pytest.mark.parametrize(("rules", "said"), [("kernel", "the kernel's verdict"), ("emulated", "emulated")])
def test_who_let_an_open_pass_is_said_beside_the_node(rules: str, said: str) -> None:
    (event,) = [event for event in fake_containers.boxed() if isinstance(event, Containers)]
    opened = Context(1, 901, "train", rules=rules)
    gpu = Device("/dev/fakegpu0", 0, "embedded", "550.54.14", opened=(opened,))
    lines = {line.what: line.inside for line in contrasts(event.host, event.containers[0], [gpu])}
    assert lines["/dev/fakegpu0"].endswith(f"allowed rw; opened: {said}")
    assert lines["/dev/null"].endswith("allowed rwm")
