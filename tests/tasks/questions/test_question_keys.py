"""A question is known by what decides its draw; a prior that only a plan looks at is no part of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from penstock.flows.answer import Answer, Wish, answer, settled
from penstock.flows.priors import prior_of
from penstock.flows.query_text import parse_query
from penstock.flows.spec.data_description import DataDescription
from penstock.mechanisms.questions._ranks import Exponential
from penstock.records import Home, open_records
from penstock.records.audit import verify_everything
from penstock.records.home import login
from penstock.records.ledger.questions import stored_answer
from penstock.tasks.questions.identity import Identity
from penstock.tasks.questions.question import Question
from penstock.tasks.verification.answer import verify_answer
from tests.support.question_house import set_up
from tests.support.workplace import Workplace

SAME = Identity("s", "v", "f", (), 400)
LOW = {"kind": "histogram", "bounds": [0, 40, 120], "masses": ["9/10", "1/10"]}
HIGH = {"kind": "histogram", "bounds": [0, 40, 120], "masses": ["1/10", "9/10"]}


def wish(prior: dict[str, Any] | None, method: str = "exponential", query: str = "median of age") -> Wish:
    given = None if prior is None else prior_of(prior)
    return Wish(query=parse_query(query), method=method, epsilon=Fraction(1, 8), prior=given)


def ask(data: DataDescription, prior: dict[str, Any] | None, method: str = "exponential") -> Answer:
    return answer(data, lambda: wish(prior, method), analyst=login())


def charged() -> int:
    return sum(event.action.value == "ANSWERED" for event in open_records().log.events())


def question(data: DataDescription, prior: dict[str, Any] | None, method: str = "exponential") -> Question:
    return settled(data, wish(prior, method), Home.located())


@pytest.fixture
def as_before() -> Iterator[Callable[[], None]]:
    """Store questions under their former keys until this is called."""
    patched = pytest.MonkeyPatch()
    patched.setattr(Question, "drawn_prior", property(lambda self: self.prior))
    patched.setattr(Exponential, "as_drawn", lambda self: self)
    yield patched.undo
    patched.undo()


def test_a_prior_that_only_a_plan_looks_at_is_charged_once(workplace: Workplace) -> None:
    data = set_up(workplace)
    first = ask(data, LOW)
    others = [ask(data, HIGH), ask(data, None), ask(data, LOW)]
    assert charged() == 1
    assert {(each.id, each.value, each.repeated) for each in others} == {(first.id, first.value, True)}
    # Each asker sees the error to expect under their own prior.
    assert first.expect == others[2].expect != others[0].expect
    assert first.is_typical
    assert not others[1].is_typical


def test_what_is_stored_and_published_does_not_tell_which_prior_somebody_planned_with(workplace: Workplace) -> None:
    data = set_up(workplace, publish=str(workplace.published))
    planned, plain = ask(data, LOW), ask(data, None)
    found = stored_answer(open_records().log, planned.id)
    assert found is not None
    told = json.loads(found.answer)
    assert (told["prior"], told["expect"]) == (None, list(plain.expect))
    assert planned.path is not None
    verify_answer(Path(planned.path), Home.located().public_key_path)
    assert verify_everything(files=True)["answers"] == 1


def test_a_prior_that_the_answer_is_drawn_from_is_a_part_of_the_question(workplace: Workplace) -> None:
    data = set_up(workplace)
    asked = [ask(data, prior, "refinement") for prior in (LOW, HIGH, None)]
    assert charged() == len({each.id for each in asked}) == 3
    assert ask(data, HIGH, "refinement").repeated
    found = stored_answer(open_records().log, asked[1].id)
    assert found is not None
    assert json.loads(found.answer)["prior"]["masses"] == ["1/10", "9/10"]


def test_an_answer_under_the_former_key_is_given_again_for_nothing(
    workplace: Workplace, as_before: Callable[[], None]
) -> None:
    data = set_up(workplace, publish=str(workplace.published))
    former = ask(data, LOW)
    as_before()
    assert question(data, LOW).key(Home.located(), SAME) != question(data, LOW).former_key(Home.located(), SAME)
    again = ask(data, LOW)
    assert (again.id, again.value, again.repeated, again.path) == (former.id, former.value, True, former.path)
    assert again.expect == former.expect
    # Which prior it was is on no record: with another one the question is charged once more, and only once.
    other = ask(data, HIGH)
    assert (other.repeated, charged()) == (False, 2)
    assert ask(data, None).id == other.id
    assert ask(data, LOW).id == former.id
    assert charged() == 2
    assert verify_everything(files=True)["answers"] == 2


def test_an_answer_without_a_prior_has_the_key_that_it_always_had(
    workplace: Workplace, as_before: Callable[[], None]
) -> None:
    data = set_up(workplace)
    before = question(data, None).key(Home.open(), SAME), question(data, LOW, "refinement").key(Home.open(), SAME)
    as_before()
    after = question(data, None).key(Home.open(), SAME), question(data, LOW, "refinement").key(Home.open(), SAME)
    assert before == after
    assert question(data, None).former_key(Home.open(), SAME) is None
    assert question(data, LOW, "refinement").former_key(Home.open(), SAME) is None
    # Whoever asked without a prior, and now gives one for the plan, gets the stored answer.
    assert question(data, LOW).key(Home.open(), SAME) == before[0]


def test_whatever_decides_a_draw_is_a_part_of_the_key(workplace: Workplace) -> None:
    data = set_up(workplace, relaxations=["idp", "bdp"])
    plain = question(data, LOW)
    others = [
        plain,
        question(data, LOW, "refinement"),
        question(data, HIGH, "refinement"),
        question(data, None, "refinement"),
        question(data, LOW, "bootstrap"),
        replace(plain, epsilon=Fraction(1, 9)),
        replace(plain, edition="2026"),
        settled(data, wish(LOW, query="minimum of age"), Home.located()),
        settled(data, wish(LOW, query="median of age where region is North"), Home.located()),
        settled(data, wish(LOW, query="median of income"), Home.located()),
    ]
    keys = [each.key(Home.open(), SAME) for each in others]
    assert len(set(keys)) == len(others)
    assert plain.key(Home.open(), SAME) != plain.key(Home.open(), replace(SAME, source="t"))
