"""Findings of this machine about compiled code, stored in the folder of the libraries.

A finding is a short text about a library: that one of its functions computes the same numbers as
NumPy, or whether the function is faster than NumPy for certain shapes. It is stored under the
library's key, which covers everything that affects the code. So a library of another source,
compiler or processor has other findings.
"""

from __future__ import annotations

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.devices.codegen.c_compiler import compiler

_MOST = 4000
"""The maximum number of findings about a library; further ones are dropped."""


class Findings:
    """Findings by the key of a library, in memory and on disk."""

    def __init__(self) -> None:
        self._known: dict[str, set[str]] = {}
        self._new: dict[str, set[str]] = {}
        self._lock = new_lock()

    def has(self, key: str, finding: str) -> bool:
        """Return whether a finding about the library `key` is recorded; False for an empty key."""
        if not key:
            return False
        with self._lock:
            if key not in self._known:
                self._known[key] = _load(key)
            return finding in self._known[key]

    def add(self, key: str, finding: str) -> None:
        """Record a finding in memory; `keep` writes it to disk."""
        if key and not self.has(key, finding):
            with self._lock:
                self._known[key].add(finding)
                self._new.setdefault(key, set()).add(finding)

    def keep(self) -> None:
        """Write the new findings to disk, together with the findings that other processes have
        written since the file was read.
        """
        with self._lock:
            new, self._new = self._new, {}
        for key, findings in new.items():
            lines = sorted(findings) + sorted(_load(key) - findings)
            compiler().verdicts.store(key, "\n".join(lines[:_MOST]).encode())


def _load(key: str) -> set[str]:
    content = compiler().verdicts.load(key)
    return set(content.decode("ascii", "replace").split("\n")) if content else set()


FINDINGS = Findings()
"""The findings about libraries of this process's C compiler."""
