"""Inlining of includes in kernel sources: `#include "x.cuh"` is replaced by the text of that file
in `kernels/`.

So the compiler receives a complete source, which is also the cache key, and which can be stored in
a single file if it does not compile. Each file is included once. The compiler handles `#include
<...>`.
"""

from __future__ import annotations

import re

from gpugraph.devices.native.native_runtime import kernel_file

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"[^\n]*$', re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once[ \t]*$", re.MULTILINE)


def with_includes(source: str, name: str = "text.cu", included: set[str] | None = None) -> str:
    """Return the source with its includes inlined, and with `#line` directives that refer to the
    original file of each line.

    Raises KeyError, with the file's name, if a file does not exist.

    Args:
      name: the source's name, for `#line`.
      included: the names of files that are already included. The names of inlined files are added.
    """
    done = set() if included is None else included

    def inlined(source: str, name: str) -> str:
        def replacement(include: re.Match[str]) -> str:
            other = include.group(1)
            if other in done:
                return ""
            done.add(other)
            line = source.count("\n", 0, include.start()) + 2
            return f'{inlined(_read(other), other)}\n#line {line} "{name}"'

        return f'#line 1 "{name}"\n{_INCLUDE.sub(replacement, _ONCE.sub("", source))}'

    return inlined(source, name)


def _read(name: str) -> str:
    try:
        return kernel_file(name)
    except (OSError, StopIteration) as error:
        raise KeyError(name) from error
