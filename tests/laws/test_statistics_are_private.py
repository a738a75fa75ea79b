"""The theorem, counted: on small domains the largest privacy loss over all neighbours and all outputs is computed.

Figures and groups are drawn independently, so the largest loss of a release is the sum over both of the largest loss
of one figure of one group. What is measured is taken from the records by hand; kind and size of the noise are those
that the mechanism states.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import exp, log

import pytest

from tests.support.statistics_by_definition import (
    EPSILON,
    FIGURES,
    STEPS,
    box_shell,
    boxes_of,
    facts_of,
    measured,
    params,
    score,
    totals_together,
)

SETTINGS = {
    "replaced among groups": ("replace", ("side",)),
    "replaced in one group": ("replace", ()),
    "added to a group": ("add_remove", ("side",)),
    "added": ("add_remove", ()),
}


@cache
def shell_moves(move, widths, core):
    """The most shells that a move of this size crosses, over all places."""
    around = [range(-(z + 3 * d), z + 3 * d + 1) for d, z in zip(widths, core, strict=True)]
    return max(
        abs(box_shell(place, widths, core) - box_shell([y + d for y, d in zip(place, move, strict=True)], widths, core))
        for place in product(*around)
    )


def largest_loss_of_one(kind, facts, one, other, n_public):
    """Over all outputs of one figure of one group."""
    epsilon = float(Fraction(facts["epsilon"]))
    if facts["noise"] == "box" and "half_widths" not in facts:
        return 0.0  # drawn together with others: largest_loss_together
    if facts["noise"] == "exponential":
        scale = 2 * facts["score_sensitivity"] / epsilon
        laws = []
        for values in (one, other):
            weights = [exp(-float(score(kind, y, values)) / scale) for y in range(STEPS + 1)]
            laws.append([weight / sum(weights) for weight in weights])
        return max(abs(log(p / q)) for p, q in zip(*laws, strict=True))
    first, second = (measured(kind, values, n_public) for values in (one, other))
    move = tuple(abs(a - b) for a, b in zip(first, second, strict=True))
    if facts["noise"] == "laplace":
        return epsilon * move[0] / facts["half_widths"][0]
    # Staircase noise of step r is box noise of one answer with the core r - 1.
    return epsilon * shell_moves(
        move, tuple(facts["half_widths"]), tuple(facts.get("core", [facts.get("step", 1) - 1]))
    )


def largest_loss_together(boxes, one, other):
    """Over all outputs of the boxes of one group; by the density of a box, nothing else of a move counts."""
    loss = 0.0
    for box in boxes:
        moved = (totals_together(box, values) for values in (one, other))
        move = tuple(abs(a - b) for a, b in zip(*moved, strict=True))
        sides = [(answer["half_width"], answer["core"]) for answer in box["answers"]]
        loss += float(Fraction(box["epsilon"])) * shell_moves(move, *zip(*sides, strict=True))
    return loss


def neighbours(data, records, adjacency):
    removed = [(*data[:i], *data[i + 1 :]) for i in range(len(data))]
    if adjacency == "add_remove":
        return removed
    return [(*rest, record) for rest in removed for record in records]


def largest_loss(kinds, adjacency, groups, measured_as=None, **more):
    """Over all data sets of up to three records; measured_as: facts from settings for another adjacency."""
    chosen = measured_as or params(kinds, adjacency, groups, **more)
    facts, boxes = facts_of(chosen), boxes_of(chosen)
    n_public = adjacency == "replace" and not groups
    sides = range(2 if groups else 1)
    records = [(side, value) for side in sides for value in range(STEPS + 1)]

    @cache
    def of_one(kind, place, one, other):
        return largest_loss_of_one(kind, facts[place], one, other, n_public)

    @cache
    def of_boxes(one, other):
        return largest_loss_together(boxes, one, other)

    largest = 0.0
    for n in range(1, 4):
        for data in combinations_with_replacement(records, n):
            for other in neighbours(data, records, adjacency):
                loss = 0.0
                for side in sides:
                    one, two = (tuple(sorted(v for s, v in rows if s == side)) for rows in (data, other))
                    if one != two:
                        loss += of_boxes(one, two)
                        loss += sum(of_one(kind, place, one, two) for place, kind in enumerate(kinds))
                largest = max(largest, loss)
    return largest


def allowed(kind, setting):
    return not (kind == "count" and setting == "replaced in one group")


NOISES = ("auto", "laplace", "staircase", "box")
SINGLE = [(kind, setting) for kind in FIGURES for setting in SETTINGS if allowed(kind, setting)]


@pytest.mark.parametrize(("kind", "setting"), SINGLE)
def test_no_neighbours_can_be_told_apart_by_more_than_epsilon(kind, setting):
    assert largest_loss([kind], *SETTINGS[setting]) <= float(EPSILON) * (1 + 1e-9)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_all_figures_together_spend_no_more_than_epsilon(setting, noise):
    kinds = [kind for kind in FIGURES if allowed(kind, setting)]
    assert largest_loss(kinds, *SETTINGS[setting], noise=noise) <= float(EPSILON) * (1 + 1e-9)


TOGETHER = {
    "count and sum": ["count", "sum"],
    "sum and mean": ["sum", "mean"],
    "mean and variance": ["mean", "variance"],
    "all": ["count", "sum", "mean", "variance"],
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("setting", SETTINGS)
def test_figures_that_are_drawn_together_use_all_of_epsilon_and_no_more(setting, name):
    kinds = [kind for kind in TOGETHER[name] if allowed(kind, setting)]
    loss = largest_loss(kinds, *SETTINGS[setting], noise="box")
    assert loss == pytest.approx(float(EPSILON), rel=1e-9)


@pytest.mark.parametrize("name", TOGETHER)
def test_the_count_notices_a_box_of_twice_the_size_with_all_of_epsilon(name):
    """A record that moves is a shell of noise in each of two groups, however large the noise is for both together."""
    chosen = params(TOGETHER[name], "replace", ("side",), noise="box")
    boxes = boxes_of(chosen)
    for box in boxes:
        box["epsilon"] = str(2 * Fraction(box["epsilon"]))
        for answer in box["answers"]:
            answer["half_width"] *= 2
    moved = ((0, 3), (3,)), ((0,), (3, 3))  # the record leaves one group and enters another
    loss = sum(largest_loss_together(boxes, *sides) for sides in zip(*moved, strict=True))
    assert loss > 1.9 * float(EPSILON)


@pytest.mark.parametrize("place", [1, 2])
def test_the_count_notices_a_total_that_moves_farther_than_its_noise_is_for(place):
    (box,) = boxes_of(params(TOGETHER["all"], "add_remove", (), noise="box"))
    box["answers"][place]["half_width"] -= 1
    box["answers"][place]["core"] = 0
    losses = [largest_loss_together([box], values, values[1:]) for values in ((0,), (1,), (2,), (3,))]
    assert max(losses) > 1.9 * float(EPSILON)


@pytest.mark.parametrize(
    ("kind", "setting"), [case for case in SINGLE if case[0] in ("count", "sum", "mean", "variance")]
)
def test_all_of_epsilon_is_used_where_noise_is_added(kind, setting):
    assert largest_loss([kind], *SETTINGS[setting]) == pytest.approx(float(EPSILON), rel=1e-9)


@pytest.mark.parametrize("kind", [kind for kind in FIGURES if kind != "quantile"])
def test_the_count_notices_that_epsilon_was_not_divided_by_the_groups_that_a_record_touches(kind):
    """Twice epsilon where noise is added, less by the exponential mechanism; the quantile stays just below epsilon."""
    undivided = params([kind], "add_remove", ("side",))
    assert largest_loss([kind], "replace", ("side",), undivided) > 1.05 * float(EPSILON)


def test_the_count_notices_epsilon_for_every_figure():
    chosen = params(["count", "sum"], "add_remove", (), noise="laplace")
    whole = [{**facts, "epsilon": str(EPSILON)} for facts in facts_of(chosen)]
    moved = (2,), (2, 3)
    loss = sum(largest_loss_of_one(k, f, *moved, False) for k, f in zip(("count", "sum"), whole, strict=True))
    assert loss > 1.9 * float(EPSILON)


def test_records_of_one_individual_are_protected_together():
    three = facts_of(params(["sum"], "add_remove", (), rows_per_unit=3))
    assert 3 * Fraction(three[0]["epsilon"]) == EPSILON
