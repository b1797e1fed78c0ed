"""The classes of objects that RM_ALLOC makes: number, name, what kind of thing it is."""

CLASSES_TEXT = """
0x0    NV01_ROOT                        root
0x1    NV01_ROOT_NON_PRIV               root
0x41   NV01_ROOT_CLIENT                 root
0x80   NV01_DEVICE_0                    device
0x2080 NV20_SUBDEVICE_0                 subdevice
0x208f NV20_SUBDEVICE_DIAG              subdevice
0x90e6 GF100_SUBDEVICE_MASTER           subdevice
0x90e7 GF100_SUBDEVICE_INFOROM          subdevice
0x4    NV01_TIMER                       event
0x5    NV01_EVENT                       event
0x78   NV01_EVENT_KERNEL_CALLBACK       event
0x79   NV01_EVENT_OS_EVENT              event
0x7e   NV01_EVENT_KERNEL_CALLBACK_EX    event
0x90cd NV_EVENT_BUFFER                  event
0x3e   NV01_MEMORY_SYSTEM               memory
0x3f   NV01_MEMORY_LOCAL_PRIVILEGED     memory
0x40   NV01_MEMORY_LOCAL_USER           memory
0x70   NV01_MEMORY_VIRTUAL              memory
0x50a0 NV50_MEMORY_VIRTUAL              memory
0x71   NV01_MEMORY_SYSTEM_OS_DESCRIPTOR memory
0x81   NV01_MEMORY_LIST_SYSTEM          memory
0x82   NV01_MEMORY_LIST_FBMEM           memory
0x83   NV01_MEMORY_LIST_OBJECT          memory
0xc2   NV01_MEMORY_LOCAL_PHYSICAL       memory
0x90ce NV01_MEMORY_DEVICELESS           memory
0xe0   NV_MEMORY_EXPORT                 memory
0xf8   NV_MEMORY_FABRIC                 memory
0xf9   NV_MEMORY_FABRIC_IMPORT_V2       memory
0xfb   NV_MEMORY_FABRIC_IMPORTED_REF    memory
0xfd   NV_MEMORY_MULTICAST_FABRIC       memory
0xfe   NV_MEMORY_MAPPER                 memory
0x90f1 FERMI_VASPACE_A                  vaspace
0xfc   FABRIC_VASPACE_A                 vaspace
0x9067 FERMI_CONTEXT_SHARE_A            group
0xa06c KEPLER_CHANNEL_GROUP_A           group
0xc574 UVM_CHANNEL_RETAINER             group
0x506f NV50_CHANNEL_GPFIFO              channel
0x906f GF100_CHANNEL_GPFIFO             channel
0xa06f KEPLER_CHANNEL_GPFIFO_A          channel
0xa16f KEPLER_CHANNEL_GPFIFO_B          channel
0xb06f MAXWELL_CHANNEL_GPFIFO_A         channel
0xc06f PASCAL_CHANNEL_GPFIFO_A          channel
0xc36f VOLTA_CHANNEL_GPFIFO_A           channel
0xc46f TURING_CHANNEL_GPFIFO_A          channel
0xc56f AMPERE_CHANNEL_GPFIFO_A          channel
0xc86f HOPPER_CHANNEL_GPFIFO_A          channel
0xc96f BLACKWELL_CHANNEL_GPFIFO_A       channel
0xca6f BLACKWELL_CHANNEL_GPFIFO_B       channel
0xc361 VOLTA_USERMODE_A                 usermode
0xc461 TURING_USERMODE_A                usermode
0xc561 AMPERE_USERMODE_A                usermode
0xc661 HOPPER_USERMODE_A                usermode
0xc761 BLACKWELL_USERMODE_A             usermode
0xc5c0 TURING_COMPUTE_A                 engine
0xc6c0 AMPERE_COMPUTE_A                 engine
0xc7c0 AMPERE_COMPUTE_B                 engine
0xc9c0 ADA_COMPUTE_A                    engine
0xcbc0 HOPPER_COMPUTE_A                 engine
0xcdc0 BLACKWELL_COMPUTE_A              engine
0xcec0 BLACKWELL_COMPUTE_B              engine
0xb0b5 MAXWELL_DMA_COPY_A               engine
0xc0b5 PASCAL_DMA_COPY_A                engine
0xc5b5 TURING_DMA_COPY_A                engine
0xc6b5 AMPERE_DMA_COPY_A                engine
0xc7b5 AMPERE_DMA_COPY_B                engine
0xc8b5 HOPPER_DMA_COPY_A                engine
0xc9b5 BLACKWELL_DMA_COPY_A             engine
0xcab5 BLACKWELL_DMA_COPY_B             engine
0xc597 TURING_A                         engine
0xc697 AMPERE_A                         engine
0xc797 AMPERE_B                         engine
0xc997 ADA_A                            engine
0xcb97 HOPPER_A                         engine
0xcd97 BLACKWELL_A                      engine
0xce97 BLACKWELL_B                      engine
0x902d FERMI_TWOD_A                     engine
0xa140 KEPLER_INLINE_TO_MEMORY_B        engine
0xcd40 BLACKWELL_INLINE_TO_MEMORY_A     engine
0x503b NV50_P2P                         p2p
0x503c NV50_THIRD_PARTY_P2P             p2p
0x60   NV0060_SYNC_GPU_BOOST            other
0x83de GT200_DEBUGGER                   debug
0x90cc GF100_PROFILER                   debug
0xb0cc MAXWELL_PROFILER                 debug
0xb1cc MAXWELL_PROFILER_CONTEXT         debug
0xb2cc MAXWELL_PROFILER_DEVICE          debug
0x900e MPS_COMPUTE                      other
0xf    FABRIC_MANAGER_SESSION           other
0xcb33 NV_CONFIDENTIAL_COMPUTE          other
0xcba2 HOPPER_SEC2_WORK_LAUNCH_A        engine
"""

_ROWS = [row.split() for row in CLASSES_TEXT.strip().splitlines()]

CLASSES: dict[int, str] = {int(number, 16): name for number, name, _ in _ROWS}
"""hClass → its name."""
KINDS: dict[str, str] = {name: kind for _, name, kind in _ROWS}
"""Name of a class → root, device, subdevice, event, memory, vaspace, group, channel, usermode, engine, …"""

USERMODE_SIZE = 65536
"""Bytes of the region with the doorbell."""
DOORBELL = 0x90
"""Where a work token is stored to ring it."""


def class_text(value: int) -> str:
    """The name of a class; the number, marked, where it has none here."""
    return CLASSES.get(value) or f"0x{value:x} (unknown class)"
