"""The frontend's ioctls (nvidiactl, nvidia0…) as every driver generation from 515 on has them.

A row: number, name without NV_ESC_, first driver with this layout, bytes,
offset of the NV_STATUS in it, members. Rows of one number: the newest that is
not newer than the driver counts; without a version the size decides. Bytes
may be "N*" (an array of such) or "?" (not known). A member is ``name@offset``
with an optional ``:type`` (rows.py has the types).
"""

ESCAPES = """
0x27 RM_ALLOC_MEMORY            515        56    40  hRoot@0 hParent@4 hNew@8 class@12:class flags@16:x pMemory@24:p limit@32:q fd@48:i
0x28 RM_ALLOC_OBJECT            515        20    16  hRoot@0 hParent@4 hNew@8 class@12:class
0x29 RM_FREE                    515        16    12  hRoot@0 hParent@4 hOld@8
0x2a RM_CONTROL                 515        32    28  cmd@8:cmd hClient@0 hObject@4 flags@12:x params@16:p paramsSize@24
0x2b RM_ALLOC                   515        32    24  class@12:class hRoot@0 hParent@4 hNew@8 params@16:p
0x2b RM_ALLOC                   535        32    28  class@12:class hRoot@0 hParent@4 hNew@8 params@16:p paramsSize@24
0x2b RM_ALLOC                   515        40    32  class@12:class hRoot@0 hParent@4 hNew@8 params@16:p pRights@24:p
0x2b RM_ALLOC                   525        40    36  class@12:class hRoot@0 hParent@4 hNew@8 params@16:p pRights@24:p flags@32:x
0x2b RM_ALLOC                   535.43.02  48    40  class@12:class hRoot@0 hParent@4 hNew@8 params@16:p pRights@24:p paramsSize@32 flags@36:x
0x34 RM_DUP_OBJECT              515        28    24  hClient@0 hParent@4 hObject@8 hClientSrc@12 hObjectSrc@16 flags@20:x
0x35 RM_SHARE                   515        24    20  hClient@0 hObject@4
0x39 RM_I2C_ACCESS              515        32    24
0x41 RM_IDLE_CHANNELS           515        56    48
0x4a RM_VID_HEAP_CONTROL        515        184   20  function@8:heap hRoot@0 hParent@4 hVASpace@12 total@24:q free@32:q
0x4d RM_ACCESS_REGISTRY         515        72    64  hClient@0 accessType@8
0x4e RM_MAP_MEMORY              515        56    40  hClient@0 hDevice@4 hMemory@8 offset@16:q length@24:q pLinear@32:p flags@44:x fd@48:i
0x4f RM_UNMAP_MEMORY            515        32    24  hClient@0 hDevice@4 hMemory@8 pLinear@16:p flags@28:x
0x52 RM_GET_EVENT_DATA          515        16    12
0x54 RM_ALLOC_CONTEXT_DMA2      515        56    48
0x56 RM_ADD_VBLANK_CALLBACK     515        ?     -
0x57 RM_MAP_MEMORY_DMA          515        56    48  hClient@0 hDevice@4 hDma@8 hMemory@12 offset@16:q length@24:q flags@32:x dmaOffset@40:q
0x57 RM_MAP_MEMORY_DMA          580.65.06  64    56  hClient@0 hDevice@4 hDma@8 hMemory@12 offset@16:q length@24:q flags@32:x dmaOffset@48:q
0x58 RM_UNMAP_MEMORY_DMA        515        40    32  hClient@0 hDevice@4 hDma@8 hMemory@12 dmaOffset@24:q
0x58 RM_UNMAP_MEMORY_DMA        550.40.07  48    40  hClient@0 hDevice@4 hDma@8 hMemory@12 dmaOffset@24:q
0x59 RM_BIND_CONTEXT_DMA        515        16    12
0x5c RM_EXPORT_OBJECT_TO_FD     515        ?     -
0x5d RM_IMPORT_OBJECT_FROM_FD   515        ?     -
0x5e RM_UPDATE_DEVICE_MAPPING_INFO 515     40    32
0x5f RM_LOCKLESS_DIAGNOSTIC     515        4024  -
0x5f RM_LOCKLESS_DIAGNOSTIC     515        15412 -
0xc8 CARD_INFO                  515        72*   -   valid@0 domain@4:x bus@8:b slot@9:b function@10:b vendor@12:w device@14:w gpu_id@16:x irq@20:w reg@24:p fb_addr@40:p fb_size@48:q minor@56
0xc9 REGISTER_FD                515        4     -   ctl_fd@0:i
0xce ALLOC_OS_EVENT             515        16    12  hClient@0 hDevice@4 fd@8:i
0xcf FREE_OS_EVENT              515        16    12  hClient@0 hDevice@4 fd@8:i
0xd1 STATUS_CODE                515        12    8
0xd2 CHECK_VERSION_STR          515        72    -   check@0:check version@8:t64 reply@4:reply driver_version@8:T64
0xd3 IOCTL_XFER_CMD             515        16    -
0xd4 ATTACH_GPUS_TO_FD          515        4*    -   gpu_id@0:x
0xd5 QUERY_DEVICE_INTR          515        8     -
0xd6 SYS_PARAMS                 515        8     -   memblock_size@0:q
0xd7 NUMA_INFO                  515        560   -
0xd8 SET_NUMA_STATUS            515        4     -
0xd9 EXPORT_TO_DMABUF_FD        515        2600  2596
0xd9 EXPORT_TO_DMABUF_FD        570.86.15  2608  2604
0xda WAIT_OPEN_COMPLETE         550        8     4   rc@0:i
"""  # noqa: E501

XFER = 0xD3
"""The escape that carries another one: u32 number, u32 size, u64 pointer."""

HEAP = {2: "ALLOC_SIZE", 3: "FREE", 5: "INFO", 14: "ALLOC_SIZE_RANGE", 27: "ALLOC_OS_DESCRIPTOR"}
CHECK = {0: "STRICT", ord("1"): "RELAXED", ord("2"): "QUERY"}
REPLY = {0: "not recognised", 1: "recognised"}
