"""Start a release over Prefect's REST API, wait for it, and print what was published. Standard library only.

    PREFECT_API_URL=http://127.0.0.1:4200/api PREFECT_API_AUTH_STRING=NAME:TOKEN python start_release.py SPEC

NAME and TOKEN are those of `penstock users add NAME --program --role requester`; the release is started in that
name. With a Prefect server that is not Penstock's own, give the name of whoever asks as a second argument. Exit code 0:
published, and the place of the bundle is on standard output. 6: it waits for its reviewers. 1: refused or failed.
The manifest, not Prefect, decides whether a bundle is complete: without it there is no release.
"""

import base64
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

DEPLOYMENT = "release-spec/release"
LOOK_AGAIN = 2.0
PATIENCE = 60.0
ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


def ask(path: str, body: object = None) -> Any:
    """Send one request; a body makes it a POST. A server that is too busy (503) is asked again."""
    headers = {"Content-Type": "application/json"}
    if "PREFECT_API_AUTH_STRING" in os.environ:
        credentials = base64.b64encode(os.environ["PREFECT_API_AUTH_STRING"].encode()).decode()
        headers["Authorization"] = f"Basic {credentials}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["PREFECT_API_URL"].rstrip("/") + path, data=data, headers=headers)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 503 or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_AGAIN)


def bundle_of(flow_run: str) -> str | None:
    """Return where the run says its bundle is; None before it is published."""
    wanted = {"artifacts": {"key": {"any_": ["release-published"]}, "flow_run_id": {"any_": [flow_run]}}}
    found = ask("/artifacts/filter", wanted)
    return found[0]["description"] if found else None


def main(spec: str, started_by: str | None = None) -> int:
    """Start a release, wait for it, and print the result."""
    deployment = ask(f"/deployments/name/{DEPLOYMENT}")["id"]
    # With this key, a request that is sent again starts no second run.
    named = {} if started_by is None else {"started_by": started_by}
    wanted = {"parameters": {"spec": spec, **named}, "idempotency_key": str(uuid.uuid4())}
    flow_run = ask(f"/deployments/{deployment}/create_flow_run", wanted)["id"]
    print(f"flow run {flow_run}", file=sys.stderr)
    while True:
        state = ask(f"/flow_runs/{flow_run}")["state"]
        if state["type"] == "PAUSED":
            print("waits for its reviewers", file=sys.stderr)
            return 6
        if state["type"] in ENDED:
            break
        time.sleep(LOOK_AGAIN)
    bundle = bundle_of(flow_run)
    if state["type"] != "COMPLETED" or bundle is None:
        print(state.get("message") or state["type"], file=sys.stderr)
        return 1
    print(bundle)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
