"""The features of the processor for which code is compiled. They are part of cache keys."""

from __future__ import annotations

import platform
from functools import cache


@cache
def processor_features() -> str:
    """Return the lines of /proc/cpuinfo that identify the processor and its instruction sets."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            lines = file.read(1 << 14).partition("\n\n")[0].splitlines()
    except OSError:
        return platform.processor()
    wanted = ("vendor_id", "cpu family", "model", "flags", "features", "cpu part")
    return "\n".join(
        line for line in lines if line.partition(":")[0].strip().lower().startswith(wanted)
    )
