"""Models: networks that train."""

from __future__ import annotations

from gpugraph.library.keras.training.model_loops import TrainingLoops


class Model(TrainingLoops):
    """A network of layers: `Model(inputs, outputs)`, or a subclass that defines `call`.

    `compile` says how it is trained, `fit` trains it, `evaluate` tests it and `predict` asks it.
    See `Network` for the graph of layers.
    """
