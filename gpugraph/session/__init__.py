"""Sessions: the registry of session factories, DirectSession, and the client side of a run."""

from __future__ import annotations

from gpugraph.session.base_session import BaseSession as BaseSession
from gpugraph.session.client_sessions import (
    InteractiveSession as InteractiveSession,
    Session as Session,
)
from gpugraph.session.direct_session import DirectSession as DirectSession
from gpugraph.session.direct_session_factory import DirectSessionFactory as DirectSessionFactory
from gpugraph.session.explanations.explanation import Explanation as Explanation
from gpugraph.session.fetch_structures import (
    register_session_run_conversion_functions as register_session_run_conversion_functions,
)
from gpugraph.session.session_backend import Runner as Runner, SessionBackend as SessionBackend
from gpugraph.session.session_factory import (
    SessionFactory as SessionFactory,
    SupportsNewSession as SupportsNewSession,
)
