"""Metric, the base class of metrics. A metric is a layer whose variables accumulate values over
batches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype
from gpugraph.building.replication import current_replica, get_strategy, in_cross_replica_context
from gpugraph.building.variables.replication_modes import (
    VariableAggregation,
    VariableSynchronization,
)
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.backend.keras_variables import batch_set_value
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.variable_initializers import Ones, Zeros

_OURS = __name__.split(".", 1)[0] + "."
_INITIALIZERS = {None: Zeros, "zeros": Zeros, "ones": Ones}


class Metric(Layer):
    """Base class of metrics. Subclasses add variables and define `update_state` and `result`.

    A call adds a batch, and returns the result for all batches so far, including the batch of this
    call.

    Args:
      dtype: the dtype of the variables and the result, by default `floatx()`.
    """

    is_metric = True

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=as_dtype(dtype or floatx()), **kwargs)
        self.stateful = True
        self.built = True
        self.call_result: Any = None
        self._latest_update: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wrap `update_state` of a subclass that a program defines. The op that it returns then
        includes all writes of variables.
        """
        super().__init_subclass__(**kwargs)
        if "update_state" in vars(cls) and not cls.__module__.startswith(_OURS):
            cls.update_state = _with_all_writes(cls.update_state)  # type: ignore[method-assign]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch with `update_state`, and return the result for all batches so far."""
        if in_cross_replica_context():
            strategy = get_strategy()
            results = strategy.extended.call_for_each_replica(self._added, args, kwargs)
            result = strategy.experimental_local_results(results)[0]
        else:
            result = self._added(*args, **kwargs)
        result._metric_obj = self
        self.call_result = result
        return result

    def _added(self, *args: Any, **kwargs: Any) -> Tensor:
        """Add the values that one replica computed for a batch, and return the result of the
        metric.
        """
        graph = get_default_graph()
        with graph.name_scope(self._name):
            update = self._latest_update = self.update_state(*args, **kwargs)
            with graph.control_dependencies([update]):
                return self._result_over_replicas()

    def _result_over_replicas(self) -> Tensor:
        """Return the result. In a replica of a strategy, the result is computed from the variables
        of all replicas.
        """

        def computed(*_: Any) -> Tensor:
            return identity(convert_to_tensor(self.result()))

        context = current_replica()
        result: Tensor = computed() if context is None else context.merge_call(computed)
        return result

    @property
    def updates(self) -> list[Any]:
        """A list with the operation that adds the batch of the metric's latest call. The list is
        empty if the metric was not called yet.
        """
        update = self._latest_update
        return [] if update is None else [update]

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Return an op that adds a batch to the variables. The base class raises
        NotImplementedError.
        """
        raise NotImplementedError("Must be implemented in subclasses.")

    def result(self) -> Any:
        """Return the value for all batches so far. The base class raises NotImplementedError."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def reset_states(self) -> None:
        """Set the variables to zero in Keras's session."""
        batch_set_value(
            [(variable, np.zeros(variable.shape.as_list())) for variable in self.weights]
        )

    def add_weight(  # type: ignore[override]
        self,
        name: str,
        shape: Any = (),
        aggregation: VariableAggregation = VariableAggregation.SUM,
        synchronization: VariableSynchronization = VariableSynchronization.ON_READ,
        initializer: Any = None,
        dtype: Any = None,
    ) -> Any:
        """Create a variable of the metric. The variable is not trained, and its default initial
        value is zero.
        """
        if initializer is None or isinstance(initializer, str):
            initializer = _INITIALIZERS[initializer]()
        graph = get_default_graph()
        with graph.control_dependencies(None), graph.name_scope(self._name):
            return super().add_weight(
                name,
                shape,
                dtype or self._dtype,
                initializer,
                trainable=False,
                synchronization=synchronization,
                aggregation=aggregation,
            )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        dtype = self._dtype
        return {"name": self._name, "dtype": None if dtype is None else dtype.name}


def _with_all_writes(update_state: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `update_state` and returns one op. The op runs the result of
    `update_state`, and all writes of variables that the call has created.
    """

    @wraps(update_state)
    def update(self: Any, *args: Any, **kwargs: Any) -> Operation:
        graph = get_default_graph()
        count = len(graph.get_operations())
        result = update_state(self, *args, **kwargs)
        writes = [op for op in graph.get_operations()[count:] if _writes(op)]
        results = [] if result is None else [result]
        return group(*writes, *results)

    return update


def _writes(op: Operation) -> bool:
    """Return whether an operation changes a variable."""
    is_scatter = "Scatter" in op.type and (op.type.startswith("Resource") or op.outputs == [])
    return "Assign" in op.type or is_scatter
