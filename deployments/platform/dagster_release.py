"""A Dagster asset that is a published bundle: `penstock run` does the work, Dagster starts it and shows what came out.

    PENSTOCK_SPEC=/etc/penstock/specs/survey.yaml dagster dev -f dagster_release.py

Dagster must not retry a refused release by itself. It may restart one that failed (exit code 1): the same spec
continues where it stopped, and nothing is drawn twice.
"""

import json
import os
import subprocess

import dagster

WAITING, FAILED = 6, 1


@dagster.asset(group_name="publication", kinds={"parquet"})
def published_release() -> dagster.MaterializeResult:
    """The newest bundle of the spec that PENSTOCK_SPEC names."""
    command = ["penstock", "run", os.environ["PENSTOCK_SPEC"], "--json", "--started-by", "dagster"]
    run = subprocess.run(command, stdout=subprocess.PIPE)
    told = json.loads(run.stdout or "{}")
    if run.returncode == 0:
        return dagster.MaterializeResult(
            metadata={"bundle": told["path"], "manifest_sha256": told["manifest"], "promise": told["promise"]}
        )
    if run.returncode == WAITING and "waiting" in told:
        raise dagster.Failure(f"Waits for its reviewers: {told['waiting']['run']}", allow_retries=False)
    raise dagster.Failure(told.get("refused", "failed"), allow_retries=run.returncode == FAILED)
