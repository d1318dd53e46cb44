"""The methods of a model for generators, such as `fit_generator`. They call `fit`, `evaluate` and
`predict`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.library.keras.callbacks.callback import History
from gpugraph.library.keras.training.model_data import is_generator


class GeneratorLoops:
    """The mixin of Model for methods whose data is a Sequence or a generator."""

    fit: Callable[..., History]
    evaluate: Callable[..., Any]
    predict: Callable[..., Any]

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_data: Any = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        class_weight: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        shuffle: bool = True,
        initial_epoch: int = 0,
    ) -> History:
        """Train on a Sequence or generator. This method is the same as `fit`, which also accepts a
        Sequence or generator.
        """
        return self.fit(
            _iterable(generator), steps_per_epoch=steps_per_epoch, epochs=epochs, verbose=verbose,
            callbacks=callbacks, validation_data=validation_data,
            validation_steps=validation_steps, validation_freq=validation_freq,
            class_weight=class_weight, max_queue_size=max_queue_size, workers=workers,
            use_multiprocessing=use_multiprocessing, shuffle=shuffle,
            initial_epoch=initial_epoch,
        )  # fmt: skip

    def evaluate_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """Evaluate on a Sequence or generator. This method is the same as `evaluate`, which also
        accepts a Sequence or generator.
        """
        return self.evaluate(
            _iterable(generator), steps=steps, callbacks=callbacks, verbose=verbose,
            max_queue_size=max_queue_size, workers=workers,
            use_multiprocessing=use_multiprocessing,
        )  # fmt: skip

    def predict_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """Predict for a Sequence or generator. This method is the same as `predict`, which also
        accepts a Sequence or generator.
        """
        return self.predict(
            _iterable(generator), steps=steps, callbacks=callbacks, verbose=verbose,
            max_queue_size=max_queue_size, workers=workers,
            use_multiprocessing=use_multiprocessing,
        )  # fmt: skip


def _iterable(generator: Any) -> Any:
    """Return a Sequence or generator unchanged, or an iterator over any other iterable."""
    return generator if is_generator(generator) else iter(generator)
