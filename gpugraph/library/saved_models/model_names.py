"""The names of files, collections, tags and signatures that TensorFlow uses in SavedModels."""

from __future__ import annotations

import os
from typing import Any

ASSETS_DIRECTORY, VARIABLES_DIRECTORY, DEBUG_DIRECTORY = "assets", "variables", "debug"
VARIABLES_FILENAME, DEBUG_INFO_FILENAME_PB = "variables", "saved_model_debug_info.pb"
SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT = "saved_model.pb", "saved_model.pbtxt"
SAVED_MODEL_SCHEMA_VERSION = 1
ASSETS_KEY, MAIN_OP_KEY = "saved_model_assets", "saved_model_main_op"
LEGACY_INIT_OP_KEY = "legacy_init_op"
INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"
TRAIN_OP_SIGNATURE_KEY = "__saved_model_train_op"

TRAIN_OP_KEY, EXTRA_ASSETS_DIRECTORY = "saved_model_train_op", "assets.extra"

SERVING, TRAINING, EVAL, GPU, TPU = "serve", "train", "eval", "gpu", "tpu"

DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
DEFAULT_TRAIN_SIGNATURE_DEF_KEY, DEFAULT_EVAL_SIGNATURE_DEF_KEY = "train", "eval"
SUPERVISED_TRAIN_METHOD_NAME = "tensorflow/supervised/training"
SUPERVISED_EVAL_METHOD_NAME = "tensorflow/supervised/eval"
CLASSIFY_METHOD_NAME, CLASSIFY_INPUTS = "tensorflow/serving/classify", "inputs"
CLASSIFY_OUTPUT_CLASSES, CLASSIFY_OUTPUT_SCORES = "classes", "scores"
PREDICT_METHOD_NAME = "tensorflow/serving/predict"
PREDICT_INPUTS, PREDICT_OUTPUTS = "inputs", "outputs"
REGRESS_METHOD_NAME = "tensorflow/serving/regress"
REGRESS_INPUTS, REGRESS_OUTPUTS = "inputs", "outputs"


def folder_text(export_dir: Any) -> str:
    """Return the path of a SavedModel as a str. export_dir may be bytes or an `os.PathLike`."""
    return os.fsdecode(os.fspath(export_dir))


def variables_prefix(export_dir: Any) -> str:
    """Return the path prefix of a SavedModel's checkpoint."""
    return os.path.join(folder_text(export_dir), VARIABLES_DIRECTORY, VARIABLES_FILENAME)
