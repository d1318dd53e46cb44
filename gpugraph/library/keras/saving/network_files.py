"""NetworkFiles: the methods of a network that write and read files.

Variables are stored in an HDF5 file or in an object checkpoint.
"""

from __future__ import annotations

import os
from typing import Any

from gpugraph.base.whole_files import local_path
from gpugraph.library.keras.saving.checkpointed_weights import CheckpointedWeights
from gpugraph.library.keras.saving.foreign_files import naming_version
from gpugraph.library.keras.saving.hdf5_groups import (
    has_attribute,
    has_part,
    is_open_file,
    part_of,
    read_file,
    read_text,
    written_file,
)
from gpugraph.library.keras.saving.model_files import confirm_write, save_model
from gpugraph.library.keras.saving.model_json import model_to_json
from gpugraph.library.keras.saving.weight_groups import read_layers, read_named_layers, write_layers
from gpugraph.library.train.object_checkpoints.load_status import LoadStatus

_HDF5_SUFFIXES = (".h5", ".keras", ".hdf5")


class NetworkFiles:
    """The mixin of Network for files that contain its configuration, its variables, or both."""

    built: bool
    name: Any
    layers: Any
    is_graph_network: Any
    _checkpointed_weights: CheckpointedWeights | None = None

    def to_json(self, **kwargs: Any) -> str:
        """Return the class name and configuration as JSON, for `model_from_json`.

        Raises NotImplementedError for a subclass that defines `call`.

        Args:
          kwargs: arguments of `json.dumps`.
        """
        return model_to_json(self, **kwargs)

    def to_yaml(self, **kwargs: Any) -> str:
        """Raise RuntimeError, because YAML can contain code. Save models as JSON instead."""
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
        """Write the configuration, variables and arguments of `compile` to one HDF5 file. See
        `save_model`.
        """
        save_model(self, filepath, overwrite, include_optimizer, save_format, signatures)

    def save_weights(
        self, filepath: Any, overwrite: bool = True, save_format: str | None = None
    ) -> None:
        """Write the variables to an HDF5 file, or the variables and the optimizer's variables to a
        checkpoint.

        Raises ValueError if `save_format` is not a known format, if the path of a checkpoint has an
        HDF5 file's suffix, or if the variables have not been created yet.

        Args:
          filepath: the path of an HDF5 file, a group of h5py, or the prefix of a checkpoint's
            paths.
          overwrite: whether to replace an existing file without asking on the terminal.
          save_format: "h5", "tf" or None. None means HDF5 if the path has the suffix `.h5`, `.hdf5`
            or `.keras`, and otherwise a checkpoint.
        """
        if not self.is_graph_network and not self.built:
            raise ValueError(
                f"Weights for model {self.name} have not yet been created. Weights are created "
                "when the Model is first called on inputs or `build()` is called with an "
                "`input_shape`."
            )
        if not _is_written_as_hdf5(filepath, save_format):
            path = os.fspath(filepath)
            if confirm_write(f"{path}.index", overwrite):
                self._checkpoints().save(path)
        elif confirm_write(filepath, overwrite):
            with written_file(filepath) as file:
                write_layers(file, self.layers)

    def load_weights(
        self, filepath: Any, by_name: bool = False, skip_mismatch: bool = False
    ) -> LoadStatus | None:
        """Set the variables from a file that `save_weights` or `save` wrote.

        For a checkpoint, return the result of `tf.train.Checkpoint.restore`. Raises
        NotImplementedError if `by_name` is true for a checkpoint. For an HDF5 file, raises
        ValueError if layers, numbers of variables or shapes differ. In this case, no variable is
        changed.

        Args:
          filepath: an HDF5 file, or an object checkpoint. A checkpoint may also contain the
            optimizer's variables, and also sets variables that are created later.
          by_name: whether to match layers by name and ignore layers without a match. Otherwise
            layers are matched by order.
          skip_mismatch: if `by_name` is true, whether to ignore a layer whose number or shapes of
            variables differ.
        """
        if skip_mismatch and not by_name:
            raise ValueError(
                "When calling model.load_weights, skip_mismatch can only be set to True when "
                "by_name is True."
            )
        if not _is_read_as_hdf5(filepath):
            if by_name:
                raise NotImplementedError(
                    "Weights may only be loaded based on topology into Models when loading "
                    "TensorFlow-formatted weights (got by_name=True to load_weights)."
                )
            return self._checkpoints().load(os.fspath(filepath))
        if not self.is_graph_network and not self.built:
            raise ValueError(
                "Unable to load weights saved in HDF5 format into a subclassed Model which has "
                "not created its variables yet. Call the Model first, then load the weights."
            )
        with read_file(filepath) as file:
            is_whole = not has_attribute(file, "layer_names") and has_part(file, "model_weights")
            group = part_of(file, "model_weights") if is_whole else file
            with naming_version(_version_of_weights(group)):
                if by_name:
                    read_named_layers(group, self.layers, skip_mismatch)
                else:
                    read_layers(group, self.layers)
        return None

    def _checkpoints(self) -> CheckpointedWeights:
        if self._checkpointed_weights is None:
            self._checkpointed_weights = CheckpointedWeights(self)
        return self._checkpointed_weights


def _version_of_weights(group: Any) -> str:
    """Return the version of Keras that wrote the weights. If the file records no version, derive it
    from the layout.
    """
    if has_attribute(group, "layer_names") or has_attribute(group, "layer_names0"):
        return (
            read_text(group, "keras_version") or "1"
        )  # TensorFlow assumes this version by default
    is_later = has_part(group, "layers") or has_part(group, "_layer_checkpoint_dependencies")
    return "3, or 2.12 and later (`.weights.h5`)" if is_later else "2"


def has_hdf5_suffix(filepath: Any) -> bool:
    """Return whether `filepath` is an open file of h5py, or a path with a suffix of HDF5 files."""
    return is_open_file(filepath) or os.fspath(filepath).endswith(_HDF5_SUFFIXES)


def _is_written_as_hdf5(filepath: Any, save_format: str | None) -> bool:
    """Return whether `save_weights` writes HDF5. The format decides or, if it is None, the path's
    suffix.

    Raises ValueError if `save_format` is not a known format, or if the path of a checkpoint has an
    HDF5 file's suffix.
    """
    if save_format is None:
        return has_hdf5_suffix(filepath)
    name = save_format.lower().strip()
    if name in ("hdf5", "h5", "keras"):
        return True
    if name not in ("tensorflow", "tf"):
        raise ValueError(f'Unknown format "{save_format}". Was expecting one of {{"tf", "h5"}}.')
    if has_hdf5_suffix(filepath):
        raise ValueError(
            f'save_weights got save_format="tf"/"tensorflow", but the filepath ("{filepath}") '
            'looks like an HDF5 file. Omit the ".h5"/".keras" when saving in TensorFlow format.'
        )
    return False


def _is_read_as_hdf5(filepath: Any) -> bool:
    """Return whether to read a path as HDF5: it has a suffix of HDF5 files, or it is a file and not
    the prefix of a checkpoint.
    """
    if has_hdf5_suffix(filepath):
        return True
    path = local_path(filepath)
    return os.path.isfile(path) and not os.path.exists(f"{path}.index")
