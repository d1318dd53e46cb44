"""`tf.contrib.slim.data_decoder`: what decoders of records have in common."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any


class DataDecoder(abc.ABC):
    """Decodes a record into items, which it lists by their names."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """The tensors of the items that are asked for, in their order."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """The names of the items that can be decoded."""
