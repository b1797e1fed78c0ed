"""Container runtimes, CDI, the device plugin and the kubelet."""

from glassstack.diagnose.evidence import Evidence
from glassstack.diagnose.rules.base import Match, Rule, every, has, matched, no, seen, some


def _name_missing(evidence: Evidence) -> Match | None:
    """A CDI device that was asked for and is not in the list of names."""
    for fact in evidence.all("cdi_unresolvable"):
        listed = evidence.all("cdi_name", kind=fact.get("kind"))
        if not any(one.get("name") == fact.get("name") for one in listed):
            names = ", ".join(one.get("name") for one in listed[:6]) or "none (no list was given)"
            return matched([fact, *listed[:3]], names=names)
    return None


def _class_missing(evidence: Evidence) -> Match | None:
    """The nvidia runtime is there, it is not the default, and no pod asks for it by class."""
    default = evidence.last("default_runtime")
    if evidence.first("runtime_class", name=has("nvidia")) or (default and "nvidia" in default.get("name")):
        return None
    runtime, registered = evidence.first("runtime_defined"), evidence.first("plugin_registered")
    asked = evidence.first("gpu_request") or evidence.first("plugin_incompatible")
    proof = [fact for fact in (runtime, registered, default, asked) if fact is not None]
    return matched(proof) if len(proof) > 1 and (runtime or default) else None


def _env(evidence: Evidence) -> Match | None:
    everything = evidence.first("visible", value="all")
    if everything is None or evidence.first("gpu_request", count=lambda text: text != "0"):
        return None
    privileges = evidence.first("insufficient_list")
    pod = evidence.first("runtime_class") or evidence.first("plugin_registered")
    proof = [fact for fact in (privileges, everything, pod) if fact is not None]
    return matched([everything, *proof]) if privileges or pod else None


RULES = (
    Rule(
        id="TOOLKIT_NOT_INSTALLED",
        layer="runtime",
        when=seen("no_gpu_driver"),
        cause="Docker knows no way to give a container a GPU: the NVIDIA container toolkit is not "
        "installed (or not for this "
        "Docker, as with the snap).",
        unlike="A toolkit that is there and fails names nvidia-container-cli in the error.",
        next="Install nvidia-container-toolkit, run nvidia-ctk runtime configure --runtime=docker, restart "
        "docker. Look "
        "whether Docker is the snap: snap list docker.",
        confirm="docker info | grep -i runtimes names nvidia.",
        source="NVIDIA/nvidia-docker#1637, #1642",
    ),
    Rule(
        id="TOOLKIT_SECCOMP_BUG",
        layer="runtime",
        when=every(seen("ldcache_error"), seen("clock_denied")),
        cause="The toolkit's own seccomp filter kills ldconfig: a newer libc makes a call (clock_gettime) "
        "that it does not allow.",
        unlike="A broken ldconfig in the image would fail with its own message.",
        next="Upgrade the container toolkit (libnvidia-container).",
        confirm="The container starts.",
        source="NVIDIA/libnvidia-container PR 324",
        over=("CLI_LDCACHE", "LDCACHE_FAILED"),
    ),
    Rule(
        id="LDCACHE_FAILED",
        layer="runtime",
        when=every(seen("ldcache_error"), no(seen("clock_denied"))),
        cause="The toolkit could not run ldconfig for the container; this evidence does not say why.",
        next="See which call fails.",
        confirm="strace -f nvidia-container-cli configure …",
        decide="strace -f -o /tmp/cli.strace nvidia-container-cli … ; grep -e EPERM -e SIGKILL -e SIGSYS "
        "/tmp/cli.strace",
        source="NVIDIA/libnvidia-container",
        over=("CLI_LDCACHE",),
    ),
    Rule(
        id="CDI_NAME_MISSING",
        layer="runtime",
        when=_name_missing,
        cause="The runtime asked for CDI device {kind}={name}; no spec has that name. There are: {names}.",
        unlike="A spec that can't be loaded gives an error of its own.",
        next="Write the spec again so that it has that name (nvidia-ctk cdi generate "
        "--device-name-strategy=uuid), or ask for "
        "one that is there.",
        confirm="nvidia-ctk cdi list",
        source="NVIDIA/nvidia-container-toolkit#1239, #1895",
    ),
    Rule(
        id="STALE_CDI_PATH",
        layer="runtime",
        when=seen("cdi_stat"),
        cause="The CDI spec names {path}, which is not there: the spec is older than the machine's present "
        "devices.",
        unlike="A stale major is found only when the device is opened.",
        next="Write the spec again (nvidia-ctk cdi generate), and look for a second one: /var/run/cdi goes "
        "before /etc/cdi.",
        confirm="Each path in the spec exists.",
        source="NVIDIA/nvidia-container-toolkit#885",
    ),
    Rule(
        id="CDI_BEFORE_DRIVER",
        layer="runtime",
        when=every(seen("cdi_not_loaded"), some(seen("cdi_service"), seen("cdi_not_loaded"))),
        cause="The CDI spec was to be written before the driver was loaded, so there is none, or an old one.",
        unlike="Later in the boot the same command succeeds.",
        next="systemctl restart nvidia-cdi-refresh now; make it start after the driver "
        "(After=systemd-modules-load.service, "
        "or the path unit).",
        confirm="nvidia-ctk cdi list names the GPUs after the next boot.",
        source="NVIDIA/nvidia-container-toolkit#1611",
        over=("NVML_9",),
    ),
    Rule(
        id="PLUGIN_WITHOUT_NVIDIA_RUNTIME",
        layer="runtime",
        when=every(seen("plugin_incompatible"), some(seen("plugin_no_nvml"), seen("library_absent"))),
        cause="The device plugin's own pod has no driver libraries: it was not started by the nvidia "
        "runtime.",
        unlike="On a node with no GPU the plugin has nothing to do, and the same text is right.",
        next="Make nvidia the default runtime of containerd or docker on GPU nodes, or set "
        "runtimeClassName: nvidia for the "
        "plugin.",
        confirm="kubectl logs of the plugin: Registered device plugin for 'nvidia.com/gpu'.",
        source="NVIDIA/k8s-device-plugin#655, #479",
        over=("NVML_12", "LIBRARY_NOT_FOUND"),
    ),
    Rule(
        id="RUNTIME_CLASS_MISSING",
        layer="runtime",
        when=_class_missing,
        cause="The nvidia runtime is not the default, and no runtimeClassName asks for it: pods get the "
        "GPU resource, and none "
        "of its libraries.",
        unlike="With nvidia as default or by class the runtime would have injected them.",
        next="Set runtimeClassName: nvidia (and make the RuntimeClass), or make nvidia the default runtime "
        "and restart.",
        confirm="kubectl exec POD -- nvidia-smi -L",
        source="NVIDIA/k8s-device-plugin#406, #107, #250",
        over=("LIBRARY_NOT_FOUND", "PLUGIN_WITHOUT_NVIDIA_RUNTIME"),
    ),
    Rule(
        id="PLUGIN_RACE",
        layer="runtime",
        when=every(seen("kubelet_sock"), no(seen("admission"))),
        cause="The device plugin started before kubelet.sock was there, and gave up.",
        unlike="A plugin that is up watches the file and registers again.",
        next="Restart the plugin once the kubelet is up (a restart policy does); upgrade it to one that "
        "retries.",
        confirm="Its log: Registered device plugin for 'nvidia.com/gpu' with Kubelet.",
        source="bottlerocket-os/bottlerocket#4250",
    ),
    Rule(
        id="PLUGIN_NOT_REREGISTERED",
        layer="runtime",
        when=seen("admission"),
        cause="The kubelet was restarted and had no {resource} yet when the pod came: the device plugin "
        "had not registered "
        "again.",
        unlike="A GPU that is really unhealthy has an Xid in the plugin's log.",
        next="Delete the failed pod, or let its controller make a new one; if allocatable stays 0, restart "
        "the plugin's pod.",
        confirm="kubectl describe node | grep nvidia.com/gpu shows it allocatable.",
        source="kubernetes/kubernetes#133382, #125579",
        over=("PLUGIN_RACE",),
    ),
    Rule(
        id="PLUGIN_KEEPS_UNHEALTHY",
        layer="runtime",
        when=every(seen("plugin_unhealthy"), seen("xid", xid="94")),
        cause="The plugin took Xid 94 (a contained error) for fatal and never takes the GPU back.",
        unlike="After Xid 79 or 95 the GPU is unhealthy for real.",
        next="Restart the plugin's pod; exclude 94 with DP_DISABLE_HEALTHCHECKS=94; reset the GPU when "
        "convenient.",
        confirm="kubectl describe node shows all GPUs allocatable.",
        source="NVIDIA/gpu-operator#1065",
        over=("XID_94",),
    ),
    Rule(
        id="ENV_INJECTION",
        layer="env",
        when=_env,
        cause="The image sets NVIDIA_VISIBLE_DEVICES=all: a pod that asked for no GPU gets them all, or is "
        "refused.",
        unlike="A pod with a resource request has the plugin's own value.",
        next="Use the volume-mounts strategy (accept-nvidia-visible-devices-as-volume-mounts = true, "
        "envvar-when-unprivileged = "
        "false) on node and plugin.",
        confirm="A pod without a request has no /dev/nvidia0.",
        source="NVIDIA/k8s-device-plugin#87, #203; NVIDIA/gpu-operator#421",
        over=("CLI_INIT", "NVML_4"),
    ),
)
