"""Nothing is published into the home: readers never see it there, and a bundle among the runs is a damaged run.

A spec with `publish.path` in $PENSTOCK_HOME/runs was published, and every run after it ended with `run-damaged`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.records import open_records
from penstock.records.bundle.places import DestinationInHome, require_outside
from penstock.records.home import Home
from penstock.tasks import publish
from tests.attacks.typed_line import typed
from tests.support.private_release import NOBODY, begun
from tests.support.workplace import Workplace, budget_of, make_private, open_dp_account


def linked(place: Workplace) -> str:
    """Through a link that is the public folder's name."""
    (place.home / "runs").mkdir(parents=True, exist_ok=True)
    place.published.symlink_to(place.home / "runs")
    return "published"


def linked_further_down(place: Workplace) -> str:
    """Through a link below the public folder, under the name of the release."""
    place.published.mkdir()
    (place.home / "keys").mkdir(parents=True, exist_ok=True)
    (place.published / "survey").symlink_to(place.home / "keys")
    return "published"


WAYS = {
    "among the runs": lambda place: str(place.home / "runs"),
    "the home itself": lambda place: str(place.home),
    "a new folder in it": lambda place: str(place.home / "new" / "folder"),
    "back into it": lambda place: "published/../home/answers",
    "a link": linked,
    "a link below": linked_further_down,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_destination_in_the_home_is_refused_before_anything_is_read_or_spent(workplace: Workplace, way: str) -> None:
    make_private(workplace)
    open_dp_account(4)
    workplace.raw["publish"]["path"] = WAYS[way](workplace)
    spec = workplace.write_spec()
    before = len(open_records().log.events())
    for command in ("plan", "run"):
        ended = typed(command, spec)
        ended.require_refusal(2)
        assert "destination-in-home" in ended.err
    assert len(open_records().log.events()) == before
    with pytest.raises(DestinationInHome):  # where no command looked ahead
        release(load_spec(spec))
    assert "LOOKED" not in [event.action.value for event in open_records().log.events()]
    assert budget_of() == ("0", "4", [])


def test_a_home_that_is_a_link_is_the_folder_it_leads_to(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    workplace.home.mkdir(exist_ok=True)
    link = workplace.folder / "link"
    link.symlink_to(workplace.home)
    monkeypatch.setenv("PENSTOCK_HOME", str(link))
    workplace.raw["publish"]["path"] = "home/runs"
    typed("plan", workplace.write_spec()).require_refusal(2)


def test_a_link_that_leads_into_the_home_since_the_draw_is_noticed(workplace: Workplace) -> None:
    """Asked once more before the bundle appears."""
    make_private(workplace)
    with begun(workplace) as line:
        line.stage()
        linked(workplace)
        publish.seal.fn(line.job, NOBODY)  # type: ignore[attr-defined]
        with pytest.raises(DestinationInHome):
            publish.install.fn(line.job)  # type: ignore[attr-defined]
    assert not (workplace.home / "runs" / "survey").exists()


@pytest.mark.parametrize("place", ["published", "confidential/published", "confidential/penstock-published"])
def test_beside_the_home_is_outside(tmp_path: Path, place: str) -> None:
    require_outside(tmp_path / place / "survey", Home(tmp_path / "confidential" / "penstock"))


def test_the_folder_that_holds_the_default_home_may_be_published_to(workplace: Workplace) -> None:
    workplace.raw["publish"]["path"] = "."
    assert typed("plan", workplace.write_spec()).code == 0
