"""`gpugraph run --python2`, which translates programs for Python 2 when they are imported.

The library fissix (the successor of lib2to3) translates syntax and names. The quotient of two
integers is an integer, as in Python 2. No files are written.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import importlib
import io
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.building.compatibility.classic_division import classic_division
from gpugraph.tensorflow_import.dropped_names.dropped_imports import set_attribute
from gpugraph.tensorflow_import.modules_by_name import module_named
from gpugraph.tensorflow_import.python_2 import python_2_files
from gpugraph.tensorflow_import.python_2.python_2_files import open_file

_DIVISION = "__gpugraph_classic_division__"
_OPEN = "__gpugraph_open__"


def _cmp(x: Any, y: Any) -> int:
    """Return -1, 0 or 1 if `x` is less than, equal to or greater than `y`."""
    return int(x > y) - int(x < y)


_BUILTINS = {"cmp": _cmp, "file": open_file, "reload": importlib.reload, "buffer": memoryview}
"""Built-in names of Python 2 that the translation keeps."""


@functools.cache
def _tools() -> list[Any]:
    """Return fissix's translators, one for sources with print statements and one for sources
    without them.

    Raises ImportError with a hint if fissix is not installed.
    """
    try:
        refactor = module_named("fissix.refactor")
    except ImportError as error:
        raise ImportError(
            "--python2 needs fissix: pip install 'gpugraph[python2]'", name="fissix"
        ) from error
    fixers = [
        fixer
        for fixer in refactor.get_fixers_from_package("fissix.fixes")
        if not fixer.endswith(".fix_future")  # it would remove the import of division
    ]
    return [
        refactor.RefactoringTool(fixers, {"print_function": is_function})
        for is_function in (False, True)
    ]


def translated(source: bytes, file: str) -> CodeType:
    """Return the code of a source for Python 2.

    Raises SyntaxError if the source is valid neither in Python 2 nor in Python 3.
    """
    result = python_3_source(source, file)
    tree = ast.parse(result, file)
    _restore_lines(tree, _text(source), result)
    if not any(_binds(node, "open") for node in ast.walk(tree)):
        tree = _Opens().visit(tree)
    if not _has_true_division(tree):
        tree = ast.fix_missing_locations(_Divisions().visit(tree))
    return compile(tree, file, "exec", dont_inherit=True)


def _encoding(source: bytes) -> str:
    try:
        source.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _text(source: bytes) -> str:
    """Return the text of a source. Tabs are replaced with spaces, and a missing newline at the end
    is added.
    """
    text = io.TextIOWrapper(io.BytesIO(source), _encoding(source), errors="replace").read()
    text = text.expandtabs(8) if "\t" in text else text
    return text if text.endswith("\n") else f"{text}\n"


def _restore_lines(tree: ast.Module, before: str, after: str) -> None:
    """Give the nodes of a translated source the line numbers of the original source.

    The translation adds imports and removes assignments of `__metaclass__`, which shifts all
    further lines.
    """
    old, new = before.splitlines(), after.splitlines()
    if len(old) == len(new):
        return
    lines = [0] * (len(new) + 1)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for _, first_old, end_old, first_new, end_new in matcher.get_opcodes():
        for index in range(first_new, end_new):
            line = min(first_old + index - first_new, max(end_old - 1, first_old))
            lines[index + 1] = min(line, len(old) - 1) + 1
    for node in ast.walk(tree):
        for name in ("lineno", "end_lineno"):
            if getattr(node, name, None):
                setattr(node, name, lines[getattr(node, name)])


def python_3_source(source: bytes, file: str) -> str:
    """Return a source for Python 2 in the syntax and with the names of Python 3.

    Raises SyntaxError if the source is valid neither in Python 2 nor in Python 3, and ImportError
    if fissix is not installed.
    """
    text = _text(source)
    errors: list[Exception] = []
    for tool in _tools():
        try:
            result = str(tool.refactor_string(text, file))
            ast.parse(result, file)
            return result
        except Exception as error:  # fissix has its own classes for text that it cannot read
            if raised_by_handler(error):
                raise
            errors.append(error)
    try:
        ast.parse(text, file)
    except SyntaxError as error:
        raise SyntaxError(f"{file} is no program of Python 2 or 3: {errors[0]}") from error
    return text


def _has_true_division(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "division" for alias in node.names)
        for node in tree.body
    )


class _Divisions(ast.NodeTransformer):
    """A fixer that replaces quotients with calls of `classic_division`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.copy_location(_call(node.left, node.right), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div) or not isinstance(node.target, ast.Name):
            return node
        old = ast.Name(node.target.id, ast.Load())
        return ast.copy_location(ast.Assign([node.target], _call(old, node.value)), node)


def _binds(node: ast.AST, name: str) -> bool:
    """Return whether a node of a tree defines, imports or sets a name."""
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name == name
    if isinstance(node, ast.alias):
        return (node.asname or node.name) == name
    return isinstance(node, ast.arg) and node.arg == name


class _Message:
    """The attribute `message` of exceptions in Python 2: the only argument, or "".

    An exception can set another value.
    """

    def __get__(self, error: BaseException | None, owner: type) -> Any:
        if error is None:
            return self
        return error.args[0] if len(error.args) == 1 else ""


class _Opens(ast.NodeTransformer):
    """A fixer that replaces the built-in function `open` with `open_file`."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name(_OPEN, node.ctx), node) if node.id == "open" else node


def _call(left: ast.expr, right: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(_DIVISION, ast.Load()), [left, right], [])


class _Loader(SourceFileLoader):
    """A loader that translates a module from Python 2. No compiled file is read or written."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the translated code."""
        path = self.get_filename(fullname)
        return translated(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the translated code."""
        exec(self.get_code(module.__name__), vars(module))


class _Translator(MetaPathFinder):
    """The finder for modules that are written in Python 2.

    Modules below `folder` are translated. Any other module is translated only if it is not valid
    Python 3.
    """

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(os.path.realpath(folder), "")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module to translate. Return None for any other module."""
        if fullname.partition(".")[0] in sys.stdlib_module_names:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or not spec.origin:
            return None
        is_program = os.path.realpath(spec.origin).startswith(self._folder)
        if not is_program and _is_valid(spec.origin):
            return None
        spec.loader = _Loader(fullname, spec.origin)
        return spec


def _is_valid(file: str) -> bool:
    with open(file, "rb") as stream:
        source = stream.read()
    try:
        compile(source, file, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def install(folder: str) -> None:
    """Translate modules below a folder when they are imported, in this process."""
    _tools()
    vars(builtins)[_DIVISION] = classic_division
    vars(builtins)[_OPEN] = open_file
    python_2_files.install()
    if not hasattr(BaseException, "message"):
        set_attribute(BaseException, "message", _Message())
    for name, value in _BUILTINS.items():
        vars(builtins).setdefault(name, value)
    sys.meta_path.insert(0, _Translator(folder))
