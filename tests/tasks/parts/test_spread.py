"""Work that is spread: here in order, and never on a cluster that is not there."""

from __future__ import annotations

import pytest

from penstock.tasks.parts._spread import ClusterRefused, spread
from penstock.tasks.run.step import StepFailed


def test_without_an_address_work_is_done_here_in_order() -> None:
    assert spread("count", len, [[1], [], [1, 2]], None) == [1, 0, 2]


def test_a_foreign_error_leaves_no_text_behind() -> None:
    with pytest.raises(StepFailed) as caught:
        spread("count", int, ["a value of the data"], None)
    assert "a value of the data" not in str(caught.value)


@pytest.mark.slow  # it waits for somebody to answer
def test_a_cluster_that_is_not_there_is_refused() -> None:
    with pytest.raises(ClusterRefused, match="at least one worker"):
        spread("count", len, [[1]], "tcp://127.0.0.1:9")
