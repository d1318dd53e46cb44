"""A static check, which finds the TensorFlow names that a program uses, and the names among them
that gpugraph lacks.

The check covers names in `tensorflow` and, if no Keras is installed, in `keras`. It also finds
calls with arguments that changed in TensorFlow 1.0. Names are followed through imports, aliases
(`slim = tf.contrib.slim`) and chains of attributes, according to Python's scopes. Names that a
program computes, such as `getattr(tf, name)`, are not detected.
"""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Sequence
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

from gpugraph.ops.framework.changed_arguments.arguments_before_one import OLD_CALLS, old_call_hint
from gpugraph.tensorflow_import.left_out import refusal_of
from gpugraph.tensorflow_import.old_keras.module_table_of_keras import KERAS
from gpugraph.tensorflow_import.tensorflow_names import ModulePath, find, is_module, names

_ROOT = "tensorflow"


class NameUse(NamedTuple):
    """A TensorFlow name in a program, with the lines that use it.

    Args:
      refusal: the reason and the replacement if the name is a function or class that always raises
        an error. For other names, "".
    """

    path: str
    is_there: bool
    refusal: str
    lines: list[int]


class OldCallUse(NamedTuple):
    """A function that a program calls with arguments of TensorFlow before 1.0.

    Args:
      hint: a sentence with the old and the new form.
    """

    path: str
    hint: str
    lines: list[int]


class ProgramNames(NamedTuple):
    """The TensorFlow names that a program uses, in order of first use.

    If the program can't be parsed, `fault` is the reason. Otherwise `fault` is empty. `assigned`
    are the names that the program sets. `old_calls` are the functions that the program calls with
    arguments of TensorFlow before 1.0.
    """

    uses: list[NameUse]
    fault: str = ""
    assigned: frozenset[str] = frozenset()
    old_calls: Sequence[OldCallUse] = ()

    @property
    def missing(self) -> list[NameUse]:
        """The names that gpugraph does not have, and the functions and classes that always raise an
        error.
        """
        return [use for use in self.uses if not use.is_there or use.refusal]


def check_source(source: bytes, file: str) -> ProgramNames:
    """Return the TensorFlow names in the source of a program. Errors name the path `file`."""
    try:
        tree = ast.parse(source, file)
    except (SyntaxError, ValueError) as error:
        place = f"line {error.lineno}: " if isinstance(error, SyntaxError) else ""
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        return ProgramNames([], f"{place}{text}")
    reader = Reader()
    reader.collect_module(tree)
    reader.visit(tree)
    uses = [_use(path, sorted(lines)) for path, lines in reader.lines.items()]
    absent = [use.path for use in uses if not use.is_there or use.refusal]
    modules = {other for other in absent if any(path.startswith(f"{other}.") for path in absent)}
    kept = [
        use for use in uses if use.path not in modules
    ]  # omit `contrib.x` if `contrib.x.y` is listed
    kept = [use for use in kept if use.is_there or use.path not in reader.assigned]
    uses = sorted(kept, key=lambda use: (use.lines[0], use.path))
    old_calls = [
        OldCallUse(path, OLD_CALLS[path].hint, sorted(lines))
        for path, lines in reader.old_calls.items()
    ]
    return ProgramNames(uses, "", frozenset(reader.assigned), old_calls)


def _use(path: str, lines: list[int]) -> NameUse:
    if is_module(path):
        return NameUse(path, True, "", lines)
    try:
        return NameUse(path, True, refusal_of(value_of(path)), lines)
    except AttributeError:
        return NameUse(path, False, "", lines)


def value_of(path: str) -> object:
    """Return the value of a path relative to `tensorflow`.

    Raises AttributeError if the path does not exist.
    """
    owner = path
    while not is_module(owner):
        owner = owner.rpartition(".")[0]
    rest = path[len(owner) :].lstrip(".").split(".")
    value = find(owner, rest[0])
    for name in rest[1:]:
        value = find(value.path, name) if isinstance(value, ModulePath) else getattr(value, name)
    return value


def checked_part(path: str) -> str:
    """Return the part of a path that can be checked without running the program.

    For `GraphKeys.LOSSES`, it is the whole path. Attributes of values that are neither modules nor
    classes can't be checked. For example, `flags.FLAGS.rate` becomes `flags.FLAGS`. If the first
    name of a path is missing in its module, the whole path is returned, because it may be a module.
    """
    parts, value = path.split("."), None
    for count in range(1, len(parts) + 1):
        head = ".".join(parts[:count])
        if is_module(head):
            continue
        if value is None:
            owner = ".".join(parts[: count - 1])
            try:
                value = find(owner, parts[count - 1])
            except AttributeError:
                return path
            if isinstance(value, ModulePath):
                value = None
        elif inspect.isclass(value) and not hasattr(value, parts[count - 1]):
            return head
        if value is not None and not inspect.isclass(value):
            return head
    return path


def _path_of_module(name: str) -> str | None:
    """Return the path of `tensorflow`, `keras` or a module below. Return None for any other module,
    and for the modules of an installed Keras.
    """
    root, _, path = name.partition(".")
    if root == _ROOT:
        return path
    if root == "keras" and PathFinder.find_spec(root) is None:
        return f"{KERAS}.{path}" if path else KERAS
    return None


class _Known:
    """An argument whose value is unknown. Its name suggests whether it holds integer labels."""

    def __init__(self, name: str) -> None:
        self.dtype = self
        self.is_integer = "label" in name.lower() or "target" in name.lower()

    @staticmethod
    def of(node: ast.expr) -> Any:
        """Return the value of an expression, if it is a literal."""
        if isinstance(node, ast.List | ast.Tuple):
            return [_Known.of(value) for value in node.elts]
        try:
            return ast.literal_eval(node)
        except (ValueError, SyntaxError, TypeError):
            return _Known(ast.unparse(node))


class _ClassScope(dict[str, str | None]):
    """The names bound in a class body, which the methods of the class do not see."""


class Reader(ast.NodeVisitor):
    """The visitor of a program's syntax tree. `lines` contains the line numbers of each path."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = defaultdict(set)
        self.old_calls: dict[str, set[int]] = defaultdict(set)
        self.assigned: set[str] = set()
        self._scopes: list[dict[str, str | None]] = [
            {}
        ]  # the path relative to `tensorflow` of each name; None for a name bound to another object

    def collect_module(self, tree: ast.Module) -> None:
        """Record the names that the module binds by imports and aliases. This must happen before a
        function that uses these names is visited.
        """
        for node in _statements(tree):
            if isinstance(node, ast.Import | ast.ImportFrom | ast.Assign):
                self.visit(node)
        self.lines.clear()
        self.old_calls.clear()

    # -- the TensorFlow path that a name stands for

    def _bind(self, name: str, path: str | None) -> None:
        self._scopes[-1][name] = path

    def _path(self, node: ast.AST) -> str | None:
        """Return the path relative to `tensorflow` that an expression denotes, or None if there is
        no such path.
        """
        names_after = []
        while isinstance(node, ast.Attribute):
            names_after.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        start = next((scope[node.id] for scope in reversed(self._scopes) if node.id in scope), None)
        if start is None:
            return None
        return ".".join(filter(None, [start, *reversed(names_after)]))

    def _note(self, path: str, line: int) -> None:
        if path:
            self.lines[checked_part(path)].add(line)

    # -- statements that bind names

    def visit_Import(self, node: ast.Import) -> None:
        """Bind and record the modules of an `import`."""
        for alias in node.names:
            path = _path_of_module(alias.name)
            root = alias.name.partition(".")[0]
            name = alias.asname or root
            if path is None:
                self._bind(name, None)
                continue
            self._note(path, node.lineno)
            self._bind(name, path if alias.asname else _path_of_module(root))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Bind and record the names of a `from` import."""
        path = None if node.level else _path_of_module(node.module or "")
        for alias in node.names:
            if path is None:
                self._bind(alias.asname or alias.name, None)
            elif alias.name == "*":
                self._note(path, node.lineno)
                for name in names(path) if is_module(path) else ():
                    self._bind(name, f"{path}.{name}" if path else name)
            else:
                whole = f"{path}.{alias.name}" if path else alias.name
                self._note(whole, node.lineno)
                self._bind(alias.asname or alias.name, whole)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Bind the names that an assignment sets."""
        self.visit(node.value)
        path = self._path(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and path is not None:
                self._bind(target.id, path)
            else:
                self.visit(target)

    def visit_Name(self, node: ast.Name) -> None:
        """If the name is read, record it. If the name is set, unbind it."""
        if isinstance(node.ctx, ast.Load):
            self._note(self._path(node) or "", node.lineno)
        else:
            self._bind(node.id, None)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Record a chain of attributes that is read or set."""
        path = self._path(node)
        if path is None:
            self.visit(node.value)
        elif isinstance(node.ctx, ast.Store):
            self.assigned.add(path)
        else:
            self._note(path, node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        """Record a call with arguments of TensorFlow before 1.0."""
        path = self._path(node.func)
        if path is not None and path in OLD_CALLS:
            is_whole = not any(isinstance(value, ast.Starred) for value in node.args)
            values = [_Known.of(value) for value in node.args] if is_whole else []
            keywords = {word.arg: None for word in node.keywords if word.arg}
            if old_call_hint(path, values, keywords):
                self.old_calls[path].add(node.lineno)
        self.generic_visit(node)

    # -- scopes

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        arguments = node.args
        for outer in (*getattr(node, "decorator_list", ()), *arguments.defaults):
            self.visit(outer)
        for default in filter(None, arguments.kw_defaults):
            self.visit(default)
        plain = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        stars = filter(None, (arguments.vararg, arguments.kwarg))
        outer_scopes = self._scopes
        seen = [scope for scope in outer_scopes if not isinstance(scope, _ClassScope)]
        self._scopes = [*seen, {argument.arg: None for argument in (*plain, *stars)}]
        for statement in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(statement)
        self._scopes = outer_scopes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Visit a function in a new scope, which contains its arguments."""
        self._bind(node.name, None)
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Visit a coroutine in a new scope, which contains its arguments."""
        self._bind(node.name, None)
        self._visit_function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Visit a lambda in a new scope, which contains its arguments."""
        self._visit_function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit the body of a class in a new scope, which is not visible in its methods."""
        self._bind(node.name, None)
        for outer in (*node.decorator_list, *node.bases, *(word.value for word in node.keywords)):
            self.visit(outer)
        self._scopes.append(_ClassScope())
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()


def _statements(tree: ast.AST) -> list[ast.AST]:
    """Return the statements of a module that are not inside functions and classes.

    Statements inside `if`, `try` and other blocks are included.
    """
    statements: list[ast.AST] = []
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            statements += [node, *_statements(node)]
    return statements
