"""Options of profiles, as dicts, and `tf.profiler.ProfileOptionBuilder`, which builds them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

TRAINABLE_VARIABLES = "_trainable_variables"
"""The type of trainable variables in `account_type_regexes`."""

_DEFAULTS: dict[str, Any] = {
    "max_depth": 100,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": ["micros"],
    "step": -1,
    "output": "stdout",
}


def _whole(**changes: Any) -> dict[str, Any]:
    """Return options that do not limit the depth of the graph."""
    return copy.deepcopy(_DEFAULTS | {"max_depth": 10000} | changes)


class ProfileOptionBuilder:
    """A builder of the options of `tf.profiler.profile`. Its methods `with_...` and others return
    the builder itself.

    Args:
      options: the options to begin with.
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._options = copy.deepcopy(_DEFAULTS if options is None else options)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Return options for the number of parameters of trainable variables."""
        return _whole(
            account_type_regexes=[TRAINABLE_VARIABLES],
            account_displayed_op_only=True,
            select=["params"],
        )

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Return options for the number of floating-point operations."""
        return _whole(
            min_float_ops=1,
            order_by="float_ops",
            account_displayed_op_only=True,
            select=["float_ops"],
        )

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Return options for times and memory. Only operations that reach the given minima are
        displayed.
        """
        return _whole(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            order_by="micros",
            account_displayed_op_only=True,
            select=["micros", "bytes"],
        )

    def build(self) -> dict[str, Any]:
        """Return the options, as a copy."""
        return copy.deepcopy(self._options)

    def _with(self, **options: Any) -> ProfileOptionBuilder:
        self._options.update(options)
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Set the maximum depth of displayed nodes."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> ProfileOptionBuilder:
        """Display only nodes that need at least this much memory."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Display only nodes that take at least this time, in microseconds."""
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Display only nodes with at least this number of parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Display only op types with at least this number of operations."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Display only nodes with at least this number of floating-point operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> ProfileOptionBuilder:
        """Count only nodes that have a type which matches one of the regular expressions. The types
        of a node are its op type, its device and, if the node is a trainable variable,
        "_trainable_variables".
        """
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> ProfileOptionBuilder:
        """Set regular expressions for the names of nodes: the nodes to start from, to show, to
        hide, and to hide together with everything below them.
        """
        regexes = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(
            **{key: list(value) for key, value in regexes.items() if value is not None}
        )

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Set whether totals include only the displayed nodes."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Print nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Print the profile."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Write the profile to a text file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Write a trace for chrome://tracing."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> ProfileOptionBuilder:
        """Write a profile for pprof. `profile` refuses it."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Sort nodes by "name", "micros", "bytes", "params", "float_ops" or "occurrence"."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> ProfileOptionBuilder:
        """Set the attributes that are printed."""
        return self._with(select=list(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Set the step that is profiled. -1 means all steps."""
        return self._with(step=step)
