"""Signatures: their construction, their errors, and which can be served."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2

model = tf.saved_model


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_tensor_and_its_info() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    info = model.build_tensor_info(x)
    assert (info.name, info.dtype) == ("x:0", messages_pb2.DT_FLOAT)
    assert [dim.size for dim in info.tensor_shape.dim] == [-1, 3]
    assert model.get_tensor_from_tensor_info(info) is x
    assert model.utils.build_tensor_info is model.build_tensor_info


def test_a_sparse_tensor_and_its_info() -> None:
    x = tf.sparse_placeholder(tf.int64, [2, 3], name="s")
    info = model.build_tensor_info(x)
    assert info.WhichOneof("encoding") == "coo_sparse"
    again = model.get_tensor_from_tensor_info(info)
    assert again.indices is x.indices and again.values is x.values
    assert again.dense_shape is x.dense_shape


def test_a_tensor_in_another_graph_and_scope() -> None:
    info = model.build_tensor_info(tf.placeholder(tf.float32, name="x"))
    other = tf.Graph()
    with other.as_default():
        x = tf.placeholder(tf.float32, name="a/x")
    assert model.get_tensor_from_tensor_info(info, other, "a") is x
    with pytest.raises(KeyError, match="x:0"):
        model.get_tensor_from_tensor_info(info, other)
    with pytest.raises(ValueError, match=r"Invalid TensorInfo\.encoding: None"):
        model.get_tensor_from_tensor_info(messages_pb2.TensorInfo())
    info.composite_tensor.SetInParent()
    with pytest.raises(ValueError, match=r"Invalid TensorInfo\.encoding: composite_tensor"):
        model.get_tensor_from_tensor_info(info)
    with pytest.raises(TypeError, match="Tensor or a SparseTensor"):
        model.build_tensor_info(3)


def test_a_predict_signature() -> None:
    x, y = tf.placeholder(tf.float32, name="x"), tf.constant([1], name="y")
    signature = model.predict_signature_def({"in": x}, {"out": y})
    assert signature.method_name == model.PREDICT_METHOD_NAME == "tensorflow/serving/predict"
    assert signature.inputs["in"].name == "x:0" and signature.outputs["out"].name == "y:0"
    assert model.is_valid_signature(signature)
    with pytest.raises(ValueError, match="Prediction inputs cannot be None or empty"):
        model.predict_signature_def({}, {"out": y})
    with pytest.raises(ValueError, match="Prediction outputs cannot be None or empty"):
        model.predict_signature_def({"in": x}, None)


def test_a_regression_signature() -> None:
    text, number = tf.constant(["a"]), tf.constant([1.0])
    signature = model.regression_signature_def(text, number)
    assert signature.method_name == "tensorflow/serving/regress"
    assert set(signature.inputs) == {"inputs"} and set(signature.outputs) == {"outputs"}
    assert model.is_valid_signature(signature)
    for arguments, problem in (
        ((None, number), "examples cannot be None"),
        ((3, number), "examples must be a string Tensor"),
        ((text, None), "predictions cannot be None"),
        ((number, number), "input tensors must be of type string"),
        ((text, text), "output tensors must be of type float"),
    ):
        with pytest.raises(ValueError, match=f"Regression {problem}"):
            model.regression_signature_def(*arguments)


def test_a_classification_signature() -> None:
    text, number = tf.constant(["a"]), tf.constant([1.0])
    for classes, scores in ((text, number), (text, None), (None, number)):
        signature = model.classification_signature_def(text, classes, scores)
        assert signature.method_name == "tensorflow/serving/classify"
        assert set(signature.outputs) == {
            *(["classes"] if classes is not None else ()),
            *(["scores"] if scores is not None else ()),
        }
        assert model.is_valid_signature(signature)
    for arguments, problem in (
        ((None, text, number), "examples cannot be None"),
        (("a", text, number), "examples must be a string Tensor"),
        ((text, None, None), "classes and scores cannot both be None"),
        ((number, text, number), "input tensors must be of type string"),
        ((text, number, None), "classes must be of type string Tensor"),
        ((text, None, text), "scores must be a float Tensor"),
    ):
        with pytest.raises(ValueError, match=f"Classification {problem}"):
            model.classification_signature_def(*arguments)


def test_what_can_not_be_served() -> None:
    text = model.build_tensor_info(tf.constant(["a"]))
    number = model.build_tensor_info(tf.constant([1.0]))
    build = model.build_signature_def
    regress, classify = model.REGRESS_METHOD_NAME, model.CLASSIFY_METHOD_NAME
    refused = [
        None,
        build(),
        build({"inputs": text}, {"outputs": number}),
        build({"inputs": text}, {"outputs": number}, "other"),
        build({}, {"outputs": number}, model.PREDICT_METHOD_NAME),
        build({"inputs": number}, {"outputs": number}, regress),
        build({"inputs": text}, {"outputs": text}, regress),
        build({"inputs": text, "more": text}, {"outputs": number}, regress),
        build({"inputs": text}, {"scores": number, "outputs": number}, classify),
        build({"inputs": text}, {"scores": text}, classify),
        build({"inputs": text}, {}, classify),
    ]
    assert [model.is_valid_signature(signature) for signature in refused] == [False] * 11
