"""Texts that did not compile, kept where one can look at them."""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path

__all__ = ["keep_text"]


def keep_text(text: str, name: str, ending: str) -> Path | None:
    """A file of this user that holds the text, or None where none can be written."""
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    plain = re.sub(r"\W+", "_", name)[:60]
    try:
        folder = Path(tempfile.mkdtemp(prefix="gpugraph-text-"))
        path = folder / f"{plain}-{key}{ending}"
        path.write_text(text, "utf-8")
    except OSError:
        return None
    return path
