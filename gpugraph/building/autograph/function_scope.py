"""`FunctionScope`: the block around the body of a converted function."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from gpugraph.base.nest import map_structure
from gpugraph.building.autograph.undefined_values import UndefinedReturnValue
from gpugraph.building.control_flow.automatic_control_dependencies import (
    AutomaticControlDependencies,
)
from gpugraph.building.variables.variable_collections import is_tensor
from gpugraph.graph.client.autograph_status import AutographStatus, ControlStatusCtx
from gpugraph.graph.client.default_graph_functions import get_default_graph


class FunctionScope:
    """A context manager around the body of a converted function. In the block, the features that
    the conversion options request are enabled.

    Attributes:
      name: the name of the local variable that holds this object.
      options: the options of the conversion.
      callopts: the options for functions that the body calls.
    """

    def __init__(self, function_name: str, scope_name: str, options: Any) -> None:
        self.name = scope_name
        self.options = options
        self.callopts = options.call_options()
        self._function_name = function_name
        self._stack = ExitStack()
        self._controls: AutomaticControlDependencies | None = None

    def __enter__(self) -> FunctionScope:
        names = {feature.name for feature in self.options.optional_features}
        if self.options.user_requested:
            status = ControlStatusCtx(AutographStatus.ENABLED, self.options)
            self._stack.enter_context(status)
        if names & {"ALL", "NAME_SCOPES"}:
            name = self._function_name
            scope = f"fn{name}" if name.startswith("_") else name
            self._stack.enter_context(get_default_graph().name_scope(scope))
        if names & {"ALL", "AUTO_CONTROL_DEPS"}:
            self._controls = self._stack.enter_context(AutomaticControlDependencies())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def ret(self, value: Any, did_return: Any) -> Any:
        """Return the function's result, or None if no `return` statement was reached."""
        del did_return
        if isinstance(value, UndefinedReturnValue):
            return None
        controls = self._controls
        if controls is None or value is None:
            return value
        return map_structure(
            lambda leaf: controls.mark_as_return(leaf) if is_tensor(leaf) else leaf, value
        )


def with_function_scope(
    thunk: Callable[[FunctionScope], Any], scope_name: str, options: Any
) -> Any:
    """Call `thunk(scope)` in the scope of a lambda function, and return the result."""
    with FunctionScope("lambda_", scope_name, options) as scope:
        return thunk(scope)
