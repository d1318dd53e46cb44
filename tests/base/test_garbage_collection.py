"""Pauses of the garbage collector."""

from __future__ import annotations

import gc
import os
import threading

import pytest

from gpugraph.base.interruptions.garbage_collection import nothing_collected


def test_pauses_end_with_the_last_block() -> None:
    with nothing_collected():
        with nothing_collected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with nothing_collected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def collects_in_child() -> bool:
    child = os.fork()
    if not child:
        os._exit(int(gc.isenabled()))
    return bool(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_has_no_pauses_of_other_threads() -> None:
    begun, ended = threading.Event(), threading.Event()

    def pause() -> None:
        with nothing_collected():
            begun.set()
            ended.wait()

    thread = threading.Thread(target=pause)
    thread.start()
    begun.wait()
    try:
        assert collects_in_child()
        with nothing_collected():
            assert not collects_in_child()
    finally:
        ended.set()
        thread.join()
    assert gc.isenabled() and collects_in_child()
