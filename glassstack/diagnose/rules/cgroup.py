"""Device cgroups: who took the permission away, and who never gave it."""

from glassstack.diagnose.evidence import Evidence, Fact
from glassstack.diagnose.rules import ask
from glassstack.diagnose.rules.base import Match, Rule, every, has, matched, no, seen, some

_CONTROL = has("nvidia", "fakegpu")
_EPERM = seen("open_failed", errno="EPERM", path=_CONTROL)
_MIG = some(seen("mig_on"), seen("node", path=has("nvidia-cap")))


def _rules_lost(evidence: Evidence) -> Match | None:
    """A list of device rules that, at its last reading, allows the GPUs' major no more than mknod."""
    rules = [fact for fact in evidence.all("device_rule") if fact.get("major") in ("195", "*")]
    if not rules:
        return None
    last = _last_list(rules)
    if any("r" in fact.get("access") for fact in last) or not any(f.get("major") == "195" for f in last):
        return None
    return matched([*last, *evidence.all("daemon_reload")[:1]])


def _last_list(rules: list[Fact]) -> list[Fact]:
    """The rules of one reading: neighbouring lines of one file."""
    last = [rules[-1]]
    for fact in reversed(rules[:-1]):
        where = last[0].where
        if fact.where.file != where.file or where.line - fact.where.line > 1:
            break
        last.insert(0, fact)
    return last


_SYSTEMD = some(
    seen("daemon_reload"),
    seen("native_cgroup", driver="systemd"),
    seen("native_cgroup", option="systemd"),
    seen("systemd_cgroup"),
)
_DENIED = some(ask.nvml(999, 17), _EPERM)
_OFF = seen("no_cgroups", value="true", off="")
_STATIC = seen("cpu_manager", policy="static")
_LINKS = seen("dev_char")
_ERRORS = ("NVML_999", "NVML_17", "CUDA_999", "CUDA_100", "CGROUP_DENY")

RULES = (
    Rule(
        id="CGROUP_RELOAD",
        layer="cgroup",
        when=some(_rules_lost, every(_DENIED, _SYSTEMD, no(_OFF), no(_STATIC), no(_LINKS))),
        cause="systemd rebuilt the container's device rules on a reload and left out the GPUs, which it "
        "does not know of.",
        unlike="It worked until the reload; nodes and file modes are unchanged.",
        next="Restart the container. For good: nvidia-ctk system create-dev-char-symlinks --create-all, or "
        "CDI, or "
        "the cgroupfs driver.",
        confirm="ls -l /dev/char/195:255 exists; after systemctl daemon-reload nvidia-smi in the container "
        "still works.",
        source="NVIDIA/nvidia-container-toolkit#48, #251",
        over=_ERRORS,
    ),
    Rule(
        id="CGROUP_RESET_BY_KUBELET",
        layer="cgroup",
        when=every(_DENIED, _STATIC),
        cause="The kubelet's static CPU manager updates the container and so resets its device rules.",
        unlike="The GPU is lost seconds after the pod starts, with no systemd reload.",
        next="Run the device plugin with PASS_DEVICE_SPECS=true (and as privileged), or use CPU policy none.",
        confirm="nvidia-smi in the pod still works a minute after it started.",
        source="NVIDIA/nvidia-docker#966",
        over=_ERRORS,
    ),
    Rule(
        id="CGROUP_EBPF_REPLACED",
        layer="cgroup",
        when=every(_DENIED, _LINKS, no(_OFF), no(_STATIC)),
        cause="The cgroup's device program was replaced by one without the GPUs, although /dev/char has "
        "their links.",
        unlike="With the links missing, a plain systemd reload would explain it.",
        next="Restart the container; give it the devices through CDI or --device, so that every rebuild "
        "has them.",
        confirm="bpftool cgroup show CGROUP: the id of the cgroup_device program changes when the GPU is "
        "lost.",
        source="NVIDIA/nvidia-container-toolkit#192",
        over=_ERRORS,
    ),
    Rule(
        id="NO_CGROUPS_MISUSED",
        layer="cgroup",
        when=every(_OFF, some(_DENIED, seen("docker_run", sudo="sudo")), no(seen("rootless"))),
        cause="no-cgroups = true is left in the toolkit's config.toml, so nobody allows the devices for a "
        "rootful container.",
        unlike="For rootless containers the setting is right.",
        next="Set no-cgroups = false in /etc/nvidia-container-runtime/config.toml and start the container "
        "again.",
        confirm="nvidia-smi in a new container works.",
        source="NVIDIA/nvidia-container-toolkit#580",
        over=_ERRORS,
    ),
    Rule(
        id="SLURM_CGROUP_NOT_WRITABLE",
        layer="cgroup",
        when=seen("devices_allow", why="permission denied"),
        cause="The toolkit's hook tries to change Slurm's device cgroup ({path}) without the right to.",
        unlike="The devices themselves are not denied: Slurm allows them by itself.",
        next="Set no-cgroups = true for the hook (in its config.toml): the job's cgroup already allows the "
        "GPUs.",
        confirm="The container starts and nvidia-smi -L in it lists the job's GPUs.",
        source="NVIDIA/libnvidia-container#313",
        over=("CLI_MOUNT",),
    ),
    Rule(
        id="ROOTLESS_NO_CGROUPS",
        layer="cgroup",
        when=seen("bpf_query", why=has("not permitted")),
        cause="A rootless runtime may not touch the device cgroup, and the toolkit's hook tries to.",
        unlike="With root the same call is allowed.",
        next="Set no-cgroups = true in the toolkit's config.toml for rootless use, or use CDI.",
        confirm="The container starts.",
        source="NVIDIA/libnvidia-container#154; gpustack/gpustack#391",
        over=("CLI_MOUNT",),
    ),
    Rule(
        id="MIG_CAPS_DENIED",
        layer="cgroup",
        when=every(ask.nvml(4), _MIG, no(seen("gfd"))),
        cause="MIG is on, and the capability nodes it needs (nvidia-cap1, nvidia-cap2) are not allowed in "
        "the "
        "container's device cgroup, or not readable there.",
        unlike="Without MIG the same call needs no capability node.",
        next="Use a toolkit that allows the caps (before 1.18, or fixed), or pass "
        "/dev/nvidia-caps/nvidia-cap1 and cap2 "
        "as devices.",
        confirm="cat /dev/nvidia-caps/nvidia-cap2 in the container does not say 'Operation not permitted'.",
        source="NVIDIA/nvidia-container-toolkit#1740; NVIDIA/k8s-device-plugin#1683",
        over=("NVML_4", "NODE_MODE"),
    ),
    Rule(
        id="MIG_MONITOR_ENV",
        layer="env",
        when=every(ask.nvml(4), seen("gfd"), no(seen("mig_monitor"))),
        cause="The feature discovery watches all MIG devices and was not given the right to: "
        "NVIDIA_MIG_MONITOR_DEVICES is unset.",
        unlike="With MIG off it needs no such right.",
        next="Set NVIDIA_MIG_MONITOR_DEVICES=all in its pod, which must be privileged or have SYS_ADMIN.",
        confirm="Its log lists the MIG resources.",
        source="NVIDIA/gpu-feature-discovery#6",
        over=("NVML_4", "MIG_CAPS_DENIED"),
    ),
    Rule(
        id="CGROUP_DENY",
        layer="cgroup",
        when=every(_EPERM, no(_OFF)),
        cause="Opening {path} gives EPERM: the node is there, and a device cgroup (rules or eBPF) forbids "
        "it.",
        unlike="A wrong file mode or SELinux gives EACCES, a missing node ENOENT, no driver ENXIO.",
        next="See what the cgroup allows (devices.list, or bpftool cgroup show), and give the container "
        "the device "
        "(--gpus, --device, CDI); then start it again.",
        confirm="strace -e trace=openat nvidia-smi shows nvidiactl opened.",
        source="NVIDIA/nvidia-docker#1182",
        over=("NVML_999", "NVML_17", "CUDA_999", "CUDA_100"),
    ),
)
