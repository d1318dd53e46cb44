"""Conversion of a program's data to batches of arrays for inputs, targets and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.nest import flatten, map_structure
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.backend.keras_session import get_session
from gpugraph.library.keras.backend.keras_variables import int_shape
from gpugraph.library.keras.engine.layer_inputs import is_tensor
from gpugraph.library.keras.inputs.sequence import Sequence as BatchSequence
from gpugraph.library.keras.training.epoch_batches import (
    ArrayBatches,
    Batch,
    StepBatches,
    has_tensors,
)
from gpugraph.library.keras.training.example_weights import standardize_weights, weights_by_output
from gpugraph.library.keras.training.input_arrays import (
    DenseRows,
    check_sample_counts,
    check_target,
    standardize_arrays,
)

_MAX_BYTES = 1 << 28
"""The maximum size in bytes of an array that is converted to its placeholder's dtype in one
piece.
"""


def is_generator(data: Any) -> bool:
    """Return whether data is a Sequence, a generator or another iterator. Such data produces whole
    batches.
    """
    return isinstance(data, BatchSequence) or hasattr(data, "__next__")


class ModelData:
    """Converts data to the arrays that are fed in a model's steps.

    Args:
      setup: the model's TrainingSetup, or None to convert inputs only.
    """

    def __init__(self, model: Any, setup: Any) -> None:
        self.model, self.setup = model, setup

    def inputs(self, x: Any, checks_batch: bool = False) -> list[Any]:
        """Return a list with the array of each input to feed.

        Raises ValueError if an array is missing, and the errors of `standardize_arrays`.
        """
        model = self.model
        tensors = model.feed_inputs
        shapes = [int_shape(tensor) for tensor in tensors]
        arrays = standardize_arrays(x, model.feed_input_names, shapes, "input", checks_batch)
        for array, name in zip(arrays, model.feed_input_names):
            if array is None:
                raise ValueError(
                    f'No data provided for "{name}". Need data for each key in: '
                    f"{list(model.feed_input_names)}"
                )
        return [_of_dtype(array, tensor) for array, tensor in zip(arrays, tensors)]

    def batch(self, x: Any, y: Any, sample_weight: Any = None, class_weight: Any = None) -> Batch:
        """Return the arrays of a batch, or of all data, in the order of a step's inputs.

        These arrays are the inputs, the targets, and the weights of those outputs for which weights
        were passed.
        """
        inputs = self.inputs(x)
        trained = [output for output in self.setup.trained if output.has_placeholder]
        names = [output.name for output in self.setup.trained]
        targets = self._targets(y, trained)
        sample_weights = weights_by_output(sample_weight, names, "sample_weight")
        class_weights = weights_by_output(class_weight, names, "class_weight")
        by_name = dict(zip([output.name for output in trained], targets))
        weights = [
            standardize_weights(by_name.get(output.name), weight, by_class, output.is_temporal)
            for output, weight, by_class in zip(self.setup.trained, sample_weights, class_weights)
        ]
        check_sample_counts(inputs, targets, weights)
        present = [np.asarray(weight, floatx()) for weight in weights if weight is not None]
        arrays = [*inputs, *(_of_dtype(t, o.target) for t, o in zip(targets, trained)), *present]
        weighted = tuple(weight is not None for weight in weights)
        size = next((int(array.shape[0]) for array in arrays), 0)
        return Batch(arrays, size, weighted)

    def _targets(self, y: Any, trained: Sequence[Any]) -> list[Any]:
        shapes = [output.target_shape() for output in trained]
        targets = standardize_arrays(y, [output.name for output in trained], shapes, "target")
        for output, target in zip(trained, targets):
            if target is None:
                raise ValueError(
                    f"No target data for output {output.name}: pass y, or target_tensors in compile"
                )
            check_target(target, output.loss, output.shape)
        return targets

    def of_value(self, value: Any, class_weight: Any = None) -> Batch:
        """Return the Batch for a generator's value, which is x, (x, y) or (x, y, weights).

        Raises ValueError for any other value.
        """
        parts = value if isinstance(value, tuple) else (value,)
        if value is None or len(parts) not in (1, 2, 3):
            raise ValueError(
                "Output of generator should be a tuple of 1 or 2 or 3 elements: (input,) or "
                "(input, target) or (input, target, sample_weights). Received "
                f"{str(value)[:200]}"
            )
        x, y, sample_weight = (*parts, None, None)[:3]
        return self.batch(x, y, sample_weight, class_weight)

    def of_inputs(self, value: Any) -> Batch:
        """Return a Batch without targets. `value` is the inputs, or a tuple that begins with the
        inputs.
        """
        inputs = self.inputs(value[0] if isinstance(value, tuple) else value)
        return Batch(inputs, int(inputs[0].shape[0]) if inputs else 0, ())

    def batches_of_tensors(self, x: Any, y: Any, steps: int | None, batch: Any) -> StepBatches:
        """Return the batches of data that contains tensors. Each step first computes their values.

        Raises ValueError if the number of steps is not given.

        Args:
          batch: a function from the values of (x, y) to a Batch.
        """
        if steps is None:
            raise ValueError(
                "When using data tensors as input to a model, you should specify the "
                "`steps_per_epoch` argument (`steps` to evaluate and predict)."
            )
        session = get_session(self.model.outputs)

        def values() -> Batch:
            result: Batch = batch(*_evaluated(session, (x, y)))
            return result

        return StepBatches(values, steps)

    def needs_no_data(self) -> bool:
        """Return whether no data is fed, because all inputs and targets are existing tensors of the
        graph.
        """
        targets = self.setup.trained if self.setup is not None else []
        return not self.model.feed_inputs and not any(out.has_placeholder for out in targets)

    def training_batches(
        self,
        data: tuple[Any, Any, Any, Any],
        batch_size: int | None,
        steps: int | None,
        shuffle: Any = False,
    ) -> Any:
        """Return the batches of `data`, which is (x, y, sample_weight, class_weight) with arrays or
        tensors.

        Args:
          steps: the number of steps in an epoch, if each step uses all of the data. None means that
            steps use batches of rows.
        """
        x, y, sample_weight, class_weight = data
        if has_tensors(x) or has_tensors(y):
            return self.batches_of_tensors(x, y, steps, self.batch)
        whole = self.batch(x, y, sample_weight, class_weight)
        if not whole.arrays and self.needs_no_data():
            return self.batches_of_tensors(None, None, steps, lambda *_: whole)
        if steps is not None:
            return StepBatches(lambda: whole, steps)
        return ArrayBatches(whole.arrays, whole.weighted, batch_size or 32, shuffle)


def _of_dtype(array: Any, tensor: Any) -> Any:
    """Convert arrays of at most `_MAX_BYTES` to a placeholder's dtype. Wrap sparse matrices."""
    if hasattr(array, "tocsr") and isinstance(tensor, Tensor):
        return DenseRows(array)
    if not isinstance(array, np.ndarray) or not isinstance(tensor, Tensor):
        return array
    dtype = tensor.dtype.base_dtype.as_numpy_dtype
    if array.dtype == dtype or array.nbytes > _MAX_BYTES or array.dtype.kind in "OSU":
        return array
    return array.astype(dtype)


def _evaluated(session: Any, data: Any) -> Any:
    """Replace the tensors in a structure of data by their values. One run computes all values."""
    tensors = [part for part in flatten(data) if is_tensor(part)]
    values = dict(zip(map(id, tensors), session.run(tensors)))
    return map_structure(lambda part: values.get(id(part), part), data)
