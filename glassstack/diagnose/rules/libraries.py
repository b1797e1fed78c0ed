"""Which libcuda a program gets: compat folders, stubs, files left in images, files that were not injected."""

from glassstack.diagnose import versions
from glassstack.diagnose.evidence import Evidence
from glassstack.diagnose.rules import ask
from glassstack.diagnose.rules.base import Match, Rule, every, has, matched, no, seen, some


def _older_compat(evidence: Evidence) -> Match | None:
    """A compat libcuda in front, on a GPU that could use one, and older than the driver or refused by it."""
    found = ask.compat(evidence)
    running, refused = ask.driver(evidence), ask.cuda(803)(evidence)
    if found is None or (ask.consumer(evidence) is not None and refused is None):
        return None
    newer = bool(running and found.values["version"] and versions.older(found.values["version"], running[0]))
    if not newer and refused is None:
        return None
    facts = [*found.proof, *([running[1]] if running and newer else []), *(refused.proof if refused else ())]
    return matched(
        facts, compat=found.values["compat"], driver=running[0] if running else "the host's driver"
    )


def _stub(evidence: Evidence) -> Match | None:
    facts = [f for kind in ("mapped", "ldconfig") for f in evidence.all(kind, path=has("/stubs/libcuda"))]
    return matched(facts[:2]) if facts else None


RULES = (
    Rule(
        id="COMPAT_DROPPED_GPU",
        layer="libraries",
        when=every(ask.cuda(100), ask.compat, some(seen("gpu", name=has("K80", "K40", "Kepler")))),
        cause="The compat libcuda ({compat}) is of a branch that no longer knows this GPU.",
        unlike="Without the compat library the host's own libcuda finds the device.",
        next="Take the compat folder out of the library path, or use an image of CUDA 11.4 or older.",
        confirm="LD_LIBRARY_PATH= program finds the device.",
        source="gitlab nvidia/container-images/cuda issue 182",
        over=("CUDA_100", "COMPAT_ON*", "COMPAT_OV*"),
    ),
    Rule(
        id="COMPAT_ON_UNSUPPORTED_GPU",
        layer="libraries",
        when=every(
            some(
                every(ask.cuda(803, 804), ask.consumer), every(ask.cuda(803, 804), ask.compat, ask.consumer)
            ),
            no(every(seen("image_cuda"), ask.cuda(803, 35))),
        ),
        cause="A compat libcuda is used on {gpu}: forward compatibility exists only for data-centre GPUs.",
        unlike="On a data-centre GPU the same error means a compat library older than the driver.",
        next="Unset LD_LIBRARY_PATH of the compat folder, remove cuda-compat from the image, or upgrade the "
        "host's driver so that no compat library is needed.",
        confirm="grep libcuda /proc/PID/maps shows no …/compat/….",
        source="DeepVAC/TorchPod#43; NVIDIA/nvidia-docker#1515; ggml-org/llama.cpp#17542",
        over=("CUDA_803", "CUDA_804", "COMPAT_OV*"),
    ),
    Rule(
        id="COMPAT_OVERRIDES_NEWER_DRIVER",
        layer="libraries",
        when=every(_older_compat, no(every(ask.cuda(803, 804), ask.consumer))),
        cause="{compat} comes first on the library path and is older than the kernel driver ({driver}).",
        unlike="The kernel driver and the libraries beside it agree; only the image's copy is out of step.",
        next="Remove the compat folder from /etc/ld.so.conf.d and LD_LIBRARY_PATH in the image, then run "
        "ldconfig.",
        confirm="ldconfig -p | grep libcuda.so.1 names the injected file first; cuInit returns 0.",
        source="vllm-project/vllm#33992; gpustack/gpustack#4678; ggml-org/llama.cpp#23111",
        over=("CUDA_*",),
    ),
    Rule(
        id="COMPAT_UNCLEAR",
        layer="libraries",
        when=every(ask.cuda(804), ask.compat, no(ask.consumer), no(_older_compat)),
        cause="A compat libcuda ({compat}) is used where the driver refuses it.",
        unlike="",
        next="Find out which GPU and driver it is.",
        confirm="nvidia-smi -L",
        source="NVIDIA CUDA compatibility guide",
        over=("CUDA_804",),
    ),
    Rule(
        id="STUB_LIBCUDA",
        layer="libraries",
        when=_stub,
        cause="The program loaded the link-time stub of libcuda ({path}), which does nothing.",
        unlike="A missing libcuda would fail to load at all.",
        next="Take …/stubs out of LD_LIBRARY_PATH and the rpath; open libcuda.so.1, never libcuda.so.",
        confirm="grep libcuda /proc/PID/maps shows the driver's file.",
        source="pytorch/tensorpipe#294; NVIDIA/warp#219",
        over=("CUDA_34", "CUDA_100", "CUDA_999", "CUDA_35"),
    ),
    Rule(
        id="INJECTION_INCOMPLETE",
        layer="libraries",
        when=some(
            every(
                seen("library_absent", name=has("ptxjitcompiler", "nvvm")), no(seen("plugin_incompatible"))
            ),
            every(
                ask.cuda(221),
                some(seen("cdi_path"), seen("cli_error"), seen("docker_run"), seen("podman_run")),
            ),
        ),
        cause="The container did not get all of the driver's libraries: the one that compiles PTX is "
        "missing.",
        unlike="On the host the same program finds it.",
        next="Upgrade the container toolkit and write the CDI spec again (nvidia-ctk cdi generate).",
        confirm="ls /usr/lib/*/libnvidia-{{ptxjitcompiler,nvvm}}* inside the container.",
        source="NVIDIA/nvidia-container-toolkit#1875",
        over=("CUDA_221",),
    ),
    Rule(
        id="IMAGE_SHIPS_DRIVER_LIB",
        layer="libraries",
        when=seen("file_exists"),
        cause="The image already contains {name}, which belongs to the driver and is injected at start.",
        unlike="A real mount error names no driver file and no 'file exists'.",
        next="Remove the driver's packages from the image (apt purge 'libnvidia-*' 'nvidia-utils-*'), or "
        "delete {name}.",
        confirm="The container starts.",
        source="NVIDIA/nvidia-container-toolkit#289; NVIDIA/nvidia-docker#825",
        over=("CLI_MOUNT",),
    ),
    Rule(
        id="LIBRARY_NOT_FOUND",
        layer="libraries",
        when=every(
            seen("library_absent", name=lambda name: name.startswith(("libnvidia-ml", "libcuda", "libfake"))),
            no(seen("plugin_incompatible")),
        ),
        cause="{name} can't be found: the driver's libraries are not there for this process.",
        unlike="A version mismatch would find the file and then refuse it.",
        next="In a container: start it with GPU access (--gpus, runtime class or CDI). On the host: "
        "install the "
        "driver's libraries and run ldconfig.",
        confirm="ldconfig -p | grep {name}",
        source="ld.so(8)",
        over=("NVML_12", "CUDA_100"),
    ),
)
