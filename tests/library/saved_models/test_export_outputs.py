"""Outputs of models by kind, and the signatures that estimators export for each mode."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.library.saved_models.export_outputs import (
    ClassificationOutput,
    EvalOutput,
    PredictOutput,
    RegressionOutput,
    TrainOutput,
)
from gpugraph.library.saved_models.exports_by_mode import (
    EXPORT_TAG_MAP,
    SIGNATURE_KEY_MAP,
    ModeKeyMap,
    build_all_signature_defs,
    export_outputs_for_mode,
    get_export_outputs,
    get_temp_export_dir,
    get_timestamped_export_dir,
)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_each_kind_has_its_signature() -> None:
    examples = {"x": tf.placeholder(tf.string, [None])}
    scores, classes = tf.zeros([2, 3]), tf.constant([["a", "b", "c"]])
    signature = ClassificationOutput(scores, classes).as_signature_def(examples)
    assert signature.method_name == "tensorflow/serving/classify"
    assert sorted(signature.outputs) == ["classes", "scores"]
    assert (
        RegressionOutput(tf.zeros([2])).as_signature_def(examples).method_name.endswith("regress")
    )
    assert sorted(PredictOutput(scores).as_signature_def(examples).outputs) == ["output"]
    output = TrainOutput(tf.constant(1.0), {("a", "b"): scores}, (tf.constant(1.0), tf.no_op()))
    signature = output.as_signature_def(examples)
    assert sorted(signature.outputs) == [
        "loss",
        "metrics/update_op",
        "metrics/value",
        "predictions/a/b",
    ]
    assert EvalOutput(tf.constant(1.0)).as_signature_def(examples).method_name.endswith("eval")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ClassificationOutput(), "At least one of scores and classes must be set"),
        (lambda: ClassificationOutput(classes=tf.constant([1])), "must be a string Tensor"),
        (lambda: ClassificationOutput(scores=tf.constant([1])), "must be a float32 Tensor"),
        (lambda: RegressionOutput(1.0), "value must be a float32 Tensor; got 1.0"),
        (lambda: PredictOutput({1: tf.zeros([])}), "Prediction output key must be a string; got 1"),
        (lambda: PredictOutput({"a": 1}), "Prediction output value must be a Tensor; got 1"),
        (lambda: ModeKeyMap(eval=1, test=2), "Multiple keys/values found for test mode"),
        (lambda: ModeKeyMap(other=1), "Invalid mode key: other"),
        (lambda: export_outputs_for_mode("other"), "Export output type not found for mode: other"),
        (lambda: build_all_signature_defs({}, None), "export_outputs must be a dict"),
    ],
)
def test_faults_are_refused(build, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_one_output_is_the_default_and_alternatives_have_names() -> None:
    x, output = tf.zeros([2]), PredictOutput(tf.zeros([2]))
    outputs = get_export_outputs({"mine": output}, None)
    assert sorted(outputs) == ["mine", "serving_default"]
    signatures = build_all_signature_defs(x, outputs, {"other": x})
    assert sorted(signatures) == ["mine", "other:mine", "other:serving_default", "serving_default"]
    assert list(signatures["mine"].inputs) == ["input"]
    regression = {"serving_default": RegressionOutput(tf.zeros([2]))}
    assert build_all_signature_defs(x, regression) == {}  # its input is no string
    with pytest.raises(ValueError, match="none of them is specified as the default"):
        get_export_outputs({"a": output, "b": output}, None)
    with pytest.raises(TypeError, match="must be ExportOutput objects"):
        get_export_outputs({"a": 1}, None)


def test_modes_of_keras_and_of_estimators_are_the_same() -> None:
    assert EXPORT_TAG_MAP["infer"] == EXPORT_TAG_MAP["predict"] == ["serve"]
    assert SIGNATURE_KEY_MAP["eval"] == SIGNATURE_KEY_MAP["test"] == "eval"
    assert list(export_outputs_for_mode("train", loss=tf.constant(1.0))) == ["train"]
    assert len(EXPORT_TAG_MAP) == 3 and "other" not in EXPORT_TAG_MAP


def test_folders_are_named_by_time(tmp_path) -> None:
    folder = get_timestamped_export_dir(str(tmp_path))
    assert int(folder.rpartition(b"/")[2]) > 1_000_000_000
    assert get_temp_export_dir(folder).rpartition(b"/")[2].startswith(b"temp-")
