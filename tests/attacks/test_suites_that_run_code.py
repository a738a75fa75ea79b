"""A suite of expectations is data: nothing in it is run, fetched, or matched without end.

Each attack tries to plant a marker file, or to hold up the run. A condition that pandas would evaluate could call
methods of the confidential columns, such as one that writes them to a file.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from penstock.mechanisms.columns import Column
from penstock.tasks.validation.expectations import SuiteRefused, derived_suite, validate, whole_suite

DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S")),
}
FRAME = pd.DataFrame({"age": [30, 40], "region": pd.Series(["N", "S"], dtype="str")})
FINE = {"type": "comparison", "column": {"name": "age"}, "operator": "<", "parameter": 50}


def suite_with(folder: Path, kwargs: dict[str, Any], kind: str = "expect_column_values_to_not_be_null") -> str:
    path = folder / "suite.json"
    path.write_text(json.dumps([{"type": kind, "kwargs": {"column": "age", **kwargs}}]), encoding="utf-8")
    return str(path)


def attack(suite: str, frame: pd.DataFrame = FRAME, declared: dict[str, Column] = DECLARED) -> None:
    """Read the suite as a release does, and run what is left of it."""
    validate(frame, whole_suite(declared, 1, suite))


def conditions_with(code: str) -> list[Any]:
    text = {"type": "pass_through", "pass_through_filter": code}
    return [
        code,
        text,
        {**text, "conditions": [FINE]},  # the list looks harmless, and is not what is run
        {**text, "conditions": []},
        {"type": "and", "conditions": [{**text, "conditions": [FINE]}]},
        {"type": "or", "conditions": [FINE, {**text, "conditions": [FINE]}]},
        {**FINE, "pass_through_filter": code, "conditions": [{**text, "conditions": [FINE]}]},
        {**FINE, "operator": f"< 50 or {code} or age <"},
        {**FINE, "parameter": {"type": "pass_through", "pass_through_filter": code}},
        {**FINE, "parameter": {"$PARAMETER": code}},
        {**FINE, "column": {"name": "age", "type": "pass_through", "pass_through_filter": code}},
    ]


@pytest.mark.parametrize("place", range(11))
def test_a_condition_never_runs_text(tmp_path: Path, place: int) -> None:
    marker = tmp_path / "marker"
    condition = conditions_with(f"age.to_csv({str(marker)!r}) == 0")[place]
    with pytest.raises(SuiteRefused):
        attack(suite_with(tmp_path, {"row_condition": condition}))
    assert not marker.exists()


def test_a_column_whose_name_is_code_is_only_a_column(tmp_path: Path) -> None:
    """pandas reads names from the text of a query, where a backtick would end them."""
    marker = tmp_path / "marker"
    name = f"a` + age.to_csv({str(marker)!r}) + `a"
    declared = {**DECLARED, name: DECLARED["age"], "a": DECLARED["age"]}
    frame = FRAME.assign(**{name: [1, 2], "a": [1, 2]})
    attack(suite_with(tmp_path, {"row_condition": {**FINE, "column": {"name": name}}}), frame, declared)
    assert not marker.exists()


def test_a_text_in_a_condition_is_only_a_text(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    for text in (f"`age`.to_csv({str(marker)!r})", "@pd", '"""', "'", "\\"):
        condition = {**FINE, "column": {"name": "region"}, "operator": "==", "parameter": text}
        attack(suite_with(tmp_path, {"row_condition": condition}))
    assert not marker.exists()


def test_nothing_is_fetched_for_a_suite(tmp_path: Path) -> None:
    """A JSON schema may point to an address, which its reader would fetch: a way out of a closed network."""
    asked: list[str] = []

    class Listening(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Listening) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        schema = {"$ref": f"http://127.0.0.1:{server.server_address[1]}/schema"}
        declared = {"code": Column(role="quasi_identifier", type="nominal", categories=("1", "2"))}
        frame = pd.DataFrame({"code": pd.Series(["1", "2"], dtype="str")})
        kind = "expect_column_values_to_match_json_schema"
        with pytest.raises(SuiteRefused):
            attack(suite_with(tmp_path, {"column": "code", "json_schema": schema}, kind), frame, declared)
        server.shutdown()
    assert asked == []


@pytest.mark.parametrize("regex", [r"(?=(a+)+$)b", r"(a|a)*\1$", "((a{90}){90}){90}", "a" * 5000])
@pytest.mark.parametrize("setting", ["regex", "regex_list"])
def test_a_pattern_that_could_match_without_end_is_refused(tmp_path: Path, setting: str, regex: str) -> None:
    kind = {"regex": "match_regex", "regex_list": "match_regex_list"}[setting]
    given = {setting: regex if setting == "regex" else ["^a$", regex]}
    with pytest.raises(SuiteRefused, match=rf"{setting}|repetitions written out"):
        attack(suite_with(tmp_path, given, f"expect_column_values_to_{kind}"))


@pytest.mark.parametrize(
    ("regex", "text"),
    [
        ("^((a+)+)+$", "a" * 200 + "b"),
        (r"^(\S+)+\s$", "a" * 60),
        (r"^(\S+)+\s$", "ä" * 60),
        (r"^(\w|ä)+\d$", "ä" * 60),
        (r"^(ä\b|ä\B|ä)+\d$", "ä" * 60),
    ],
    ids=["groups", "spaces", "spaces beyond ASCII", "words beyond ASCII", "ends of words beyond ASCII"],
)
@pytest.mark.parametrize("kind", ["match_regex", "not_match_regex", "match_regex_list", "not_match_regex_list"])
def test_an_accepted_pattern_takes_linear_time(tmp_path: Path, kind: str, regex: str, text: str) -> None:
    """With backtracking, each would end after the heat death of the sun; pandas backtracks for some of them."""
    declared = {"region": Column(role="quasi_identifier", type="nominal", categories=(text, "S"))}
    frame = pd.DataFrame({"region": pd.Series([text], dtype="str")})
    kind = f"expect_column_values_to_{kind}"
    given: dict[str, Any] = {"regex_list": [regex, "^$"]} if kind.endswith("list") else {"regex": regex}
    *_, result = validate(frame, whole_suite(declared, 1, suite_with(tmp_path, {"column": "region", **given}, kind)))
    assert (result.expectation, result.success) == (kind, "not_match" in kind)


def test_conditions_are_bounded_in_number_and_depth(tmp_path: Path) -> None:
    deep: dict[str, Any] = FINE
    for _ in range(7):
        deep = {"type": "and", "conditions": [deep]}
    for condition in (deep, {"type": "or", "conditions": [FINE] * 200}):
        with pytest.raises(SuiteRefused, match="row_condition"):
            attack(suite_with(tmp_path, {"row_condition": condition}))


def test_the_derived_expectations_alone_pass() -> None:
    """So that what the attacks do not achieve is not achieved because nothing runs."""
    assert all(result.success for result in validate(FRAME, derived_suite(DECLARED, 1)))


@pytest.mark.parametrize(("quantiles", "ranges"), [(1001, 1001), (1001, 0), (0, 1001)])
def test_quantiles_without_end_are_refused_before_one_is_sought(tmp_path: Path, quantiles: int, ranges: int) -> None:
    """60,000 of them took a minute and a half."""
    asked = {"quantiles": [0.5] * quantiles, "value_ranges": [[0, 100]] * ranges}
    kind = "expect_column_quantile_values_to_be_between"
    with pytest.raises(SuiteRefused, match="must hold at most 1,000 quantiles in all"):
        attack(suite_with(tmp_path, {"quantile_ranges": asked}, kind))


def test_the_quantiles_of_all_expectations_are_counted_together(tmp_path: Path) -> None:
    asked = {"quantiles": [0.5] * 501, "value_ranges": [[0, 100]] * 501}
    kind = "expect_column_quantile_values_to_be_between"
    suite = Path(suite_with(tmp_path, {"quantile_ranges": asked}, kind))
    attack(str(suite))
    suite.write_text(json.dumps(json.loads(suite.read_text(encoding="utf-8")) * 2), encoding="utf-8")
    with pytest.raises(SuiteRefused, match="at most 1,000 quantiles in all"):
        attack(str(suite))


def test_a_set_of_values_may_be_long(tmp_path: Path) -> None:
    attack(suite_with(tmp_path, {"value_set": list(range(20_000))}, "expect_column_values_to_be_in_set"))
