"""A run that dies after it has published is not drawn, charged and published once more by whoever starts it again.

The attack is the user's own: the command was killed, nobody saw a receipt, so the same command is typed again. The
kills are real, at points and a random number of calls after PUBLISHED, and with both databases.
"""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Iterator

import pytest

from penstock.flows.spec import load_spec
from penstock.records import open_records
from penstock.tasks.earlier import PublicationGone
from tests.support.forked_releases import Zygote
from tests.support.order import telling
from tests.support.postgres import PostgresServer
from tests.support.workplace import Workplace, budget_of, make_private, make_table, open_dp_account

POINTS = ["after rename", "before PUBLISHED", "after PUBLISHED", "before outcome", "after outcome"]
PASSES = 3
LATEST = 20_000  # calls after PUBLISHED, of some 23,000 until the release is over


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    """A release that spends 1 of 4, its log and ledger in either database."""
    make_private(workplace)
    workplace.write_spec()
    if request.param == "sqlite":
        open_dp_account(4)
        yield workplace
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_database()
    monkeypatch.setenv("PENSTOCK_DB", url)
    open_dp_account(4)
    yield workplace
    server.give_back(url)


def actions() -> list[str]:
    return [event.action.value for event in open_records().log.events()]


def require_published_once(place: Workplace) -> None:
    require_published(place, 1)


def require_published(place: Workplace, times: int) -> None:
    assert budget_of() == (str(times), str(4 - times), ["published"] * times)
    assert len(place.bundles()) == times
    assert actions().count("SPENT") == times
    assert actions().count("PUBLISHED") == times
    assert place.working_files() == []
    open_records().log.verify()
    open_records().ledger.verify()


@pytest.mark.parametrize("point", telling(POINTS, "after rename", "after outcome"))
def test_the_same_command_after_a_kill_gives_the_receipt_and_spends_nothing(
    place: Workplace, zygote: Zygote, point: str
) -> None:
    assert zygote.run(place, point) < 0
    assert zygote.run(place) == 0
    require_published_once(place)


@pytest.mark.slow
def test_at_random_moments_after_publication_too(place: Workplace, zygote: Zygote) -> None:
    """Each pass is a release of its own that is killed once, so that no pass can go by without a kill."""
    for passed in range(1, PASSES + 1):
        calls = round(LATEST ** random.random())  # as often among the first 141 as behind them
        assert zygote.run(place, f"{calls} calls after PUBLISHED", again=passed > 1) == -signal.SIGKILL
        assert actions().count("PUBLISHED") == passed
        assert zygote.run(place) == 0
        require_published(place, passed)


def test_the_receipt_is_the_first_one_and_says_so(place: Workplace, zygote: Zygote) -> None:
    from penstock.flows.release import release

    spec = load_spec(place.spec_file)
    first = release(spec)
    second = release(spec)
    assert not first.earlier
    assert second.earlier
    different = {"earlier", "seconds"}
    assert {name: fact for name, fact in second.as_dict().items() if name not in different} == {
        name: fact for name, fact in first.as_dict().items() if name not in different
    }
    require_published_once(place)


def test_another_release_is_drawn_when_it_is_asked_for_and_only_then(place: Workplace, zygote: Zygote) -> None:
    assert zygote.run(place) == 0
    assert zygote.run(place, again=True) == 0
    assert budget_of() == ("2", "2", ["published", "published"])
    assert zygote.run(place) == 0
    assert budget_of()[0] == "2"
    assert len(place.bundles()) == 2


@pytest.mark.slow
def test_another_source_under_the_same_spec_is_another_release_also_after_a_kill(
    place: Workplace, zygote: Zygote
) -> None:
    assert zygote.run(place, "after PUBLISHED") < 0
    place.write_survey(500, seed=2)
    assert zygote.run(place) == 0
    assert budget_of() == ("2", "2", ["published", "published"])
    assert len(place.bundles()) == 2
    assert actions().count("PUBLISHED") == 2


@pytest.mark.slow
def test_one_more_that_was_asked_for_and_killed_goes_on_as_asked(place: Workplace, zygote: Zygote) -> None:
    assert zygote.run(place) == 0
    assert zygote.run(place, "after VALIDATED", again=True) < 0
    assert zygote.run(place) == 0
    assert budget_of() == ("2", "2", ["published", "published"])


@pytest.mark.slow
def test_a_table_is_not_published_again_either(workplace: Workplace, zygote: Zygote) -> None:
    make_table(workplace)
    workplace.write_spec()
    open_dp_account(4)
    assert zygote.run(workplace, "after outcome") < 0
    assert zygote.run(workplace) == 0
    require_published_once(workplace)


def test_a_bundle_that_was_taken_away_is_not_published_again_without_asking(
    workplace: Workplace, zygote: Zygote
) -> None:
    from penstock.flows.release import release

    make_private(workplace)
    spec = load_spec(workplace.write_spec())
    open_dp_account(4)
    first = release(spec)
    shutil.rmtree(first.path)
    with pytest.raises(PublicationGone, match="--again"):
        release(spec)
    assert budget_of() == ("1", "3", ["published"])
    assert workplace.working_files() == []
    assert not release(spec, again=True).earlier
    assert budget_of() == ("2", "2", ["published", "published"])
