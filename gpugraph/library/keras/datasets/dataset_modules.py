"""The modules of `tf.keras.datasets`. Each has a function `load_data`, and some have
`get_word_index`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from gpugraph.library.keras.datasets.image_sets import (
    load_boston_housing,
    load_cifar10,
    load_cifar100,
    load_fashion_mnist,
    load_mnist,
)
from gpugraph.library.keras.datasets.sequence_sets import (
    imdb_words,
    load_imdb,
    load_reuters,
    reuters_words,
)

_PACKAGE = "gpugraph.keras.datasets"

_FUNCTIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "boston_housing": {"load_data": load_boston_housing},
    "cifar10": {"load_data": load_cifar10},
    "cifar100": {"load_data": load_cifar100},
    "fashion_mnist": {"load_data": load_fashion_mnist},
    "imdb": {"get_word_index": imdb_words, "load_data": load_imdb},
    "mnist": {"load_data": load_mnist},
    "reuters": {"get_word_index": reuters_words, "load_data": load_reuters},
}


def _module(name: str, functions: dict[str, Callable[..., Any]]) -> Any:
    module = ModuleType(f"{_PACKAGE}.{name}", f"`tf.keras.datasets.{name}`.")
    vars(module).update(functions)
    return module


MODULES = {name: _module(name, functions) for name, functions in _FUNCTIONS.items()}
"""The modules by name."""
