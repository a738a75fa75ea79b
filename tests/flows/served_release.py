"""Serve the release flow as a deployment until told to stop: NAME."""

from __future__ import annotations

import sys

from prefect import serve

from penstock.flows.release import release

if __name__ == "__main__":
    # As a worker does, each flow run imports the flow in a process of its own.
    serve(release.to_deployment(name=sys.argv[1]), limit=4, pause_on_shutdown=False, print_starting_message=False)
