"""`tensorflow.python.ops.boosted_trees_ops`: ensembles of trees and streams of quantiles, which
estimators of boosted trees train and save.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.trackable import Trackable
from gpugraph.building.variables.graph_resources import register_resource
from gpugraph.graph.client.default_graph_functions import (
    add_to_collection,
    control_dependencies,
    name_scope,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.train.savers.saveable_objects import SaveableObject, SaveSpec
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import raw_ops

calculate_best_feature_split = raw_ops.BoostedTreesCalculateBestFeatureSplit
calculate_best_gains_per_feature = raw_ops.BoostedTreesCalculateBestGainsPerFeature
center_bias = raw_ops.BoostedTreesCenterBias
create_quantile_stream_resource = raw_ops.BoostedTreesCreateQuantileStreamResource
example_debug_outputs = raw_ops.BoostedTreesExampleDebugOutputs
get_bucket_boundaries = raw_ops.BoostedTreesQuantileStreamResourceGetBucketBoundaries
is_quantile_resource_initialized = raw_ops.IsBoostedTreesQuantileStreamResourceInitialized
make_quantile_summaries = raw_ops.BoostedTreesMakeQuantileSummaries
make_stats_summary = raw_ops.BoostedTreesMakeStatsSummary
predict = raw_ops.BoostedTreesPredict
quantile_add_summaries = raw_ops.BoostedTreesQuantileStreamResourceAddSummaries
quantile_flush = raw_ops.BoostedTreesQuantileStreamResourceFlush
quantile_resource_deserialize = raw_ops.BoostedTreesQuantileStreamResourceDeserialize
quantile_resource_handle_op = raw_ops.BoostedTreesQuantileStreamResourceHandleOp
sparse_calculate_best_feature_split = raw_ops.BoostedTreesSparseCalculateBestFeatureSplit
training_predict = raw_ops.BoostedTreesTrainingPredict
update_ensemble = raw_ops.BoostedTreesUpdateEnsemble
update_ensemble_v2 = raw_ops.BoostedTreesUpdateEnsembleV2

_PRUNING_MODES = ("none", "pre", "post")


class PruningMode:
    """The time at which splits of negative gain are removed: never, before a layer is added, or at
    the end.
    """

    NO_PRUNING, PRE_PRUNING, POST_PRUNING = range(3)

    @classmethod
    def from_str(cls, mode: str) -> int:
        """Return the number of the mode "none", "pre" or "post". Raises ValueError for any other
        mode.
        """
        if mode not in _PRUNING_MODES:
            names = ", ".join(sorted(_PRUNING_MODES))
            raise ValueError(f"pruning_mode mode must be one of: {names}")
        return _PRUNING_MODES.index(mode)


class _TreeResource(Trackable):
    """A resource of the graph, whose initializer creates it.

    Args:
      handle: the handle.
      create: the op that creates the resource.
      is_initialized: a bool tensor that is True if the resource exists.
      is_shared: whether the sessions of a cluster share the resource.
    """

    def __init__(self, handle: Any, create: Any, is_initialized: Any, is_shared: bool) -> None:
        self._resource_handle, self._init_op, self._is_initialized = handle, create, is_initialized
        register_resource(handle, create, is_initialized, is_shared=is_shared)

    @property
    def resource_handle(self) -> Any:
        """The handle of the resource."""
        return self._resource_handle

    @property
    def initializer(self) -> Any:
        """The op that creates the resource."""
        return self._init_op

    def is_initialized(self) -> Any:
        """Return a bool tensor that is True if the resource exists."""
        return self._is_initialized


class TreeEnsemble(_TreeResource):
    """An ensemble of trees, which savers save unless it is local.

    Args:
      stamp_token: the initial stamp.
      is_local: whether the ensemble is a copy in each session.
      serialized_proto: the initial ensemble, a serialized message.
    """

    def __init__(
        self, name: str, stamp_token: int = 0, is_local: bool = False, serialized_proto: str = ""
    ) -> None:
        with name_scope(name, "TreeEnsemble") as scope:
            handle = raw_ops.BoostedTreesEnsembleResourceHandleOp(
                container="", shared_name=scope, name=scope
            )
            create = raw_ops.BoostedTreesCreateEnsemble(
                handle, stamp_token, tree_ensemble_serialized=serialized_proto
            )
            known = raw_ops.IsBoostedTreesEnsembleInitialized(handle)
            self._saveable = None if is_local else _EnsembleSaveable(handle, create, handle.name)
            if self._saveable is not None:
                add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)
            super().__init__(handle, create, known, is_shared=not is_local)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {} if self._saveable is None else {"tree_ensemble": self._saveable}

    def get_stamp_token(self) -> Any:
        """Return the stamp, which changes with the ensemble."""
        return raw_ops.BoostedTreesGetEnsembleStates(self._resource_handle)[0]

    def get_states(self) -> tuple[Any, ...]:
        """Return (the stamp, the number of trees, the number of finished trees, the number of
        attempts to grow a layer, the range of the last layer's nodes).
        """
        states = raw_ops.BoostedTreesGetEnsembleStates(self._resource_handle)
        names = (
            "stamp_token", "num_trees", "num_finalized_trees", "num_attempted_layers",
            "last_layer_nodes_range",
        )  # fmt: skip
        return tuple(identity(state, name=name) for state, name in zip(states, names))

    def serialize(self) -> Any:
        """Return the stamp and the ensemble as a serialized message."""
        return raw_ops.BoostedTreesSerializeEnsemble(self._resource_handle)

    def deserialize(self, stamp_token: Any, serialized_proto: Any) -> Any:
        """Return the op that replaces the ensemble."""
        return raw_ops.BoostedTreesDeserializeEnsemble(
            self._resource_handle, stamp_token, serialized_proto
        )


class _EnsembleSaveable(SaveableObject):
    """The stamp and the message of an ensemble, under `NAME_stamp` and `NAME_serialized`."""

    def __init__(self, handle: Any, create: Any, name: str) -> None:
        stamp, serialized = raw_ops.BoostedTreesSerializeEnsemble(handle)
        specs = [
            SaveSpec(stamp, "", f"{name}_stamp"),
            SaveSpec(serialized, "", f"{name}_serialized"),
        ]
        super().__init__(handle, specs, name)
        self._create = create

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Return the op that replaces the ensemble."""
        del restored_shapes
        with control_dependencies([self._create]):
            return raw_ops.BoostedTreesDeserializeEnsemble(self.op, *restored_tensors)


class QuantileAccumulator(_TreeResource):
    """Streams of the values of features, and the boundaries of the features' buckets.

    Args:
      epsilon: the maximum error of a quantile's rank, as a fraction of the number of values.
      num_streams: the number of features.
      num_quantiles: the number of buckets of a feature.
      max_elements: unused, as in TensorFlow.
    """

    def __init__(
        self,
        epsilon: float,
        num_streams: int,
        num_quantiles: int,
        name: str | None = None,
        max_elements: int | None = None,
    ) -> None:
        del max_elements
        self._eps, self._num_streams, self._num_quantiles = epsilon, num_streams, num_quantiles
        with name_scope(name, "QuantileAccumulator") as scope:
            handle = quantile_resource_handle_op(container="", shared_name=scope, name=scope)
            create = create_quantile_stream_resource(handle, epsilon, num_streams)
            known = is_quantile_resource_initialized(handle)
        super().__init__(handle, create, known, is_shared=True)
        self._saveable = _BoundariesSaveable(handle, create, num_streams, handle.name)
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    @property
    def saveable(self) -> SaveableObject:
        """The object through which savers save the boundaries."""
        return self._saveable

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"quantile_accumulator": self._saveable}

    def add_summaries(self, float_columns: Any, example_weights: Any) -> Any:
        """Return the op that adds values to the streams.

        Args:
          float_columns: a vector of values for each feature.
          example_weights: the weights of the examples, or one weight.
        """
        summaries = make_quantile_summaries(float_columns, example_weights, self._eps)
        return quantile_add_summaries(self._resource_handle, summaries)

    def flush(self) -> Any:
        """Return the op that computes the boundaries from the streams, and then empties the
        streams.
        """
        return quantile_flush(self._resource_handle, self._num_quantiles)

    def get_bucket_boundaries(self) -> Any:
        """Return a vector of boundaries for each feature."""
        return get_bucket_boundaries(self._resource_handle, self._num_streams)


class _BoundariesSaveable(SaveableObject):
    """The boundaries of features, under `NAME_bucket_boundaries_0` and so on."""

    def __init__(self, handle: Any, create: Any, count: int, name: str) -> None:
        boundaries = get_bucket_boundaries(handle, count)
        specs = [
            SaveSpec(values, "", f"{name}_bucket_boundaries_{number}")
            for number, values in enumerate(boundaries)
        ]
        super().__init__(handle, specs, name)
        self._create = create

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Return the op that sets the boundaries."""
        del restored_shapes
        with control_dependencies([self._create]):
            return quantile_resource_deserialize(self.op, bucket_boundaries=restored_tensors)
