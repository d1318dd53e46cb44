"""Sessions: the registry of their factories, DirectSession, and the client's side of a run."""

from __future__ import annotations

from gpugraph.session.base_session import BaseSession
from gpugraph.session.client_sessions import InteractiveSession, Session
from gpugraph.session.direct_session import DirectSession
from gpugraph.session.explanation import Explanation
from gpugraph.session.fetch_structures import register_session_run_conversion_functions
from gpugraph.session.session_backend import Runner, SessionBackend
from gpugraph.session.session_factory import SessionFactory, SupportsNewSession

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
