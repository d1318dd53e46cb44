"""tf.test: attributes, assertions and evaluation of a test case, and gradients against
differences.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import unittest

import numpy as np
import pytest

import gpugraph as tf


class Empty(tf.test.TestCase):
    def runTest(self):
        pass


@pytest.fixture
def case():
    result = Empty()
    result.setUp()
    yield result
    result.tearDown()
    tf.reset_default_graph()  # which has a seed


HOLDS = [
    ("assertAllEqual", [1, 2], np.array([1, 2])),
    ("assertAllEqual", [np.nan], [np.nan]),
    ("assertAllEqual", [b"a"], [b"a"]),
    ("assertNotAllEqual", [1], [2]),
    ("assertNotAllEqual", 5, [5]),
    ("assertDTypeEqual", np.float32([1]), "float32"),
    ("assertDTypeEqual", np.float32([1]), tf.float32),
    ("assertDTypeEqual", 5, np.int64),
    ("assertAllClose", 1.0, 1.0 + 1e-7),
    ("assertAllClose", {"a": [1.0], "b": (2, [3.0, 4.0])}, {"a": [1.0], "b": (2, [3.0, 4.0])}),
    ("assertAllClose", [np.zeros(2), np.ones(3)], [np.zeros(2), np.ones(3)]),
    ("assertNotAllClose", [1.0], [1.1]),
    ("assertAllCloseAccordingToType", np.float16([1]), np.float16([1.001])),
    ("assertNear", 1, 1.1, 0.2),
    ("assertArrayNear", [1, 2], [1.1, 2], 0.2),
    ("assertNDArrayNear", np.array([1]), np.array([1.1]), 0.2),
    ("assertAllInRange", [1, 2], 1, 2),
    ("assertAllInSet", [1, 2], {1, 2, 3}),
    ("assertAllGreater", [1, 2], 0),
    ("assertAllGreaterEqual", [1, 2], 1),
    ("assertAllLess", [1, 2], 3),
    ("assertAllLessEqual", [1, 2], 2),
    ("assertItemsEqual", [1, 2], [2, 1]),
    ("assertDeviceEqual", "/cpu:0", "/device:CPU:0"),
    ("assertStartsWith", "abc", "ab"),
    ("assertEmpty", []),
    ("assertNotEmpty", [1]),
    ("assertLen", [1], 1),
    ("assertBetween", 2, 1, 2),
]
FAILS = [
    ("assertAllEqual", [1, 2], [1, 3]),
    ("assertAllEqual", [1, 2], [1, 2, 3]),
    ("assertAllEqual", 5, [5]),
    ("assertAllEqual", [5], 5),
    ("assertAllEqual", [b"a"], [b"b"]),
    ("assertNotAllEqual", [1], [1]),
    ("assertDTypeEqual", np.float32([1]), tf.float64),
    ("assertAllClose", [1, 2.0], [1, 2.1]),
    ("assertAllClose", {"a": [1.0]}, {"a": [1.1]}),
    ("assertAllClose", {"a": [1.0]}, {"b": [1.0]}),
    ("assertAllClose", [[1.0], [1.0, 2.0]], [[1.0], [1.0, 2.1]]),
    ("assertNotAllClose", [1], [1.0]),
    ("assertAllCloseAccordingToType", np.float16([1]), np.float16([1.01])),
    ("assertAllCloseAccordingToType", np.float32([1]), np.float32([1.001])),
    ("assertNear", 1, 1.1, 0.01),
    ("assertArrayNear", [1], [1.1], 0.01),
    ("assertArrayNear", [1], [1, 1], 0.01),
    ("assertNDArrayNear", np.array([1]), np.array([1.1]), 0.01),
    ("assertAllInRange", [1, 2], 1, 2, True),
    ("assertAllInRange", [1, np.nan], 1, 2),
    ("assertAllInSet", [1, 2], {1}),
    ("assertAllGreater", [1, 2], 1),
    ("assertAllGreaterEqual", [1, 2], 2),
    ("assertAllLess", [1, 2], 2),
    ("assertAllLessEqual", [1, 2], 1),
    ("assertItemsEqual", [1, 2], [2]),
    ("assertDeviceEqual", "/cpu:0", "/device:CPU:1"),
    ("assertStartsWith", "abc", "b"),
    ("assertEmpty", [1]),
    ("assertNotEmpty", []),
    ("assertLen", [1], 2),
    ("assertBetween", 3, 1, 2),
]


@pytest.mark.parametrize(("name", "arguments"), [(name, rest) for name, *rest in HOLDS])
def test_what_is_so_may_be_asserted(case, name, arguments):
    getattr(case, name)(*arguments)


@pytest.mark.parametrize(("name", "arguments"), [(name, rest) for name, *rest in FAILS])
def test_what_is_not_so_fails(case, name, arguments):
    with pytest.raises(AssertionError):
        getattr(case, name)(*arguments)


def test_a_failure_says_where_and_by_how_much(case):
    with pytest.raises(AssertionError, match=r"\[1\] : 2(.|\n)*\[1\] : 3(.|\n)*why"):
        case.assertAllEqual([1, 2], [1, 3], "why")
    with pytest.raises(AssertionError, match=r"a\[k\] differs from b\[k\] by 0\.5"):
        case.assertAllClose({"k": [1.0]}, {"k": [1.5]})


def test_tensors_are_evaluated_and_their_shapes_compared(case):
    case.assertAllEqual(tf.constant([1, 2]), [1, 2])
    case.assertAllClose([tf.constant(1.0), tf.constant([2.0])], [1.0, [2.0]])
    case.assertDTypeEqual(tf.zeros([], tf.int8), np.int8)
    case.assertShapeEqual(np.zeros((2, 3)), tf.zeros([2, 3]))
    with pytest.raises(AssertionError):
        case.assertShapeEqual(np.zeros((2, 3)), tf.zeros([2, 4]))
    for x in ((1, tf.zeros([])), (np.zeros(()), 1)):
        with pytest.raises(TypeError):
            case.assertShapeEqual(*x)
    assert case.evaluate({"a": tf.constant(3)}) == {"a": 3}


def test_each_test_begins_with_a_new_graph_and_the_same_seeds(case):
    def drawn():
        return random.random(), np.random.random_sample(), tf.get_default_graph().seed

    first, graph = drawn(), tf.get_default_graph()
    tf.constant(1)
    case.setUp()
    assert drawn() == first
    assert tf.get_default_graph() is not graph
    assert first[2] == 87654321


def test_tests_may_run_where_a_graph_is_the_default_one():
    class Inner(tf.test.TestCase):
        def test_names(self):
            self.assertEqual(tf.constant(1, name="x").name, "x:0")

    with tf.Graph().as_default() as graph:
        tf.constant(0, name="x")
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(Inner).run(result)
        assert tf.get_default_graph() is not graph
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])
    tf.reset_default_graph()


def test_sessions_are_the_default_ones(case):
    with case.session() as session:
        assert session is tf.get_default_session()
        assert session.graph is tf.get_default_graph()
        assert tf.constant([1]).eval().tolist() == [1]
        assert tf.constant(1).device == "/device:CPU:0"
    with case.session(use_gpu=True):
        assert tf.constant(1).device == ""
    with pytest.raises(RuntimeError):
        session.run(tf.constant(1))
    graph = tf.Graph()
    for opened in (case.session(graph=graph), case.test_session(graph=graph)):
        with opened as session:
            assert session.graph is graph is tf.get_default_graph()


def test_the_cached_session_keeps_variables(case):
    with case.cached_session() as session:
        variable = tf.Variable(3)
        variable.initializer.run()
    with case.test_session() as again:
        assert again is session
        assert variable.eval() == 3
    assert case.evaluate(variable) == 3
    with pytest.raises(ValueError, match="another graph"), case.cached_session(graph=tf.Graph()):
        pass


def test_errors_are_expected_by_pattern_or_predicate(case):
    with case.session() as session:
        fed = tf.placeholder(tf.float32, name="fed")
        with case.assertRaisesOpError("You must feed(.|\n)*fed"):
            session.run(fed)
    with case.assertRaisesWithPredicateMatch(ValueError, lambda error: "x" in str(error)):
        raise ValueError("x")
    with pytest.raises(AssertionError, match=r"ValueError.*: y"):
        with case.assertRaisesWithPredicateMatch(ValueError, "x"):
            raise ValueError("y")
    with pytest.raises(AssertionError, match="TypeError"):
        with case.assertRaisesWithPredicateMatch(ValueError, "x"):
            raise TypeError("x")
    with pytest.raises(AssertionError, match="OpError not raised"):
        with case.assertRaisesOpError("x"):
            pass


def test_folders_of_tests(case, monkeypatch, tmp_path):
    assert tf.test.get_temp_dir() == tf.test.get_temp_dir()
    assert os.path.isdir(case.get_temp_dir())
    assert case.get_temp_dir() == case.get_temp_dir() != Empty().get_temp_dir()
    monkeypatch.setenv("TEST_TMPDIR", str(tmp_path / "t"))
    assert tf.test.get_temp_dir() == str(tmp_path / "t")
    assert os.path.isdir(tmp_path / "t")


def test_devices_and_builds():
    names = [
        device.name for device in tf.devices.list_local_devices() if device.device_type == "GPU"
    ]
    assert tf.test.gpu_device_name() == (names[0] if names else "")
    assert tf.test.is_gpu_available() == bool(names)
    assert not tf.test.is_built_with_cuda()
    assert os.path.isabs(tf.test.test_src_dir_path("a"))


# -- gradients


def test_jacobians_by_gradients_and_by_differences():
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    with tf.Graph().as_default(), tf.Session():
        x = tf.constant(values)
        actual = tf.test.compute_gradient(x, [2, 2], x * x, [2, 2], x_init_value=values)
        for jacobian in actual:
            np.testing.assert_allclose(jacobian, np.diag([2.0, 4, 6, 8]), atol=1e-9)
        assert tf.test.compute_gradient_error(x, [2, 2], tf.sin(x), [2, 2]) < 1e-5


def test_several_inputs_feeds_slices_and_complex_numbers():
    with tf.Graph().as_default(), tf.Session():
        x, y, z = (
            tf.constant([1.0, 2.0], tf.float64),
            tf.constant(3.0, tf.float64),
            tf.Variable(1.0),
        )
        scale = tf.placeholder(tf.float64, [])
        product = x * y * scale * tf.cast(z, tf.float64)
        pairs = tf.test.compute_gradient(
            [x, y],
            [[2], []],
            product,
            [2],
            x_init_value=[np.array([1.0, 2]), np.array(3.0)],
            init_targets=z.initializer,
            extra_feed_dict={scale: 2.0},
        )
        for one, other in pairs:
            np.testing.assert_allclose(one, other, atol=1e-9)
        assert pairs[0][0].tolist() == [[6, 0], [0, 6]]
        assert pairs[1][0].tolist() == [[2, 4]]
        rows = tf.gather(x, [1, 1])
        assert tf.test.compute_gradient_error(x, [2], rows, [2]) < 1e-9
        c = tf.constant([1 + 2j], tf.complex128)
        assert tf.test.compute_gradient(c, [1], c * c, [1])[0].shape == (2, 2)
        assert tf.test.compute_gradient_error(c, [1], c * c, [1]) < 1e-9


def test_a_wrong_gradient_is_seen_and_a_missing_one_refused():
    @tf.custom_gradient
    def wrong(x):
        return tf.identity(x), lambda dy: 3 * dy

    with tf.Graph().as_default():
        x = tf.constant([1.0], tf.float64)
        with pytest.raises(ValueError, match="no default session"):
            tf.test.compute_gradient(x, [1], x, [1])
        with tf.Session():
            assert abs(tf.test.compute_gradient_error(x, [1], wrong(x), [1]) - 2) < 1e-6
            with pytest.raises(ValueError, match="no gradient"):
                tf.test.compute_gradient(x, [1], tf.zeros([1], tf.float64), [1])


# -- running

PROGRAM = """
import sys
import gpugraph as tf
class SumTest(tf.test.TestCase):
    def test_sum(self):
        with self.session():
            self.assertAllEqual(tf.add(1, 2), WANTED)
tf.test.main()
"""


@pytest.mark.parametrize(("wanted", "status"), [(3, 0), (4, 1)])
def test_main_runs_a_programs_tests(wanted, status):
    program = PROGRAM.replace("WANTED", str(wanted))
    actual = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert actual.returncode == status
    assert "Ran 2 tests" in actual.stderr  # `test_session`, which its name makes one, is skipped
    assert "skipped=1" in actual.stderr


def test_mock_is_unittests_and_is_not_loaded_before_it_is_used():
    program = (
        "import sys, gpugraph as tf; before = 'asyncio' in sys.modules; "
        "from unittest import mock; print(before, tf.test.mock.Mock is mock.Mock, "
        "__import__('unittest').mock is mock)"
    )
    actual = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert actual.stdout == b"False True True\n"
    assert issubclass(tf.test.TestCase, unittest.TestCase)
