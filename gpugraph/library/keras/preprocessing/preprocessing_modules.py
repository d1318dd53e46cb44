"""The modules of `tf.keras.preprocessing`. The names in these modules are imported on first
access.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from gpugraph.library.keras.preprocessing.preprocessing_package import PACKAGE, name_of_package

_NAMES = {
    "image": "DirectoryIterator ImageDataGenerator Iterator NumpyArrayIterator "
    "apply_affine_transform apply_brightness_shift apply_channel_shift array_to_img img_to_array "
    "load_img random_brightness random_channel_shift random_rotation random_shear random_shift "
    "random_zoom save_img",
    "sequence": "TimeseriesGenerator make_sampling_table pad_sequences skipgrams",
    "text": "Tokenizer hashing_trick one_hot text_to_word_sequence tokenizer_from_json",
}


class _LateModule(ModuleType):
    """A module whose names are imported from keras-preprocessing on first access."""

    def __init__(self, name: str, names: list[str]) -> None:
        path = f"{PACKAGE}.{name}"
        super().__init__(path, f"`tf.keras.preprocessing.{name}`, by keras-preprocessing.")
        self._name, self._names = name, names

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__.get("_names", ()):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = name_of_package(self._name, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._names})


MODULES: dict[str, Any] = {name: _LateModule(name, row.split()) for name, row in _NAMES.items()}
"""The modules of `tf.keras.preprocessing` by name."""
