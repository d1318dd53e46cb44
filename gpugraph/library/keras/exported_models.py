"""Keras models as SavedModels: `tf.keras.experimental.export_saved_model`, `load_from_saved_model`.

The folder contains the model's configuration as the asset `saved_model.json`, the variables of the
model and its optimizer as an object checkpoint, and a graph for prediction. The saver in this graph
restores the variables from the object checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpugraph.base.whole_files import write_whole
from gpugraph.graph.client.client_graph import Graph
from gpugraph.library.keras.backend.learning_phase_scopes import learning_phase_scope
from gpugraph.library.keras.keras_objects import custom_object_scope
from gpugraph.library.keras.model_cloning import clone_model
from gpugraph.library.keras.saving.model_json import model_from_json
from gpugraph.library.saved_models import model_names
from gpugraph.library.saved_models.model_builder import SavedModelBuilder
from gpugraph.library.saved_models.signatures import predict_signature_def
from gpugraph.library.train.object_checkpoints.object_graph import ObjectGraph
from gpugraph.library.train.savers.saver import Saver
from gpugraph.platform import files

_CONFIGURATION = "saved_model.json"


def export_saved_model(
    model: Any,
    saved_model_path: Any,
    custom_objects: Mapping[str, Any] | None = None,
    as_text: bool = False,
    input_signature: Any = None,
    serving_only: bool = False,
) -> None:
    """Write a model as a SavedModel with the tag "serve" and the signature "serving_default".

    The ops of training are not exported. Raises NotImplementedError for a subclass that defines
    `call`, because it has no configuration, and for `input_signature`, which would describe the
    subclass's inputs. Raises AssertionError if the folder exists and is not empty.

    Args:
      saved_model_path: a folder that does not exist or is empty.
      custom_objects: classes and functions of the program, by their names in the configuration.
      as_text: whether to write the graph as a text protobuf.
      serving_only: whether to omit the configuration, without which `load_from_saved_model` cannot
        load the model.
    """
    if not model.is_graph_network or input_signature is not None:
        raise NotImplementedError(
            "Models of inputs and outputs are exported, not subclasses: "
            "`tf.saved_model.simple_save(sess, path, inputs, outputs)` writes any graph"
        )
    builder = SavedModelBuilder(saved_model_path)
    if not serving_only:
        folder = os.path.join(os.fspath(saved_model_path), model_names.ASSETS_DIRECTORY)
        files.MakeDirs(folder)
        write_whole(os.path.join(folder, _CONFIGURATION), model.to_json().encode())
    with custom_object_scope(custom_objects or {}), Graph().as_default(), learning_phase_scope(0):
        copy = clone_model(model)
        signature = predict_signature_def(
            dict(zip(copy.input_names, copy.inputs)), dict(zip(copy.output_names, copy.outputs))
        )
        builder.add_meta_graph_and_variables(
            None,
            [model_names.SERVING],
            {model_names.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
            saver=_SaverByKeys(model, copy),
        )
    builder.save(as_text)


class _SaverByKeys(Saver):
    """A saver that writes a model as an object checkpoint. The restore ops of this saver set the
    variables of a copy of the model.
    """

    def __init__(self, model: Any, copy: Any) -> None:
        super().__init__(ObjectGraph(copy).saveables(), allow_empty=True)
        self._model = model

    def save(self, sess: Any, save_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Write the variables of the model, not of the copy, from Keras's session."""
        del sess, args, kwargs
        self._model.save_weights(save_path, save_format="tf")
        return save_path


def load_from_saved_model(
    saved_model_path: Any, custom_objects: Mapping[str, Any] | None = None
) -> Any:
    """Return the model that `export_saved_model` wrote, with its variables. The model is not
    compiled.

    Raises NotFoundError if the folder has no configuration. For other errors, see `model_from_json`
    and `load_weights`.

    Args:
      custom_objects: classes and functions of the program, by their names in the configuration.
    """
    path = Path(os.fspath(saved_model_path))
    with files.GFile(str(path / model_names.ASSETS_DIRECTORY / _CONFIGURATION)) as file:
        model = model_from_json(file.read(), custom_objects)
    model.load_weights(model_names.variables_prefix(path)).expect_partial()
    return model
