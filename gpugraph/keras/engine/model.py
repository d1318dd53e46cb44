"""Models: networks that train."""

from __future__ import annotations

from gpugraph.keras.engine.network import Network


class Model(Network):
    """A network of layers: `Model(inputs, outputs)`, or a subclass that defines `call`.

    See `Network`.
    """
