"""The linear model of feature columns as a Keras model."""

from __future__ import annotations

from typing import Any

from gpugraph.building.variables import variable_parts
from gpugraph.library.keras.layers.feature_layers import LinearFeatures
from gpugraph.library.keras.training.model import Model


class LinearFeatureModel(Model):
    """The linear model of feature columns. The model maps a dict of features to [batch_size,
    units].

    For the arguments, see the layer `LinearFeatures`, which has the variables.
    """

    def __init__(
        self,
        feature_columns: Any,
        units: int = 1,
        sparse_combiner: str = "sum",
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.layer = LinearFeatures(
            feature_columns, units, sparse_combiner, trainable, name=self.name, **kwargs
        )

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Return the outputs for a dict of features."""
        del training, mask
        return self.layer(inputs)

    @property
    def bias(self) -> Any:
        """The variable that is added to the outputs, or None if the model was not called yet.

        For a partitioned variable with a single partition, the bias is this partition, which is in
        `variables`.
        """
        bias = self.layer.bias
        parts = [] if bias is None else list(variable_parts(bias))
        return parts[0] if len(parts) == 1 else bias
