"""Variables as VariableDef messages, and the variables of an imported graph."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpugraph.building.trackable.trackable import Trackable
from gpugraph.building.variables.private_variable_state import PrivateVariableState
from gpugraph.building.variables.replication_modes import ReplicatedState, checked_modes, trains
from gpugraph.building.variables.save_slice_info import SaveSliceInfo
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.collection_protos import register_proto_function
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.scoped_names import (
    is_in_scope,
    operation_in_scope,
    strip_name_scope,
    tensor_in_scope,
)

VARIABLE_VALUE = "VARIABLE_VALUE"
"""The name of a variable's value in object-based checkpoints."""


class VariableInProto(PrivateVariableState, ReplicatedState, Trackable):
    """A variable that can be converted to a VariableDef message and back."""

    _caching_device: Any = None
    _constraint: Any = None
    _validate_shape = True
    _save_slice_info: SaveSliceInfo | None = None

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {VARIABLE_VALUE: self}

    def _set_save_slice_info(self, save_slice_info: SaveSliceInfo) -> None:
        """Record, for savers, which part of a partitioned variable this variable is."""
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> SaveSliceInfo | None:
        return self._save_slice_info

    @classmethod
    def from_proto(cls, variable_def: Any, import_scope: str | None = None) -> Any:
        """Return a Variable that consists of the ops that a VariableDef names, in the default
        graph.

        Raises KeyError if the graph does not have one of the names.
        """
        kind: Any = cls._kind(bool(variable_def.is_resource))  # type: ignore[attr-defined]
        return type.__call__(kind, variable_def=variable_def, import_scope=import_scope)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return a VariableDef, or None if the variable is outside of the scope.

        Args:
          export_scope: the name scope that is removed from the names.
        """
        handle = self._variable
        if not is_in_scope(handle.name, export_scope):
            return None
        strip = partial(strip_name_scope, export_scope=export_scope)
        message = messages_pb2.VariableDef(
            variable_name=strip(handle.name),
            initializer_name=strip(self._initializer.name),
            snapshot_name=strip(self._snapshot.name),
            is_resource=not handle.dtype.is_ref_dtype,
            trainable=self._trainable,
            synchronization=self._synchronization.value,
            aggregation=self._aggregation.value,
        )
        if self._initial_value is not None:
            message.initial_value_name = strip(self._initial_value.name)
        if self._save_slice_info is not None:
            message.save_slice_info_def.CopyFrom(self._save_slice_info.to_proto(export_scope))
        return message

    def _init_from_proto(self, message: Any, import_scope: str | None) -> None:
        """Initialize the variable from a VariableDef, with operations of the default graph."""
        descriptor = getattr(type(message), "DESCRIPTOR", None)
        if getattr(descriptor, "full_name", "") != "tensorflow.VariableDef":
            raise TypeError(f"variable_def must be a VariableDef proto, but it is {message!r}")
        self._graph = get_default_graph()
        self._variable: Any = tensor_in_scope(message.variable_name, import_scope)
        self._initializer: Any = operation_in_scope(message.initializer_name, import_scope)
        self._initial_value: Any = None
        if message.initial_value_name:
            self._initial_value = tensor_in_scope(message.initial_value_name, import_scope)
        inputs = self._initializer.inputs
        self._guarded_initial_value = inputs[1] if len(inputs) > 1 else self._initial_value
        self._snapshot: Any = tensor_in_scope(
            message.snapshot_name or f"{self._variable.op.name}/Read/ReadVariableOp:0", import_scope
        )
        self._synchronization, self._aggregation = checked_modes(
            message.synchronization, message.aggregation, message.variable_name
        )
        self._trainable = trains(message.trainable, self._synchronization)
        if message.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=message.save_slice_info_def, import_scope=import_scope
            )


def register_variable_protos(from_proto: Any) -> None:
    """Register functions that convert the variables in a graph's collections to messages and
    back.
    """
    for key in (
        GraphKeys.GLOBAL_VARIABLES,
        GraphKeys.TRAINABLE_VARIABLES,
        GraphKeys.MOVING_AVERAGE_VARIABLES,
        GraphKeys.LOCAL_VARIABLES,
        GraphKeys.MODEL_VARIABLES,
        GraphKeys.METRIC_VARIABLES,
        GraphKeys.GLOBAL_STEP,
    ):
        register_proto_function(
            key,
            "VariableDef",
            lambda variable, export_scope=None: variable.to_proto(export_scope=export_scope),
            from_proto,
        )
