"""Reading of pickles that contain only numbers, texts, lists, dicts and arrays. No code in a pickle
is run.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import IO, Any

import numpy as np

_PLAIN = {
    **dict.fromkeys(
        (
            *("numpy.core.multiarray", "numpy._core.multiarray"),
            *("numpy.core.numeric", "numpy._core.numeric"),
        ),
        ("_reconstruct", "scalar", "_frombuffer"),
    ),
    "numpy": ("ndarray", "dtype"),
    "_codecs": ("encode",),
}
"""The functions by module that pickles of arrays call."""


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that refuses all functions and classes except those that create arrays."""

    def find_class(self, module: str, name: str) -> Any:
        if name not in _PLAIN.get(module, ()):
            raise pickle.UnpicklingError(
                f"The file contains {module}.{name}, which is not an array: its code is not run"
            )
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def load_plain(file: IO[bytes], encoding: str = "ASCII") -> Any:
    """Return the object in a pickle. Raises UnpicklingError if the pickle contains anything but
    plain data.
    """
    return _PlainUnpickler(file, encoding=encoding).load()


def load_arrays(path: str) -> dict[str, Any]:
    """Return the arrays of an .npz file by name. Arrays of Python lists are supported."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            data = io.BytesIO(archive.read(entry))
            version = np.lib.format.read_magic(data)
            read = np.lib.format.read_array_header_1_0
            if version != (1, 0):
                read = np.lib.format.read_array_header_2_0
            shape, _, dtype = read(data)
            if dtype.hasobject:
                arrays[entry.removesuffix(".npy")] = np.reshape(load_plain(data), shape)
            else:
                data.seek(0)
                arrays[entry.removesuffix(".npy")] = np.load(data, allow_pickle=False)
    return arrays
