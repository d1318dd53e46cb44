"""Requests for one variable of the store. If the variable exists, it is checked against the
request. Otherwise the variable is created.

The initializer runs outside of control dependencies, branches and loops. So even a variable that is
first requested inside of a branch or loop can be initialized by a separate run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.variable_scope.custom_getters import accepts, needs_nothing
from gpugraph.building.variable_scope.sharing_errors import other_dtype, other_shape
from gpugraph.building.variable_scope.variable_request import PartitionInfo, VariableSpec
from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.ops.random.variable_initializers import GlorotUniform, Zeros


def check_same(spec: VariableSpec, existing: Any, kind: str = "variable") -> None:
    """Raise ValueError if `existing` has a shape or a dtype other than the requested one."""
    shape, dtype = as_shape(spec.shape), as_dtype(spec.dtype)
    if not shape.is_compatible_with(existing.shape):
        raise other_shape(spec.name, shape, existing, kind)
    if not dtype.is_compatible_with(existing.dtype):
        raise other_dtype(spec.name, dtype, existing, kind)


def make_single(spec: VariableSpec, part: PartitionInfo | None = None) -> Any:
    """Create the requested variable, and add its regularization loss to the collection.

    Args:
      part: the position of the variable in a partitioned variable, which is passed to the
        initializer; or None.
    """
    value, dtype = _initial_value(spec, part)
    variable = Variable(
        initial_value=value,
        name=spec.name,
        trainable=spec.trainable,
        collections=spec.collections,
        caching_device=spec.caching_device,
        dtype=dtype,
        validate_shape=spec.validate_shape,
        constraint=spec.constraint,
        use_resource=spec.use_resource,
        synchronization=spec.synchronization,
        aggregation=spec.aggregation,
    )
    if spec.regularizer:  # An empty dict counts as none, as in TensorFlow.
        _regularize(variable, spec)
    return variable


def _initial_value(spec: VariableSpec, part: PartitionInfo | None) -> tuple[Any, DType | None]:
    """Return the arguments `initial_value` and `dtype` for `Variable`. The initial value may be a
    function that returns it.

    The dtype is None if the initial value determines the dtype.
    """
    if spec.gives_value:
        return spec.initializer, None
    dtype, shape = as_dtype(spec.dtype).base_dtype, as_shape(spec.shape)
    make = spec.initializer
    if make is None:
        make = default_initializer(spec.name, dtype)
    if isinstance(make, type):
        graph = get_default_graph()
        with graph.control_dependencies(None):
            make = make()
    if shape.is_fully_defined():
        known = {"partition_info": part} if accepts(make, "partition_info") else {}
        return partial(make, shape.as_list(), dtype=dtype, **known), dtype
    if needs_nothing(make):
        return make, None
    raise ValueError(_no_initializer(spec.name, shape))


def _no_initializer(name: str, shape: TensorShape) -> str:
    return (
        "The initializer passed is not valid. It should be a callable with no arguments and the "
        "shape should not be provided or an instance of `tf.keras.initializers.*' and `shape` "
        f"should be fully defined. It is that of the variable {name}, and the shape is {shape}."
    )


def default_initializer(name: str, dtype: DType) -> Callable[..., Any]:
    """Return Glorot's uniform initializer for floating types, and zeros for integers, bool and
    string.

    Raises ValueError for any other dtype.
    """
    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype == dtypes.string:
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


def _regularize(variable: Any, spec: VariableSpec) -> None:
    """Add the loss that the regularizer returns to the collection REGULARIZATION_LOSSES, unless the
    loss is None.
    """
    graph = get_default_graph()
    with (
        graph.colocate_with(variable.op),
        graph.name_scope(f"{spec.name}/Regularizer/"),
        graph.control_dependencies(None),
    ):
        loss = spec.regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
