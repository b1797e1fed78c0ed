"""Device nodes: missing, of an old major, or closed to the user; and nvidia-uvm, whose major changes."""

from glassstack.diagnose.evidence import Evidence, Fact
from glassstack.diagnose.rules import ask
from glassstack.diagnose.rules.base import Match, Rule, every, has, matched, no, seen, some

_UVM_ERRORS = ("CUDA_999", "CUDA_30", "CUDA_304", "CUDA_3")
_UVM = has("nvidia-uvm", "fakegpu-uvm")


def _live(evidence: Evidence, path: str) -> Fact | None:
    """What /proc/devices says of the driver behind a uvm node."""
    name = "fakegpu-uvm" if "fakegpu" in path else "nvidia-uvm"
    return evidence.last("major", name=name)


def _stale_cdi(evidence: Evidence) -> Match | None:
    return _stale(evidence, "cdi_node")


def _stale_node(evidence: Evidence) -> Match | None:
    return _stale(evidence, "node")


def _stale(evidence: Evidence, kind: str) -> Match | None:
    """A uvm node, in a spec or in /dev, with another major than the driver has now."""
    for fact in evidence.all(kind, path=_UVM):
        live = _live(evidence, fact.get("path"))
        if live is not None and live.get("major") != fact.get("major"):
            return matched(
                [fact, live], path=fact.get("path"), stale=fact.get("major"), live=live.get("major")
            )
    return None


def _uvm_absent(evidence: Evidence) -> Match | None:
    """A list of majors, or of modules, that has the driver and not its uvm part."""
    majors = evidence.all("major")
    if majors and not any("uvm" in fact.get("name") for fact in majors):
        return matched(majors)
    modules = evidence.all("module", name=lambda name: name.startswith(("nvidia", "fakegpu")))
    if not majors and modules and not any("uvm" in fact.get("name") for fact in modules):
        return matched(modules)
    return None


def _slip(evidence: Evidence) -> Match | None:
    """Nodes whose mode is what 666 or 660 gives when it is read as decimal."""
    slipped = {"-w--wx-wT": "666", "-w--w-r-T": "660"}
    facts = [fact for fact in evidence.all("node") if fact.get("mode") in slipped]
    return matched(facts, decimal=slipped[facts[0].get("mode")]) if facts else None


def _closed(evidence: Evidence) -> Match | None:
    """Nodes of the driver that only an owner and a group may open."""
    facts = [
        fact
        for fact in evidence.all("node", path=lambda path: "cap" not in path)
        if len(fact.get("mode")) == 9 and fact.get("mode")[6:8] != "rw" and fact.get("mode")[0] == "r"
    ]
    return matched(facts) if facts else None


_REFUSED = some(
    ask.nvml(4), seen("open_failed", errno="EACCES", path=has("nvidia", "fakegpu")), ask.cuda(100, 800)
)
_AVC = seen("avc", tcontext=has("xserver_misc_device_t", "nvidia_device_t"))
_CLI_USER = some(seen("cli_user"), seen("driver_service_killed"))
_LOADED = some(
    seen("module", name=lambda name: name in ("nvidia", "fakegpu")),
    seen("proc_version"),
    seen("major", name=has("nvidia", "fakegpu")),
)
_UVM_WORKS = some(seen("smi_works"), seen("smi"), _LOADED)

RULES = (
    Rule(
        id="STALE_CDI_MAJOR",
        layer="runtime",
        when=_stale_cdi,
        cause="The CDI spec gives {path} major {stale}; the driver has {live} now. The container gets a "
        "node of nobody.",
        unlike="nvidia-smi works, since it does not need uvm; the node on the host is right.",
        next="Write the spec again (nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml) and remove "
        "the old one "
        "from /etc/cdi; enable nvidia-cdi-refresh.",
        confirm="grep -A2 nvidia-uvm in the spec shows major {live}; cuInit returns 0.",
        source="NVIDIA/nvidia-container-toolkit#1934; NVIDIA/NemoClaw PR 4733",
        over=_UVM_ERRORS,
    ),
    Rule(
        id="STALE_NODE_MAJOR",
        layer="nodes",
        when=_stale_node,
        cause="{path} was made with major {stale}; the driver has {live} now.",
        unlike="root may still work, because a setuid helper makes a right node for it.",
        next="Remove {path} and make it again: rm {path}; nvidia-modprobe -u -c 0. Take the number out of "
        "udev rules "
        "and scripts.",
        confirm="ls -l {path} shows {live}.",
        source="negativo17/nvidia-driver#29",
        over=_UVM_ERRORS,
    ),
    Rule(
        id="UVM_STALE_AFTER_SUSPEND",
        layer="module",
        when=every(ask.cuda(999, 30), seen("suspend"), no(_uvm_absent)),
        cause="nvidia-uvm lost its state when the machine slept.",
        unlike="It worked before the suspend, and the major is the right one.",
        next="Stop CUDA programs, then rmmod nvidia_uvm && modprobe nvidia_uvm; enable nvidia-suspend and "
        "nvidia-resume (NVreg_PreserveVideoMemoryAllocations=1).",
        confirm="cuInit returns 0.",
        source="ollama/ollama#2934; pytorch/pytorch#49081",
        over=_UVM_ERRORS,
    ),
    Rule(
        id="UVM_NOT_LOADED",
        layer="module",
        when=every(some(ask.cuda(999, 30), seen("open_failed", path=_UVM)), _uvm_absent),
        cause="nvidia-uvm is not loaded: CUDA can't start without it, nvidia-smi can.",
        unlike="The list of majors or modules has the driver, and no uvm.",
        next="modprobe nvidia_uvm (nvidia-modprobe -u -c 0 also makes the node); load it at boot.",
        confirm="grep nvidia-uvm /proc/devices",
        source="gorgonia/cu#2; ggml-org/llama.cpp#7218",
        over=(*_UVM_ERRORS, "UVM_NODE_MISSING"),
    ),
    Rule(
        id="UVM_NODE_MISSING",
        layer="nodes",
        when=every(
            some(
                seen("node_absent", path=_UVM),
                seen("nodes_absent", path=_UVM),
                seen("open_failed", errno="ENOENT", path=_UVM),
            ),
            no(seen("cdi_stat")),
        ),
        cause="{path} did not exist when it was asked for: the module was not loaded yet, or nobody made "
        "its node.",
        unlike="An old major would open and fail with ENXIO.",
        next="nvidia-modprobe -u -c 0 before containers start (nvidia-persistenced does so at boot).",
        confirm="ls -l /dev/nvidia-uvm",
        source="NVIDIA/nvidia-docker#288, #139, #145",
        over=(*_UVM_ERRORS, "CLI_*"),
    ),
    Rule(
        id="NODES_NOT_CREATED",
        layer="nodes",
        when=every(
            some(
                seen("nodes_absent", path=has("/dev/nvidia*", "/dev/nvidia0", "ctl")),
                seen("nodes_absent", path=has("fakegpu")),
            ),
            _LOADED,
        ),
        cause="The module is loaded, and there are no nodes in /dev: neither udev nor nvidia-modprobe made "
        "them.",
        unlike="Were the module not loaded, there would be nothing to make nodes for.",
        next="nvidia-modprobe -c 0 (and -u), or run nvidia-smi once as root; enable nvidia-persistenced or "
        "the udev rule.",
        confirm="ls -l /dev/nvidia*",
        source="kubernetes-sigs/dra-driver-nvidia-gpu PR 1458",
        over=("NVML_9", "SMI_NO_DRIVER", "CUDA_100"),
    ),
    Rule(
        id="MODE_DECIMAL_OCTAL_SLIP",
        layer="permissions",
        when=_slip,
        cause="{path} has mode {mode}: that is decimal {decimal} taken for a mode. The setting lacks its "
        "leading 0.",
        unlike="A closed mode such as 0660 has no odd bits.",
        next="Write NVreg_DeviceFileMode=0{decimal} (with the 0) in /etc/modprobe.d, reload the module or "
        "reboot.",
        confirm="grep DeviceFileMode /proc/driver/nvidia/params shows 438 (0666) or 432 (0660).",
        source="vowstar/vowstar-overlay#6",
        over=("NODE_MODE", "NVML_4", "CUDA_100"),
    ),
    Rule(
        id="SELINUX",
        layer="permissions",
        when=_AVC,
        cause="SELinux forbids the container's domain to use the GPU's nodes (type {tcontext}).",
        unlike="The file mode would allow it; the denial is in the audit log.",
        next="setsebool -P container_use_devices 1, or run the container with --security-opt label=disable.",
        confirm="ausearch -m avc -ts recent shows no new denial.",
        source="fedora-selinux/selinux-policy#1695; redhat-et/triton-dev-containers#61",
        over=("NVML_4", "NODE_MODE", "CUDA_100"),
    ),
    Rule(
        id="TOOLKIT_USER",
        layer="permissions",
        when=every(_CLI_USER, _closed),
        cause="The toolkit works as an unprivileged user, and the nodes are open to {owner}:{group} only.",
        unlike="Open nodes (0666) would not care who asks.",
        next='Set user = "root:{group}" in the [nvidia-container-cli] part of config.toml, or open the '
        "nodes.",
        confirm="nvidia-container-cli info works as that user.",
        source="canonical/lxd#5625",
        over=("CLI_*", "NODE_MODE", "NVML_4"),
    ),
    Rule(
        id="NODE_MODE",
        layer="permissions",
        when=every(_closed, _REFUSED, no(_AVC), no(_CLI_USER), no(_slip)),
        cause="{path} is {mode} {owner}:{group}: only that group may open it, and this user is not in it "
        "(a rootless "
        "container loses its extra groups).",
        unlike="A device cgroup gives EPERM and NVML's Unknown Error; here it is a matter of the file mode.",
        next="Add the user to {group} (rootless podman: --group-add keep-groups), or remove "
        "NVreg_DeviceFileMode and "
        "its group from /etc/modprobe.d to get 0666 back.",
        confirm="id names {group}; nvidia-smi works as that user.",
        source="NVIDIA/nvidia-container-toolkit#210; NVIDIA/nvidia-docker#1608; "
        "openSUSE/nvidia-driver-G06#52",
        over=("NVML_4", "CUDA_100", "CUDA_800"),
    ),
)
