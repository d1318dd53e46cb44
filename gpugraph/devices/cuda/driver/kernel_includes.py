"""Inlines the includes of a kernel source: `#include "x.cuh"` becomes that file of `kernels/`.

The compiled source is complete, so it serves as the cache key and can be kept in a file when it
does not compile. Each file is included once. `#include <...>` is left to the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gpugraph.devices.native.native_runtime import kernel_file

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"[^\n]*$', re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once[ \t]*$", re.MULTILINE)


def with_includes(
    source: str,
    name: str = "text.cu",
    read: Callable[[str], str] = kernel_file,
    included: set[str] | None = None,
) -> str:
    """Return the source with its includes inlined; `#line` names the file of each line.

    included: files that are not to be included again, to which the included files are added.
    KeyError with the file's name if it is missing.
    """
    done = set() if included is None else included

    def inlined(source: str, name: str) -> str:
        def replacement(include: re.Match[str]) -> str:
            other = include.group(1)
            if other in done:
                return ""
            done.add(other)
            line = source.count("\n", 0, include.start()) + 2
            return f'{inlined(_read(read, other), other)}\n#line {line} "{name}"'

        return f'#line 1 "{name}"\n{_INCLUDE.sub(replacement, _ONCE.sub("", source))}'

    return inlined(source, name)


def _read(read: Callable[[str], str], name: str) -> str:
    try:
        return read(name)
    except (OSError, StopIteration) as error:
        raise KeyError(name) from error
