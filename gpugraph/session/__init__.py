"""Sessions: the registry of their factories, DirectSession, and the client's side of a run."""

from __future__ import annotations

from gpugraph.session.backend import Runner, SessionBackend
from gpugraph.session.base import BaseSession
from gpugraph.session.direct import DirectSession
from gpugraph.session.explain import Explanation
from gpugraph.session.factory import SessionFactory, SupportsNewSession
from gpugraph.session.fetches import register_session_run_conversion_functions
from gpugraph.session.sessions import InteractiveSession, Session

__all__ = [
    "BaseSession",
    "DirectSession",
    "Explanation",
    "InteractiveSession",
    "Runner",
    "Session",
    "SessionBackend",
    "SessionFactory",
    "SupportsNewSession",
    "register_session_run_conversion_functions",
]
