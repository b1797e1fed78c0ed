"""Tables of numbers through the diagnosis: all Xids, all error codes, versions, limits."""

from __future__ import annotations

import pytest

from glassstack.decoders.xid import XIDS
from glassstack.diagnose import versions
from glassstack.diagnose.limits import effective
from glassstack.diagnose.rpc import rpc
from glassstack.diagnose.words import CUDA, INIT_STAGE, NV_STATUS, NVML, NVML_BY_TEXT, stage, status
from tests.evidence import everything, roots, verdict_of

IN_THE_CATALOG = (
    *(
        8,
        11,
        13,
        25,
        31,
        32,
        37,
        38,
        39,
        40,
        41,
        43,
        44,
        45,
        46,
        48,
        54,
        61,
        62,
        63,
        64,
        66,
        67,
        68,
        69,
        70,
        71,
        72,
    ),
    *(74, 75, 76, 77, 78, 79, 80, 85, 92, 93, 94, 95, 109, 110, 119, 120, 121, 136, 137, 140, 141, 143),
    *range(144, 152),
    *(154, 155, 156, 157, 158, 160, 161),
    *range(167, 174),
)


def test_the_table_has_every_xid_of_the_catalog() -> None:
    assert set(IN_THE_CATALOG) - set(XIDS) == set()


@pytest.mark.parametrize("number", sorted(XIDS))
@pytest.mark.parametrize("prefix", ["NVRM", "FGPU"])
def test_each_xid_is_found_with_its_action(number: int, prefix: str) -> None:
    verdict = verdict_of(f"[ 1.0] {prefix}: Xid (PCI:0000:61:00): {number}, pid=7, name=x, Ch 00000001")
    assert roots(verdict) == [f"XID_{number}"]
    assert XIDS[number].action in verdict.findings[0].next
    assert XIDS[number].what in verdict.findings[0].cause


def test_a_mig_address_and_the_old_form_are_read() -> None:
    for line in (
        "NVRM: Xid (PCI:0000:07:00 GPU-I:02): 31, pid=7, name=x, Ch 00000001",
        "NVRM: Xid (0000:07:00): 31, Ch 00000001, engmask 00000101",
        "NVRM: Xid (PCI:0000:07:00): 31, pid='<unknown>', name=<unknown>, Ch 00000001",
    ):
        assert roots(verdict_of(line)) == ["XID_31"]


def test_the_cause_of_a_clean_up_is_the_xid_before_it() -> None:
    first = "NVRM: Xid (PCI:0000:61:00): 95, pid=7, name=x, Uncontained"
    after = "NVRM: Xid (PCI:0000:61:00): 45, pid=7, name=x, Ch 0000000a"
    for text in (f"{first}\n{after}", f"{after}\n{first}"):
        verdict = verdict_of(text)
        assert roots(verdict) == ["XID_95"]
        assert [one.id for one in verdict.findings[0].consequences] == ["XID_45"]
    assert roots(verdict_of(after)) == ["XID_45"]


def test_the_drivers_own_action_is_passed_on() -> None:
    verdict = verdict_of(
        "NVRM: Xid (PCI:0000:2d:00): 62, 0000\n"
        "NVRM: Xid (PCI:0000:2d:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot "
        "Required)"
    )
    assert "Node Reboot Required" in verdict.findings[0].next
    other = verdict_of(
        "NVRM: Xid (PCI:0000:2d:00): 62, 0000\n"
        "NVRM: Xid (PCI:0000:3d:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot "
        "Required)"
    )
    assert "Node Reboot Required" not in other.findings[0].next


def test_a_nonfatal_nvlink_event_asks_for_no_reset() -> None:
    line = "NVRM: Xid (PCI:0000:01:00): 145, RLW_RXPIPE {} XC0 i0 Link 13 (0x0 0x0 0x0 0x0 0x0 0x0)"
    mild, fatal = (verdict_of(line.format(word)).findings[0].next for word in ("Nonfatal", "Fatal"))
    assert "no reset" in mild
    assert "no reset" not in fatal


def test_firmware_calls_are_told_in_words() -> None:
    text = "NVRM: Xid (PCI:0000:61:00): 119, pid=1, name=x, Timeout … Expected function {}."
    control = verdict_of(text.format("76 (GSP_RM_CONTROL) (0x20800110 0x84)")).findings[0]
    assert "read the GPU's name" in control.cause
    alloc = verdict_of(text.format("103 (GSP_RM_ALLOC) (0x2080 0x4)")).findings[0]
    assert "class 0x2080: subdevice" in alloc.cause
    assert (
        rpc("RM_CONTROL", 0x20809999)
        == "RM_CONTROL 0x20809999: class 0x2080, category 0x99, not in the table"
    )


@pytest.mark.parametrize("number", sorted(INIT_STAGE))
def test_init_failures_are_told_in_words(number: int) -> None:
    verdict = verdict_of(f"NVRM: GPU 0000:98:00.0: RmInitAdapter failed! ({number:#x}:0x40:17)")
    assert INIT_STAGE[number] in verdict.findings[0].cause
    assert "INVALID_STATE (0x40)" in verdict.findings[0].cause


def test_a_number_that_no_table_has_is_shown_raw() -> None:
    assert stage(0x99) == "a stage not in the table (0x99)"
    assert status(0x12345) == "a status not in the table (0x12345)"
    assert NV_STATUS[0x65] == "TIMEOUT"


@pytest.mark.parametrize("code", sorted(CUDA))
def test_each_cuda_error_is_known(code: int) -> None:
    name = CUDA[code][0]
    assert f"CUDA_{code}" in everything(verdict_of(f"CUDA error {code}: it failed"))
    if code != 30:
        assert f"CUDA_{code}" in everything(verdict_of(f"call returned CUDA_ERROR_{name}"))


@pytest.mark.parametrize("code", sorted(NVML))
def test_each_nvml_error_is_known(code: int) -> None:
    assert f"NVML_{code}" in everything(verdict_of(f"nvmlInit failed with error {code}"))


@pytest.mark.parametrize("text", sorted(NVML_BY_TEXT))
def test_each_nvml_text_is_known(text: str) -> None:
    assert f"NVML_{NVML_BY_TEXT[text]}" in everything(
        verdict_of(f"Failed to initialize NVML: {text.title()}")
    )


@pytest.mark.parametrize(
    "text", ["Error 0: fine", "error 1000: x", "Error 77 files", "cuda 12.4", "nvmlInit"]
)
def test_what_only_looks_like_an_error_code_is_none(text: str) -> None:
    assert roots(verdict_of(text)) == []


@pytest.mark.parametrize(
    ("version", "minimum", "maximum", "fits"),
    [
        ((550, 54, 14), (550, 54, 14), None, True),
        ((550, 54, 14), (550, 54, 15), None, False),
        ((570, 26), (570, 26, 0), None, True),
        ((570, 124, 6), (570, 26), None, True),
        ((550, 90), (550,), (550, 90), True),
        ((550, 90, 1), (550,), (550, 90), False),
        ((9,), (10,), None, False),
        ((100,), (99, 9), (100, 0), True),
    ],
)
def test_compatible(
    version: tuple[int, ...], minimum: tuple[int, ...], maximum: tuple[int, ...] | None, fits: bool
) -> None:
    assert versions.compatible(version, minimum, maximum) is fits


@pytest.mark.parametrize("given", [((), (1,), None), ((1,), (), None), ((1,), (1,), ())])
def test_an_empty_version_is_refused(
    given: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None],
) -> None:
    with pytest.raises(ValueError, match="at least one number"):
        versions.compatible(*given)


def test_toolkits_rise_with_their_drivers() -> None:
    rows = sorted(versions.TOOLKITS.items(), key=lambda row: versions.parse(row[0]))
    drivers = [versions.parse(driver) for _, driver in rows]
    assert drivers == sorted(drivers)
    for cuda, driver in rows:
        assert versions.minor_rule(cuda, driver) is not False
        assert versions.parse(versions.highest(driver)) >= versions.parse(cuda)


def test_minor_version_rule() -> None:
    assert versions.minor_rule("12.8", "525.60.13") is True
    assert versions.minor_rule("12.0", "515.43.04") is False
    assert versions.minor_rule("13.1", "580.65.06") is True
    assert versions.minor_rule("99.0", "580.65.06") is None
    assert versions.needs("12.8") == "570.26"
    assert versions.highest("550.144.03") == "12.4.1"
    assert versions.highest("1.0") == ""


def test_all_parts_of_a_version_count() -> None:
    assert versions.older("570.124.04", "570.124.06")
    assert not versions.older("570.124.06", "570.124.06")
    assert not versions.older("no version", "570.124.06")


def test_fabric_manager_must_match_to_the_last_digit() -> None:
    line = "fabric manager NVIDIA GPU driver interface version {} don't match with driver version {}"
    assert roots(verdict_of(line.format("550.90.07", "550.90.12"))) == ["FM_VERSION_MISMATCH"]


def test_the_limit_that_counts_is_the_smallest_above() -> None:
    limits = {"/": "max", "/a": "1000", "/a/b": "max", "/a/b/c": "2000", "/x": "1"}
    assert effective("/a/b/c", limits) == (1000, "/a")
    assert effective("/a/b", limits) == (1000, "/a")
    assert effective("/", limits) == (None, "")
    assert effective("/a/b/c", {"/a/b/c": "500", "/a": "1000"}) == (500, "/a/b/c")
    assert effective("/a", {"/a": str(1 << 63)}) == (None, "")
