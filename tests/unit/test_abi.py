"""The mirrors in Python against the C headers: the compiler says what is where."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from glassstack.decoders import fakegpu, syscalls, witness
from glassstack.decoders import fakegpu_uapi as uapi
from tests.support import ROOT

UAPI = ROOT / "kmod/uapi/fakegpu.h"
WITNESS = ROOT / "kmod/user/witness.h"
CONSTANTS = {
    "MAJOR": uapi.MAJOR,
    "UVM_MAJOR": uapi.UVM_MAJOR,
    "MAX_DEVICES": uapi.MAX_DEVICES,
    "MINOR_CTL": uapi.MINOR_CTL,
    "PAGE": uapi.PAGE,
    "OFF_DOORBELL": uapi.OFF_DOORBELL,
    "OFF_FENCE": uapi.OFF_FENCE,
    "OFF_COMPLETION": uapi.OFF_COMPLETION,
    "COMPLETION_SIZE": uapi.COMPLETION_SIZE,
    "OFF_RING": uapi.OFF_RING,
    "RING_STRIDE": uapi.RING_STRIDE,
    "OFF_BUFFER": uapi.OFF_BUFFER,
    "OFF_END": uapi.OFF_END,
    "MAPS_CONTEXTS": uapi.MAPS_CONTEXTS,
    "MAX_CHANNELS": uapi.MAX_CHANNELS,
    "SUBMIT_MAX": uapi.SUBMIT_MAX,
    "PROCESSES_MAX": uapi.PROCESSES_MAX,
    "SLOT": uapi.SLOT,
    "IOC_TYPE": uapi.IOC_TYPE,
}
BODIES = {
    "call": (witness.CALL_BODY, "done_ns pid tid nr context ret args in_size out_size payload_size reserved"),
    "context": (witness.CONTEXT_BODY, "pid context opened reserved inode"),
    "progress": (witness.PROGRESS_BODY, "context channel wptr rptr seqno doorbells jobs xid reserved"),
    "log": (witness.LOG_BODY, "level length"),
}


def ask_compiler(header: Path, questions: Mapping[str, str], tmp_path: Path) -> dict[str, int]:
    """The value of each C expression, by its name."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler: apt-get install gcc libc6-dev")
    lines = [f'printf("{name} %llu\\n", (unsigned long long)({c}));' for name, c in questions.items()]
    source = tmp_path / "ask.c"
    source.write_text(
        f'#include <stddef.h>\n#include <stdio.h>\n#include "{header}"\nint main(void)\n{{\n'
        + "\n".join(lines)
        + "\nreturn 0;\n}\n"
    )
    program = tmp_path / "ask"
    subprocess.run([compiler, "-std=gnu11", "-o", program, source], check=True)
    answers = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: int(value) for name, value in (line.split() for line in answers.splitlines())}


def offsets(codes: list[str]) -> list[int]:
    """Where each member begins, without any padding but what the codes say."""
    return [struct.calcsize("=" + "".join(codes[:index])) for index in range(len(codes))]


def test_structures_ioctls_and_constants_are_the_headers(tmp_path: Path) -> None:
    asked: dict[str, str] = {}
    expected: dict[str, int] = {}
    for name, fields in uapi.STRUCTS.items():
        kind = f"struct fakegpu_{name}"
        asked[name] = f"sizeof({kind})"
        expected[name] = uapi.layout(name).size
        head = 3 if name.startswith("packet_") else 0  # a member of its own there
        for field, offset in list(zip(fields, offsets([field.code for field in fields]), strict=True))[head:]:
            asked[f"{name}.{field.name}"] = f"offsetof({kind}, {field.name})"
            expected[f"{name}.{field.name}"] = offset
            asked[f"{name}.{field.name}:size"] = f"sizeof((({kind} *)0)->{field.name})"
            expected[f"{name}.{field.name}:size"] = struct.calcsize("=" + field.code)
    for call in fakegpu.IOCTLS:
        asked[f"IOC_{call.name}"] = f"FAKEGPU_IOC_{call.name}"
        expected[f"IOC_{call.name}"] = call.request
    for op, (name, _) in uapi.OPS.items():
        asked[f"OP_{name}"] = f"FAKEGPU_OP_{name}"
        expected[f"OP_{name}"] = op
    for prefix, words in (
        ("VERSION", uapi.VERSION_MODES),
        ("MAP", uapi.MAP_WHAT),
        ("CHANNEL", uapi.CHANNEL_FLAGS),
    ):
        for value, word in words.items():
            asked[f"{prefix}_{word}"] = f"FAKEGPU_{prefix}_{word}"
            expected[f"{prefix}_{word}"] = value
    for name, value in CONSTANTS.items():
        asked[name] = f"FAKEGPU_{name}"
        expected[name] = value
    assert ask_compiler(UAPI, asked, tmp_path) == expected


def test_the_mirror_leaves_nothing_out() -> None:
    header = UAPI.read_text()
    assert set(re.findall(r"^struct fakegpu_(\w+) \{", header, re.M)) == set(uapi.STRUCTS)
    assert set(re.findall(r"^#define FAKEGPU_IOC_(\w+) _IO", header, re.M)) == set(fakegpu.BY_NAME)
    assert set(re.findall(r"^#define FAKEGPU_OP_(\w+)", header, re.M)) == {
        name for name, _ in uapi.OPS.values()
    }


def test_witness_records_are_the_headers(tmp_path: Path) -> None:
    head = "struct fgpu_witness_head"
    asked = {
        f"head.{name}": f"offsetof({head}, {name})"
        for name in ("magic", "version", "data_size", "head", "tail", "dropped")
    }
    expected = {
        "head.magic": witness.HEAD_MAGIC,
        "head.version": witness.HEAD_VERSION,
        "head.data_size": witness.HEAD_DATA_SIZE,
        "head.head": witness.HEAD_HEAD,
        "head.tail": witness.HEAD_TAIL,
        "head.dropped": witness.HEAD_DROPPED,
    }
    numbers = {"MAGIC": witness.MAGIC, "VERSION": witness.VERSION, "DATA": witness.DATA}
    kinds = {"PAD": witness.PAD, "CALL": witness.CALL, "CONTEXT": witness.CONTEXT}
    kinds |= {"PROGRESS": witness.PROGRESS, "LOG": witness.LOG}
    for name, value in {**numbers, **kinds}.items():
        asked[name] = f"FGPU_WITNESS_{name}"
        expected[name] = value
    records = {"record": (witness.RECORD, "size type device ts", 0)}
    records |= {name: (body, names, witness.RECORD.size) for name, (body, names) in BODIES.items()}
    for name, (layout, names, start) in records.items():
        kind = f"struct fgpu_witness_{name}"
        asked[name] = f"sizeof({kind})"
        expected[name] = start + layout.size
        codes = re.findall(r"\d*[A-Za-z]", layout.format[1:])
        for member, offset in zip(names.split(), offsets(codes), strict=True):
            asked[f"{name}.{member}"] = f"offsetof({kind}, {member})"
            expected[f"{name}.{member}"] = start + offset
    assert ask_compiler(WITNESS, asked, tmp_path) == expected


def test_syscall_numbers_are_this_machines(tmp_path: Path) -> None:
    names = syscalls.NUMBERS.get(os.uname().machine)
    if names is None:
        pytest.skip(f"no table for {os.uname().machine}")
    header = tmp_path / "calls.h"
    header.write_text("#include <sys/syscall.h>\n")
    assert ask_compiler(header, {name: f"SYS_{name}" for name in names}, tmp_path) == names
