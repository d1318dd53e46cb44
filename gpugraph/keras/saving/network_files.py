"""What a network does with files: its configuration, its variables, all of it."""

from __future__ import annotations

import os
from typing import Any

from gpugraph.keras.saving.hdf5_groups import is_open_file, part_of, read_file, written_file
from gpugraph.keras.saving.model_files import may_write, save_model
from gpugraph.keras.saving.model_json import model_to_json
from gpugraph.keras.saving.weight_groups import read_layers, read_named_layers, write_layers

_HDF5_ENDINGS = (".h5", ".keras", ".hdf5")


class NetworkFiles:
    """The part of a network that writes and reads files."""

    built: bool
    layers: Any
    is_graph_network: Any

    def to_json(self, **kwargs: Any) -> str:
        """Its class and configuration as JSON, for `model_from_json`.

        kwargs: those of `json.dumps`. NotImplementedError for a subclass that defines `call`.
        """
        return model_to_json(self, **kwargs)

    def to_yaml(self, **kwargs: Any) -> str:
        """RuntimeError: YAML can hold code, so that models are kept as JSON."""
        del kwargs
        raise RuntimeError(
            "Method `to_yaml()` is not there, for the risk of arbitrary code execution when YAML "
            "is read: use `to_json()`"
        )

    def save(
        self,
        filepath: Any,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
        signatures: Any = None,
    ) -> None:
        """Writes the configuration, the variables and the training of a model into one HDF5 file.

        See `save_model`.
        """
        save_model(self, filepath, overwrite, include_optimizer, save_format, signatures)

    def save_weights(
        self, filepath: Any, overwrite: bool = True, save_format: str | None = None
    ) -> None:
        """Writes the variables, layer by layer.

        filepath: of an HDF5 file, or a group of h5py.
        overwrite: whether a file that is there is replaced without asking.
        save_format: "h5"; None: by the path's ending, `.h5`, `.hdf5` or `.keras`.

        ValueError for another format, and before the variables are created.
        """
        self._check_variables("save")
        if not _is_hdf5(filepath, save_format):
            raise ValueError(f"Unknown format {save_format!r} for {filepath}: use 'h5'")
        if may_write(filepath, overwrite):
            with written_file(filepath) as file:
                write_layers(file, self.layers)

    def load_weights(self, filepath: Any, by_name: bool = False) -> Any:
        """Sets the variables to those of a file by `save_weights` or `save`.

        by_name: whether only layers are read whose names are in the file; else all, in order.

        ValueError where layers, numbers of variables or shapes differ: then none is changed.
        """
        self._check_variables("load")
        with read_file(filepath) as file:
            is_whole = "layer_names" not in file.attrs and "model_weights" in file
            group = part_of(file, "model_weights") if is_whole else file
            if by_name:
                read_named_layers(group, self.layers)
            else:
                read_layers(group, self.layers)
        return None

    def _check_variables(self, verb: str) -> None:
        if not self.is_graph_network and not self.built:
            raise ValueError(
                f"Unable to {verb} weights in HDF5 format for a subclassed Model which has not "
                "created its variables yet. Call the Model first."
            )


def _is_hdf5(filepath: Any, save_format: str | None) -> bool:
    """Whether a file is to be HDF5: as the format says, or the path's ending."""
    if save_format is not None:
        return save_format.lower() in ("h5", "hdf5", "keras")
    return is_open_file(filepath) or os.fspath(filepath).endswith(_HDF5_ENDINGS)
