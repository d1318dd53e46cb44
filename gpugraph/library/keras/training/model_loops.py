"""TrainingLoops: the methods of a model that train, evaluate and predict."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.nest import pack_sequence_as
from gpugraph.library.keras.callbacks.callback import CallbackList, History
from gpugraph.library.keras.callbacks.progress_bar import Progbar, ProgbarLogger
from gpugraph.library.keras.inputs.sequence import Sequence as BatchSequence
from gpugraph.library.keras.training.dataset_batches import (
    batches_of,
    kind_of_data,
    refuse_beside_generator,
    with_first_batch,
)
from gpugraph.library.keras.training.epoch_batches import (
    ArrayBatches,
    GeneratorBatches,
    has_tensors,
)
from gpugraph.library.keras.training.epoch_loops import (
    Functions,
    Hooks,
    Validation,
    evaluate_batches,
    fit_epochs,
    predict_batches,
)
from gpugraph.library.keras.training.generator_loops import GeneratorLoops
from gpugraph.library.keras.training.model_compilation import CompiledNetwork
from gpugraph.library.keras.training.model_data import ModelData, is_generator
from gpugraph.library.keras.training.replicated_training import is_over_processes

_WORKERS = ("workers", "max_queue_size", "use_multiprocessing")


class TrainingLoops(GeneratorLoops, CompiledNetwork):
    """A network with the methods `fit`, `evaluate` and `predict`, and the corresponding methods for
    a single batch.
    """

    history: History

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> History:
        """Train the model up to epoch `epochs`. Return the History of losses and metrics.

        Raises RuntimeError before `compile`, and ValueError for data that does not match the model.

        Args:
          x, y: arrays, lists of arrays, dicts by name, or tensors. If `y` is not passed, `x` may be
            a `Sequence`, generator or dataset of (x, y) or (x, y, weights).
          batch_size: the number of examples in a step, 32 by default.
          verbose: 1 for a progress bar, 2 for one line per epoch, 0 for nothing.
          validation_split: the fraction of the examples that is used only for validation. The last
            examples of the data are used for validation.
          validation_data: (x, y), (x, y, weights), or a Sequence or generator.
          shuffle: whether the examples are in a new random order in each epoch. "batch" shuffles
            whole batches.
          class_weight: a dict from classes to factors for their losses.
          sample_weight: a factor for the loss of each example or time step.
          initial_epoch: the number of the first epoch, counted from 0.
          steps_per_epoch, validation_steps: the number of steps for tensors and generators.
          validation_freq: the number of epochs from one validation to the next, or a collection of
            epochs.
          max_queue_size, workers, use_multiprocessing: see `SequenceEnqueuer`.
        """
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        options = dict(zip(_WORKERS, (workers, max_queue_size, use_multiprocessing)))
        validation = None
        batches: Any
        x = batches_of(x, steps_per_epoch, batch_size=batch_size)
        validation_data = batches_of(validation_data, validation_steps, is_repeated=True)
        if is_generator(x):
            refuse_beside_generator(x, y=y, sample_weight=sample_weight)
            if validation_split:
                raise ValueError(
                    f"`validation_split` argument is not supported when x is a {kind_of_data(x)}"
                )
            name = "steps_per_epoch"
            batches = self._generated(x, steps_per_epoch, class_weight, shuffle, options, name)
        else:
            self.set_inputs(x, y)
            data = ModelData(self, self.setup)
            size = self._batch_size(batch_size)
            arguments = x, y, sample_weight, class_weight
            batches = data.training_batches(arguments, size, steps_per_epoch, shuffle)
            _check_part(validation_split)
            if validation_split and validation_data is None:
                batches, held = _split(batches, validation_split)
                validation = Validation(held, validation_freq)
            self._check_stateful(batches)
            if isinstance(batches, ArrayBatches) and is_over_processes(self):
                batches.random = np.random.RandomState(0)
        if validation_data is not None:
            held = self._validated(validation_data, batch_size, validation_steps, options)
            validation = Validation(held, validation_freq)
        self.setup.check_trained_weights()
        listed = self._callbacks(callbacks, batches, validation, verbose, batch_size, epochs)
        self.stop_training = False
        fit_epochs(self, batches, validation, listed, initial_epoch, epochs)
        return self.history

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Return the loss, or a list of the loss and metrics in the order of `metrics_names`.

        For the arguments, see `fit`.
        """
        options = dict(zip(_WORKERS, (workers, max_queue_size, use_multiprocessing)))
        x = batches_of(x, steps, is_repeated=True, batch_size=batch_size)
        if is_generator(x):
            refuse_beside_generator(x, y=y, sample_weight=sample_weight)
            batches = self._generated(x, steps, None, False, options, "steps")
        else:
            batches = self._validated((x, y, sample_weight), batch_size, steps, options)
        listed = self._listed(callbacks, {"verbose": verbose, "metrics": self.metrics_names})
        try:
            results = evaluate_batches(
                self, batches, Functions(self.setup, "test"), listed, verbose
            )
        finally:
            batches.close()
        return results[0] if len(results) == 1 else results

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int = 0,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Return the outputs for inputs, computed in batches: an array, or a list or dict of
        arrays.

        Args:
          x: arrays, or a Sequence, generator or dataset of inputs, or of tuples that begin with
            inputs.
        """
        x = batches_of(x, steps, is_repeated=True, batch_size=batch_size)
        if is_generator(x):
            x = self._set_inputs_of(x)
            convert = ModelData(self, None).of_inputs
            options: Any = dict(zip(_WORKERS, (workers, max_queue_size, use_multiprocessing)))
            _check_steps(x, steps, "steps")
            batches: Any = GeneratorBatches(x, convert, steps, **options)
        else:
            batches = self._batches_to_predict(x, batch_size, steps)
        listed = self._listed(callbacks, {"verbose": verbose, "metrics": []})
        bar = None
        if verbose:
            target = batches.samples if batches.counts_samples else batches.steps
            bar = Progbar(target, verbose=verbose)
        listed.call("on_predict_begin", None)
        functions = Functions(self.predictor, "predict")
        try:
            outputs = predict_batches(batches, functions, Hooks(listed, "predict", []), bar)
        finally:
            batches.close()
        listed.call("on_predict_end", None)
        return self._structured(outputs)

    def _batches_to_predict(self, x: Any, batch_size: int | None, steps: int | None) -> Any:
        self.set_inputs(x)
        data = ModelData(self, None)
        if has_tensors(x) or not self.feed_inputs:
            return data.batches_of_tensors(x, None, steps, lambda x, _: data.of_inputs(x))
        whole = data.of_inputs(x)
        if steps is not None:
            return data.batches_of_tensors(None, None, steps, lambda *_: whole)
        batches = ArrayBatches(whole.arrays, (), self._batch_size(batch_size) or 32)
        self._check_stateful(batches)
        return batches

    # -- one batch

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        reset_metrics: bool = True,
    ) -> Any:
        """Take one training step on a batch. Return the loss, or [loss, metrics ...].

        Args:
          reset_metrics: whether to reset the metrics after the step.
        """
        return self._on_batch("train", (x, y, sample_weight, class_weight), reset_metrics)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True
    ) -> Any:
        """Return the loss of a batch, or [loss, metrics ...], without training on it."""
        return self._on_batch("test", (x, y, sample_weight), reset_metrics)

    def predict_on_batch(self, x: Any) -> Any:
        """Return the outputs for one batch of inputs."""
        self.set_inputs(x)
        batch = ModelData(self, None).of_inputs(x)
        return self._structured(self.predictor.function("predict")(batch.arrays))

    def _on_batch(self, kind: str, data: tuple[Any, ...], reset_metrics: bool) -> Any:
        self.set_inputs(*data[:2])
        batch = ModelData(self, self.setup).batch(*data)
        results = self.setup.function(kind, batch.weighted)(batch.arrays)
        if reset_metrics:
            self.reset_metrics()
        return results[0] if len(results) == 1 else results

    # -- parts of a training

    def _generated(
        self, x: Any, steps: int | None, class_weight: Any, shuffle: Any, options: Any, name: str
    ) -> GeneratorBatches:
        """Return the batches of a Sequence or generator.

        Args:
          name: the name of the argument `steps`, for messages.
        """
        _check_steps(x, steps, name)
        x = self._set_inputs_of(x)
        data = ModelData(self, self.setup)

        convert = partial(data.of_value, class_weight=class_weight)
        return GeneratorBatches(
            x, convert, steps, shuffle=bool(shuffle), steps_name=name, **options
        )

    def _set_inputs_of(self, x: Any) -> Any:
        """If the model has no inputs, create them to match the first batch of a Sequence or
        generator. Return data that yields all batches.
        """
        if self.outputs:
            return x
        first, whole = with_first_batch(x)
        self.set_inputs(first[0] if isinstance(first, tuple) else first)
        return whole

    def _validated(self, data: Any, batch_size: Any, steps: int | None, options: Any) -> Any:
        """Return the batches of the data for a validation or for `evaluate`."""
        if is_generator(data):
            return self._generated(data, steps, None, False, options, "validation_steps")
        if not isinstance(data, (tuple, list)) or len(data) not in (2, 3):
            raise ValueError(
                "When passing a `validation_data` argument, it must contain either 2 items (x_val,"
                " y_val), or 3 items (x_val, y_val, val_sample_weights), or be a Sequence or "
                f"generator. However we received `validation_data={str(data)[:200]}`"
            )
        x, y, sample_weight = (*data, None)[:3]
        self.set_inputs(x, y)
        arguments = x, y, sample_weight, None
        size = self._batch_size(batch_size)
        batches = ModelData(self, self.setup).training_batches(arguments, size, steps)
        self._check_stateful(batches)
        return batches

    def _batch_size(self, batch_size: int | None) -> int | None:
        """Return `batch_size`, or the batch size that an input requires.

        Raises ValueError if the two sizes differ, or if a size is not a number of examples.
        """
        is_whole = hasattr(batch_size, "__index__")
        if batch_size is not None and (not is_whole or batch_size < 1):
            raise ValueError(f"`batch_size` is a number of examples above 0, got {batch_size!r}")
        for tensor in self.feed_inputs:
            static = tensor.shape[0].value if tensor.shape.rank else None
            if static is not None:
                if batch_size not in (None, static):
                    raise ValueError(
                        f"The `batch_size` argument value {batch_size} is incompatible with the "
                        f"specified batch size of your Input Layer: {static}"
                    )
                return int(static)
        return batch_size

    def _check_stateful(self, batches: Any) -> None:
        is_checked = self.stateful and isinstance(batches, ArrayBatches)
        if is_checked and batches.samples % batches.batch_size:
            raise ValueError(
                "In a stateful network, you should only pass inputs with a number of samples that "
                f"can be divided by the batch size. Found: {batches.samples} samples. Batch size: "
                f"{batches.batch_size}."
            )

    def _listed(self, callbacks: Any, params: dict[str, Any]) -> CallbackList:
        listed = CallbackList(callbacks)
        listed.set_model(self)
        listed.set_params(params)
        return listed

    def _callbacks(
        self,
        callbacks: Any,
        batches: Any,
        validation: Any,
        verbose: int,
        batch_size: int | None,
        epochs: int,
    ) -> CallbackList:
        """Return the callbacks of a training: the program's callbacks, a History, and a progress
        bar if `verbose` is not 0.
        """
        names = self.metrics_names
        self.history = History()
        listed = CallbackList(callbacks)
        listed.append(self.history)
        mode = "samples" if batches.counts_samples else "steps"
        if verbose:
            listed.append(ProgbarLogger(mode, names[1:]))
            if batches.counts_samples:
                held = validation is not None and validation.batches.samples
                beside = f", validate on {held} samples" if held else ""
                print(f"Train on {batches.samples} samples{beside}")
        listed.set_model(self)
        listed.set_params(
            {
                "batch_size": getattr(batches, "batch_size", batch_size),
                "epochs": epochs,
                "steps": batches.steps,
                "samples": batches.samples,
                "verbose": verbose,
                "do_validation": validation is not None,
                "metrics": names + [f"val_{name}" for name in names if validation is not None],
            }
        )
        return listed

    def _structured(self, outputs: list[Any]) -> Any:
        """Return the outputs: an array if there is one, a dict if the model's outputs are a dict,
        otherwise a list.
        """
        if len(outputs) == 1:
            return outputs[0]
        nested = getattr(self, "_nested_outputs", None)
        return pack_sequence_as(nested, outputs) if isinstance(nested, dict) else outputs


def _check_part(validation_split: float) -> None:
    if not 0.0 <= validation_split < 1.0:
        raise ValueError(
            "`validation_split` is a part of the examples, from 0 to below 1, got "
            f"{validation_split!r}"
        )


def _split(batches: Any, part: float) -> tuple[ArrayBatches, ArrayBatches]:
    """Divide batches into the first examples for training and the last examples for validation.

    Raises ValueError for data that is not in arrays.

    Args:
      part: the fraction of the examples that is used for validation.
    """
    if not isinstance(batches, ArrayBatches):
        raise ValueError(
            "`validation_split` is only supported for NumPy arrays, without `steps_per_epoch`"
        )
    border = int(batches.samples * (1.0 - part))
    first, last = (
        [array[rows] for array in batches.arrays] for rows in (slice(border), slice(border, None))
    )
    size, weighted = batches.batch_size, batches.weighted
    return (
        ArrayBatches(first, weighted, size, batches.shuffle),
        ArrayBatches(last, weighted, size),
    )


def _check_steps(x: Any, steps: int | None, name: str) -> None:
    if steps is None and not isinstance(x, BatchSequence):
        raise ValueError(
            f"`{name}=None` is only valid for a generator based on the `keras.utils.Sequence` "
            f"class. Please specify `{name}` or use the `keras.utils.Sequence` class."
        )
