"""Internal functions of `tensorflow.python.ops.summary_op_util`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.platform import logging

_INVALID = re.compile(r"[^-/\w\.]")
INVALID_SCOPE_CHARACTERS = re.compile(r"[^-_/.A-Za-z0-9]")
"""The characters that scopes of summaries cannot have."""


def skip_summary() -> bool:
    """Return False, because summaries are always built."""
    return False


def collect(val: Any, collections: Any, default_collections: Any) -> None:
    """Add a value to `collections`, or to the default collections if `collections` is None."""
    graph = get_default_graph()
    for key in default_collections if collections is None else collections:
        graph.add_to_collection(key, val)


def clean_tag(name: str | None) -> str | None:
    """Return a name in which each character that is not allowed in op names is replaced by "_"."""
    if name is None:
        return None
    cleaned = _INVALID.sub("_", name).lstrip("/")
    if cleaned != name:
        logging.info("Summary name %s is illegal; using %s instead.", name, cleaned)
    return cleaned


@contextmanager
def summary_scope(
    name: str, family: str | None = None, default_name: str | None = None, values: Any = None
) -> Iterator[tuple[str, str]]:
    """Enter a name scope for a summary. Yield (tag, scope). The tag starts with the family."""
    name, family = clean_tag(name) or "", clean_tag(family)
    base = name if family is None else f"{family}/{name}"
    with name_scope(base, default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (tag if family is None else f"{family}/{tag}"), scope
