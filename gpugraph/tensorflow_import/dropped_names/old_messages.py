"""The import of modules (`*_pb2.py`) that an old protoc generated, and that protobuf can no longer
run.

Such a module creates its descriptors with calls that protobuf has rejected since version 4.
Therefore its classes are built from the serialized file descriptor that the module contains.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from gpugraph.tensorflow_import.modules_by_name import module_named

_SUFFIX = "_pb2"
_OLD = b"_descriptor.FileDescriptor("


def serialized_file(tree: ast.Module) -> bytes | None:
    """Return the serialized file descriptor in the source of an old module. Return None if the
    source contains no descriptor.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "serialized_pb":
            value = node.value
            if isinstance(value, ast.Call) and value.args:
                value = value.args[0]
            if isinstance(value, ast.Constant):
                text: Any = value.value
                return text.encode("latin1") if isinstance(text, str) else text
    return None


class _OldMessages(SourceFileLoader):
    """A loader that builds the classes of an old module from its file descriptor."""

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module's imports of other message modules, then build its classes."""
        source = self.get_data(self.path)
        tree = ast.parse(source, self.path)
        content = serialized_file(tree)
        if content is None:
            super().exec_module(module)
            return
        names: dict[str, Any] = vars(module)
        imports: list[ast.stmt] = [
            node
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom) and _SUFFIX in ast.unparse(node)
        ]
        exec(compile(ast.Module(imports, []), self.path, "exec"), names)
        pool = module_named("google.protobuf.descriptor_pool").Default()
        builder = module_named("google.protobuf.internal.builder")
        descriptor = pool.AddSerializedFile(content)
        names["DESCRIPTOR"] = descriptor
        builder.BuildMessageAndEnumDescriptors(descriptor, names)
        builder.BuildTopDescriptorsAndMessages(descriptor, module.__name__, names)


class OldMessagesFinder(MetaPathFinder):
    """The finder of message modules that an old protoc generated."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of an old module. Return None for any other module."""
        if not fullname.endswith(_SUFFIX):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or not spec.origin:
            return None
        with open(spec.origin, "rb") as file:
            if _OLD not in file.read():
                return None
        spec.loader = _OldMessages(fullname, spec.origin)
        return spec
