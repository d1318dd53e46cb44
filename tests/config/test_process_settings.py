"""Settings of the process: sessions without a config follow them."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.config import process_settings

threading, optimizer = tf.config.threading, tf.config.optimizer


@pytest.fixture(autouse=True)
def forgotten():
    with tf.Graph().as_default():
        yield
    process_settings.forget()


def config_of_new_session():
    with tf.Session() as session:
        return session._config


def test_by_default_it_is_an_empty_config():
    assert config_of_new_session() == tf.ConfigProto()
    assert threading.get_inter_op_parallelism_threads() == 0
    assert threading.get_intra_op_parallelism_threads() == 0
    assert tf.config.get_soft_device_placement() is False
    assert tf.debugging.get_log_device_placement() is False
    assert optimizer.get_jit() is False
    always = {"disable_model_pruning": False, "disable_meta_optimizer": False}
    assert optimizer.get_experimental_options() == always


def test_new_sessions_have_what_is_set():
    threading.set_inter_op_parallelism_threads(3)
    threading.set_intra_op_parallelism_threads(2)
    tf.config.set_soft_device_placement(True)
    optimizer.set_jit(True)
    config = config_of_new_session()
    assert (config.inter_op_parallelism_threads, config.intra_op_parallelism_threads) == (3, 2)
    assert config.allow_soft_placement
    assert config.graph_options.optimizer_options.global_jit_level == tf.OptimizerOptions.ON_1
    assert threading.get_inter_op_parallelism_threads() == 3
    assert threading.get_intra_op_parallelism_threads() == 2
    assert tf.config.get_soft_device_placement() is True
    assert optimizer.get_jit() is True
    optimizer.set_jit(False)
    level = config_of_new_session().graph_options.optimizer_options.global_jit_level
    assert level == tf.OptimizerOptions.OFF


def test_soft_placement_and_its_log_take_effect(capfd):
    with tf.device("/gpu:7"):
        x = tf.add(1.0, 2.0, name="sum")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(x)
    tf.config.set_soft_device_placement(True)
    tf.debugging.set_log_device_placement(True)
    with tf.Session() as session:
        assert session.run(x) == 3.0
    assert "sum: (Const): /job:localhost/replica:0/task:0/device:" in capfd.readouterr().err


def test_a_config_goes_before_the_settings():
    tf.config.set_soft_device_placement(True)
    with tf.Session(config=tf.ConfigProto()) as session:
        assert not session._config.allow_soft_placement
    session = tf.InteractiveSession()
    assert session._config.allow_soft_placement
    session.close()


def test_a_session_keeps_its_settings():
    with tf.Session() as session:
        tf.config.set_soft_device_placement(True)
        assert not session._config.allow_soft_placement


def test_rewriters_are_switched():
    optimizer.set_experimental_options({"constant_folding": False, "min_graph_nodes": 3, "new": 1})
    optimizer.set_experimental_options({"remapping": True, "disable_meta_optimizer": True})
    assert optimizer.get_experimental_options() == {
        "constant_folding": False,
        "disable_meta_optimizer": True,
        "disable_model_pruning": False,
        "min_graph_nodes": 3,
        "remapping": True,
    }
    rewriting = config_of_new_session().graph_options.rewrite_options
    assert (rewriting.constant_folding, rewriting.remapping) == (rewriting.OFF, rewriting.ON)
    assert rewriting.disable_meta_optimizer
    assert rewriting.min_graph_nodes == 3
    assert rewriting.arithmetic_optimization == rewriting.DEFAULT


def test_wrong_values():
    for set_value in (
        threading.set_inter_op_parallelism_threads,
        threading.set_intra_op_parallelism_threads,
        tf.config.set_soft_device_placement,
        tf.debugging.set_log_device_placement,
        optimizer.set_jit,
    ):
        with pytest.raises(TypeError, match="must be"):
            set_value("many")
    with pytest.raises(TypeError, match="constant_folding must be a bool"):
        optimizer.set_experimental_options({"remapping": True, "constant_folding": "no"})
    assert config_of_new_session() == tf.ConfigProto()


def test_programs_find_them_under_tensorflow():
    with tf.as_tensorflow():
        import tensorflow  # noqa: PLC0415

        tensorflow.config.threading.set_inter_op_parallelism_threads(5)
        assert tensorflow.config.optimizer.get_jit() is False
        assert tensorflow.config.experimental.get_device_policy() == "silent"
    assert threading.get_inter_op_parallelism_threads() == 5
