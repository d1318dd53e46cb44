"""Dropout in recurrent cells: the same mask for all steps of a sequence."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.library.keras.backend.control_and_updates import in_train_phase
from gpugraph.library.keras.layers.configured_layer import ConfiguredLayer
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.activations.dropout import dropout


class DropoutCell(ConfiguredLayer):
    """A cell with dropout of its inputs and of its state.

    Before each sequence, the layer that runs the cell discards the cell's masks. The first step
    draws new masks, which all steps use.
    """

    dropout: float
    recurrent_dropout: float

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._masks: dict[Any, Any] = {}

    def set_dropout(self, input_rate: float, recurrent_rate: float) -> None:
        """Set the dropout rates, clipped to [0, 1]."""
        self.dropout = min(1.0, max(0.0, input_rate))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_rate))

    def reset_dropout_mask(self) -> None:
        """Discard the dropout masks of the inputs, so that the next step draws new ones."""
        self._forget("dropout")

    def reset_recurrent_dropout_mask(self) -> None:
        """Discard the dropout masks of the state, so that the next step draws new ones."""
        self._forget("recurrent_dropout")

    def _forget(self, kind: str) -> None:
        self._masks = {key: masks for key, masks in self._masks.items() if key[0] != kind}

    def get_dropout_mask_for_cell(self, inputs: Any, training: Any, count: int = 1) -> Any:
        """Return the dropout masks for inputs: a list of `count` masks, or a single mask if `count`
        is 1.

        Return None if the rate is 0. The first call since the last reset draws the masks.
        """
        return self._mask("dropout", inputs, training, count)

    def get_recurrent_dropout_mask_for_cell(
        self, inputs: Any, training: Any, count: int = 1
    ) -> Any:
        """Return the dropout masks for the state: a list of `count` masks, or a single mask if
        `count` is 1.

        Return None if the rate is 0. The first call since the last reset draws the masks.
        """
        return self._mask("recurrent_dropout", inputs, training, count)

    def _mask(self, kind: str, like: Any, training: Any, count: int) -> Any:
        rate = getattr(self, kind)
        if rate == 0:
            return None
        key = (kind, get_default_graph())
        if key not in self._masks:
            ones = ones_like(like)
            masks = [
                in_train_phase(lambda: dropout(ones, rate=rate), ones, training=training)
                for _ in range(count)
            ]
            self._masks[key] = masks[0] if count == 1 else masks
        return self._masks[key]


def products(values: Any, kernel: Any, masks: Any, count: int) -> list[Any]:
    """Return the matrix product of `values` with each of the `count` parts of a kernel.

    Args:
      masks: factors for `values`: a list with one mask for each part, a single mask for all parts,
        or None.
    """
    if isinstance(masks, list):
        parts = split(kernel, count, axis=1)
        return [matmul(values * mask, part) for mask, part in zip(masks, parts, strict=True)]
    dropped = values if masks is None else values * masks
    product = matmul(dropped, kernel)
    return [product] if count == 1 else list(split(product, count, axis=1))
