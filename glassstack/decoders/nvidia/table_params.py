"""What RM_ALLOC points to, by class: a row per layout, with the columns of table_escapes.py."""

PARAMS = """
0x80   NV01_DEVICE_0           515  56   -  deviceId@0
0x2080 NV20_SUBDEVICE_0        515  4    -  subDeviceId@0
0x05   NV01_EVENT              515  24   -
0x79   NV01_EVENT_OS_EVENT     515  24   -
0x7e   NV01_EVENT_KERNEL_CALLBACK_EX 515 24 -
0x9067 FERMI_CONTEXT_SHARE_A   515  12   -
0xa06c KEPLER_CHANNEL_GROUP_A  515  20   -
"""

CHANNEL = """
0 GPFIFO 515 360 - engineType@128 gpFifoEntries@16 gpFifoOffset@8:p hVASpace@28 hContextShare@24 hObjectError@0 hObjectBuffer@4 channelFlags@20:x
0 GPFIFO 580 368 - engineType@128 gpFifoEntries@16 gpFifoOffset@8:p hVASpace@28 hContextShare@24 hObjectError@0 hObjectBuffer@4 channelFlags@20:x
"""  # noqa: E501
"""Every GPFIFO channel class."""

MEMORY = """
0 MEMORY 515 120 - size@64:q type@4 attr@24:x alignment@72:q owner@0:x memoryFlags@8:x
0 MEMORY 545 128 - size@64:q type@4 attr@24:x alignment@72:q owner@0:x memoryFlags@8:x
"""
"""Classes of system and video memory."""

MEMORY_CLASSES = (0x3E, 0x40, 0x3F, 0x50A0, 0x70)
