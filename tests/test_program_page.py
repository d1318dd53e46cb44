"""The program that docs/program.md prints is the one that `explain` prints."""

from __future__ import annotations

import contextlib
import io
import os
import re

import pytest

import gpugraph as tf
from gpugraph.devices.codegen.c_compiler import compiler

from .page_programs import ROOT

WAITS = os.environ.get("GPUGRAPH_NATIVE") == "wait" and compiler() is not None


@pytest.mark.skipif(not WAITS, reason="the listing depends on what is compiled")
def test_the_listing_of_a_loop_and_a_condition() -> None:
    text = (ROOT / "docs" / "program.md").read_text("utf-8")
    code, listing = re.findall(r"```python\n(.*?)```.*?```\n(.*?)```", text, re.DOTALL)[0]
    printed = io.StringIO()
    with tf.Graph().as_default(), contextlib.redirect_stdout(printed):
        exec(code, {})
    assert re.sub(r" *[\d.]+ ms +", "      ", printed.getvalue(), count=1) == listing
