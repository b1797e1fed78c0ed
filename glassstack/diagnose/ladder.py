"""The debugging ladder: one rung per layer, what was seen of it, and where it first breaks. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from glassstack.diagnose.evidence import Evidence, Fact
from glassstack.diagnose.rules import LAYERS
from glassstack.diagnose.verdict import Finding, Verdict

TITLES = {
    "hardware": "hardware seen",
    "module": "module loaded",
    "versions": "versions agree",
    "nodes": "nodes and majors",
    "permissions": "permissions",
    "cgroup": "cgroup rules and limits",
    "libraries": "libraries",
    "runtime": "runtime, toolkit, CDI",
    "env": "environment",
    "limits": "limits of the process",
    "fabric": "fabric manager",
    "xid": "recent Xids",
    "app": "the program",
}
KINDS: Mapping[str, tuple[str, ...]] = {
    "hardware": ("pci_nvidia", "gpu", "rm_init", "fallen_off_bus", "gfw_boot", "probe_failed"),
    "module": (
        "module",
        "proc_version",
        "module_loaded",
        "module_rejected",
        "bound",
        "module_busy",
        "hung_task",
    ),
    "versions": ("proc_version", "nvml_library", "api_mismatch", "smi", "package", "upgraded", "requirement"),
    "nodes": ("node", "nodes_absent", "node_absent", "major"),
    "permissions": ("node", "avc", "param", "open_failed"),
    "cgroup": (
        "device_rule",
        "no_cgroups",
        "memory_limit",
        "oom",
        "self_cgroup",
        "bpf_query",
        "devices_allow",
    ),
    "libraries": ("ldconfig", "mapped", "library_absent", "file_exists"),
    "runtime": (
        "cdi_node",
        "cdi_name",
        "cli_error",
        "default_runtime",
        "plugin_registered",
        "admission",
        "no_gpu_driver",
    ),
    "env": ("visible", "ld_library_path", "require_env"),
    "limits": ("memlock", "map_count", "reg_mr", "pin_failed"),
    "fabric": ("fm_mismatch", "fm_nothing", "fm_state", "sxid", "nvswitch"),
    "xid": ("xid",),
    "app": ("cuda_error", "nvml_error", "rm_control"),
}
SHOWN = 3


@dataclass(frozen=True)
class Rung:
    """One layer. ``state``: "broken", "note", "seen" or "unseen"; ``ids`` of the findings there."""

    layer: str
    state: str
    ids: tuple[str, ...]
    evidence: tuple[Fact, ...]
    more: int

    @property
    def title(self) -> str:
        """For people."""
        return TITLES[self.layer]


def climb(evidence: Evidence, verdict: Verdict) -> tuple[Rung, ...]:
    """All rungs, from the hardware up."""
    return tuple(_rung(layer, evidence, verdict) for layer in LAYERS)


def first_broken(rungs: tuple[Rung, ...]) -> Rung | None:
    """Where the ladder breaks."""
    return next((rung for rung in rungs if rung.state == "broken"), None)


def _rung(layer: str, evidence: Evidence, verdict: Verdict) -> Rung:
    here: list[Finding] = [one for one in verdict.findings if one.rule.layer == layer]
    facts = [fact for kind in KINDS[layer] for fact in evidence.all(kind)]
    facts.sort(key=evidence.position)
    if any(not one.rule.note for one in here):
        state = "broken"
    else:
        state = "note" if here else "seen" if facts else "unseen"
    return Rung(layer, state, tuple(one.id for one in here), tuple(facts[:SHOWN]), max(0, len(facts) - SHOWN))
