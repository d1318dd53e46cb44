"""The examples in docstrings of public names run, and print what stands below them."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.api.import_paths import TENSORFLOW_MODULES

MIN_EXAMPLES = 220


def documented() -> dict[str, Any]:
    """Return the public objects whose docstrings have an example, by one of their paths."""
    found: dict[int, tuple[str, Any]] = {}
    for path, module in TENSORFLOW_MODULES.items():
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            inner = vars(value).items() if inspect.isclass(value) else ()
            for label, member in ((name, value), *((f"{name}.{key}", v) for key, v in inner)):
                if ">>> " in (getattr(member, "__doc__", None) or ""):
                    found.setdefault(id(member), (f"{path}.{label}".lstrip("."), member))
    return dict(sorted(found.values(), key=lambda item: item[0]))


EXAMPLES = documented()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= MIN_EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_example_prints_what_stands_below_it(path: str, tmp_path: Path) -> None:
    """In examples, `session` is a session of the default graph, and `folder` an empty folder."""
    text = inspect.getdoc(EXAMPLES[path]) or ""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with tf.Graph().as_default(), tf.Session() as session:
        names = {"tf": tf, "np": np, "session": session, "folder": str(tmp_path)}
        if "reset_default_graph" in text:
            pytest.skip("it needs the outermost graph")
        said: list[str] = []
        test = doctest.DocTestParser().get_doctest(text, names, path, None, 0)
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)
