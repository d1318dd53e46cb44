"""`tf.contrib.slim.data_decoder`: the interface of record decoders."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any


class DataDecoder(abc.ABC):
    """The interface of a decoder, which converts a record to named tensors, the items."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """Return the tensors of the requested items, in the order of `items`."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """Return the names of the items that can be decoded."""
