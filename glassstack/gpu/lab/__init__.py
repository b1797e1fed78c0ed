"""The lab: a throw-away VM with a kernel that takes the driver, full cgroups and BPF.

``needs`` finds what it is made of, ``images`` packs what the guest would read
too slowly from the host, ``driver`` builds the modules, ``machine`` boots,
``streams`` carries the caller's terminal, and ``guest.sh`` is what runs inside.
"""
