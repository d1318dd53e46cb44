"""Model: a network of layers that can be trained."""

from __future__ import annotations

from gpugraph.library.keras.training.model_loops import TrainingLoops


class Model(TrainingLoops):
    """A network of layers: `Model(inputs, outputs)`, or a subclass that defines `call`.

    `compile` configures the training, `fit` trains, `evaluate` computes losses and metrics, and
    `predict` computes outputs. See `Network` for the graph of layers.
    """
