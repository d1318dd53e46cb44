"""Writes the index of op types: which module of `gpugraph/ops` declares each.

    python ci/op_index.py [--check]

Every module of `gpugraph/ops` is imported; entries that its own lines make in the registries are
its. With --check nothing is written: it fails where the index differs.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import textwrap
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

PREFIX = "gpugraph.ops."
TABLES = ("OP_DEFS", "OPERATORS")
TARGET = ROOT / "gpugraph" / "ops" / "op_index.py"
START, END = 'INDEX = """\n', '"""\n'


class Watch:
    """Records each module's entries in the registries, without those of its imports."""

    def __init__(self) -> None:
        self.entries: dict[str, list[str]] = {}
        self._seen: set[str] = set()
        self._run = SourceFileLoader.exec_module

    def _new(self) -> list[str]:
        library = vars(sys.modules.get("gpugraph.graph.op_library", object))
        names = [name for table in TABLES for name in dict.keys(library.get(table, {}))]
        new = [name for name in names if name not in self._seen]
        self._seen.update(new)
        return new

    def exec_module(self, loader: Any, module: Any) -> None:
        """Run a module; entries made meanwhile by its imports are already theirs."""
        importer, self.current = getattr(self, "current", ""), module.__name__
        self._take(importer)
        self._run(loader, module)
        self._take(module.__name__)
        self.current = importer

    def _take(self, module: str) -> None:
        if new := self._new():
            self.entries.setdefault(module, []).extend(new)


def index() -> dict[str, list[str]]:
    """Return the names that each module enters, by its path below `gpugraph.ops`."""
    watch = Watch()
    SourceFileLoader.exec_module = lambda loader, module: watch.exec_module(loader, module)  # type: ignore[method-assign]
    ops = importlib.import_module("gpugraph.ops")
    modules = [found.name for found in pkgutil.walk_packages(ops.__path__, PREFIX)]
    for module in sorted(modules, key=lambda name: "older_types" in name):  # of the others' types
        importlib.import_module(module)
    return {
        module.removeprefix(PREFIX): sorted(names)
        for module, names in sorted(watch.entries.items())
    }


def text(entries: dict[str, list[str]]) -> str:
    """Return the index as the lines of its file: a module, then its declarations."""
    lines = []
    for module, names in entries.items():
        wrapped = textwrap.wrap(" ".join([module, *names]), 98, subsequent_indent="    ")
        lines += wrapped
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Write the index, or compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    before, _, rest = TARGET.read_text().partition(START)
    old, _, after = rest.partition(END)
    new = text(index())
    if options.check and new != old:
        sys.exit(f"{TARGET.relative_to(ROOT)} is out of date: run python ci/op_index.py")
    if not options.check:
        TARGET.write_text(before + START + new + END + after)


if __name__ == "__main__":
    main()
