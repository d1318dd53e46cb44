"""Enqueuers, which prepare batches in advance in threads or processes, and return them in order.

An error in a worker is raised where the consumer takes the worker's batch. Each time the consumer
takes a batch, it submits the next batches to the workers, so that no separate thread has to
schedule batches.
"""

from __future__ import annotations

import copyreg
import importlib
import itertools
import os
import pickle
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np

from gpugraph.library.keras.inputs.sequence import Sequence

END = "end of the generator"
"""The result of a worker when the generator has ended."""

_SOURCES: dict[int, Any] = {}
"""By the number of a running enqueuer, its data set. Forked worker processes inherit this dict."""

_NUMBERS = itertools.count()


class SequenceEnqueuer:
    """Base class of enqueuers. Call `start`, take batches from the iterator `get()`, then call
    `stop`.

    Args:
      use_multiprocessing: whether the workers are forked processes. Otherwise the workers are
        threads.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self._number = next(_NUMBERS)
        self._executor: Executor | None = None
        self._waiting: deque[Future[Any]] = deque()
        self._workers, self._size = 1, 10

    def is_running(self) -> bool:
        """Return whether the enqueuer has been started and not stopped."""
        return self._executor is not None

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Start the worker threads or processes.

        Args:
          workers: the number of workers.
          max_queue_size: the maximum number of batches that are prepared but not yet taken.
        """
        self._workers, self._size = max(workers, 1), max(max_queue_size, 1)
        self._executor = self._new_executor()

    def _new_executor(self) -> Executor:
        _SOURCES[self._number] = self.sequence
        if not self.use_multiprocessing:
            return futures.ThreadPoolExecutor(self._workers, thread_name_prefix="keras_input")
        context = importlib.import_module("multiprocessing").get_context("fork")
        return futures.ProcessPoolExecutor(self._workers, context, _seed_worker, (self._seed(),))

    def _seed(self) -> int:
        return int(np.random.randint(2**31 - 1))

    def get(self) -> Iterator[Any]:
        """Yield the batches in order. If a worker failed, raise its error in place of its batch.

        Raises RuntimeError if a worker process ended before its batch was ready.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define `get`")

    def _ahead(self, tasks: Iterator[tuple[Callable[..., Any], Any]]) -> Iterator[Any]:
        """Yield the results of tasks in order, while workers compute the next results.

        Args:
          tasks: pairs of a function and its argument; see `_work`.
        """
        while self._executor is not None:
            for task in itertools.islice(tasks, self._size - len(self._waiting)):
                self._waiting.append(self._executor.submit(_work, *task, self._number))
            if not self._waiting:
                return
            yield self._result(self._waiting.popleft())

    def _result(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except futures.BrokenExecutor as error:
            raise RuntimeError(
                "A worker process ended before its batch was there: it was killed, as where memory "
                "is short, or ended itself"
            ) from error

    def stop(self, timeout: float | None = None) -> None:
        """Stop all workers, and wait until they have finished their current batches."""
        del timeout
        executor, self._executor = self._executor, None
        self._waiting.clear()
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)
        _SOURCES.pop(self._number, None)


class OrderedEnqueuer(SequenceEnqueuer):
    """An enqueuer that yields the batches of a `Sequence`, epoch after epoch.

    Args:
      shuffle: whether each epoch has a new random order.
    """

    def __init__(
        self, sequence: Sequence, use_multiprocessing: bool = False, shuffle: bool = False
    ) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def get(self) -> Iterator[Any]:
        """Yield the batches endlessly.

        Between epochs, when all workers are idle, call `on_epoch_end` of the sequence.
        """
        while self._executor is not None:
            order = list(range(len(self.sequence)))
            if self.shuffle:
                random.shuffle(order)
            yield from self._ahead(iter([(_item, index) for index in order]))
            self._end_epoch()

    def _end_epoch(self) -> None:
        """Call `on_epoch_end` of the sequence. Then start new worker processes, which inherit the
        changes that this call has made.
        """
        executor = self._executor
        if executor is None:
            return
        self.sequence.on_epoch_end()
        if self.use_multiprocessing:
            executor.shutdown(wait=True)
            self._executor = self._new_executor()


class GeneratorEnqueuer(SequenceEnqueuer):
    """An enqueuer that yields the batches of a generator until the generator ends. A single worker
    reads the generator.

    Args:
      random_seed: the seed of NumPy's generator in the worker process.
    """

    def __init__(
        self, generator: Any, use_multiprocessing: bool = False, random_seed: int | None = None
    ) -> None:
        super().__init__(_Locked(generator), use_multiprocessing)
        self.random_seed = random_seed

    def _seed(self) -> int:
        return super()._seed() if self.random_seed is None else self.random_seed

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Start a single worker, because a generator computes its batches one after the other.

        Args:
          workers: ignored.
          max_queue_size: see `SequenceEnqueuer.start`.
        """
        super().start(1, max_queue_size)

    def get(self) -> Iterator[Any]:
        """Yield the batches, until the generator ends."""
        for batch in self._ahead(itertools.repeat((_next, None))):
            if isinstance(batch, str) and batch == END:
                return
            yield batch


class _Locked:
    """A generator with a lock, so that threads can take values from it."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self._lock = threading.Lock()

    def take(self) -> Any:
        """Return the generator's next value, or END."""
        with self._lock:
            return next(self._generator, END)


def _work(function: Callable[[Any, Any], Any], argument: Any, number: int) -> Any:
    """Compute a batch in a worker: `function(data set, argument)`.

    An error that cannot be pickled is replaced by an error that can be pickled.

    Args:
      number: the key of the data set in `_SOURCES`.
    """
    try:
        return function(_SOURCES[number], argument)
    except Exception as error:
        portable = _portable(error)
        if portable is error:
            raise
        raise portable from error


def _item(sequence: Sequence, index: int) -> Any:
    """Return the batch of a sequence with this index."""
    return sequence[index]


def _next(generator: _Locked, _: Any) -> Any:
    """Return the next batch of a generator, or END."""
    return generator.take()


def _portable(error: Exception) -> Exception:
    """Return an error that can be pickled, so that a worker process can send it.

    The result is the error itself if its class can be pickled or registered with `copyreg`.
    Otherwise the result is a RuntimeError with the error's class and message.
    """
    if _can_be_pickled(error):
        return error
    copyreg.pickle(type(error), _reduced)
    if _can_be_pickled(error):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def _can_be_pickled(value: Any) -> bool:
    try:
        return type(pickle.loads(pickle.dumps(value))) is type(value)
    except Exception:
        return False


def _reduced(error: Exception) -> tuple[Any, ...]:
    """Reduce an error for pickling, so that unpickling does not call the constructor of its
    class.
    """
    attributes = {name: value for name, value in vars(error).items() if _can_be_pickled(value)}
    return _error_of, (type(error), error.args, attributes)


def _error_of(kind: type[Exception], arguments: Any, attributes: dict[str, Any]) -> Exception:
    error = kind.__new__(kind, *arguments)
    vars(error).update(attributes)
    return error


def _seed_worker(seed: int) -> None:
    """Seed NumPy's generator in a worker process with `seed` plus the process's id."""
    np.random.seed((seed + os.getpid()) % 2**31)
