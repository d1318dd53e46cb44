"""Options of datasets.

The options are settings of TensorFlow's runtime. The types of options are checked and their values
are stored, but most options have no effect.
"""

from __future__ import annotations

import enum
from typing import Any, ClassVar


class OptionsBase:
    """A set of options, each with a type and a default.

    An access to any other name raises AttributeError. Raises TypeError if a value does not have the
    type of its option.
    """

    fields: ClassVar[dict[str, tuple[Any, Any]]] = {}

    def __init__(self) -> None:
        object.__setattr__(self, "_options", {})

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.fields:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        kind, _ = self.fields[name]
        if value is not None and not isinstance(value, kind):
            raise TypeError(
                f'Property "{name}" must be of type {kind}, got: {value!r} (type: {type(value)})'
            )
        self._options[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in type(self).fields:
            raise AttributeError(f"{type(self).__name__} has no option {name}")
        options = self.__dict__["_options"]
        if name not in options:
            default = type(self).fields[name][1]
            if isinstance(default, type):
                options[name] = default()
            return options.get(name, default)
        return options[name]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, name) == getattr(other, name) for name in self.fields
        )

    def __hash__(self) -> int:
        return id(type(self))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def merge(self, other: Any) -> Any:
        """Return the options that are set in this object or in `other`. Raises ValueError if an
        option has different values in the two objects.
        """
        result = type(self)()
        for name in self.fields:
            ours, others = self._options.get(name), other._options.get(name)
            if ours is None or others is None or ours == others:
                value = ours if ours is not None else others
            elif isinstance(ours, OptionsBase):
                value = ours.merge(others)
            else:
                raise ValueError(f"Cannot merge incompatible values of option: {name}")
            if value is not None:
                setattr(result, name, value)
        return result


def _of(kind: Any, *names: str, default: Any = None) -> dict[str, tuple[Any, Any]]:
    return dict.fromkeys(names, (kind, default))


class MapVectorizationOptions(OptionsBase):
    """The options of vectorized maps."""

    fields = _of(bool, "enabled", "use_choose_fastest")


class OptimizationOptions(OptionsBase):
    """The options of static optimizations of pipelines."""

    fields: ClassVar[dict[str, tuple[Any, Any]]] = {
        **_of(
            bool, "apply_default_optimizations", "autotune", "autotune_buffers", "filter_fusion",
            "filter_with_random_uniform_fusion", "hoist_random_uniform", "map_and_batch_fusion",
            "map_and_filter_fusion", "map_fusion", "map_parallelization", "noop_elimination",
            "parallel_batch", "shuffle_and_repeat_fusion",
        ),
        **_of(int, "autotune_algorithm", "autotune_cpu_budget"),
        "map_vectorization": (MapVectorizationOptions, MapVectorizationOptions),
    }  # fmt: skip


class ThreadingOptions(OptionsBase):
    """The options about threads."""

    fields = _of(int, "max_intra_op_parallelism", "private_threadpool_size")


class StatsOptions(OptionsBase):
    """The options about statistics."""

    fields: ClassVar[dict[str, tuple[Any, Any]]] = {
        **_of(object, "aggregator"),
        "prefix": (str, ""),
        "counter_prefix": (str, ""),
        **_of(bool, "latency_all_edges"),
    }


class AutoShardPolicy(enum.IntEnum):
    """The ways to divide a dataset among workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class DistributeOptions(OptionsBase):
    """The options about distributed input."""

    fields: ClassVar[dict[str, tuple[Any, Any]]] = {
        "auto_shard": (bool, True),
        "auto_shard_policy": (AutoShardPolicy, AutoShardPolicy.AUTO),
        "num_devices": (int, None),
    }


class Options(OptionsBase):
    """The options of a dataset."""

    fields: ClassVar[dict[str, tuple[Any, Any]]] = {
        **_of(bool, "experimental_deterministic", "experimental_slack", "deterministic"),
        "experimental_distribute": (DistributeOptions, DistributeOptions),
        "experimental_optimization": (OptimizationOptions, OptimizationOptions),
        "experimental_stats": (StatsOptions, StatsOptions),
        "experimental_threading": (ThreadingOptions, ThreadingOptions),
        "experimental_external_state_policy": (object, None),
    }


def merge_options(*options: Any) -> Any:
    """Return the merge of several options objects of one class."""
    result = options[0]
    for other in options[1:]:
        result = result.merge(other)
    return result
