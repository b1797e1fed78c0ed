"""Public failures through the whole diagnosis: the right cause, and no wrong one beside it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from glassstack.diagnose.rules import LAYERS, RULES
from tests.evidence import CASES, NEAR, REPORTED, everything, look_at, roots, verdict_of

_TABLES = re.compile(r"(?:XID|CUDA|NVML)_\d+|CLI_\w+")
"""Rules made from tables of numbers; they have tests of their own."""


def expected(case: dict[str, Any]) -> list[str]:
    return [case["expect"], *case.get("also", [])] if case["expect"] else []


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_each_case_has_its_cause_first_and_no_other_beside_it(case: dict[str, Any]) -> None:
    verdict = verdict_of(case["text"], host=case.get("host", False))
    assert roots(verdict) == expected(case)
    if verdict.first is not None:
        assert verdict.first.proof
        assert case.get("says", "") in f"{verdict.first.cause} {verdict.first.next}"


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for case in CASES:
        got = roots(verdict_of(case["text"], host=case.get("host", False)))
        kind = "rebuilt" if case.get("rebuilt") or case not in REPORTED else "reported"
        mark = "ok" if got == expected(case) else "WRONG"
        lines.append(
            f"{case['id']:<12} {kind:<9} {', '.join(expected(case)) or '-':<32} "
            f"{', '.join(got) or '-':<32} {mark}"
        )
    with capsys.disabled():
        print("\ncase         evidence  expected                         got")
        print("\n".join(lines))
    assert not [line for line in lines if line.endswith("WRONG")]


@pytest.mark.parametrize("near", NEAR, ids=[near["rule"] for near in NEAR])
def test_each_rule_is_silent_on_its_near_miss(near: dict[str, Any]) -> None:
    assert near["rule"] not in everything(verdict_of(near["text"], host=near.get("host", False)))


def test_each_rule_has_a_case_and_a_near_miss() -> None:
    own = {rule.id for rule in RULES if not _TABLES.fullmatch(rule.id)}
    assert own - {name for case in CASES for name in expected(case)} == set()
    assert own - {near["rule"] for near in NEAR} == set()


def test_rules_are_whole() -> None:
    names = {rule.id for rule in RULES}
    for rule in RULES:
        assert rule.layer in LAYERS
        assert all((rule.cause, rule.next, rule.confirm, rule.source)), rule.id
        for other in rule.over:
            assert any(
                name.startswith(other[:-1]) if other.endswith("*") else name == other for name in names
            ), other


def journal(line: str) -> str:
    return f"Jan  2 03:04:05 node7 kernel: {line}"


def docker(line: str) -> str:
    return json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-01-02T03:04:05.123456789Z"})


WRAPS: dict[str, Callable[[str], str]] = {
    "CR LF": lambda line: line + "\r",
    "colours": lambda line: f"\x1b[1;31m{line}\x1b[0m",
    "window title": lambda line: f"\x1b]0;title\x07{line}",
    "quoted": lambda line: f"> {line}",
    "CRI": lambda line: f"2026-01-02T03:04:05.123456789Z stderr F {line}",
    "ISO": lambda line: f"2026-01-02 03:04:05,123 {line}",
    "kubectl --prefix": lambda line: f"[pod/a-b1/c] {line}",
    "docker JSON": docker,
    "journal": journal,
    "curly": lambda line: line.replace("'", "’").replace('"', "“"),
    "NUL": lambda line: f"{line}\0\0",
}


@pytest.mark.parametrize("wrap", WRAPS, ids=list(WRAPS))
def test_wrapping_changes_no_verdict(wrap: str) -> None:
    for case in CASES:
        text = "\n".join(WRAPS[wrap](line) for line in case["text"].splitlines())
        assert roots(verdict_of(text, host=case.get("host", False))) == expected(case), case["id"]


NOISE = """[    1.0] usb 1-1: new high-speed USB device number 2 using xhci_hcd
Jan  2 03:04:05 node7 systemd[1]: Started Session 4 of User alice.
[    2.5] EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: (null)
2026-01-02T03:04:05Z INFO server started on port 8080
[    3.1] IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready
"""


def test_noise_around_changes_no_verdict() -> None:
    for case in CASES:
        text = f"{NOISE * 40}\n{case['text']}\n{NOISE * 40}"
        assert roots(verdict_of(text, host=case.get("host", False))) == expected(case), case["id"]


def test_bytes_that_are_no_text_around_change_no_verdict() -> None:
    junk = random.Random(7).randbytes(4000).replace(b"\n", b"")
    for case in CASES:
        text = junk + b"\n" + case["text"].encode() + b"\n" + junk
        assert roots(verdict_of(text, host=case.get("host", False))) == expected(case), case["id"]


def test_noise_alone_is_nothing_recognised() -> None:
    look = look_at(NOISE * 100)
    assert not look.evidence.counts


def test_three_kinds_of_evidence_in_one_paste_give_one_verdict() -> None:
    paste = """\
user@node:~$ nvidia-smi
Failed to initialize NVML: Driver/library version mismatch
user@node:~$ sudo dmesg | tail -4
[ 7386.259769] NVRM: API mismatch: the client has the version 515.48.07, but
               NVRM: this kernel module has the version 510.73.05.  Please
               NVRM: make sure that this kernel module and all NVIDIA driver
               NVRM: components have the same version.
user@node:~$ docker run --gpus all image
nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown
"""
    verdict = verdict_of(paste)
    assert roots(verdict) == ["SKEW_MODULE_OLD"]
    assert [str(fact.where) for fact in verdict.findings[0].proof] == ["text0:4"]


def test_evidence_spread_over_files_is_joined() -> None:
    cdi = "    - path: /dev/nvidia-uvm\n      major: 510\n"
    assert roots(verdict_of(cdi, "195 nvidia\n509 nvidia-uvm\n")) == ["STALE_CDI_MAJOR"]
    assert roots(verdict_of(cdi, "195 nvidia\n510 nvidia-uvm\n")) == []


def test_what_the_evidence_leaves_open_is_named_with_what_decides() -> None:
    verdict = verdict_of("Failed to initialize NVML: Unknown Error")
    (finding,) = verdict.findings
    assert {one.id for one in finding.open} >= {"CGROUP_RELOAD", "NO_CGROUPS_MISUSED"}
    assert "strace" in finding.rule.decide
    settled = verdict_of("Failed to initialize NVML: Unknown Error\nno-cgroups = false")
    assert "NO_CGROUPS_MISUSED" not in {one.id for one in settled.findings[0].open}
