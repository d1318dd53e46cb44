"""Ctrl-C ends a wait on a queue: the queue and the session are whole, and no thread is left."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, threading, time
import gpugraph as tf

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started this may ignore it
queues = [tf.FIFOQueue(3, tf.int32, ()) for _ in range(int(sys.argv[1]))]
puts = [queue.enqueue(7) for queue in queues]
waits = [queue.dequeue_many(2) for queue in queues]
before = threading.active_count()

def waiting():
    frames = list(sys._current_frames().values())
    files = [frame.f_code.co_filename for top in frames for frame in callers(top)]
    return sum(name.endswith("waiting_attempts.py") for name in files)

def callers(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back

def interrupt():
    while waiting() < 2 * len(queues):  # make, and _wait
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

with tf.Session() as session:
    session.run(puts)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        session.run(waits)
    except KeyboardInterrupt:
        thread.join()
        while threading.active_count() > before:
            time.sleep(0.001)
        assert session.run([queue.size() for queue in queues]) == [1] * len(queues)
        session.run(puts)
        assert [list(rows) for rows in session.run(waits)] == [[7, 7]] * len(queues)
        print("went on")
"""


@pytest.mark.parametrize("queues", [1, 2])
def test_ctrl_c_ends_a_wait(queues: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(queues)],
        capture_output=True, text=True, timeout=100, check=False, start_new_session=True,
    )  # fmt: skip
    assert done.stdout == "went on\n", done.stderr
