"""Files of refined answers: what comes out for every type of column, what is promised, and what is refused."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest
from pydantic import ValidationError

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded, system
from penstock.mechanisms.refinement import MECHANISM, Params, chosen_facts, faults, promise, protect, released_columns
from penstock.mechanisms.refinement._mechanism import MOST_CATEGORIES, questions
from penstock.mechanisms.refinement.axes import Line, Matrix
from penstock.mechanisms.refusal import ColumnMissing, SettingRefused, TableEmpty, ValueMissing, ValueOutsideDomain
from tests.mechanisms.noise_chance import assert_law

EVEN = {"kind": "uniform"}
TREE = {"oak": ["tree"], "ash": ["tree"], "rose": ["plant"], "tree": ["plant"], "plant": []}
DECLARED = {
    "person": Column(role="identifier"),
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "height": Column(role="quasi_identifier", type="continuous", domain=(0.5, 2.5), outside="clamp"),
    "school": Column(role="quasi_identifier", type="ordinal", categories=("none", "basic", "high")),
    "cause": Column(role="confidential", type="nominal", categories=("fall", "fire", "flood")),
    "plant": Column(role="confidential", type="nominal", taxonomy=TREE),
}
RELEASED = [name for name in DECLARED if name != "person"]
# At the largest epsilon a value that the prior allows is answered by itself but once in a million times.
CERTAIN = {"epsilon": "64", "adjacency": "replace"}
N = 200


def params(names=RELEASED, **settings):
    return Params(**{"epsilon": "1", "adjacency": "replace", "priors": dict.fromkeys(names, EVEN), **settings})


def only(*names):
    return {name: DECLARED[name] for name in names}


def sample(n=N, seed=1):
    rng = np.random.default_rng(seed)
    text = {name: np.array(DECLARED[name].categories, object) for name in ("school", "cause", "plant")}
    return {
        "age": rng.integers(0, 121, n),
        "height": rng.uniform(0.5, 2.5, n),
        **{name: categories[rng.integers(0, len(categories), n)] for name, categories in text.items()},
    }


def coded(columns):
    return {
        name: DECLARED[name].codes(values, name) if values.dtype == object else values
        for name, values in columns.items()
    }


@pytest.mark.parametrize("name", RELEASED)
def test_with_a_certain_epsilon_a_value_is_answered_by_itself(name):
    columns = {name: sample()[name]}
    released = protect(columns, only(name), params([name], **CERTAIN), seeded(1)).columns[name]
    if name == "height":
        assert np.abs(released - columns[name]).max() <= 2**-15
    else:
        assert released.tolist() == columns[name].tolist()


def assert_drawn_from_the_prior(name, epsilon):
    """Answers about records that are all alike, by chi-square: a right sampler is refused once in 1e9 seeds."""
    columns = {name: np.full(20_000, coded(sample(1))[name][0])}
    released = protect(columns, only(name), params([name], epsilon=epsilon), seeded(5)).columns[name]
    points = len(questions(params([name]), only(name))[name].refined.axis.weights)
    assert_law(released, dict.fromkeys(range(points), 1 / points))


@pytest.mark.parametrize("name", ["age", "school", "cause", "plant"])
def test_with_next_to_no_epsilon_answers_tell_nothing_of_the_values(name):
    assert_drawn_from_the_prior(name, "1/1000000000")
    with pytest.raises(AssertionError):
        assert_drawn_from_the_prior(name, "1/5")


def test_answers_come_in_the_form_of_the_source():
    from_text = protect(sample(), DECLARED, params(), seeded(1)).columns
    from_codes = protect(coded(sample()), DECLARED, params(), seeded(1)).columns
    assert list(from_text) == list(from_codes) == RELEASED
    assert [from_text[name].dtype.kind for name in RELEASED] == ["i", "f", "O", "O", "O"]
    for name in RELEASED:
        assert coded(from_text)[name].tolist() == from_codes[name].tolist()


def test_codes_that_fit_into_a_byte_have_answers_that_do_not():
    """The records have only the first few of 300 categories; an answer can be any of them."""
    many = Column(role="confidential", type="ordinal", categories=tuple(f"c{place}" for place in range(300)))
    codes = np.arange(100, dtype=np.int8).repeat(20)
    released = protect({"x": codes}, {"x": many}, params(["x"]), seeded(1)).columns["x"]
    assert released.min() >= 0
    assert 255 < released.max() < 300
    assert released.dtype == np.int64
    few = protect({"school": np.zeros(9, np.int8)}, only("school"), params(["school"]), seeded(1))
    assert few.columns["school"].dtype == np.int8


def test_an_answer_that_the_prior_excludes_is_never_given():
    chosen = params(
        ["age", "cause"],
        priors={
            "age": {"kind": "histogram", "bounds": [18, 65], "masses": ["1"]},
            "cause": {"kind": "masses", "masses": {"fall": "1/2", "flood": "1/2"}},
        },
        **CERTAIN,
    )
    columns = {"age": np.arange(0, 121).repeat(3), "cause": np.ones(363, np.int64)}
    released = protect(columns, only("age", "cause"), chosen, seeded(1)).columns
    assert (released["age"].min(), released["age"].max()) == (18, 65)
    assert set(released["cause"].tolist()) == {0, 2}
    assert released["age"].tolist() == np.clip(columns["age"], 18, 65).tolist()


@pytest.mark.parametrize("beyond", [-1e9, 1e9, np.inf])
def test_values_outside_the_domain_are_clamped(beyond):
    values = np.full(50, beyond)
    released = protect({"height": values}, only("height"), params(["height"], **CERTAIN), seeded(1)).columns["height"]
    assert set(released.tolist()) == {0.5 if beyond < 0 else 2.5}


def test_distances_are_steps_or_0_and_1_or_those_of_the_taxonomy_or_as_given():
    given = [[0, 1, 9], [1, 0, 5], [9, 5, 0]]
    found = {name: each.refined.axis for name, each in questions(params(), DECLARED).items()}
    assert isinstance(found["age"], Line)
    assert isinstance(found["height"], Line)
    assert isinstance(found["school"], Line)
    assert isinstance(found["cause"], Matrix)
    assert (np.unique(found["cause"].distances) == [0, found["cause"].widest]).all()
    categories = DECLARED["plant"].categories
    assert found["plant"].distances.shape == (3, 3)
    apart = dict(zip(categories, found["plant"].distances[categories.index("oak")].tolist(), strict=True))
    assert 0 == apart["oak"] < apart["ash"] < apart["rose"]
    for name in ("cause", "school"):
        chosen = params(distances={name: given})
        assert questions(chosen, DECLARED)[name].refined.axis.distances.tolist() == given


def test_given_distances_decide_what_is_near():
    columns, declared = {"cause": np.zeros(4000, np.int64)}, only("cause")
    near = {}
    for second, third in ((1, 9), (9, 1)):
        table = [[0, second, third], [1, 0, 1], [1, 1, 0]]
        prior = {"kind": "masses", "masses": {"fall": "1/100", "fire": "1/4", "flood": "74/100"}}
        chosen = params(["cause"], epsilon="3", priors={"cause": prior}, distances={"cause": table})
        answers = protect(columns, declared, chosen, seeded(1)).columns["cause"]
        near[second] = np.bincount(answers, minlength=3)[1] / 4000
    assert near[1] > near[9] + 0.3


def test_epsilon_is_divided_among_columns_and_records_of_a_unit():
    names = ["age", "cause"]
    even = questions(params(names), only(*names))
    assert [each.epsilon for each in even.values()] == [Fraction(1, 2)] * 2
    uneven = params(names, shares={"age": "1/4", "cause": "3/4"}, rows_per_unit=3)
    assert [each.epsilon for each in questions(uneven, only(*names)).values()] == [Fraction(1, 12), Fraction(1, 4)]
    parameters = promise(uneven, only(*names)).parameters
    assert parameters["epsilon_by_column"] == {"age": "1/12", "cause": "1/4"}
    assert (parameters["epsilon"], parameters["rows_per_unit"]) == ("1", 3)


def test_the_promise_under_replace_names_what_it_rests_on():
    promised = promise(params(epsilon="1/3"), DECLARED)
    assert (promised.model, promised.adjacency, promised.unit) == ("dp", "replace", "row")
    assert promised.statement.startswith("(1/3)-differential privacy: whichever record")
    assert "e^(1/3)" in promised.statement
    assert "e^(2/3)" not in promised.statement
    assert promised.parameters["priors"] == dict.fromkeys(RELEASED, "uniform")
    assert {"priors", "factors", "number of records"} <= set(promised.public)
    assert "true values" in promised.secret
    assert any("what a prior already says" in limit for limit in promised.not_promised)
    assert any("priors" in assumption for assumption in promised.assumptions)
    assert "rows_per_unit" not in promised.parameters


def test_the_promise_under_presence_says_that_a_replaced_value_loses_twice_as_much():
    promised = promise(params(epsilon="1/3", adjacency="presence"), DECLARED)
    assert promised.adjacency == "presence"
    assert "named individual" in promised.statement
    assert "drawn from the priors" in promised.statement
    assert "if their values are replaced by others, by a factor of at most e^(2/3)" in promised.statement


@pytest.mark.parametrize("adjacency", ["replace", "presence"])
def test_a_unit_with_several_records_is_an_individual(adjacency):
    promised = promise(params(adjacency=adjacency, rows_per_unit=2), DECLARED)
    assert promised.unit == "individual"
    assert any("how many records" in limit for limit in promised.not_promised)


def test_the_same_seed_gives_the_same_answers_and_another_seed_others():
    one, same, other = (protect(sample(), DECLARED, params(), seeded(seed)) for seed in (1, 1, 2))
    assert all(one.columns[name].tolist() == same.columns[name].tolist() for name in RELEASED)
    assert all(one.columns[name].tolist() != other.columns[name].tolist() for name in RELEASED)
    drawn = {tuple(protect(sample(), DECLARED, params(), system()).columns["age"]) for _ in range(3)}
    assert len(drawn) == 3


def test_inputs_stay_as_they_are():
    columns = sample()
    before = copy.deepcopy(columns)
    for values in columns.values():
        values.flags.writeable = False
    protect(columns, DECLARED, params(), seeded(1))
    assert all((columns[name] == before[name]).all() for name in columns)


@pytest.mark.parametrize("adjacency", ["replace", "presence"])
def test_what_is_stated_is_known_before_any_record_is_seen(adjacency):
    chosen = params(adjacency=adjacency)
    facts = [protect(sample(seed=seed), DECLARED, chosen, seeded(seed)).chosen for seed in (1, 2)]
    assert facts[0] == facts[1] == chosen_facts(chosen, DECLARED, N)
    assert chosen_facts(chosen, DECLARED, N + 1) == {**facts[0], "records": N + 1}
    answers = facts[0]["answers"]
    assert list(answers) == RELEASED
    assert [answers[name]["points"] for name in ("age", "school", "plant")] == [121, 3, 3]
    assert (answers["age"]["grid"], answers["school"]["grid"]) == ("1", None)
    assert answers["cause"]["weights"] == [1, 1, 1]
    assert "weights" not in answers["age"]


def test_no_secret_is_told_and_nothing_but_answers_is_released():
    protected = protect(sample(), DECLARED, params(), seeded(1))
    assert protected.masked == tuple(RELEASED)
    assert not protected.groups
    assert not protected.hidden
    assert protected.guarantee == promise(params(), DECLARED)
    assert released_columns(params(), DECLARED) == {name: DECLARED[name] for name in RELEASED}


@pytest.mark.parametrize("name", ["age", "height", "school", "cause", "plant"])
@pytest.mark.parametrize("epsilon", ["1/2", "4"])
def test_the_expected_error_is_what_simulation_shows(name, epsilon):
    """Values spread as the prior; 40,000 answers show a root mean square to 2 %, six standard errors."""
    chosen, n = params([name], epsilon=epsilon), 40_000
    columns = {name: coded(sample(n))[name]}
    released = protect(columns, only(name), chosen, seeded(1)).columns[name]
    [question] = questions(chosen, only(name)).values()
    true, answered = (question.true_points(values, name) for values in (columns[name], released))
    axis = question.refined.axis
    apart = np.abs(true - answered) if isinstance(axis, Line) else axis.distances[true, answered]
    found = np.sqrt(np.mean((apart / axis.widest) ** 2))
    stated = question.facts()["expected_error"]
    assert found == pytest.approx(stated, rel=0.03)
    assert found != pytest.approx(1.2 * stated, rel=0.03)


def test_what_to_expect_is_told_for_every_column():
    told = MECHANISM.expect(params(), DECLARED, None)
    assert "one random answer" in told[0]
    for name in RELEASED:
        [sentence] = [each for each in told if each.startswith(f"{name}: ")]
        assert ("expected error" if DECLARED[name].numeric else "expected distance") in sentence
    error = chosen_facts(params(), DECLARED, N)["answers"]["age"]["expected_error"]
    assert any(f"expected error {120 * error:.3g}" in sentence for sentence in told)
    assert any("height (0.5 to 2.5)" in sentence for sentence in told)


def test_data_users_are_told_what_was_done_and_what_follows():
    treated = MECHANISM.treatments(params(), DECLARED)
    assert list(treated) == RELEASED
    assert all("one random answer" in each and "prior" in each for each in treated.values())
    advice = " ".join(MECHANISM.advice(params(), DECLARED))
    assert "relations between columns are weaker" in advice
    assert "lean towards the priors" in advice
    assert "height" in advice


TOO_MANY = Column(
    role="confidential", type="ordinal", categories=tuple(f"c{place}" for place in range(MOST_CATEGORIES + 1))
)
CAUSE, AGE = only("cause"), only("age")
REFUSED = {
    "no column": (params([]), {"id": Column(role="identifier")}, "columns", "at least one column"),
    "unknown prior": (params(["cause", "casue"]), CAUSE, "priors.casue", "declared column that is released"),
    "prior of an identifier": (
        params(["cause", "person"]), only("cause", "person"), "priors.person", "declared column that is released",
    ),
    "unknown distance": (
        params(["cause"], distances={"casue": [[0]]}), CAUSE, "distances.casue", "declared column that is released",
    ),
    "no prior": (params([]), CAUSE, "priors.cause", "must be given"),
    "weight": (params(["age"]), {**AGE, "w": Column(role="weight")}, "columns.w.role", "no declared bounds"),
    "missing": (
        params(["cause"]), {"cause": CAUSE["cause"].model_copy(update={"missing": "category"})},
        "columns.cause.missing", "must be refuse",
    ),
    "too many categories": (params(["x"]), {"x": TOO_MANY}, "columns.x.categories", "at most 640"),
    "unfit prior": (
        params(priors={"cause": {"kind": "distribution", "name": "norm"}}), CAUSE, "priors.cause", "for categories",
    ),
    "distances of numbers": (params(["age"], distances={"age": [[0]]}), AGE, "distances.age", "not be given"),
    "too few rows": (params(["cause"], distances={"cause": [[0, 1, 1]]}), CAUSE, "distances.cause", "one row and one"),
    "too few columns": (
        params(["cause"], distances={"cause": [[0, 1]] * 3}), CAUSE, "distances.cause", "one row and one column",
    ),
    "far from itself": (
        params(["cause"], distances={"cause": [[1, 1, 1]] * 3}), CAUSE, "distances.cause", "must be 0 from a category",
    ),
    "two in one place": (
        params(["cause"], distances={"cause": [[0, 0, 1], [0, 0, 1], [1, 1, 0]]}), CAUSE, "distances.cause", "above 0",
    ),
    "a share missing": (params(["cause", "age"], shares={"age": "1"}), only("cause", "age"), "shares", "one for each"),
    "delta not acknowledged": (params(["age"], delta="1/9"), AGE, "acknowledges", "must be [delta]"),
    "no delta": (params(["age"], acknowledges=["delta"]), AGE, "acknowledges", "must not be given without delta"),
    "shares above 1": (params(["age"], shares={"age": "2"}), AGE, "shares", "add up to 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_settings_that_do_not_fit_are_refused_before_any_row_is_read(case):
    chosen, declared, field, rule = REFUSED[case]
    found = faults(chosen, declared)
    assert [fault.field for fault in found] == [field]
    assert rule in found[0].rule
    for refused in (promise, lambda p, d: chosen_facts(p, d, 9), lambda p, d: protect({}, d, p, seeded(1))):
        with pytest.raises(SettingRefused) as refusal:
            refused(chosen, declared)
        assert list(refusal.value.faults) == found


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": "0"}, {"epsilon": "65"}, {"epsilon": 0.5}, {"adjacency": "add_remove"}, {"rows_per_unit": 0},
        {"factors": ["1/2", "2"]}, {"shares": {"age": 0.5}}, {"priors": "from data"}, {"seed": 1},
        {"distances": {"cause": [[0, -1], [1, 0]]}}, {"distances": {"cause": [[0, 2**31 + 1], [1, 0]]}},
        {"distances": {"cause": [[0, 0.5], [1, 0]]}}, {"delta": "0"}, {"delta": "1"}, {"delta": 0.1},
        {"acknowledges": ["idp"]},
    ],
)  # fmt: skip
def test_what_would_void_the_promise_cannot_even_be_said(settings):
    with pytest.raises(ValidationError):
        params(**settings)


def test_an_adjacency_must_be_chosen():
    with pytest.raises(ValidationError):
        Params(epsilon="1", priors={"age": EVEN})


@pytest.mark.parametrize(
    ("columns", "refusal"),
    [
        ({"height": np.array([1.0, np.nan])}, ValueMissing),
        ({"height": np.array([])}, TableEmpty),
        ({}, ColumnMissing),
    ],
)
def test_data_that_are_not_as_declared_are_refused(columns, refusal):
    with pytest.raises(refusal):
        protect(columns, only("height"), params(["height"]), seeded(1))


@pytest.mark.parametrize("values", [np.array([0, 3]), np.array(["fall", "earthquake"], object)])
def test_an_undeclared_category_is_refused(values):
    with pytest.raises(ValueOutsideDomain):
        protect({"cause": values}, CAUSE, params(["cause"]), seeded(1))
