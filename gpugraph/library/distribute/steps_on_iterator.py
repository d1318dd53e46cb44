"""Several steps of a strategy in one run: a loop that takes the input of each step from an
iterator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base import nest
from gpugraph.building.control_flow.while_loop import while_loop
from gpugraph.building.replication import (
    get_replica_context,
    get_strategy,
    in_cross_replica_context,
)
from gpugraph.building.replication.replicated_values import PerReplica, local_results, regroup
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.framework.tensor_conversion import constant


class MultiStepContext:
    """The first argument of the function of a step. The context receives the outputs of the steps.

    Attributes:
      run_op: the operation that runs all steps.
    """

    def __init__(self) -> None:
        self.run_op: Any = None
        self._last_step_outputs: dict[str, Any] = {}
        self._last_step_outputs_reduce_ops: dict[str, Any] = {}
        self._non_tensor_outputs: dict[str, Any] = {}

    @property
    def last_step_outputs(self) -> dict[str, Any]:
        """The outputs of the last step, by name."""
        return self._last_step_outputs

    @property
    def non_tensor_outputs(self) -> dict[str, Any]:
        """The outputs that are not tensors, by name."""
        return self._non_tensor_outputs

    def _set_last_step_outputs(self, outputs: dict[str, Any]) -> None:
        if not isinstance(outputs, dict):
            raise ValueError("Need a dictionary to set last_step_outputs.")
        self._last_step_outputs = outputs

    def set_last_step_output(self, name: str, output: Any, reduce_op: Any = None) -> None:
        """Set an output of the last step.

        Args:
          name: the name of the output.
          output: a tensor, or a value per replica.
          reduce_op: the ReduceOp that combines the values of the replicas. It may be None only in
            the cross-replica context. If it is None, the output is a value per replica.
        """

        def reduced(strategy: Any, value: Any) -> None:
            self._last_step_outputs_reduce_ops[name] = reduce_op
            if reduce_op is not None:
                value = strategy.reduce(reduce_op, value, axis=None)
            self._last_step_outputs[name] = value

        if in_cross_replica_context():
            reduced(get_strategy(), output)
            return
        if reduce_op is None:
            raise AssertionError(f"The output '{name}' of a replica needs a reduce_op")
        get_replica_context().merge_call(reduced, args=(output,))

    def set_non_tensor_output(self, name: str, output: Any) -> None:
        """Set an output that is not a tensor. In a replica, the output becomes a tuple of the
        replicas' outputs.
        """

        def collected(strategy: Any, value: Any) -> None:
            self._non_tensor_outputs[name] = strategy.experimental_local_results(value)

        if in_cross_replica_context():
            self._non_tensor_outputs[name] = output
        else:
            get_replica_context().merge_call(collected, args=(output,))


def run_steps_on_iterator(
    fn: Callable[[MultiStepContext, Any], Any],
    iterator: Any,
    iterations: Any,
    initial_loop_values: Any = None,
) -> MultiStepContext:
    """Build a loop that calls `fn(context, inputs)` in each iteration. Return the context.

    Args:
      iterator: its next element is the input of a step.
      iterations: the number of steps.
      initial_loop_values: a structure of the initial values of the outputs of the last step.
    """
    context = MultiStepContext()

    def body(number: Any, *values: Any) -> list[Any]:
        del values
        done = fn(context, iterator.get_next())
        outputs = context.last_step_outputs
        for name, output in outputs.items():
            outputs[name] = list(local_results(output))
        with get_default_graph().control_dependencies([] if done is None else [done]):
            return [number + 1, *nest.flatten(outputs)]

    results = while_loop(
        lambda number, *values: number < iterations,
        body,
        [constant(0), *nest.flatten(initial_loop_values or {})],
        parallel_iterations=1,
        back_prop=False,
        name="",
        return_same_structure=True,
    )
    context.run_op = group(*results)
    outputs = nest.pack_sequence_as(context.last_step_outputs, list(results[1:]))
    context._set_last_step_outputs({name: _joined(values) for name, values in outputs.items()})
    return context


def _joined(values: Any) -> Any:
    return values[0] if len(values) == 1 else regroup(values, PerReplica)
