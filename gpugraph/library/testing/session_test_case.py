"""TestCase: a `unittest.TestCase` with a new graph and fixed seeds in each test, and sessions.

class SquareTest(tf.test.TestCase):
    def test_square(self):
        with self.session():
            self.assertAllEqual(tf.square([2, 3]).eval(), [4, 9])
"""

from __future__ import annotations

import importlib
import random
import re
import tempfile
import unittest
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from inspect import isfunction
from types import MethodType
from typing import Any

import numpy as np

from gpugraph.base.errors import OpError
from gpugraph.base.named_function import with_parameters_of
from gpugraph.config import ConfigProto
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.default_stacks import graph_stack, session_stack
from gpugraph.graph.device_names import canonical_name
from gpugraph.library.testing.array_comparisons import Comparisons
from gpugraph.library.testing.benchmarks import requested_benchmarks, run_benchmarks
from gpugraph.library.testing.temp_dir_and_devices import get_temp_dir, gpu_device_name
from gpugraph.ops.random.seeds_and_streams import DEFAULT_GRAPH_SEED
from gpugraph.session import Session


class TestCase(Comparisons):
    """A test case with a new, seeded default graph before each test.

    `session()` and `cached_session()` are used in `with` statements. Inside the block, a session
    and its graph are the defaults. By default, operations without a device name are placed on the
    CPU. If `use_gpu` is true, they are placed on a GPU if a GPU supports them. If `force_gpu` is
    true, they are placed on the first GPU.
    """

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._cached_session: Any = None
        self._cached_for: tuple[Any, ...] = ()
        self._folder: str | None = None

    def __getattr__(self, name: str) -> Any:
        """Return a method of absl's test case, such as `assertSameElements` or `create_tempdir`, as
        TensorFlow's test case has. They are in the package absl-py.
        """
        if not name.startswith("__") and find_spec("absl") is not None:
            absl = importlib.import_module("absl.testing.absltest").TestCase
            if (method := getattr(absl, name, None)) is not None:
                return MethodType(method, self) if isfunction(method) else method
        advice = (
            "" if not name.startswith("assert") else ": methods of absl need `pip install absl-py`"
        )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{advice}")

    def setUp(self) -> None:
        """Create a new default graph, and set the seeds of Python, NumPy and the graph."""
        super().setUp()
        self._forget_session()
        random.seed(DEFAULT_GRAPH_SEED)
        np.random.seed(DEFAULT_GRAPH_SEED)
        graph_stack.stack.clear()  # a test may start inside `with graph.as_default()`
        graph_stack.reset()
        get_default_graph().seed = DEFAULT_GRAPH_SEED

    def tearDown(self) -> None:
        """Close the cached session."""
        self._forget_session()
        super().tearDown()

    def _forget_session(self) -> None:
        session, self._cached_session = self._cached_session, None
        if session is not None:
            session.close()

    def get_temp_dir(self) -> str:
        """Return a folder for the files of this test. Each test has its own folder."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(dir=get_temp_dir())
        return self._folder

    # -- sessions

    @contextmanager
    def session(
        self,
        graph: Any = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """Open a session of the default graph, or of `graph`, until the end of the block."""
        session = _open(graph, config, force_gpu)
        try:
            with _defaults(session, use_gpu, force_gpu):
                yield session
        finally:
            session.close()

    @with_parameters_of(session)
    @contextmanager
    def cached_session(
        self, graph: Any, config: ConfigProto | None, use_gpu: bool, force_gpu: bool
    ) -> Iterator[Session]:
        """Yield a session that all calls in this test share. Variables keep their values from one
        block to the next.

        Raises ValueError if a later call in the same test passes another graph, config or
        `force_gpu`.
        """
        options = graph, config, force_gpu
        if self._cached_session is not None and not _same(options, self._cached_for):
            raise ValueError(
                "cached_session was made with another graph, config or force_gpu in this test: "
                f"{self._cached_for}, now {options}. Use session() for another session"
            )
        with self._open_cached(options, use_gpu) as session:
            yield session

    @with_parameters_of(session)
    def test_session(
        self, graph: Any, config: ConfigProto | None, use_gpu: bool, force_gpu: bool
    ) -> AbstractContextManager[Session]:
        """Call `session` if `graph` is passed. Otherwise call `cached_session`, but accept any
        config.
        """
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")  # test runners collect this method because of its name
        if graph is None:
            return self._open_cached((None, config, force_gpu), use_gpu)
        return self.session(graph, config, use_gpu, force_gpu)

    test_session.__test__ = False  # type: ignore[attr-defined]

    @contextmanager
    def _open_cached(self, options: tuple[Any, ...], use_gpu: bool) -> Iterator[Session]:
        if self._cached_session is None:
            self._cached_session, self._cached_for = _open(*options), options
        with _defaults(self._cached_session, use_gpu, options[2]):
            yield self._cached_session

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors, in any structure that a session can fetch.

        The tensors are evaluated in the default session. If there is no default session, they are
        evaluated in the cached session.
        """
        session = session_stack.top()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as cached:
            return cached.run(tensors)

    # -- errors

    @contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: str | Callable[[Any], bool]
    ) -> Iterator[None]:
        """Check that the block raises an error of `exception_type` that matches the regular
        expression or the predicate.

        A regular expression is searched in the error's message. A predicate is called with the
        error. For an OpError, the message includes the name of its operation.
        """
        caught: BaseException | None = None
        try:
            yield
        except BaseException as error:
            if not isinstance(error, exception_type):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            caught = error
        if caught is None:
            self.fail(f"{getattr(exception_type, '__name__', exception_type)} not raised")
        if callable(expected_err_re_or_predicate):
            right = expected_err_re_or_predicate(caught)
        else:
            right = re.search(expected_err_re_or_predicate, _message(caught)) is not None
        if not right:
            raise AssertionError(
                f"Exception of type {type(caught)}: {_message(caught)}"
            ) from caught

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Call `assertRaisesWithPredicateMatch` for an OpError."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    # -- Python values

    def assertItemsEqual(self, expected_seq: Any, actual_seq: Any, msg: Any = None) -> None:
        """Check that two sequences have the same elements in any order, and that each element
        occurs the same number of times.
        """
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        """Check that two names mean the same device. For example, "/cpu:0" and "/device:CPU:0"
        do.
        """
        one, other = canonical_name(device1), canonical_name(device2)
        text = f"Devices {one} and {other} are not equal."
        self.assertEqual(one, other, self._message(text, msg))

    def assertStartsWith(self, actual: str, expected_start: str, msg: Any = None) -> None:
        """Check that `actual` starts with `expected_start`."""
        if not actual.startswith(expected_start):
            self.fail(self._message(f"{actual!r} does not start with {expected_start!r}", msg))

    def assertLen(self, container: Any, expected_len: int, msg: Any = None) -> None:
        """Check that a container has `expected_len` elements."""
        if len(container) != expected_len:
            text = f"{container!r} has length of {len(container)}, expected {expected_len}."
            self.fail(self._message(text, msg))

    def assertEmpty(self, container: Any, msg: Any = None) -> None:
        """Check that the container has no elements."""
        if len(container):
            self.fail(self._message(f"{container!r} has length of {len(container)}.", msg))

    def assertNotEmpty(self, container: Any, msg: Any = None) -> None:
        """Check that the container has at least one element."""
        if not len(container):
            self.fail(self._message(f"{container!r} has length of 0.", msg))

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: Any = None) -> None:
        """Check minv <= value <= maxv."""
        if not minv <= value <= maxv:
            text = f'"{value}" unexpectedly not between "{minv}" and "{maxv}"'
            self.fail(self._message(text, msg))


def _message(error: BaseException) -> str:
    """Return the message of an error. For an OpError, it also contains the name of the
    operation.
    """
    if not isinstance(error, OpError):
        return str(error)
    return error.message if error.op is None else f"{error.message}\nCaused by: {error.op.name}"


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return one[0] is other[0] and one[1:] == other[1:]


def _open(graph: Any, config: ConfigProto | None, force_gpu: bool) -> Session:
    if config is None:
        config = ConfigProto(allow_soft_placement=not force_gpu)
    return Session(graph=graph, config=config)


@contextmanager
def _defaults(session: Session, use_gpu: bool, force_gpu: bool) -> Iterator[None]:
    """Make the session and its graph the defaults.

    Place ops on the CPU unless a GPU is requested.
    """
    with session.graph.as_default(), session.as_default():
        if use_gpu and not force_gpu:
            yield
            return
        device = (gpu_device_name() or "/device:GPU:0") if force_gpu else "/device:CPU:0"
        with session.graph.device(device):
            yield


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the program with `unittest.main`, and exit with their status.

    If `--benchmark_filter=PATTERN` is on the command line, run the matching benchmarks instead.
    """
    if (pattern := requested_benchmarks(argv)) is not None:
        run_benchmarks(pattern)
        return
    unittest.main(module="__main__", argv=argv)
