"""Versions that do not fit: module and libraries, driver and CUDA."""

from glassstack.diagnose import versions
from glassstack.diagnose.evidence import Evidence
from glassstack.diagnose.rules import ask
from glassstack.diagnose.rules.base import Match, Predicate, Rule, every, matched, no, seen, some

_ERRORS = ("NVML_18", "CUDA_803", "CUDA_999", "CUDA_35", "SMI_NO_DRIVER")


def _skew(newer_library: bool) -> Predicate:
    def look(evidence: Evidence) -> Match | None:
        module, library = ask.driver(evidence), ask.library(evidence)
        if library is None:
            return None
        if module is None or not module[0]:
            half = evidence.first("api_mismatch")
            return (
                matched([half], module="another version", library=library[0])
                if half and newer_library
                else None
            )
        older, newer = (module[0], library[0]) if newer_library else (library[0], module[0])
        if not versions.older(older, newer):
            return None
        facts = [library[1]] if library[1] == module[1] else [library[1], module[1]]
        return matched(facts, module=module[0], library=library[0])

    return look


def _packages(evidence: Evidence) -> Match | None:
    """The running module against installed packages of another version."""
    module = evidence.last("proc_version") or evidence.last("smi")
    running = ask.driver(evidence)
    if module is None or running is None:
        return None
    for package in evidence.all("package"):
        version = package.get("version")
        if version != running[0] and len(version.split(".")) > 1 and version.split(".")[0] != "1":
            return matched([module, package], module=running[0], package=f"{package.get('name')} {version}")
    return None


def _unattended(evidence: Evidence) -> Match | None:
    upgrades = evidence.all("upgraded")
    running = ask.driver(evidence)
    for fact in upgrades:
        if fact.get("old") != fact.get("new") and (running is None or running[0] == fact.get("old")):
            return matched([fact, *evidence.all("unattended")[:1]])
    return None


def _requirement(evidence: Evidence) -> Match | None:
    """An unmet CUDA requirement, and whether by the minor-version rule the driver would do all the same."""
    fact = evidence.first("requirement", what="cuda")
    if fact is None:
        return None
    wanted, running = fact.get("version"), ask.driver(evidence)
    facts = [fact, *([running[1]] if running else [])]
    have = f"{running[0]} (CUDA {versions.highest(running[0])})" if running else "an older driver"
    runs = versions.minor_rule(wanted, running[0]) if running else None
    way = _STILL_RUNS if runs else _WILL_NOT if runs is False else _MAY_RUN
    return matched(
        facts, wanted=wanted, needed=versions.needs(wanted) or "a newer driver", have=have, way=way
    )


_STILL_RUNS = (
    "By the minor-version rule this driver runs it all the same: NVIDIA_DISABLE_REQUIRE=1 lets it start "
    "(PTX JIT and newer features may then fail with CUDA 222 or 36)"
)
_WILL_NOT = (
    "The driver is of an older major branch: lifting the requirement (NVIDIA_DISABLE_REQUIRE=1) does not help"
)
_MAY_RUN = "If the driver is of the same major branch, NVIDIA_DISABLE_REQUIRE=1 lets it start"


def _image_newer(evidence: Evidence) -> Match | None:
    """Error 803 or 804, and an image whose CUDA is newer than the driver came with."""
    image, running = evidence.first("image_cuda"), ask.driver(evidence)
    error = ask.cuda(803, 804, 35)(evidence)
    if image is None or running is None or error is None:
        return None
    needed = versions.needs(image.get("version"))
    if not needed or not versions.older(running[0], needed):
        return None
    return matched(
        [*error.proof, image, running[1]], driver=running[0], needed=needed, cuda=image.get("version")
    )


_CONTAINER = some(seen("docker_run"), seen("podman_run"))
_IMAGE_LIBRARY = every(seen("nvml_library"), _skew(True), _CONTAINER, no(seen("api_mismatch")))

RULES = (
    Rule(
        id="SKEW_UNATTENDED",
        layer="versions",
        when=every(ask.nvml(18), _unattended),
        cause="An automatic upgrade replaced the driver libraries ({old} → {new}) under the loaded module.",
        unlike="The package history shows the upgrade; programs started before it still run, on the old "
        "files.",
        next="Drain the node, then reboot it or reload the modules; hold the nvidia packages (apt-mark "
        "hold).",
        confirm="cat /proc/driver/nvidia/version names the version that dpkg -l 'libnvidia*' shows.",
        source="lyulyul/shine-cluster#30",
        over=(*_ERRORS, "SKEW_*"),
    ),
    Rule(
        id="IMAGE_SHIPS_DRIVER_LIB",
        layer="libraries",
        when=_IMAGE_LIBRARY,
        cause="The image brings driver libraries of its own ({library}); the host's module is {module}.",
        unlike="The mismatch is seen inside a container, and the host's own nvidia-smi works.",
        next="Build the image without the driver's packages (libnvidia-*, nvidia-utils); the toolkit "
        "injects them.",
        confirm="find / -name 'libnvidia-ml.so*' -o -name 'libcuda.so*' in the image without a GPU finds "
        "nothing.",
        source="k4yt3x/video2x#1226",
        over=(*_ERRORS, "SKEW_*"),
    ),
    Rule(
        id="SKEW_MODULE_OLD",
        layer="versions",
        when=every(_skew(True), no(_IMAGE_LIBRARY), no(every(_packages, seen("rebooted")))),
        cause="The driver libraries are {library}, the loaded kernel module is {module}: the libraries were "
        "upgraded, the module was not reloaded.",
        unlike="All three parts of the versions differ or agree; the branch alone says nothing.",
        next="Stop what uses the GPUs and reload the modules (rmmod nvidia_uvm nvidia_drm nvidia_modeset "
        "nvidia; "
        "modprobe nvidia), or reboot.",
        confirm="cat /proc/driver/nvidia/version shows {library}, and nvidia-smi works.",
        source="saharmor/dalle-playground#104; zzzhouuu/truenas-nvidia-drivers#19; "
        "tinygrad/open-gpu-kernel-modules#47",
        over=(*_ERRORS, "SKEW_PACKAGES", "CLI_INIT"),
    ),
    Rule(
        id="SKEW_LIBRARY_OLD",
        layer="versions",
        when=_skew(False),
        cause="The loaded kernel module ({module}) is newer than the driver libraries ({library}).",
        unlike="The other way round, a pending reload would be the cause; here files are left of an older "
        "install.",
        next="Install user space of {module} (same package set or the same .run file), or remove the stray "
        "copy.",
        confirm="ldconfig -p | grep libnvidia-ml, then ls -l of the file it names: its name ends in "
        "{module}.",
        source="tinygrad/open-gpu-kernel-modules#47",
        over=(*_ERRORS, "SKEW_PACKAGES", "CLI_INIT"),
    ),
    Rule(
        id="SKEW_PACKAGES",
        layer="versions",
        when=_packages,
        cause="The loaded module is {module}, but {package} is installed: the upgrade is half done, or the "
        "module "
        "was not built for the running kernel.",
        unlike="If a reboot was all that was missing, one cures it; after a reboot the same skew means a "
        "module "
        "of the old version is what gets loaded.",
        next="Finish the upgrade (apt --fix-broken install; dkms autoinstall), then reload the modules or "
        "reboot.",
        confirm="dkms status and modinfo -F version nvidia name the version of the packages.",
        source="illinois-scicomp/machine-shop-maintenance#70",
        over=_ERRORS,
    ),
    Rule(
        id="DRIVER_TOO_OLD",
        layer="versions",
        when=_requirement,
        cause="The image requires CUDA {wanted}, which came with driver {needed}; this host has {have}.",
        unlike="The container was refused before it started; nothing in it ran.",
        next="Upgrade the driver to {needed} or newer, or use an image of an older CUDA; on data-centre GPUs "
        "a cuda-compat package in the image will do. {way}.",
        confirm="nvidia-smi shows a driver of at least {needed}.",
        source="theroyallab/tabbyAPI#324; NVIDIA/nvidia-docker#1442; NVIDIA/nvidia-container-toolkit#152",
        over=("CLI_REQUIREMENT", "CUDA_35"),
    ),
    Rule(
        id="DRIVER_TOO_OLD_FOR_IMAGE",
        layer="versions",
        when=_image_newer,
        cause="The image has CUDA {cuda}, which came with driver {needed}; the host's driver is {driver}, "
        "and the "
        "way around it (a compat libcuda) does not work on this GPU.",
        unlike="Were the driver new enough, the compat library alone would be at fault.",
        next="Upgrade the host's driver to {needed} or newer, or take an older image.",
        confirm="nvidia-smi shows a driver of at least {needed}; cuInit returns 0.",
        source="AIR-DISCOVER/ICRA2024-Sim2Real-AXS#5",
        over=("CUDA_*", "COMPAT_*"),
    ),
)
