"""Whole models in HDF5 files: the configuration, the variables, and the arguments of `compile`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpugraph.base.version import KERAS_VERSION
from gpugraph.base.whole_files import local_path
from gpugraph.library.keras.keras_objects import code_of_files, config_entry, custom_object_scope
from gpugraph.library.keras.saving.foreign_files import naming_version
from gpugraph.library.keras.saving.hdf5_groups import (
    has_part,
    is_open_file,
    part_of,
    read_file,
    read_text,
    written_file,
)
from gpugraph.library.keras.saving.later_configs import as_in_1_15
from gpugraph.library.keras.saving.model_json import (
    from_json_text,
    model_config,
    model_from_config,
    to_json_text,
)
from gpugraph.library.keras.saving.weight_groups import (
    read_arrays,
    read_layers,
    write_layers,
    write_values,
)
from gpugraph.platform import logging


def confirm_write(file: Any, overwrite: bool) -> bool:
    """Return whether to write a file.

    If the file exists and `overwrite` is False, ask the user on the terminal.
    """
    if overwrite or is_open_file(file) or not os.path.isfile(local_path(file)):
        return True
    answer = ""
    while answer not in ("y", "n"):
        answer = input(f"{os.fspath(file)} already exists - overwrite? [y/n] ").strip().lower()
    return answer == "y"


def save_model(
    model: Any,
    filepath: Any,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: Any = None,
) -> None:
    """Write a model's configuration, variables and arguments of `compile` to one HDF5 file.

    Raises NotImplementedError for the format "tf", if `signatures` is passed, and for a subclass
    that defines `call` and no `get_config`.

    Args:
      filepath: the path of the file, or an open file of h5py. A file appears at its path only when
        it is complete.
      overwrite: whether to replace an existing file without asking on the terminal.
      include_optimizer: whether to write the arguments of `compile` and the optimizer's variables.
      save_format: "h5".
    """
    if save_format not in (None, "h5") or signatures is not None:
        raise NotImplementedError(
            f"Models are saved as HDF5 files, got save_format={save_format!r}, signatures="
            f"{signatures!r}: `tf.saved_model.simple_save(sess, path, inputs, outputs)` writes a "
            "SavedModel, `save_weights` a checkpoint"
        )
    texts = {"model_config": model_config(model)}
    optimizer = getattr(model, "optimizer", None) if include_optimizer else None
    if optimizer is not None and not hasattr(optimizer, "get_config"):
        logging.warning(
            "TensorFlow optimizers do not make it possible to access optimizer attributes or "
            "optimizer state after instantiation. As a result, we cannot save the optimizer as "
            "part of the model save file. You will have to compile your model again after "
            "loading it."
        )
        optimizer = None
    if optimizer is not None:
        texts["training_config"] = _training_config(model)
    encoded = {name: to_json_text(value).encode() for name, value in texts.items()}
    if not confirm_write(filepath, overwrite):
        return
    with written_file(filepath) as file:
        file.attrs["keras_version"] = KERAS_VERSION.encode()
        file.attrs["backend"] = b"tensorflow"
        for name, text in encoded.items():
            file.attrs[name] = text
        write_layers(file.create_group("model_weights"), model.layers)
        if optimizer is not None and optimizer.weights:
            group = file.create_group("optimizer_weights")
            write_values(group, optimizer.weights, optimizer.get_weights())


def _training_config(model: Any) -> dict[str, Any]:
    """Return the arguments of `compile` as plain values. The optimizer is its class name and
    configuration.
    """
    optimizer = model.optimizer
    return {
        "loss": model.loss,
        "metrics": model._compile_metrics,
        "weighted_metrics": model._compile_weighted_metrics,
        "sample_weight_mode": model.sample_weight_mode,
        "loss_weights": model.loss_weights,
        "optimizer_config": {
            "class_name": type(optimizer).__name__,
            "config": optimizer.get_config(),
        },
    }


def load_model(
    filepath: Any,
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Any:
    """Load the model in a file that `Model.save` wrote, in this package, Keras 2 or tf.keras.

    Raises OSError if the file is not an HDF5 file. Raises ValueError if the file contains no model,
    or if it contains unknown classes, damaged or wrong variables, or code that `safe_mode` rejects.

    Args:
      custom_objects: classes and functions of the program, by their names in the file.
      compile: whether to call `compile` with the arguments in the file. If the file contains no
        such arguments, a warning is logged.
      safe_mode: whether to reject code in the file, such as the code of Lambda layers, instead of
        running it.
    """
    scope = custom_object_scope(custom_objects or {})
    source = "file" if safe_mode else "trusted"
    with read_file(filepath) as file, code_of_files(source), scope:
        text = read_text(file, "model_config")
        if text is None:
            raise ValueError(f"No model found in config file: {file.filename} has no model_config")
        with naming_version(read_text(file, "keras_version"), text):
            model = model_from_config(from_json_text(text), custom_objects)
            read_layers(part_of(file, "model_weights"), model.layers)
            if compile:
                _compile(model, file)
    return model


def _compile(model: Any, file: Any) -> None:
    """Compile a model with the arguments in the file, and set the variables of its optimizer."""
    text = read_text(file, "training_config")
    if text is None:
        logging.warning(
            "No training configuration found in save file: the model was *not* compiled. Compile "
            "it manually."
        )
        return
    config = as_in_1_15(from_json_text(text))
    optimizer = config_entry(config, "optimizer_config", "a training")
    names = ("loss", "metrics", "loss_weights", "sample_weight_mode", "weighted_metrics")
    arguments = {name: config[name] for name in names if config.get(name) is not None}
    model.compile(optimizer=optimizer, **arguments)
    if not has_part(file, "optimizer_weights"):
        return
    arrays = read_arrays(part_of(file, "optimizer_weights"))
    model.optimizer.create_weights(model.trainable_weights)
    try:
        model.optimizer.set_weights(arrays)
    except ValueError as error:
        logging.warning(
            "Error in loading the saved optimizer state. As a result, your model is starting with "
            f"a freshly initialized optimizer: {error}"
        )
