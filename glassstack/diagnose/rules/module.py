"""Modules: why they do not load, why they do not go, and who sits on the device."""

from glassstack.diagnose.evidence import Evidence, Fact
from glassstack.diagnose.rules.base import Match, Rule, every, matched, no, one_of, seen, some

_AFTER_LOAD = (
    "RM_INIT_*",
    "GPU_MEMORY_OR_HW",
    "GSP_INIT_TIMEOUT",
    "PROBE_FAILED",
    "NO_DEVICES",
    "SMI_NO_DRIVER",
    "NVML_9",
    "NVML_6",
    "CUDA_100",
)
_LOAD = ("SMI_NO_DRIVER", "NVML_9", "CUDA_100", "CUDA_999", "MODULE_NOT_LOADED", "CDI_BEFORE_DRIVER")


def _chain(evidence: Evidence) -> Match | None:
    """Of modules that can't be removed the one that no other module holds."""
    busy = evidence.all("module_busy")
    names = {fact.get("name") for fact in busy}
    free = [fact for fact in busy if not fact.get("users")]
    if not free or len(names) < 2:
        return None
    return matched([free[0], *(fact for fact in busy if fact is not free[0])], name=free[0].get("name"))


def _held(evidence: Evidence) -> Match | None:
    """A use count with no module to explain it."""
    for fact in evidence.all(
        "module", name=one_of("nvidia", "nvidia_uvm", "nvidia_drm", "fakegpu", "fakegpu_uvm")
    ):
        others = [user for user in fact.get("users").strip("-,").split(",") if user]
        if int(fact.get("count")) > len(others) and not others and _asked(evidence):
            return matched([fact, *_asked(evidence)[:1]], name=fact.get("name"), count=fact.get("count"))
    return None


def _asked(evidence: Evidence) -> list[Fact]:
    """Lines that show that somebody wanted the module gone."""
    return [*evidence.all("module_busy"), *evidence.all("usage_count")]


_SIGNATURE = seen("module_rejected")
_DRIVER_BUSY = seen("module_busy", name="NVIDIA driver")

RULES = (
    Rule(
        id="OPEN_MODULE_PRE_TURING",
        layer="module",
        when=seen("open_module_unsupported"),
        cause="The open kernel module is loaded, and the GPU at {pci} is older than Turing: it has no GSP, "
        "which that "
        "module needs.",
        unlike="A broken GPU fails in the same RmInitAdapter stage, but without this message before it.",
        next="Install the proprietary module (nvidia-driver-NNN, not -open) of a branch that still knows "
        "this GPU.",
        confirm="modinfo -F license nvidia says NVIDIA, and nvidia-smi lists the GPU.",
        source="zzzhouuu/truenas-nvidia-drivers#20; NVIDIA/open-gpu-kernel-modules#696",
        over=_AFTER_LOAD,
    ),
    Rule(
        id="GPU_NOT_SUPPORTED",
        layer="module",
        when=seen("release_unsupported"),
        cause="This driver release does not support the GPU: it is too old or too new for it.",
        unlike="",
        next="Install the driver branch that NVIDIA's list names for this GPU.",
        confirm="nvidia-smi lists the GPU.",
        source="NVIDIA driver README, supported chips",
        over=_AFTER_LOAD,
    ),
    Rule(
        id="OTHER_DRIVER_BOUND",
        layer="module",
        when=every(
            some(seen("probe_not_called"), seen("bound", driver=one_of("nouveau", "vfio-pci"))),
            no(seen("bound", driver="nvidia")),
        ),
        cause="Another driver (nouveau, vfio-pci) owns the GPUs: NVIDIA's was never asked to take them.",
        unlike="Had the driver tried and failed, the log would say 'probe routine failed'.",
        next="Blacklist nouveau (blacklist nouveau, options nouveau modeset=0), rebuild the initramfs and "
        "reboot; for vfio "
        "unbind the device.",
        confirm="lspci -k -d 10de: says 'Kernel driver in use: nvidia'.",
        source="mattshma/bigdata#133",
        over=_LOAD,
    ),
    Rule(
        id="GPU_WITHOUT_DRIVER",
        layer="module",
        when=every(
            seen("pci_nvidia"),
            seen("host"),
            no(seen("proc_version")),
            no(seen("bound")),
            no(seen("module", name=one_of("nvidia", "nouveau"))),
        ),
        cause="There is an NVIDIA GPU ({pci}) and no driver is loaded for it.",
        unlike="A driver that was loaded and failed leaves lines in the kernel's log.",
        next="modprobe nvidia, and read dmesg if that fails; install the driver if there is no such module.",
        confirm="cat /proc/driver/nvidia/version",
        source="modprobe(8)",
        over=("SMI_NO_DRIVER", "NVML_9", "CUDA_100"),
    ),
    Rule(
        id="SECURE_BOOT_KEY",
        layer="module",
        when=_SIGNATURE,
        cause="The kernel refused the module's signature ({why}): Secure Boot is on, and its key is not "
        "enrolled or "
        "the module was not signed for this kernel.",
        unlike="'module verification failed … tainting kernel' alone refuses nothing.",
        next="Sign the module with an enrolled key (mokutil --import KEY.der, reboot, enrol; dkms does so "
        "with "
        "mok_signing_key), or turn Secure Boot off.",
        confirm="mokutil --list-enrolled names the key that modinfo -F signer nvidia shows.",
        source="linux-surface/linux-surface#906; secureblue/secureblue#1043",
        over=(*_LOAD, "SECURE_BOOT"),
    ),
    Rule(
        id="SECURE_BOOT",
        layer="module",
        when=every(seen("module_not_loaded"), seen("secure_boot"), no(_SIGNATURE)),
        cause="nvidia.ko can't be loaded on a machine with Secure Boot: most likely it is not signed.",
        unlike="A log line with the kernel's own reason would make it certain.",
        next="Look for the reason (dmesg | grep -i -e sign -e key), then sign the module or turn Secure "
        "Boot off.",
        confirm="modprobe nvidia succeeds.",
        source="NVIDIA/gpu-driver-container#44",
        over=_LOAD,
    ),
    Rule(
        id="DKMS_BUILD_FAILED",
        layer="module",
        when=seen("dkms_failed"),
        cause="The module could not be built for this kernel ({why}): its headers or Module.symvers are "
        "missing.",
        unlike="A module that was built and refused is a matter of signatures or versions.",
        next="Install the kernel's headers (linux-headers-$(uname -r)) and run dkms autoinstall.",
        confirm="dkms status says installed for $(uname -r).",
        source="Tk-Glitch/PKGBUILDS#414; NixOS/nixpkgs#74890",
        over=(*_LOAD, "MODULE_NOT_BUILT"),
    ),
    Rule(
        id="MODULE_OTHER_KERNEL",
        layer="module",
        when=some(
            seen("vermagic"), seen("symbol_version"), seen("module_no_device", why="Exec format error")
        ),
        cause="The module was built for another kernel than the one that runs.",
        unlike="",
        next="Rebuild it for this kernel (dkms autoinstall), or boot the kernel it was built for.",
        confirm="modinfo -F vermagic nvidia starts with $(uname -r).",
        source="modprobe(8)",
        over=_LOAD,
    ),
    Rule(
        id="MODULE_NOT_BUILT",
        layer="module",
        when=seen("module_not_found"),
        cause="There is no {module} module for kernel {kernel}: DKMS did not build it.",
        unlike="",
        next="Install linux-headers-{kernel} and run dkms autoinstall -k {kernel}.",
        confirm="modinfo nvidia finds it.",
        source="modprobe(8)",
        over=_LOAD,
    ),
    Rule(
        id="MODULES_OF_TWO_DRIVERS",
        layer="module",
        when=seen("unknown_symbol"),
        cause="{module} needs {symbol}, which the loaded nvidia module lacks: they are of different drivers.",
        unlike="",
        next="Unload all nvidia modules and load those of one version; remove the stray ones (find "
        "/lib/modules -name "
        "'nvidia*.ko*').",
        confirm="modinfo -F version nvidia nvidia_uvm gives one version.",
        source="NVIDIA kernel messages",
        over=("CUDA_999", "UVM_NOT_LOADED"),
    ),
    Rule(
        id="MODULE_NOT_LOADED",
        layer="module",
        when=every(
            some(seen("module_not_loaded"), seen("module_no_device")), no(seen("secure_boot")), no(_SIGNATURE)
        ),
        cause="The module could not be loaded; this evidence does not say why.",
        unlike="",
        next="Read the kernel's reason.",
        confirm="dmesg | tail -50 right after modprobe nvidia",
        decide="modprobe nvidia; dmesg | tail -50",
        source="modprobe(8)",
        over=("SMI_NO_DRIVER", "NVML_9"),
    ),
    Rule(
        id="MODULE_IN_USE",
        layer="module",
        when=_chain,
        cause="{name} is what holds the others: no module uses it, so a program (a desktop, a console) has "
        "it open.",
        unlike="The modules further down are only in use by those above them.",
        next="Stop the display manager (systemctl isolate multi-user.target) or whoever holds /dev/dri, "
        "then unload again "
        "from {name} down.",
        confirm="glassstack holders lists nobody; lsmod shows {name} with 0 users.",
        source="NVIDIA/aerial-cuda-accelerated-ran#31; tinygrad/open-gpu-kernel-modules PR 20",
        over=("HELD_FD",),
    ),
    Rule(
        id="HELD_FD",
        layer="module",
        when=every(some(_held, _DRIVER_BUSY), no(_chain)),
        cause="{name} is in use, and by no other module: processes hold its nodes open or mapped "
        "(nvidia-persistenced, dcgm, an X server, a container).",
        unlike="Module users would be listed in lsmod's last column.",
        next="List them (glassstack holders, or fuser -v /dev/nvidia*), stop them, unload again.",
        confirm="lsmod shows a use count of 0.",
        source="joeknock90/Single-GPU-Passthrough#25; NVIDIA/nvidia-docker#1242",
    ),
    Rule(
        id="NO_DEVICES",
        layer="hardware",
        when=every(seen("no_devices"), no(seen("rm_init"))),
        cause="The driver runs and found no usable GPU.",
        unlike="",
        next="Read why in the kernel's log.",
        confirm="dmesg | grep -e NVRM -e Xid",
        decide="dmesg | grep -e NVRM -e Xid; lspci -k -d 10de:",
        source="nvidia-smi",
    ),
    Rule(
        id="SMI_NO_DRIVER",
        layer="module",
        when=seen("smi_no_driver"),
        cause="No driver answers nvidia-smi: its module is not loaded.",
        unlike="",
        next="Find out why it is not loaded.",
        confirm="modprobe nvidia; dmesg | tail",
        decide="modprobe nvidia; dmesg | grep -i -e NVRM -e nouveau -e sign | tail",
        source="nvidia-smi",
    ),
)
