"""The loops over batches and epochs of `fit`, `evaluate` and `predict`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.library.keras.callbacks.callback import CallbackList
from gpugraph.library.keras.callbacks.progress_bar import Progbar
from gpugraph.library.keras.training.step_functions import Run
from gpugraph.platform import logging


class Functions:
    """The prepared functions for one kind of step ("train", "test" or "predict").

    There is one function for each set of outputs whose examples have weights.
    """

    def __init__(self, setup: Any, kind: str) -> None:
        self._setup, self._kind = setup, kind
        self._prepared: dict[Any, Run] = {}

    def of(self, weighted: tuple[bool, ...]) -> Run:
        """Return the function for batches in which these outputs have weights. The function is
        created on first use.
        """
        run = self._prepared.get(weighted)
        if run is None:
            run = self._prepared[weighted] = self._setup.function(self._kind, weighted).prepared()
        return run


class Hooks:
    """The methods of callbacks, and of a progress bar, that are called before and after each batch.

    Args:
      mode: "train", "test" or "predict".
      names: the names of a step's results.
    """

    def __init__(self, callbacks: CallbackList, mode: str, names: Sequence[str]) -> None:
        self.begin = callbacks.batch_hooks(f"on_{mode}_batch_begin")
        self.end = callbacks.batch_hooks(f"on_{mode}_batch_end")
        self.names = names

    def before(self, index: int, size: int) -> None:
        """Call the methods for the beginning of batch number `index`, with `size` examples."""
        logs = {"batch": index, "size": size}
        for hook in self.begin:
            hook(index, logs)

    def after(self, index: int, size: int, results: Sequence[Any]) -> None:
        """Call the methods for the end of batch number `index`, with a dict from names to its
        results.
        """
        logs: dict[str, Any] = {"batch": index, "size": size}
        logs.update(zip(self.names, results))
        for hook in self.end:
            hook(index, logs)


def run_epoch(
    model: Any, batches: Any, functions: Functions, hooks: Hooks
) -> tuple[list[Any], int]:
    """Run the step of each batch. Return ([mean loss, metrics ...], the number of batches).

    For batches of arrays, the mean is over examples. Otherwise, the mean is over batches. The
    metrics have their values after the last batch. If `batches` yields no batch, the list is empty.
    """
    total, count, index = 0.0, 0, -1
    results: list[Any] = []
    by_size = batches.counts_samples
    begins, ends = bool(hooks.begin), bool(hooks.end)
    now: Any = None
    for index, (arrays, size, weighted) in enumerate(batches.epoch()):
        if begins:
            hooks.before(index, size)
        if weighted is not now:
            now, run = weighted, functions.of(weighted)
        results = run(*arrays)
        factor = size if by_size else 1
        total += float(results[0]) * factor
        count += factor
        if ends:
            hooks.after(index, size, results)
        if model.stop_training:
            break
    return [total / count, *results[1:]] if results else [], index + 1


def predict_batches(batches: Any, functions: Functions, hooks: Hooks, bar: Any) -> list[Any]:
    """Return each output, concatenated over all batches. Raises ValueError if there is no batch."""
    parts: list[list[Any]] = []
    seen = 0
    for index, batch in enumerate(batches.epoch()):
        hooks.before(index, batch.size)
        results = functions.of(batch.weighted)(*batch.arrays)
        parts.append(results)
        hooks.after(index, batch.size, [])
        seen += batch.size if batches.counts_samples else 1
        if bar is not None:
            bar.update(seen)
    if not parts:
        raise _no_batch(batches)
    _warn_if_ended_early(batches, len(parts))
    return [np.concatenate(part) if len(part) > 1 else part[0] for part in zip(*parts)]


def evaluate_batches(
    model: Any, batches: Any, functions: Functions, callbacks: CallbackList, verbose: int
) -> list[Any]:
    """Return [mean loss, metrics ...] for all batches. Raises ValueError if there is no batch.

    If a generator has fewer batches than `steps`, set `model.stop_training`. If the batches belong
    to a training's validation, setting `stop_training` ends the training.
    """
    model.reset_metrics()
    hooks = Hooks(callbacks, "test", model.metrics_names)
    target = batches.samples if batches.counts_samples else batches.steps
    if verbose == 1:
        unit = "sample" if batches.counts_samples else "step"
        bar = Progbar(target, stateful_metrics=model.metrics_names[1:], unit_name=unit)
        hooks.end = [*hooks.end, _shown(bar, model.metrics_names, batches.counts_samples)]
    callbacks.call("on_test_begin", None)
    stopped, model.stop_training = model.stop_training, False
    try:
        results, count = run_epoch(model, batches, functions, hooks)
    finally:
        model.stop_training = stopped
    if not results:
        raise _no_batch(batches)
    if _warn_if_ended_early(batches, count):
        model.stop_training = True
    callbacks.call("on_test_end", None)
    return results


def _shown(bar: Progbar, names: Sequence[str], by_size: bool) -> Any:
    """Return a function that advances a progress bar at the end of a batch."""

    def show(index: int, logs: dict[str, Any]) -> None:
        values = [(name, logs[name]) for name in names if name in logs]
        bar.add(logs["size"] if by_size else 1, values)

    return show


class Validation:
    """The data for the validations of a training, and the epochs after which validations run.

    Args:
      frequency: the number of epochs from one validation to the next, or a collection of epochs,
        counted from 1.
    """

    def __init__(self, batches: Any, frequency: Any) -> None:
        self.batches, self.frequency = batches, frequency

    def is_due(self, epoch: int) -> bool:
        """Return whether a validation follows this epoch. The argument counts epochs from 0."""
        if isinstance(self.frequency, int):
            return (epoch + 1) % self.frequency == 0
        return epoch + 1 in self.frequency


def fit_epochs(
    model: Any,
    batches: Any,
    validation: Validation | None,
    callbacks: CallbackList,
    first_epoch: int,
    epochs: int,
) -> None:
    """Run the epochs from `first_epoch` to `epochs` (exclusive), with their validations.

    The loop ends early if `model.stop_training` is set, or if a generator ends.
    """
    setup = model.setup
    names = model.metrics_names
    was_nan = False
    callbacks.call("on_train_begin", None)
    try:
        for epoch in range(first_epoch, epochs):
            model.reset_metrics()
            functions = Functions(setup, "train")
            callbacks.call("on_epoch_begin", epoch, {})
            hooks = Hooks(callbacks, "train", names)
            results, count = run_epoch(model, batches, functions, hooks)
            if not results and epoch == first_epoch:
                raise _no_batch(batches)
            if not model.stop_training:
                model.stop_training = _warn_if_ended_early(batches, count, epochs)
            if not results:
                break
            if np.isnan(results[0]) and not was_nan:
                was_nan = True
                _warn_of_nan(model, epoch)
            logs = dict(zip(names, results))
            if validation is not None and validation.is_due(epoch):
                values = evaluate_batches(
                    model, validation.batches, Functions(setup, "test"), callbacks, 0
                )
                logs.update(zip([f"val_{name}" for name in names], values))
            callbacks.call("on_epoch_end", epoch, logs)
            if model.stop_training:
                break
    finally:
        batches.close()
        if validation is not None:
            validation.batches.close()
    callbacks.call("on_train_end", None)


def _no_batch(batches: Any) -> ValueError:
    reason = "the arrays have no examples"
    if not batches.counts_samples:
        reason = "the generator ended before its first batch, or was exhausted before"
    return ValueError(f"Empty training data. There is no batch: {reason}")


def _warn_if_ended_early(batches: Any, count: int, epochs: int = 1) -> bool:
    """Return whether a generator had fewer batches than an epoch has steps. If the generator had
    fewer, log a warning.
    """
    steps = batches.steps
    if batches.counts_samples or steps is None or count >= steps:
        return False
    logging.warning(
        "Your dataset iterator ran out of data; interrupting training. Make sure that your "
        "iterator can generate at least `%s * epochs` batches (in this case, %d batches): it "
        "yielded %d of the %d of this epoch.",
        batches.steps_name, steps * epochs, count, steps,
    )  # fmt: skip
    return True


def _warn_of_nan(model: Any, epoch: int) -> None:
    logging.warning(
        "The loss of %s is nan in epoch %d, and so are the variables from now on. Are there nan in "
        "the data, or is the learning rate too large? `tf.keras.callbacks.TerminateOnNaN` ends "
        "such a training, an optimizer's `clipnorm` bounds its steps.",
        model.name, epoch + 1,
    )  # fmt: skip
