"""The calls in sources of libraries, compared with the signatures and the classes here.

`libraries.py calls` counts, over all sources, the calls `tf.x.y(...)` whose keywords or number of
positional arguments the function here does not accept, and `libraries.py attributes` the attributes
of sessions, tensors, datasets and other objects that the classes here lack. An object's class is
known where the same function assigns the result of a call of TensorFlow to a name.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from gpugraph.tensorflow_import.checking.program_check import Reader, value_of
from gpugraph.tensorflow_import.refused_names import reason_of

_CLASS_OF_RESULT = {
    "get_variable": "Variable",
    "get_default_graph": "Graph",
    "get_default_session": "Session",
    "get_variable_scope": "VariableScope",
    "train.get_or_create_global_step": "Variable",
    "train.load_checkpoint": "train.NewCheckpointReader",
    "data.TFRecordDataset": "data.Dataset",
    "data.TextLineDataset": "data.Dataset",
}
"""The classes of the results of functions, by their paths."""

_RETURNED = {"Tensor": "Tensor", "Operation": "Operation", "Variable": "Variable"}
"""By the annotation of a function's result, the path of the class."""


class Call(NamedTuple):
    """A call of a function of TensorFlow; `count` is -1 if `*` or `**` hides the arguments."""

    path: str
    count: int
    keywords: frozenset[str]


class CallReader(Reader):
    """The visitor that collects calls, and attributes of objects whose class is known."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[Call] = Counter()
        self.attributes: Counter[tuple[str, str]] = Counter()
        self._classes: dict[str, str] = {}

    def visit_Call(self, node: ast.Call) -> None:
        path = self._path(node.func)
        if path:
            is_open = any(isinstance(each, ast.Starred) for each in node.args)
            is_open = is_open or any(word.arg is None for word in node.keywords)
            words = frozenset(word.arg for word in node.keywords if word.arg)
            self.calls[Call(path, -1 if is_open else len(node.args), words)] += 1
        self.generic_visit(node)

    def _class_of(self, node: ast.AST) -> str:
        """Return the path of the class of an expression's value; "" if it is not known."""
        if not isinstance(node, ast.Call):
            return ""
        path = (self._path(node.func) or "").removeprefix("compat.v1.")
        if path.startswith("data.Dataset.from_"):
            return "data.Dataset"
        name = path.rpartition(".")[2]
        return _CLASS_OF_RESULT.get(path) or (path if name[:1].isupper() else _returned(path))

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._classes[ast.unparse(target)] = self._class_of(node.value)
        super().visit_Assign(node)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self._classes[ast.unparse(item.optional_vars)] = self._class_of(item.context_expr)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        owner = self._classes.get(ast.unparse(node.value), "") or self._class_of(node.value)
        if owner and isinstance(node.ctx, ast.Load):
            self.attributes[owner, node.attr] += 1
        super().visit_Attribute(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer = dict(self._classes)
        arguments = (*node.args.args, *node.args.kwonlyargs)
        self._classes = {
            name: value
            for name, value in outer.items()
            if name.partition(".")[0] not in {each.arg for each in arguments}
        }
        super().visit_FunctionDef(node)
        self._classes = outer


def read_calls(file: Path) -> CallReader:
    """Return the reader of a source; an empty one if the source cannot be parsed."""
    reader = CallReader()
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError):
        return reader
    reader.collect_module(tree)
    reader.calls.clear()
    reader.attributes.clear()
    reader.visit(tree)
    return reader


def _value(path: str) -> Any:
    """Return the value of a name; None if it is missing or refused."""
    try:
        value = value_of(path)
    except (AttributeError, ImportError):
        return None
    return None if reason_of(value) or not callable(value) else value


@functools.cache
def _returned(path: str) -> str:
    """Return the path of the class that a function's result is annotated with."""
    annotations = getattr(_value(path), "__annotations__", {}) if path else {}
    return _RETURNED.get(str(annotations.get("return")), "")


def fault_of_call(call: Call) -> str:
    """Return why the function here does not accept the arguments; "" if it does, or is missing."""
    value = _value(call.path)
    if value is None:
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = list(signature.parameters.values())
    if call.path.endswith(".__init__"):
        parameters = [p for p in parameters if p.name != "self"]
        call = call._replace(count=max(call.count - 1, -1))
    kinds = {parameter.kind for parameter in parameters}
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    unknown = sorted(call.keywords - named)
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        return f"no argument {', '.join(unknown)}"
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if call.count > len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        return f"{call.count} arguments, of at most {len(positional)}"
    if call.count >= 0:
        given = {p.name for p in positional[: call.count]} | call.keywords
        required = [p.name for p in parameters if p.default is p.empty and p.name in named]
        absent = [name for name in required if name not in given]
        if absent:
            return f"without {', '.join(absent)}"
    return ""


def lacks(owner: str, attribute: str) -> bool:
    """Return whether the class here lacks an attribute, and its instances too as far as known."""
    if attribute.startswith("__"):
        return False
    value = _value(owner)
    return inspect.isclass(value) and not _has(value, attribute)


def _has(owner: type, attribute: str) -> bool:
    if hasattr(owner, "FromString"):  # the fields of a message are attributes of an instance
        return hasattr(owner(), attribute)
    if hasattr(owner, attribute) or hasattr(owner, "__getattr__"):
        return True
    for each in owner.__mro__:
        slots = getattr(each, "__slots__", ())
        if attribute in ((slots,) if isinstance(slots, str) else slots):
            return True
        try:
            source = inspect.getsource(each)
        except (OSError, TypeError):
            continue
        if (
            f"self.{attribute} " in source
            or f"self.{attribute}:" in source
            or (f"self.{attribute}," in source)
        ):
            return True
    return False
