"""Fetches and fed tensors, which are prepared once for many runs with different values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gpugraph.base.dtypes import string
from gpugraph.config import RunMetadata, RunOptions
from gpugraph.devices import KeptTensors
from gpugraph.graph.client.tensor import Tensor
from gpugraph.session.feed_conversion import feed_array
from gpugraph.session.fetch_structures import FetchPlan
from gpugraph.session.session_backend import Runner
from gpugraph.session.tensor_handles import gives_handle, plain_value, with_handles

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_ARRAY, _array = np.ndarray, np.array  # global lookups, done once


class PreparedFetches:
    """One combination of fetches and fed tensors, ready to run with different fed values."""

    __slots__ = ("fed", "kept", "plan", "runner", "simple", "tensors", "types")

    def __init__(
        self, plan: FetchPlan, tensors: list[Tensor], runner: Runner, kept: KeptTensors | None
    ) -> None:
        self.plan = plan
        self.tensors = tensors
        self.runner = runner
        self.kept = kept
        self.types = [_numpy_type(tensor) for tensor in tensors]
        index_of = {tensor: index for index, tensor in enumerate(tensors)}
        self.fed = [index_of.get(tensor) for tensor in plan.tensors]
        self.simple = all(index is None for index in self.fed)
        self.simple = self.simple and not any(
            gives_handle(tensor) or tensor.dtype.is_quantized for tensor in plan.tensors
        )

    def arrays(self, values: Iterable[Any]) -> list[Any]:
        """Return the fed values as arrays of their tensors' dtypes."""
        arrays: list[Any] = []
        for value, dtype in zip(values, self.types):
            kind = type(value)
            if kind is _ARRAY and value.dtype is dtype:
                arrays.append(value)
            elif kind is float and (dtype is _FLOAT32 or dtype is _FLOAT64):
                arrays.append(_array(value, dtype))
            else:
                tensor = self.tensors[len(arrays)]
                arrays.append(feed_array(tensor, plain_value(tensor, value, self.kept)))
        return arrays

    def answer(self, arrays: list[Any], results: list[Any]) -> Any:
        """Return a run's results in the structure of the fetches.

        Args:
          results: the values of the fetches that are not fed. If a fetch is fed, its value is the
            fed value.
        """
        if not self.simple:
            computed = iter(results)
            results = [next(computed) if index is None else arrays[index] for index in self.fed]
            results = with_handles(self.plan.tensors, results, self.kept)
        return self.plan.rebuild(results)


def _numpy_type(tensor: Tensor) -> Any:
    """Return the NumPy dtype of arrays that need no conversion when they are fed to a tensor. For
    strings, return None.
    """
    dtype = tensor.dtype.base_dtype
    return None if dtype is string else np.dtype(dtype.as_numpy_dtype)


def run_with(
    prepared: PreparedFetches,
    arrays: list[Any],
    options: RunOptions | None = None,
    run_metadata: RunMetadata | None = None,
) -> Any:
    """Run with options and metadata, and return the values of the fetches. Raises TypeError if the
    options or the metadata have the wrong type.
    """
    if options is not None and not isinstance(options, RunOptions):
        raise TypeError(f"options must be a tf.RunOptions, but got {type(options)}")
    if run_metadata is not None and not isinstance(run_metadata, RunMetadata):
        raise TypeError(f"run_metadata must be a tf.RunMetadata, but got {type(run_metadata)}")
    return prepared.answer(arrays, prepared.runner.run_with(arrays, options, run_metadata))
