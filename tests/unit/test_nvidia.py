"""NVIDIA's ioctls decoded: by node, size and driver; statuses, nested arguments, unknown input."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec
import pytest

from glassstack.decoders import registry
from glassstack.decoders.explain import explain
from glassstack.decoders.nvidia import frontend, uvm
from glassstack.decoders.nvidia.objects import Objects
from glassstack.decoders.nvidia.table_escapes import XFER
from glassstack.model.events import Syscall
from glassstack.model.values import Source
from tests import nvidia
from tests.nvidia import CTL, GPU, UVM, request

RM_ALLOC, RM_CONTROL, RM_MAP = 0x2B, 0x2A, 0x4E


@pytest.fixture(autouse=True)
def driver() -> Iterator[None]:
    registry.use_driver("550.54.14")
    yield
    registry.use_driver("")


def call(name: str, number: int, size: int, before: bytes, after: bytes, device: str = CTL) -> Syscall:
    decoded = registry.decode_ioctl(device, request(number, size), before, after)
    assert decoded.name == name
    name, fields = decoded
    number = request(number, size)
    return Syscall(1, Source.PTRACE, 7, 7, "ioctl", device, name, fields, 0, None, 900, 3, number)


def test_the_first_object_is_the_client() -> None:
    before, after = nvidia.alloc(48, 0, 0, 0, 0x41), nvidia.alloc(48, 0, 0, 0xC1D00001, 0x41)
    made = call("RM_ALLOC", RM_ALLOC, 48, before, after)
    assert made.fields["class"] == "NV01_ROOT_CLIENT"
    assert made.fields["hNew"] == 0xC1D00001
    assert made.fields["nv_status"] == "OK"
    assert made.failure is None
    assert "root of every other object" in explain(made).text


@pytest.mark.parametrize(
    ("driver_version", "size", "at"), [("515.43.04", 40, 32), ("530.30.02", 40, 36), ("550.54.14", 48, 40),
     ("530.30.02", 32, 24), ("535.54.03", 32, 28)]
)  # fmt: skip
def test_the_status_is_where_the_driver_has_it(driver_version: str, size: int, at: int) -> None:
    registry.use_driver(driver_version)
    after = nvidia.put(size, (12, "I", 0x80), (at, "I", 0x51))
    made = call("RM_ALLOC", RM_ALLOC, size, after, after)
    assert made.fields["nv_status"] == "NO_MEMORY (0x51)"
    assert made.failure == "NO_MEMORY (0x51)"
    assert "ioctl(2) itself says 0" in explain(made).text


def test_without_a_version_the_size_decides_and_what_it_leaves_open_is_said() -> None:
    registry.use_driver("")
    made = call("RM_ALLOC", RM_ALLOC, 48, b"", nvidia.alloc(48, 1, 2, 3, 0x2080, status=0x1F))
    assert made.failure == "INVALID_ARGUMENT (0x1f)"
    unsure = call("RM_ALLOC", RM_ALLOC, 40, b"", nvidia.alloc(40, 1, 2, 3, 0x2080, status=0x1F))
    assert unsure.fields["class"] == "NV20_SUBDEVICE_0"
    assert str(unsure.fields["nv_status"]).startswith("missing: the driver's version is not known")
    assert unsure.failure is None


def test_a_command_has_its_name_and_its_object() -> None:
    objects = Objects()
    alloc = nvidia.alloc(48, 0xC1D00001, 0x5C000001, 0x5C000002, 0x2080)
    objects.see(call("RM_ALLOC", RM_ALLOC, 48, alloc, alloc))
    argument = nvidia.control(0xC1D00001, 0x5C000002, 0x20800110)
    asked = objects.see(call("RM_CONTROL", RM_CONTROL, 32, argument, argument))
    assert asked.fields["cmd"] == "GPU_GET_NAME_STRING"
    assert asked.fields["object"] == "NV20_SUBDEVICE_0"


@pytest.mark.parametrize(
    ("cmd", "text"),
    [
        (0x20801A7F, "0x20801a7f (unknown: NV20_SUBDEVICE_0, category 0x1a, index 0x7f)"),
        (0x2080A6F1, "0x2080a6f1 (unknown: NV20_SUBDEVICE_0, legacy 0xa6f1)"),
        (0x12340102, "0x12340102 (unknown: class 0x1234, category 0x01, index 0x02)"),
    ],
)
def test_an_unknown_command_is_taken_apart_and_marked(cmd: int, text: str) -> None:
    argument = nvidia.control(1, 2, cmd)
    asked = call("RM_CONTROL", RM_CONTROL, 32, argument, argument)
    assert asked.fields["cmd"] == text
    assert asked.fields["unknown"] == f"control 0x{cmd:x}"


def test_unknown_class_number_size_and_uvm_are_marked() -> None:
    argument = nvidia.alloc(48, 1, 2, 3, 0xDEAD)
    assert call("RM_ALLOC", RM_ALLOC, 48, argument, argument).fields["unknown"] == "class 0xdead"
    assert call("RM_ALLOC?", RM_ALLOC, 44, b"", b"").fields["unknown"] == "size 44 of RM_ALLOC"
    odd = registry.decode_ioctl(GPU, request(0x99, 8), bytes(8), bytes(8))
    assert (odd.name, odd.fields["unknown"]) == (f"ioctl 0x{request(0x99, 8):08x}", "escape 0x99 type 0x46")
    assert registry.decode_ioctl(UVM, 99, b"", b"").fields["unknown"] == "uvm 99"


def test_the_same_number_is_another_call_on_another_node() -> None:
    number = 1
    assert registry.name_ioctl(UVM, number) == "UVM_RESERVE_VA"
    assert registry.name_ioctl(CTL, number).startswith("ioctl")
    assert registry.name_ioctl("/dev/dri/renderD128", 0xC0406400) == "DRM_IOCTL_VERSION"
    assert registry.name_ioctl("/dev/dri/renderD128", 0xC0106446) == "DRM_COMMAND_BASE+0x06"
    assert registry.name_ioctl("/dev/kfd", 0x80084B01) == "AMDKFD_IOC_GET_VERSION"
    assert registry.name_ioctl("/dev/nvidia-modeset", 0xC0104600).startswith("ioctl")


def test_a_transferred_call_is_the_call_inside() -> None:
    inner = nvidia.control(0xC1D00001, 2, 0x20800110, status=0x56)
    outer = nvidia.put(16, (0, "I", RM_CONTROL), (4, "I", 32), (8, "Q", 0x7000))
    number = request(XFER, 16)
    wanted = registry.reads(CTL, number)
    assert wanted is not None
    assert wanted.nested is not None
    assert wanted.nested(outer) == (0x7000, 32, True)
    decoded = registry.decode_ioctl(CTL, number, outer, outer + inner, inner)
    assert decoded.name == "RM_CONTROL"
    assert decoded.fields["cmd"] == "GPU_GET_NAME_STRING"
    assert decoded.fields["via"] == "XFER_CMD"
    assert decoded.fields["nv_status"] == "NOT_SUPPORTED (0x56)"


def test_what_an_allocation_points_to() -> None:
    before = nvidia.alloc(48, 1, 2, 0, 0xC86F, params=0x9000)
    wanted = registry.reads(CTL, request(RM_ALLOC, 48))
    assert wanted is not None
    assert wanted.nested is not None
    assert wanted.nested(before) == (0x9000, 368, False)
    payload = nvidia.put(360, (16, "I", 1024), (128, "I", 13))
    decoded = registry.decode_ioctl(CTL, request(RM_ALLOC, 48), before, before, payload)
    assert decoded.fields["gpFifoEntries"] == 1024
    assert decoded.fields["engineType"] == 13


def test_the_mapping_after_map_memory_is_the_doorbell() -> None:
    objects = Objects()
    made = nvidia.alloc(48, 0xC1D00001, 2, 0x5C000010, 0xC661)
    objects.see(call("RM_ALLOC", RM_ALLOC, 48, made, made))
    prepared = nvidia.map_memory(0xC1D00001, 0x5C000010, 15, 65536)
    asked = objects.see(call("RM_MAP_MEMORY", RM_MAP, 56, prepared, prepared))
    assert asked.fields["object"] == "HOPPER_USERMODE_A"
    mapped = Syscall(
        2, Source.PTRACE, 7, 7, "mmap", GPU, "mmap", {"length": 65536}, 0x7F00, None, 900, 15
    )  # fmt: skip
    assert objects.see(mapped).fields["maps"] == "doorbell (HOPPER_USERMODE_A) 0x5c000010"
    assert "maps" not in objects.see(mapped).fields, "the next mapping of it is another one"


def test_a_refused_mapping_prepares_nothing() -> None:
    objects = Objects()
    refused = nvidia.map_memory(1, 2, 15, 4096, status=0x33)
    objects.see(call("RM_MAP_MEMORY", RM_MAP, 56, refused, refused))
    mapped = Syscall(2, Source.PTRACE, 7, 7, "mmap", GPU, "mmap", {"length": 4096}, -22, "EINVAL", 900, 15)
    assert objects.see(mapped) == mapped


def test_a_mapping_whose_preparation_was_not_read_is_tied_but_not_guessed() -> None:
    objects = Objects()
    blind = Syscall(1, Source.FILE, 7, 7, "ioctl", CTL, "RM_MAP_MEMORY", {"arg": 1}, 0, None, None, 3)
    objects.see(blind)
    mapped = Syscall(2, Source.FILE, 7, 7, "mmap", CTL, "mmap", {"length": 65536}, 0x7F00, None, None, 15)
    text = str(objects.see(mapped).fields["maps"])
    assert text.startswith("not known which")
    assert text.endswith("of the size of a doorbell region")


def test_version_check_tells_both_versions() -> None:
    before, after = nvidia.check_version(b"550.54.14"), nvidia.check_version(b"550.54.15", 1)
    fields = call("CHECK_VERSION_STR", 0xD2, 72, before, after).fields
    assert (fields["check"], fields["version"]) == ("STRICT", "550.54.14")
    assert (fields["reply"], fields["driver_version"]) == ("recognised", "550.54.15")


def test_cards_are_listed_without_the_unused_entries() -> None:
    card = nvidia.put(72, (0, "B", 1), (8, "B", 7), (12, "H", 0x10DE), (16, "I", 0x700), (56, "I", 3))
    entries = str(call("CARD_INFO", 0xC8, 144, bytes(144), card + bytes(72)).fields["entries"])
    assert "gpu_id=0x700" in entries
    assert entries.endswith("minor=3")
    assert ";" not in entries


def test_uvm_by_driver() -> None:
    def status(version: str, number: int, after: bytes) -> object:
        registry.use_driver(version)
        return registry.decode_ioctl(UVM, number, after, after).fields.get("nv_status")

    assert status("580.65.06", 28, nvidia.put(28, (24, "I", 0x1F))) == "INVALID_ARGUMENT (0x1f)"
    assert status("590.44.01", 28, nvidia.put(28, (8, "I", 0x1F))) == "INVALID_ARGUMENT (0x1f)"
    assert str(status("", 28, bytes(28))).startswith("missing: the driver's version is not known")
    assert registry.decode_ioctl(UVM, 0x30000001, bytes(16), nvidia.put(16, (8, "I", 0x16))).fields == {
        "nv_status": "ILLEGAL_ACTION (0x16)"
    }
    registry.use_driver("595.45.04")
    assert registry.decode_ioctl(UVM, 54, b"", b"").name == "UVM_ENABLE_SYSTEM_WIDE_ATOMICS?"


def test_a_short_read_is_said() -> None:
    fields = call("RM_CONTROL", RM_CONTROL, 32, b"\1\0\0\0", b"").fields
    assert fields["argument"] == "missing: 4 of 32 bytes could be read"


def test_every_name_is_explained_or_has_a_general_word() -> None:
    for name in (*frontend.NAMES.values(), *uvm.NAMES.values()):
        if name in ("IOCTL_XFER_CMD", "RM_I2C_ACCESS", "RM_ADD_VBLANK_CALLBACK", "RM_BIND_CONTEXT_DMA"):
            continue
        device = UVM if name.startswith("UVM_") else CTL
        said = Syscall(1, Source.FILE, 7, 7, "ioctl", device, name, {}, 0, None, None, 3)
        if name != "RM_ALLOC_CONTEXT_DMA2":
            assert "no decoder" not in explain(said).text, name


def test_random_bytes_never_raise() -> None:
    chance = random.Random(29)
    numbers = [
        request(nr, row.size if row.size > 0 else 8) for nr, rows in frontend.ROWS.items() for row in rows
    ]
    for _ in range(6000):
        registry.use_driver(chance.choice(("", "515.43.04", "550.54.14", "595.45.04", "junk")))
        device = chance.choice((CTL, GPU, UVM))
        number = chance.choice((*numbers, chance.randrange(90), chance.getrandbits(32)))
        before, after, payload = (chance.randbytes(chance.randrange(400)) for _ in range(3))
        decoded = registry.decode_ioctl(device, number, before, after, payload, chance.choice((0, -22)))
        assert decoded.name
        msgspec.json.encode(decoded.fields)
        wanted = registry.reads(device, number)
        if wanted is not None and wanted.nested is not None:
            nested = wanted.nested(before)
            assert nested is None or 0 <= nested.length <= frontend.NESTED_MAX
