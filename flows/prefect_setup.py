"""How Prefect is set up for a command, and the server that PREFECT_API_URL names.

No command needs a server, and none is started for one: where no server is named a release runs without Prefect's engine
(flows/server_optional.py). Where one is named it must answer, and what it answers is never unpickled.
"""

from __future__ import annotations

import os
import resource
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from penstock.flows.surroundings import keep_inside
from penstock.mechanisms.refusal import Refusal

__all__ = [
    "MemoryTooSmall",
    "ServerNotReady",
    "be_quiet",
    "quiet_settings",
    "require_address_space",
    "require_answer",
    "set_up_prefect",
]

ADDRESS_SPACE = 4 << 30  # libraries and their threads reserve it whether they use it or not
_EPHEMERAL = "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE"


class MemoryTooSmall(Refusal):
    """The limit of memory is so small that a release would stop inside a library and hang."""

    code = "memory-too-small"
    kind = "failure"
    remedy = "Raise the limit of the address space (ulimit -v); limit a release by run.memory instead."


class ServerNotReady(Refusal):
    """A Prefect server does not answer, or did not start."""

    code = "server-not-ready"
    kind = "failure"
    remedy = "Start the Prefect server, or read the end of the named log."


def set_up_prefect(home: Path) -> None:
    """Set Prefect up for a command; refuse a named server that does not answer. Call this, or `be_quiet`, before
    prefect is imported."""
    require_address_space()
    be_quiet(home)
    if "PREFECT_API_URL" in os.environ:
        require_answer(os.environ["PREFECT_API_URL"])
    from penstock.flows.no_pickles import refuse_stored_results

    refuse_stored_results()


def quiet_settings(home: Path) -> dict[str, str]:
    """Return settings without analytics, banner or a server that Prefect starts itself; its files lie beside ours."""
    return {
        "PREFECT_HOME": str(home / "prefect"),
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
        "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_SERVER_LEVEL": "CRITICAL",
        "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",  # of threads that send events, which nothing depends on
        "PREFECT_CLI_WRAP_LINES": "false",
        _EPHEMERAL: "false",
    }


def be_quiet(home: Path) -> None:
    """Set what Prefect reads when it is imported. What the user has set stays, except for Prefect's own server: any
    other user of the machine could answer in its place."""
    keep_inside(home)
    for name, value in quiet_settings(home).items():
        os.environ.setdefault(name, value)
    os.environ[_EPHEMERAL] = "false"


def require_address_space() -> None:
    """Refuse too low a limit: threads that cannot start leave others waiting forever, here and in the server."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESS_SPACE:
        raise MemoryTooSmall.at(
            "memory",
            rule=f"must be at least {ADDRESS_SPACE >> 20} MiB of address space in each process",
            got=f"{limit >> 20} MiB",
            remedy="Raise the limit (ulimit -v). What a release holds in memory is limited by run.memory.",
        )


def require_answer(url: str) -> None:
    """Refuse a server that does not answer; Prefect itself would end in a traceback. The URL is not quoted, because it
    can hold a password."""
    try:
        context = ssl.create_default_context(cafile=os.environ.get("PREFECT_API_SSL_CERT_FILE"))
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=10, context=context):
            return
    except urllib.error.HTTPError:
        return  # it answers; whether it lets us in is for Prefect to find out
    except (OSError, ValueError):
        raise ServerNotReady.at(
            "PREFECT_API_URL", rule="must name a Prefect server that answers", remedy="Start it, or unset the variable."
        ) from None
