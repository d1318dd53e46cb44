"""One text of several: `#include "x.cuh"` becomes the file of `kernels/` that it names.

So a text that is compiled is whole: what its cache key is made of, and what is kept in a file when
it does not compile. Each file is taken once. `#include <...>` stays: it is the compiler's.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gpugraph.devices.native.native_runtime import kernel_file

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"[^\n]*$', re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once[ \t]*$", re.MULTILINE)


def with_includes(
    text: str,
    name: str = "text.cu",
    read: Callable[[str], str] = kernel_file,
    taken: set[str] | None = None,
) -> str:
    """The text with the files that it includes in their place, each line known by its own file.

    taken: files that are there already, to which those taken now are added.
    KeyError of the file's name where there is none.
    """
    done = set() if taken is None else taken

    def included(text: str, name: str) -> str:
        def one(found: re.Match[str]) -> str:
            other = found.group(1)
            if other in done:
                return ""
            done.add(other)
            line = text.count("\n", 0, found.start()) + 2
            return f'{included(_read(read, other), other)}\n#line {line} "{name}"'

        return f'#line 1 "{name}"\n{_INCLUDE.sub(one, _ONCE.sub("", text))}'

    return included(text, name)


def _read(read: Callable[[str], str], name: str) -> str:
    try:
        return read(name)
    except (OSError, StopIteration) as error:
        raise KeyError(name) from error
