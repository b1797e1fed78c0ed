"""NVSwitch machines: Fabric Manager and what it needs."""

from glassstack.diagnose.rules import ask
from glassstack.diagnose.rules.base import Rule, every, no, one_of, seen, some

_DOWN = seen("fm_state", state=one_of("inactive", "failed", "could not be found", "not-found"))

RULES = (
    Rule(
        id="FM_VERSION_MISMATCH",
        layer="fabric",
        when=seen("fm_mismatch"),
        cause="Fabric Manager is {fm}, the driver {driver}: they must be the same to the last digit, so it "
        "does not start.",
        unlike="",
        next="Install nvidia-fabricmanager of {driver} (hold both packages together), then systemctl restart "
        "nvidia-fabricmanager.",
        confirm="systemctl is-active nvidia-fabricmanager; nvidia-smi -q | grep -A2 Fabric says Completed.",
        source="NVIDIA/gpu-operator#544; NVIDIA/nvtrust#55",
        over=("CUDA_802", "FM_*"),
    ),
    Rule(
        id="NVLSM_MISSING",
        layer="fabric",
        when=every(seen("fm_nothing"), some(ask.blackwell, seen("nvlsm"))),
        cause="Fabric Manager finds no switches because NVLSM, the NVLink subnet manager that Blackwell "
        "systems need, "
        "is not running.",
        unlike="On a machine without NVSwitch the same message means that nothing is missing.",
        next="Install and start nvlsm (with the InfiniBand user space it needs), then restart "
        "nvidia-fabricmanager.",
        confirm="systemctl is-active nvlsm nvidia-fabricmanager",
        source="siderolabs/extensions PR 717",
        over=("CUDA_802", "FM_*"),
    ),
    Rule(
        id="FM_NOT_NEEDED",
        layer="fabric",
        when=every(seen("fm_nothing"), no(ask.blackwell), no(seen("nvlsm"))),
        cause="Fabric Manager found no NVSwitch in this machine: it is not needed, and its failing to "
        "start harms nobody.",
        unlike="On a Blackwell HGX the same text means that NVLSM is missing.",
        next="Disable it (systemctl disable --now nvidia-fabricmanager), or in the GPU operator leave it "
        "off.",
        confirm="lspci -d 10de: | grep -i bridge finds no NVSwitch.",
        source="NVIDIA/gpu-operator#610; data-infra/cube-studio#29",
        over=("FM_NOT_RUNNING",),
        note=True,
    ),
    Rule(
        id="FM_NOT_RUNNING",
        layer="fabric",
        when=every(
            some(
                every(ask.cuda(802), ask.on_fabric),
                every(ask.cuda(802), _DOWN),
                every(ask.cuda(802), seen("nvswitch")),
            ),
            no(seen("fm_mismatch")),
        ),
        cause="The GPUs sit on NVSwitch and the fabric is not up: Fabric Manager is absent, stopped or not "
        "ready yet.",
        unlike="PCIe cards without NVSwitch never need it.",
        next="Install nvidia-fabricmanager of exactly the driver's version and start it; then wait for the "
        "fabric.",
        confirm="nvidia-smi -q | grep -A2 Fabric says State: Completed, Status: Success.",
        source="wilicc/gpu-burn#92; pytorch/pytorch#35710",
        over=("CUDA_802",),
    ),
)
