"""Names of tensors, operations and colocation groups, with a name scope removed or prefixed."""

from __future__ import annotations

import re
from typing import Any

from gpugraph.graph.attr_values import text_of
from gpugraph.graph.client.default_graph_functions import get_default_graph

_START = r"([\^]|loc:@|^)"  # the prefix of a control input or a colocation group


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Return a name without the prefix of the scope. A name outside of the scope is returned
    unchanged.

    A prefix `^` (control input) or `loc:@` (colocation group) is kept.
    """
    if not export_scope:
        return name
    scope = text_of("export_scope", export_scope).removesuffix("/")
    pattern = rf"{_START}{re.escape(scope)}/+(.*)"
    return re.sub(pattern, r"\1\2", text_of("name", name), count=1)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Return `name` prefixed with the scope `import_scope`. A prefix `^` or `loc:@` stays in
    front.
    """
    if not import_scope:
        return name
    scope = text_of("import_scope", import_scope).removesuffix("/").replace("\\", r"\\")
    return re.sub(rf"{_START}(.*)", rf"\1{scope}/\2", name, count=1)


def is_in_scope(name: str, export_scope: str | None) -> bool:
    """Return whether `name` is in the name scope `export_scope`, so that an export includes it."""
    return not export_scope or name.startswith(export_scope)


def tensor_in_scope(name: str, import_scope: str | None) -> Any:
    """Return the default graph's tensor with this name, prefixed with the scope.

    Raises KeyError if the tensor does not exist, and ValueError if it is the name of an operation.
    """
    return get_default_graph().get_tensor_by_name(prepend_name_scope(name, import_scope))


def operation_in_scope(name: str, import_scope: str | None) -> Any:
    """Return the default graph's operation with this name, prefixed with the scope.

    Raises KeyError if the operation does not exist, and ValueError if it is the name of a tensor.
    """
    return get_default_graph().get_operation_by_name(prepend_name_scope(name, import_scope))
