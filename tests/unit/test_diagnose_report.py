"""What comes out: text, Markdown, JSON; nothing hostile gets through."""

from __future__ import annotations

import json
import random
import re
import time

import pytest

from glassstack.diagnose import report
from glassstack.diagnose.redact import Redactor
from glassstack.diagnose.verdict import judge
from tests.evidence import CASES, NEAR, look_at, roots, verdict_of

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def outputs(*texts: str | bytes) -> list[str]:
    """All three forms."""
    look = look_at(*texts)
    verdict = judge(look.evidence)
    told = json.dumps(report.as_json(look, verdict))
    return ["\n".join(report.text(look, verdict)), "\n".join(report.markdown(look, verdict)), told]


HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07",
    "\x1b]52;c;cm0gLXJm\x07",
    "\x9b31m",
    "\u202etxt.exe",
    "\x1b]8;;http://x\x1b\\link",
    "\x08\x08\x08",
    "\r\x1b[A",
    "\x1bPq#0\x1b\\",
)


@pytest.mark.parametrize("sequence", HOSTILE)
def test_hostile_sequences_never_get_out(sequence: str) -> None:
    text = (
        f"NVRM: Xid (PCI:0000:44:00): 31, pid=7, name={sequence}evil{sequence}, Ch {sequence}1 {sequence}\n"
    )
    text += f"docker: lstat /dev/nvidia-uvm{sequence}: no such file or directory\n"
    for out in outputs(text, sequence * 50 + text):
        assert not _CONTROL.search(out)


def test_markdown_does_not_run_away() -> None:
    hostile = "NVRM: Xid (PCI:0000:44:00): 999, pid=7, name=x, ``` <img src=x> **bold** [a](http://b) | # x"
    _, markdown, _ = outputs(hostile)
    fences = [line for line in markdown.splitlines() if line.startswith("```")]
    assert len(fences) == 2
    outside = re.sub(r"(?s)```\n.*?\n```", "", markdown)
    assert "<img" not in outside.replace("\\<", "")


def test_braces_in_the_evidence_are_text() -> None:
    out = outputs("nvidia-container-cli: mount error: {0.__class__} {secret} {}\n")[0]
    assert "{0.__class__} {secret} {}" in out


def test_json_has_proof_by_file_and_line() -> None:
    told = json.loads(outputs("x\n\nNVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus")[2])
    assert told["findings"][0]["id"] == "XID_79"
    (proof,) = told["findings"][0]["proof"]
    assert (proof["file"], proof["line"]) == ("text0", 3)
    assert {rung["layer"]: rung["state"] for rung in told["ladder"]}["xid"] == "broken"


def test_the_verdict_is_the_first_line() -> None:
    text = outputs("NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus")[0]
    assert text.splitlines()[0] == "cause: XID_79"
    assert outputs("hello")[0].splitlines()[0].startswith("nothing recognised")
    assert outputs("| NVIDIA-SMI 550.54.14   Driver Version: 550.54.14   CUDA Version: 12.4 |")[0].startswith(
        "nothing wrong"
    )


PRIVATE = """\
alice@gpunode7:~$ ls /home/alice/models
gpunode7 kernel: NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus
GPU 0: NVIDIA H100 (UUID: GPU-8c2bfa8e-1234-5678-9abc-def012345678)
Serial Number                         : 1650522012345
connect to 10.20.30.40 and fe80::1ff:fe23:4567:890a and 52:54:00:12:34:56
mail bob.smith@example.org HF_TOKEN=hf_abcdefghijklmnop Authorization: Bearer eyJabc.def
password: hunter2
container 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
"""


def test_redaction_takes_names_and_keeps_the_evidence() -> None:
    safe = Redactor(("gpunode7",), ("alice",))(PRIVATE)
    for private in (
        "alice",
        "gpunode7",
        "8c2bfa8e",
        "1650522012345",
        "10.20.30.40",
        "fe80::1ff",
        "52:54:00",
        "bob.smith",
        "hf_abc",
        "eyJabc",
        "hunter2",
        "0123456789abcdef",
    ):
        assert private not in safe, private
    assert roots(verdict_of(safe)) == ["XID_79"]
    assert "0000:44:00" in safe


def test_redaction_changes_no_verdict() -> None:
    for case in CASES:
        safe = Redactor(("node7",), ("alice",))(case["text"])
        expect = [case["expect"], *case.get("also", [])] if case["expect"] else []
        assert roots(verdict_of(safe, host=case.get("host", False))) == expect, case["id"]


def test_one_name_stays_one_name() -> None:
    first, second = Redactor()("a 10.0.0.1 b 10.0.0.1 c 10.0.0.2").split(" b ")
    assert first.split()[1] == second.split()[0]
    assert second.split()[0] != second.split()[2]


SEEDS = [row["text"].encode() for row in (*CASES, *NEAR)]


def mutated(rng: random.Random) -> bytes:
    """A seed, spliced, cut, doubled, with bytes changed and hostile pieces put in."""
    data = bytearray(rng.choice(SEEDS))
    if rng.random() < 0.3:
        other = rng.choice(SEEDS)
        cut = rng.randrange(len(data) + 1)
        data[cut:] = other[rng.randrange(len(other) + 1) :]
    for _ in range(rng.randrange(1, 12)):
        place = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            data[place:place] = rng.choice(HOSTILE).encode()
        elif kind == 1:
            del data[place : place + rng.randrange(20)]
        elif kind == 2:
            data[place:place] = rng.randbytes(rng.randrange(8))
        elif kind == 3:
            data[place:place] = data[place : place + rng.randrange(200)] * rng.randrange(1, 4)
        elif data:
            data[place % len(data)] = rng.randrange(256)
    return bytes(data)


def test_mutated_evidence_never_crashes_hangs_or_gets_out() -> None:
    rng = random.Random(20)
    for turn in range(2500):
        data = mutated(rng)
        began = time.process_time()
        look = look_at(data)
        verdict = judge(look.evidence)
        lines = report.text(look, verdict)
        assert time.process_time() - began < 2, data
        if turn % 5 == 0:
            assert not any(_CONTROL.search(line) for line in lines), data
            json.dumps(report.as_json(look, verdict))
            report.markdown(look, verdict)


@pytest.mark.parametrize(
    "shape",
    [
        b"NVRM: API mismatch: the client '" + b"a" * 15000,
        b"cudaErrorX " * 1400,
        b'{"log":' * 2000 + b"}",
        b"oom-kill:constraint=" + b"oom_memcg=," * 1400,
        b"nvidia" + b" (1.1, 2.2)" * 1400,
        b"LD_LIBRARY_PATH=" + b":" * 16000,
        b"MIG mode " + b"mig mode " * 1700,
        b"::/" * 5000,
        b"GPU 0: NVIDIA " + b"a b" * 5000,
        b"> " * 8000 + b"NVRM: Xid",
        b"\x1b]" + b"nvidia" * 2600,
        b"CUDA " + b"error " * 2700,
        b"fallen off the bus The NVIDIA GPU " * 480,
    ],
    ids=range(13),
)
def test_no_expression_runs_away(shape: bytes) -> None:
    began = time.process_time()
    look_at(b"\n".join([shape] * 10))
    Redactor(("host",), ("user",))(shape.decode("utf-8", "replace"))
    assert time.process_time() - began < 2
