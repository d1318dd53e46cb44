"""StepFunction: runs one batch with a prepared callable of a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.library.keras.backend.keras_session import get_session
from gpugraph.library.keras.backend.keras_variables import sparse_parts
from gpugraph.ops.sparse.sparse_tensor import SparseTensor

Run = Callable[..., list[Any]]
"""A function that receives an array for each input, and returns a value for each output."""


class StepFunction:
    """A function that feeds arrays, runs outputs and updates in Keras's session, and returns the
    values of the outputs.

    Args:
      inputs: the tensors to feed, in the order of the arrays.
      constants: (tensor, value) pairs that are always fed.
      outputs: tensors whose values are returned.
      updates: operations that also run.
      options: `options` and `run_metadata` for `Session.run`.
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        constants: Sequence[tuple[Any, Any]],
        outputs: Sequence[Any],
        updates: Sequence[Any],
        options: dict[str, Any],
    ) -> None:
        self._inputs, self._outputs, self._updates = list(inputs), list(outputs), list(updates)
        used = [(tensor, value) for tensor, value in constants if tensor.consumers()]
        self._constants = [tensor for tensor, _ in used]
        self._values = tuple(
            np.array(value, tensor.dtype.base_dtype.as_numpy_dtype) for tensor, value in used
        )
        self._options = options
        self._session: Any = None
        self._run: Run | None = None

    def prepared(self) -> Run:
        """Return the callable of Keras's current session. Variables are initialized first."""
        session = get_session(self._outputs)
        if self._run is None or session is not self._session:
            self._session, self._run = session, self._prepare(session)
        return self._run

    def _prepare(self, session: Any) -> Run:
        has_sparse = any(isinstance(tensor, SparseTensor) for tensor in self._inputs)
        parts = [part for tensor in self._inputs for part in _parts(tensor)]
        fetches, count = [*self._outputs, *self._updates], len(self._outputs)
        call = session.make_callable(
            fetches, [*parts, *self._constants], accept_options=bool(self._options)
        )
        values, options = self._values, self._options

        def run(*arrays: Any) -> list[Any]:
            results: list[Any] = call(*arrays, *values, **options)[:count]
            return results

        def run_sparse(*arrays: Any) -> list[Any]:
            pairs = zip(self._inputs, arrays)
            return run(*(part for pair in pairs for part in _parts_of_array(*pair)))

        return run_sparse if has_sparse else run

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs.

        Args:
          arrays: a value for each input.
        """
        return self.prepared()(*arrays)


def _parts(tensor: Any) -> list[Any]:
    return tensor._parts() if isinstance(tensor, SparseTensor) else [tensor]


def _parts_of_array(tensor: Any, array: Any) -> Sequence[Any]:
    if not isinstance(tensor, SparseTensor):
        return [array]
    return sparse_parts(array) if hasattr(array, "tocoo") else array
