"""Questions that several rules ask: versions, error codes, what GPU it is, the last state of a list. Pure."""

import re

from glassstack.diagnose.evidence import Evidence, Fact
from glassstack.diagnose.rules.base import Match, Predicate, matched
from glassstack.diagnose.words import CUDA_BY_NAME, NVML_BY_TEXT

_CUDA_TEXTS = {
    "systemnotyetinitialized": 802,
    "unsupporteddisplaydriver": 803,
    "systemdrivermismatch": 803,
    "forwardcompatibilitywasattempted": 804,
    "compatnotsupportedondevice": 804,
    "insufficient": 35,
    "insufficientdriver": 35,
    "nocudacapabledevice": 100,
    "stublibrary": 34,
    "illegalmemoryaccess": 700,
    "illegaladdress": 700,
    "jitcompilerlibrary": 221,
    "jitcompilernotfound": 221,
    "memoryallocation": 2,
    "outofmemory": 2,
    "unknown": 999,
    "systemnotready": 802,
    "nokernelimagefordevice": 209,
    "launchfailure": 719,
    "devicesunavailable": 46,
    "initializationerror": 3,
    "eccuncorrectable": 214,
}
_CONSUMER = re.compile(r"GeForce|GTX|\bRTX (?:[2-5]0[5-9]0)|TITAN", re.IGNORECASE)
_FABRIC = re.compile(r"SXM|HBM3|HGX|DGX|GB200|GB300|\bB[23]00|\bH200|A100-SXM", re.IGNORECASE)
_BLACKWELL = re.compile(r"\bG?B[123]00", re.IGNORECASE)
_LIBCUDA = re.compile(r"lib(?:cuda|fakecuda)\.so\.(?P<version>\d+\.[\d.]*\d)$")


def cuda_code(fact: Fact) -> int | None:
    """The number of a CUDA error line, told by number, name or text; None for none in the table."""
    if fact.get("code"):
        return int(fact.get("code"))
    name = re.sub(r"[^a-z]", "", fact.get("name").lower())
    return CUDA_BY_NAME.get(name) or _CUDA_TEXTS.get(name)


def nvml_code(fact: Fact) -> int | None:
    """The number of an NVML error line; a text that was cut off counts when it starts a known one."""
    if fact.get("code"):
        return int(fact.get("code"))
    text = (fact.get("text") or fact.get("name").replace("_", " ")).lower().strip()
    exact = NVML_BY_TEXT.get(text)
    if exact is not None or len(text) < 4:
        return exact
    return next(
        (code for known, code in NVML_BY_TEXT.items() if known.startswith(text) or text.startswith(known)),
        None,
    )


def cuda(*codes: int) -> Predicate:
    """A CUDA error with one of these numbers."""

    def look(evidence: Evidence) -> Match | None:
        facts = [fact for fact in evidence.all("cuda_error") if cuda_code(fact) in codes]
        return matched(facts[:3], code=str(cuda_code(facts[0]))) if facts else None

    return look


def nvml(*codes: int) -> Predicate:
    """An NVML error with one of these numbers."""

    def look(evidence: Evidence) -> Match | None:
        facts = [fact for fact in evidence.all("nvml_error") if nvml_code(fact) in codes]
        return matched(facts[:3]) if facts else None

    return look


def driver(evidence: Evidence) -> tuple[str, Fact] | None:
    """The version of the loaded kernel driver, and the line that says so."""
    for kind, field in (
        ("proc_version", "version"),
        ("api_mismatch", "module"),
        ("smi", "driver"),
        ("smi_q", "driver"),
        ("fm_mismatch", "driver"),
        ("module_loaded", "version"),
    ):
        fact = evidence.last(kind)
        if fact is not None and fact.get(field):
            return fact.get(field), fact
    return None


def library(evidence: Evidence) -> tuple[str, Fact] | None:
    """The version of the driver libraries, and the line that says so."""
    for kind, field in (("api_mismatch", "client"), ("nvml_library", "version")):
        fact = evidence.last(kind)
        if fact is not None:
            return fact.get(field), fact
    for fact in evidence.all("mapped"):
        version = _LIBCUDA.search(fact.get("path"))
        if version and "/compat/" not in fact.get("path"):
            return version["version"], fact
    return None


def product(form: re.Pattern[str]) -> Predicate:
    """A GPU whose name fits."""

    def look(evidence: Evidence) -> Match | None:
        facts = [fact for fact in evidence.all("gpu") if form.search(fact.get("name"))]
        return matched(facts[:1], gpu=facts[0].get("name")) if facts else None

    return look


consumer = product(_CONSUMER)
"""A GeForce, TITAN or the like: no forward compatibility."""
on_fabric = product(_FABRIC)
"""A GPU that sits on NVSwitch."""
blackwell = product(_BLACKWELL)


def compat_path(evidence: Evidence) -> tuple[str, Fact] | None:
    """The libcuda that programs get, where it is one of a compat folder."""
    mapped = [
        fact
        for fact in evidence.all("mapped")
        if "/compat/" in fact.get("path") and "cuda" in fact.get("path")
    ]
    if mapped:
        return mapped[0].get("path"), mapped[0]
    first = next(
        (f for f in evidence.all("ldconfig") if f.get("name") in ("libcuda.so.1", "libfakecuda.so.1")), None
    )
    if first is not None and "/compat" in first.get("path"):
        return first.get("path"), first
    for fact in evidence.all("ld_library_path"):
        path = next((part for part in fact.get("path").split(":") if "compat" in part), "")
        if path:
            return path, fact
    return None


def compat(evidence: Evidence) -> Match | None:
    """That a compat libcuda is what programs get; ``version`` of it where a path tells."""
    found = compat_path(evidence)
    if found is None:
        return None
    version = _LIBCUDA.search(found[0])
    return matched([found[1]], compat=found[0], version=version["version"] if version else "")


def after(first: Predicate, kind: str, window: int = 10_000) -> Predicate:
    """``first``, and a line of that kind anywhere; only the former's fields are kept."""

    def look(evidence: Evidence) -> Match | None:
        match, other = first(evidence), evidence.first(kind)
        return None if match is None or other is None else Match(match.values, (*match.proof, other))

    return look
