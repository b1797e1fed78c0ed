"""A rule for each Xid: made from the table of numbers, grouped by number, with what the lines add."""

from glassstack.decoders.xid import XIDS
from glassstack.diagnose.evidence import Evidence, Fact
from glassstack.diagnose.rules.base import Match, Predicate, Rule, matched, seen

NVLINK5 = range(144, 151)
ROOTS = (79, 48, 95, 119, 120, 62, 74, 109, 110, 140, 143, 61, 64, 136, 155, 158, 46, 171, 172)
"""Xids that bring others with them."""
FALLOUT = ("XID_45", "XID_154", "XID_43", "XID_63", "XID_64")
HARMLESS = (37, 38, 43, 44, 63, 66, 67, 92, 93, 121, 137, 141, 157, 160, 161)
_SOURCE = "NVIDIA Xid catalog"
_MORE = {
    79: ("FALLEN_OFF_BUS", "XID_119", "XID_120", "NVML_*", "CUDA_999", "CUDA_100", "XID_109"),
    62: ("XID_109", "XID_119", "XID_61"),
    48: ("XID_94", "XID_95", "XID_171", "XID_172"),
    95: ("XID_94",),
    119: ("XID_120", "XID_109", "NVML_10"),
    31: ("CUDA_700", "CUDA_719", "XID_43"),
    13: ("CUDA_700", "CUDA_719", "XID_43"),
}


def facts_of(evidence: Evidence, number: int) -> list[Fact]:
    """Lines of that Xid, or lines that name it as their cause when its own line was not given."""
    return evidence.all("xid", xid=number) or evidence.all("xid", by=number)


def _look(number: int) -> Predicate:
    def look(evidence: Evidence) -> Match | None:
        facts = facts_of(evidence, number)
        if not facts:
            return None
        gpus = list(dict.fromkeys(fact.get("pci") for fact in facts))
        return matched(
            facts,
            gpus=", ".join(gpus[:8]),
            detail=_detail(number, facts),
            action=_action(number, evidence, gpus),
        )

    return look


def _detail(number: int, facts: list[Fact]) -> str:
    """What the lines say beyond the number."""
    first = facts[0]
    calls = dict.fromkeys(fact.get("rpc") for fact in facts if fact.get("rpc"))
    if calls:
        return f" Asked of it: {'; '.join(list(calls)[:4])}."
    if first.get("fault"):
        hint = " A null pointer: the program's fault." if not first.get("va").strip("0x_") else ""
        return (
            f" {first.get('engine')} {first.get('access')} at {first.get('va')}, {first.get('fault')}.{hint}"
        )
    if first.get("by") and first.get("xid") != str(number):
        return " Its own line is not in this evidence; later ones name it as their cause."
    if first.get("action"):
        return f" Now: {facts[-1].get('action')}."
    if first.get("unit"):
        links = dict.fromkeys(
            f"{one.get('unit')} {one.get('severity')} on link {one.get('link')}" for one in facts
        )
        return f" {'; '.join(list(links)[:4])}."
    return ""


def _action(number: int, evidence: Evidence, gpus: list[str]) -> str:
    """The catalog's action; the driver's own word (Xid 154) on the same GPU goes before it."""
    own = facts_of(evidence, number)
    if number in NVLINK5 and all(fact.get("severity") == "Nonfatal" for fact in own):
        return "no reset is needed for a nonfatal event; if it repeats on one link, check it and its partner"
    told = [fact for fact in evidence.all("xid", xid=154) if fact.get("action") and fact.get("pci") in gpus]
    if told and number != 154:
        return f"{XIDS[number].action}; the driver itself says: {told[-1].get('action')}"
    return told[-1].get("action") if told else XIDS[number].action


def _rule(number: int) -> Rule:
    meaning = XIDS[number]
    over = (*(FALLOUT if number in ROOTS else ()), *_MORE.get(number, ()))
    if number in NVLINK5:
        over = ("XID_45", "XID_154", *(f"XID_{n}" for n in NVLINK5 if n != number))
    return Rule(
        id=f"XID_{number}",
        layer="xid",
        when=_look(number),
        cause=f"Xid {number} on {{gpus}}: {meaning.what}.{{detail}}",
        next="{action}.",
        confirm="dmesg | grep Xid shows no new one after that.",
        source=_SOURCE,
        over=tuple(one for one in over if one != f"XID_{number}"),
        note=number in HARMLESS,
    )


def _unknown(evidence: Evidence) -> Match | None:
    facts = [fact for fact in evidence.all("xid") if int(fact.get("xid")) not in XIDS]
    return matched(facts, number=facts[0].get("xid")) if facts else None


RULES = (
    *(_rule(number) for number in sorted(XIDS)),
    Rule(
        id="XID_UNKNOWN",
        layer="xid",
        when=_unknown,
        cause="Xid {number} on {pci} is not in the table: {rest}",
        next="Look it up in NVIDIA's Xid catalog; collect nvidia-bug-report.log.",
        confirm="dmesg | grep Xid",
        source=_SOURCE,
    ),
    Rule(
        id="SXID",
        layer="fabric",
        when=seen("sxid"),
        cause="SXid {xid} on the NVSwitch at {pci}: {rest}",
        next="Look it up in the Fabric Manager guide; a fatal one wants the fabric reset (all GPUs and "
        "switches), then the node.",
        confirm="dmesg | grep SXid",
        source="NVIDIA Fabric Manager guide",
        over=("XID_74", "XID_45", "CUDA_802"),
    ),
)
