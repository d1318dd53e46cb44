"""Python 3.10 to 3.14: the package imports no module that any of them lacks, and uses no name that
any of them has removed. Only one Python runs the tests, so the sources are read.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "gpugraph").rglob("*.py"))

_REMOVED_MODULES = """
aifc asynchat asyncore audioop cgi cgitb chunk crypt distutils imghdr imp lib2to3 mailcap msilib
nis nntplib ossaudiodev pipes pkg_resources smtpd sndhdr spwd sunau telnetlib uu xdrlib formatter
parser symbol macpath binhex dummy_threading _bootlocale
"""
REMOVED_MODULES = _REMOVED_MODULES.split()
"""Modules of Python that are gone in 3.14, or earlier."""

_REMOVED_NAMES = """
asyncio.coroutine asyncio.get_event_loop_policy inspect.getargspec inspect.formatargspec
collections.Mapping collections.MutableMapping collections.Sequence collections.Callable
collections.Iterable unittest.makeSuite unittest.findTestCases locale.resetlocale locale.format
ast.Num ast.Str ast.Bytes ast.NameConstant ast.Ellipsis pkgutil.find_loader pkgutil.get_loader
pkgutil.ImpImporter pkgutil.ImpLoader importlib.find_loader importlib.abc.Finder
importlib.abc.ResourceReader importlib.abc.Traversable importlib.resources.open_binary
sqlite3.version itertools.pickle time.clock typing.io typing.re tarfile.filemode
datetime.utcnow cgi.escape html.parser.HTMLParser.unescape gettext.lgettext
threading._shutdown configparser.SafeConfigParser configparser.ParsingError.filename
ssl.wrap_socket ssl.match_hostname webbrowser.MacOSX re.template logging.warn
urllib.parse.splittype shutil.ExecError types.CoroutineTypes email.utils.localtime.isdst
"""
REMOVED_NAMES = _REMOVED_NAMES.split()
"""Names of Python that are gone in 3.14, or earlier, or are to go."""

_ADDED_LATER = """
tomllib typing.Self typing.Never typing.LiteralString typing.override typing.assert_never
typing.assert_type typing.reveal_type typing.Required typing.NotRequired typing.Unpack
typing.TypeVarTuple typing.dataclass_transform typing.get_overloads typing.Buffer typing.TypeIs
typing.ReadOnly enum.StrEnum enum.ReprEnum enum.verify enum.EnumType enum.member datetime.UTC
contextlib.chdir asyncio.timeout asyncio.TaskGroup asyncio.Runner hashlib.file_digest
math.cbrt math.exp2 math.sumprod math.fma itertools.batched operator.call
inspect.markcoroutinefunction inspect.getmembers_static inspect.getasyncgenstate
collections.abc.Buffer logging.getLevelNamesMapping
sys.exception sys.monitoring sys.activate_stack_trampoline sqlite3.Blob warnings.deprecated
copy.replace queue.ShutDown pathlib.UnsupportedOperation calendar.Month calendar.Day
os.process_cpu_count
re.NOFLAG random.binomialvariate statistics.kde shutil.Error.onexc threading.setprofile_all_threads
types.get_original_bases uuid.uuid7 annotationlib compression concurrent.interpreters
string.templatelib
pathlib.Path.walk wsgiref.types
"""
ADDED_LATER = _ADDED_LATER.split()
"""Names that Python 3.10 does not have yet."""

RESTORED = ("gpugraph/tensorflow_import/dropped_names/",)
"""The folder that provides such names to programs, where they are looked up with care."""

SHIELDED = {("gpugraph/tensorflow_import/python_2/python_2_programs.py", "lib2to3")}


def names_used(tree: ast.Module) -> list[tuple[str, int]]:
    """Return the dotted names of modules and their attributes that a source uses, with lines."""
    bound: dict[str, str] = {}
    used = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                used.append((alias.name, node.lineno))
                root = alias.name.partition(".")[0]
                bound[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            used.append((node.module, node.lineno))
            for alias in node.names:
                used.append((f"{node.module}.{alias.name}", node.lineno))
                bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name) and inner.id in bound:
            used.append((".".join([bound[inner.id], *reversed(parts)]), inner.lineno))
    return used


def faults(tree: ast.Module, gone: list[str]) -> list[tuple[str, int]]:
    """Return the uses of names of a list, or below them."""
    known = set(gone)
    return [
        (name, line)
        for name, line in names_used(tree)
        if any(".".join(name.split(".")[:count]) in known for count in range(1, 5))
    ]


def modules_of(text: str) -> set[str]:
    """Return the modules whose names the import statements of a source may bind, or take from."""
    found = set(re.findall(r"^\s*from ([\w.]+)", text, re.MULTILINE))
    for line in re.findall(r"^\s*import (.*)", text, re.MULTILINE):
        for name in line.split(","):
            words = name.split()[0].split(".")
            found.update(".".join(words[:count]) for count in range(1, len(words) + 1))
    return found


def sources_with(names: list[str]) -> dict[str, ast.Module]:
    """Return the parsed sources that import a module of one of the names and have its words."""
    needed = []
    for name in names:
        words = name.split(".")
        prefixes = {".".join(words[:count]) for count in range(1, len(words) + 1)}
        needed.append((prefixes, set(words)))
    found = {}
    for file in SOURCES:
        text = file.read_text("utf-8")
        modules, words_there = modules_of(text), set(re.findall(r"\w+", text))
        if any(prefixes & modules and words <= words_there for prefixes, words in needed):
            found[str(file.relative_to(ROOT))] = ast.parse(text)
    return found


def test_no_source_uses_what_a_later_python_has_removed() -> None:
    removed = [*REMOVED_MODULES, *REMOVED_NAMES]
    found = [
        (file, name, line)
        for file, tree in sources_with(removed).items()
        if not file.startswith(RESTORED)
        for name, line in faults(tree, removed)
        if (file, name.partition(".")[0]) not in SHIELDED
    ]
    assert found == []


def test_no_source_uses_what_python_310_lacks() -> None:
    found = [
        (file, name, line)
        for file, tree in sources_with(ADDED_LATER).items()
        for name, line in faults(tree, ADDED_LATER)
    ]
    assert found == []


def test_the_restored_names_import_no_removed_module() -> None:
    """The folder gives a program `imp` and `distutils`, without importing them."""
    found = [
        (file, name, line)
        for file, tree in sources_with(REMOVED_MODULES).items()
        if file.startswith(RESTORED)
        for name, line in faults(tree, REMOVED_MODULES)
    ]
    assert found == []


def test_no_source_has_syntax_of_a_later_python() -> None:
    """Sources parse as Python 3.10, as far as the running Python can tell."""
    for file in SOURCES:
        ast.parse(file.read_bytes(), str(file), feature_version=(3, 10))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import imp", "imp"),
        ("from distutils import version", "distutils"),
        ("import inspect as i\ni.getargspec(f)", "inspect.getargspec"),
        ("from collections import Mapping", "collections.Mapping"),
        ("import asyncio\n@asyncio.coroutine\ndef f(): pass", "asyncio.coroutine"),
    ],
)
def test_the_test_sees_them(source: str, name: str) -> None:
    uses = faults(ast.parse(source), [*REMOVED_MODULES, *REMOVED_NAMES])
    assert name in [use for use, _ in uses]


def test_removed_modules_are_modules_that_python_had() -> None:
    """A misspelt row would never fail: rows are modules of this Python, or of earlier ones."""
    earlier = {"formatter", "parser", "symbol", "macpath", "dummy_threading", "pkg_resources"}
    earlier |= {"_bootlocale", "binhex"}
    if sys.version_info < (3, 12):
        assert [
            row for row in REMOVED_MODULES if row not in {*sys.stdlib_module_names, *earlier}
        ] == []
