"""Tables of variables and operations."""

from __future__ import annotations

import gpugraph as tf

analyzer = tf.contrib.slim.model_analyzer


def test_variables_are_counted(capsys):
    with tf.Graph().as_default():
        tf.get_variable("a", [3, 4])
        tf.get_variable("b", [2], tf.float64)
        assert analyzer.analyze_vars(tf.global_variables()) == (14, 64)
        assert capsys.readouterr().out == ""
        analyzer.analyze_vars(tf.global_variables(), print_info=True)
    printed = capsys.readouterr().out
    assert "a:0 (float32_ref 3x4) [12, bytes: 48]" in printed
    assert "Total size of variables: 14\nTotal bytes of variables: 64" in printed


def test_operations_are_counted(capsys):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.constant([1.0, 2.0], name="c") + x
        assert analyzer.analyze_ops(graph, print_info=True) == 2
    assert "x -> (float32 ?x2) [0]" in capsys.readouterr().out
    assert analyzer.tensor_description(x) == "(float32 ?x2)"
