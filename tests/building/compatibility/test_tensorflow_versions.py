"""`compat`, versions, switches of behaviour, TensorSpec, and the test whether a value is a
tensor.
"""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys

import gpugraph.compat.v1 as first
import numpy as np
import pytest
from gpugraph.compat.v1 import nn

import gpugraph
import gpugraph as tf
from gpugraph.building.compatibility.tensorflow_versions import v1


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_v1_is_the_package_in_every_form_of_import():
    assert first is v1 is tf.compat.v1 is gpugraph
    assert nn is tf.nn
    program = "import gpugraph.compat.v1 as tf; print(tf.Session.__module__)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout == b"gpugraph.session.client_sessions\n"


def test_versions_agree():
    assert tf.VERSION == tf.__version__ == tf.version.VERSION
    assert tf.GIT_VERSION == tf.version.GIT_VERSION == f"gpugraph-{tf.VERSION}"
    assert tf.COMPILER_VERSION in sys.version
    versions = (
        "GRAPH_DEF_VERSION",
        "GRAPH_DEF_VERSION_MIN_CONSUMER",
        "GRAPH_DEF_VERSION_MIN_PRODUCER",
    )
    assert [getattr(tf, name) for name in versions] == [134, 0, 0]
    assert [getattr(tf.version, name) for name in versions] == [134, 0, 0]


@pytest.mark.parametrize("value", ["é", "é".encode()])
def test_strings_and_bytes(value):
    assert tf.compat.as_bytes(value) == "é".encode()
    assert tf.compat.as_text(value) == tf.compat.as_str(value) == tf.compat.as_str_any(value) == "é"


def test_other_values_and_paths_as_strings():
    assert tf.compat.as_str_any(1.5) == "1.5"
    assert tf.compat.as_bytes(bytearray(b"a")) == b"a"
    assert tf.compat.as_bytes("é", "latin-1") == b"\xe9"
    assert tf.compat.path_to_str(pathlib.PurePosixPath("a/b")) == "a/b"
    assert tf.compat.path_to_str("a") == "a"
    for convert in (tf.compat.as_bytes, tf.compat.as_text):
        with pytest.raises(TypeError, match="Expected binary or unicode string, got 1"):
            convert(1)
    assert isinstance(np.float32(1), tf.compat.real_types)
    assert isinstance(np.int8(1), tf.compat.integral_types)
    assert isinstance(1j, tf.compat.complex_types)
    assert isinstance(b"", tf.compat.bytes_or_text_types)


def test_dimensions_as_numbers():
    shape = tf.TensorShape([3, None])
    assert [tf.compat.dimension_value(each) for each in (shape[0], shape[1], 4)] == [3, None, 4]
    assert tf.compat.dimension_at_index(shape, 0) == 3


def test_dates_of_compatibility():
    assert tf.compat.forward_compatible(2019, 6, 1)
    assert not tf.compat.forward_compatible(2030, 1, 1)
    with tf.compat.forward_compatibility_horizon(2030, 1, 2):
        assert tf.compat.forward_compatible(2030, 1, 1)
    assert not tf.compat.forward_compatible(2030, 1, 1)


def test_tensorflow_2_is_off_and_stays_off():
    tf.enable_resource_variables()
    tf.disable_v2_behavior()
    assert not tf.resource_variables_enabled()
    for name in ("eager_execution", "v2_tensorshape", "tensor_equality", "control_flow_v2"):
        getattr(tf, f"disable_{name}")()
        with pytest.raises(NotImplementedError, match=r"^gpugraph has no "):
            getattr(tf, f"enable_{name}")()
    with pytest.raises(NotImplementedError, match="enable_resource_variables"):
        tf.enable_v2_behavior()
    assert not tf.executing_eagerly()
    assert not tf.executing_eagerly_outside_functions()
    assert not tf.control_flow_v2_enabled()


def test_what_is_a_tensor():
    tensor, sparse = tf.constant(1), tf.SparseTensor([[0]], [1], [1])
    given = [tensor, tf.Variable(1), sparse, np.ones(1), 1]
    assert [tf.is_tensor(each) for each in given] == [True, True, True, False, False]
    assert [tf.is_symbolic_tensor(each) for each in given] == [True] + [False] * 4


def test_values_and_seeds_that_are_known_before_a_run():
    assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert tf.get_static_value(tf.placeholder(tf.int32)) is None
    assert tf.get_seed(None) == (None, None)
    assert tf.get_seed(3) == (87654321, 3)


def test_a_spec_of_a_tensor():
    spec = tf.TensorSpec([1, None], tf.int32, "n")
    assert repr(spec) == "TensorSpec(shape=(1, ?), dtype=tf.int32, name='n')"
    assert repr(tf.TensorSpec(None)) == "TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)"
    same = pickle.loads(pickle.dumps(spec))
    assert (same == spec, hash(same) == hash(spec)) == (True, True)
    assert spec != tf.TensorSpec([1, None], tf.int32) != tf.TensorSpec([1, 2], tf.int32)
    assert spec.is_compatible_with(tf.zeros([1, 5], tf.int32))
    assert not spec.is_compatible_with(tf.zeros([2, 5], tf.int32))
    assert not spec.is_compatible_with(tf.zeros([1, 5]))
    assert tf.TensorSpec.from_spec(spec, "z").name == "z"
    made = tf.TensorSpec.from_tensor(tf.constant([1], name="q"))
    assert (made.shape, made.dtype, made.name) == (tf.TensorShape([1]), tf.int32, "q")
