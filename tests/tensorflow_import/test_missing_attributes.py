"""Names that are left out on purpose: the error gives the reason, and an alternative."""

from __future__ import annotations

import functools
import importlib
import pickle
import re
import traceback
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.tensorflow_import.left_out import LEFT_OUT as INSTEAD_OF, instead_of
from gpugraph.tensorflow_import.tensorflow_names import is_module

LEFT_OUT = {
    "config.experimental_connect_to_cluster": "give a Session its target",
    "config.experimental_connect_to_host": "give a Session its target",
    "config.experimental_run_functions_eagerly": "a tf.function is traced",
    "contrib.framework.fuse_op": "graphs are fused when a Session compiles them",
    "contrib.rnn.CompiledWrapper": "use the cell itself",
    "load_file_system_library": "mount the files to read",
    "load_library": "declare ops by tf.register_op",
    "load_op_library": "declare ops by tf.register_op",
    "nn.quantized_avg_pool": "use tf.quantization.dequantize, then tf.nn.avg_pool",
    "nn.quantized_conv2d": "use tf.quantization.dequantize, then tf.nn.conv2d",
    "nn.quantized_relu_x": "use tf.quantization.dequantize, then tf.clip_by_value",
    "quantization.quantized_concat": "use tf.quantization.dequantize, then tf.concat",
    "random.get_global_generator": "use tf.random.stateless_uniform with a counter",
    "strings.bytes_split": 'which gives a SparseTensor (with the delimiter "")',
    "strings.ngrams": "join slices by tf.strings.join",
    "strings.unicode_decode": "use tf.strings.unicode_transcode to UTF-32-BE, and tf.decode_raw",
    "strings.unicode_encode": "there are no ragged tensors",
    "strings.unicode_split_with_offsets": "there are no ragged tensors",
    "strings.unicode_script": "use unicodedata.name in tf.py_func",
    "sysconfig": "declare ops by tf.register_op",
    "contrib.data.LMDBDataset": "read them by Dataset.from_generator",
    "estimator": "pip install --no-deps tensorflow-estimator==1.15.2",
    "ragged": "use a SparseTensor",
    "train.do_quantize_training_on_graphdef": "use tf.quantization.fake_quant_with_min_max_vars",
    "train.experimental.enable_mixed_precision_graph_rewrite": "MixedPrecisionLossScaleOptimizer",
    "train.experimental.disable_mixed_precision_graph_rewrite": "MixedPrecisionLossScaleOptimizer",
    "train.sdca_optimizer": "use tf.train.FtrlOptimizer",
    "train.sdca_fprint": "use tf.train.FtrlOptimizer",
    "train.sdca_shrink_l1": "use tf.train.FtrlOptimizer",
}


def whole_name(root: object, path: str) -> object:
    return functools.reduce(getattr, path.split("."), root)


@pytest.mark.parametrize(("path", "instead"), LEFT_OUT.items())
def test_the_package_says_what_to_use(path: str, instead: str) -> None:
    with pytest.raises(AttributeError) as caught:
        whole_name(tf, path)
    module, _, name = path.rpartition(".")
    first = f"module '{f'gpugraph.{module}' if module else 'gpugraph'}' has no attribute '{name}': "
    assert str(caught.value).startswith(first)
    assert instead in str(caught.value)


@pytest.mark.parametrize(("path", "instead"), LEFT_OUT.items())
def test_programs_that_import_tensorflow_read_the_same_at_the_call(path: str, instead: str) -> None:
    with tf.as_tensorflow() as missing:
        import tensorflow  # noqa: PLC0415

        if is_module(path):  # a library that is installed has the names
            return
        value: Any = whole_name(tensorflow, path)
        assert isinstance(value, type)
        assert len(missing) == 0
        with pytest.raises(NotImplementedError) as caught:
            value()
        assert instead in str(caught.value)
        assert instead in str(missing)


CONTRIB = """
all_reduce android autograph batching bayesflow bigtable boosted_trees checkpoint cloud
cluster_resolver cmake coder compiler constrained_optimization copy_graph crf cudnn_rnn data
decision_trees deprecated distribute distributions eager estimator factorization feature_column
ffmpeg framework fused_conv gan gdr graph_editor grid_rnn hadoop hooks hvx ignite image
input_pipeline integrate kafka keras kernel_methods kfac kinesis labeled_tensor layers learn
legacy_seq2seq libsvm linalg linear_optimizer lite lookup losses makefile memory_stats
meta_graph_transform metrics mixed_precision model_pruning mpi mpi_collectives nccl ndlstm
nearest_neighbor nn opt optimizer_v2 periodic_resample pi_examples predictor proto quantization
quantize rate receptive_field recurrent reduce_slice_ops remote_fused_graph resampler rnn rpc
saved_model seq2seq session_bundle signal slim solvers sparsemax specs staging stat_summarizer
stateless summary tensor_forest tensorboard tensorrt testing text tfprof timeseries tpu training
util verbs
"""


@pytest.mark.parametrize("name", CONTRIB.split())
def test_each_module_of_contrib_is_there_or_has_a_reason(name: str) -> None:
    path = f"contrib.{name}"
    if is_module(path):
        return
    assert instead_of(path)
    with tf.as_tensorflow():
        module = importlib.import_module(f"tensorflow.{path}")
        with pytest.raises(NotImplementedError) as caught:
            module.some_function(1, 2)
        assert str(caught.value) == f"tf.{path}.some_function: {instead_of(path)}"


PROGRAM = """\
import tensorflow as tf
import tensorflow.contrib.integrate
from tensorflow.contrib.timeseries import ARRegressor
from tensorflow.contrib import kfac as _kfac

class Regressor(ARRegressor):
    def train(self):
        return 1

@tf.contrib.timeseries.convert
def decorated(x):
    return x

assert not isinstance(1, ARRegressor)
assert tf.contrib.timeseries.ARRegressor is ARRegressor
assert tf.contrib.timeseries.Mode.TRAIN == tf.contrib.timeseries.Mode.TRAIN
assert ARRegressor.train.__name__ == "train"
"""


def test_a_program_may_import_and_subclass_refused_names() -> None:
    with tf.as_tensorflow() as missing:
        names: dict[str, object] = {}
        exec(compile(PROGRAM, "old.py", "exec"), names)
        assert len(missing) == 0
        for called in (lambda: names["Regressor"](1), lambda: names["decorated"](1)):
            with pytest.raises(NotImplementedError, match=r"tf\.contrib\.timeseries"):
                called()
        with pytest.raises(ModuleNotFoundError, match=r"No module named 'tensorflow\.nothing'"):
            import tensorflow.nothing  # noqa: F401, PLC0415
    assert [name.path for name in missing] == [
        "contrib.timeseries.ARRegressor",
        "contrib.timeseries.convert",
        "nothing",
    ]


@pytest.mark.parametrize(
    "path",
    [
        "keras.layers.MultiHeadAttention",
        "math.special.spence",
        "train.CheckpointOptions",
        "nn.silu",
    ],
)
def test_names_of_later_versions_say_so(path: str) -> None:
    with pytest.raises(AttributeError, match=r": TensorFlow 1\.15 does not have it"):
        whole_name(tf, path)


def test_an_unknown_name_is_answered_with_similar_ones() -> None:
    with pytest.raises(AttributeError) as caught:
        tf.nn.rlu  # noqa: B018
    message = "module 'gpugraph.nn' has no attribute 'rlu'"
    assert str(caught.value) == f"{message}; nearest: tf.nn.relu, tf.nn.relu6, tf.nn.crelu"
    assert caught.value.name == "rlu"
    assert traceback.format_exception_only(caught.value) == [f"AttributeError: {caught.value}\n"]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert not hasattr(tf, "__path_of_nothing__")
    with pytest.raises(ImportError, match="cannot import name 'rlu'"):
        from gpugraph.nn import rlu  # noqa: F401, PLC0415


@pytest.mark.parametrize("path", ["ragged.constant", "random.experimental.Generator"])
def test_modules_that_are_left_out_say_why(path: str) -> None:
    with pytest.raises(AttributeError, match=r"has no attribute '\w+': there (is|are) no"):
        whole_name(tf, path)


def test_all_that_is_named_instead_is_there() -> None:
    for words in INSTEAD_OF.values():
        for path in re.findall(r"(?<!no )\b(tf\.[\w.]*\w|contrib\.[\w.]*\w)", words):
            assert whole_name(tf, path.removeprefix("tf.")) is not None


def test_what_is_named_instead_is_there() -> None:
    for name in ("register_op", "py_func", "numpy_function", "train.FtrlOptimizer", "gradients"):
        assert callable(whole_name(tf, name))
