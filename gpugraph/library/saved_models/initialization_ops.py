"""The main op of a SavedModel, which runs after its variables are restored."""

from __future__ import annotations

from typing import Any

from gpugraph.building.variables import (
    global_variables_initializer,
    local_variables_initializer,
    tables_initializer,
)
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.operation import Operation
from gpugraph.ops.control.group_and_no_op import group


def main_op() -> Operation:
    """Return an operation that initializes all variables, including local ones, and the tables."""
    return group(
        global_variables_initializer(), local_variables_initializer(), tables_initializer()
    )


def main_op_with_restore(restore_op_name: Any) -> Operation:
    """Return an operation that runs `main_op()`, and then the operation `restore_op_name`."""
    with control_dependencies([main_op()]):
        return group(restore_op_name)
