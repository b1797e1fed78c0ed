"""NVIDIA's calls in plain words. Pure."""

from glassstack.decoders.nvidia.table_classes import DOORBELL, KINDS
from glassstack.model.events import Syscall
from glassstack.model.values import Scalar

ESCAPES = {
    "RM_ALLOC": "Makes an object of the resource manager; the handle names it within this client.",
    "RM_CONTROL": "Asks or tells one object something; cmd says what.",
    "RM_FREE": "Frees an object and everything that was made under it.",
    "RM_ALLOC_MEMORY": "Makes a memory object, the old way.",
    "RM_ALLOC_OBJECT": "Makes an object, the old way.",
    "RM_DUP_OBJECT": "Gives an object of one client to another as well.",
    "RM_SHARE": "Says who else may have an object.",
    "RM_VID_HEAP_CONTROL": "Allocates or frees memory of the GPU's heap, or asks about it.",
    "RM_MAP_MEMORY": "Prepares the mapping of a memory object; mmap(2) on the descriptor fd comes next.",
    "RM_UNMAP_MEMORY": "Takes a prepared mapping back.",
    "RM_MAP_MEMORY_DMA": "Maps memory into the GPU's own address space.",
    "RM_UNMAP_MEMORY_DMA": "Takes memory out of the GPU's address space.",
    "RM_UPDATE_DEVICE_MAPPING_INFO": "Tells the driver where a mapping has moved to.",
    "RM_IDLE_CHANNELS": "Waits until channels have nothing left to do.",
    "RM_GET_EVENT_DATA": "Takes what an event carries.",
    "RM_ACCESS_REGISTRY": "Reads or writes a setting of the driver.",
    "RM_EXPORT_OBJECT_TO_FD": "Puts an object behind a descriptor, for another process.",
    "RM_IMPORT_OBJECT_FROM_FD": "Takes an object that another process put behind a descriptor.",
    "RM_LOCKLESS_DIAGNOSTIC": "Asks for diagnostic data without taking the driver's locks.",
    "CARD_INFO": "Asks which GPUs there are: PCI address, id, minor number.",
    "REGISTER_FD": "Ties this descriptor of a GPU to one of nvidiactl.",
    "ALLOC_OS_EVENT": "Makes an event that poll(2) on the descriptor waits for.",
    "FREE_OS_EVENT": "Frees such an event.",
    "STATUS_CODE": "Asks for a status that the driver keeps.",
    "CHECK_VERSION_STR": "Compares the library's version with the driver's: here skew is found out.",
    "ATTACH_GPUS_TO_FD": "Keeps GPUs initialised as long as this descriptor is open.",
    "QUERY_DEVICE_INTR": "Asks about pending interrupts.",
    "SYS_PARAMS": "Asks for the size of the machine's memory blocks.",
    "NUMA_INFO": "Asks how the GPU's memory is a NUMA node of the machine.",
    "SET_NUMA_STATUS": "Tells whether the GPU's memory is online as a NUMA node.",
    "EXPORT_TO_DMABUF_FD": "Puts GPU memory behind a dma-buf descriptor, for RDMA and the like.",
    "WAIT_OPEN_COMPLETE": "Waits until the GPU is initialised; its answer says whether that worked.",
}

KIND_WORDS = {
    "root": "Makes the client: the root of every other object of this program.",
    "device": "Makes the device object: one GPU, or several that work as one.",
    "subdevice": "Makes the subdevice: the one GPU that most questions go to.",
    "event": "Makes an event or a timer.",
    "memory": "Makes a memory object: of system memory, GPU memory, or a range of addresses.",
    "vaspace": "Makes an address space of the GPU.",
    "group": "Makes a group of channels that are scheduled together, or a share in one.",
    "channel": "Makes a channel: a ring of commands that an engine works off.",
    "usermode": f"Makes the usermode region: a store at 0x{DOORBELL:x} rings the doorbell, with no syscall.",
    "engine": "Puts an engine on a channel: compute, copy, graphics.",
    "p2p": "Lets another device reach this GPU's memory.",
    "debug": "Attaches a debugger or profiler.",
}

UVM = {
    "UVM_INITIALIZE": "Begins with UVM; before it every other call is refused.",
    "UVM_MM_INITIALIZE": "Ties UVM to this process's address space, on a second descriptor.",
    "UVM_REGISTER_GPU": "Tells UVM of a GPU that this process uses.",
    "UVM_REGISTER_GPU_VASPACE": "Hands a GPU's address space to UVM, which fills it on faults.",
    "UVM_REGISTER_CHANNEL": "Tells UVM of a channel, so that faults of its work are served.",
    "UVM_CREATE_EXTERNAL_RANGE": "Sets a range of addresses aside for memory that the resource manager has.",
    "UVM_MAP_EXTERNAL_ALLOCATION": "Maps memory of the resource manager into such a range.",
    "UVM_FREE": "Frees a range of addresses.",
    "UVM_MIGRATE": "Moves memory to a GPU or back.",
    "UVM_PAGEABLE_MEM_ACCESS": "Asks whether GPUs can reach ordinary memory.",
    "UVM_ALLOC_SEMAPHORE_POOL": "Makes a pool of semaphores that GPU and program share.",
    "UVM_VALIDATE_VA_RANGE": "Asks whether a range of addresses is UVM's.",
}

_ALLOC_BARE = " Its class is in the argument, which was not seen."


def _class_words(value: Scalar) -> str:
    return KIND_WORDS.get(KINDS.get(str(value), ""), "")


def explain(call: Syscall) -> str:
    """What an ioctl on a frontend or UVM node does; "" where nothing is known of it."""
    name = call.name.removesuffix("?")
    text = ESCAPES.get(name) or UVM.get(name, "")
    if name == "RM_ALLOC":
        known = _class_words(call.fields.get("class"))
        text = known or text + ("" if "class" in call.fields else _ALLOC_BARE)
    if not text and name.startswith("UVM_"):
        text = "A call of the memory manager (UVM)."
    status = call.failure if call.errno is None else None
    if status:
        text += f" The driver refused it: {status}. ioctl(2) itself says 0."
    return text
