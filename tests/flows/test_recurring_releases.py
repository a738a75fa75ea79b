"""A series of releases: each edition by itself, beside the others, named in what comes after it, and paid for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from rdflib import DCAT, DCTERMS, RDF, XSD, Graph, Literal, Namespace, URIRef

from penstock.flows.preview import preview
from penstock.flows.release import release as flow
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.records.published_answers import place_of_answer
from penstock.tasks.publish import Receipt
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import begun
from tests.support.several import make_several
from tests.support.workplace import Workplace, make_table, open_dp_account, predicate

# The reader itself uses what it has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")

SCHEMA = Namespace("https://schema.org/")
DDI = {"d": "ddi:codebook:2_5"}


def publish(place: Workplace, edition: str | None, *, account: bool = False) -> Receipt:
    ask_for(place, edition)
    with begun(place, account=account) as line:
        return line.publish()


def ask_for(place: Workplace, edition: str | None) -> None:
    place.raw["source"].pop("edition", None)
    if edition is not None:
        place.raw["source"]["edition"] = edition


def planned(place: Workplace) -> dict[str, Any]:
    return dict(preview(load_spec(place.write_spec()), count=False))


def release(receipt: Receipt) -> dict[str, Any]:
    return dict(predicate(Path(receipt.path))["release"])


@pytest.fixture
def series(workplace: Workplace) -> Workplace:
    make_table(workplace)
    return workplace


def test_editions_lie_beside_each_other_and_the_later_names_the_earlier(series: Workplace) -> None:
    first = publish(series, "2026-Q3", account=True)
    second = publish(series, "2026-Q4 final")
    assert Path(first.path) == series.published / "survey" / "2026-Q3" / first.run
    assert Path(second.path) == series.published / "survey" / "2026-Q4-final" / second.run
    assert "earlier_editions" not in release(first)
    [told] = release(second)["earlier_editions"]
    day = release(first)["created"][:10]
    assert told == {"release": first.run, "edition": "2026-Q3", "date": day}
    page = (Path(second.path) / "report.html").read_text(encoding="utf-8")
    assert first.run in page
    assert "2026-Q4 final" in page
    assert "Earlier editions" not in (Path(first.path) / "report.html").read_text(encoding="utf-8")
    for receipt in (first, second):
        verify_bundle(Path(receipt.path), series.home / "keys" / "signing.pub")


def test_a_plan_names_the_editions_that_are_published_and_says_where_the_next_will_lie(series: Workplace) -> None:
    first = publish(series, "2026-Q3", account=True)
    ask_for(series, "2026-Q4")
    ahead = planned(series)
    assert [each["release"] for each in ahead["earlier_editions"]] == [first.run]
    assert ahead["publishes_to"] == str(series.published / "survey" / "2026-Q4")
    ask_for(series, "2026-Q3")  # itself is not earlier
    assert "earlier_editions" not in planned(series)


def test_only_what_was_published_in_the_same_series_is_named(series: Workplace) -> None:
    ask_for(series, "2026-Q1")
    with begun(series, account=True) as line:
        line.stage()  # it never comes out
    publish(series, None)
    series.raw["name"] = "another"
    publish(series, "2026-Q2")
    series.raw |= {"name": "survey", "publish": {**series.raw["publish"], "path": "elsewhere"}}
    publish(series, "2026-Q2")
    series.raw["publish"]["path"] = "published"
    assert "earlier_editions" not in release(publish(series, "2026-Q3"))


def test_a_release_of_several_outputs_names_earlier_editions_once(workplace: Workplace) -> None:
    make_several(workplace)
    open_dp_account(2)
    receipts = []
    for edition in ("2026-Q3", "2026-Q4"):
        ask_for(workplace, edition)
        receipts.append(flow(load_spec(workplace.write_spec())))
    first, second = receipts
    assert [each["release"] for each in release(second)["earlier_editions"]] == [first.run]
    page = (Path(second.path) / "report.html").read_text(encoding="utf-8")
    assert page.count(first.run) == page.count("Earlier editions") == 1
    verify_bundle(Path(second.path), workplace.home / "keys" / "signing.pub")


def test_without_an_edition_a_bundle_lies_where_it_did_and_says_nothing_of_any(series: Workplace) -> None:
    receipt = publish(series, None, account=True)
    assert Path(receipt.path) == series.published / "survey" / receipt.run
    assert {"edition", "earlier_editions"}.isdisjoint(release(receipt))
    assert "Edition" not in (Path(receipt.path) / "report.html").read_text(encoding="utf-8")
    assert "timePrd" not in (Path(receipt.path) / "metadata/codebook.xml").read_text(encoding="utf-8")
    entry = json.loads((Path(receipt.path) / "metadata/dataset.jsonld").read_bytes())
    assert {"dct:temporal", "temporalCoverage", "dcat:version", "version"}.isdisjoint(entry)
    header = (Path(receipt.path) / "tables/incomes.sdmx.csv").read_text(encoding="ascii").partition("\n")[0]
    assert "TIME_PERIOD" not in header


@pytest.mark.parametrize(("edition", "is_period"), [("2026-Q3", True), ("corrected", False)])
def test_catalogue_codebook_and_sdmx_say_the_period(series: Workplace, edition: str, is_period: bool) -> None:
    bundle = Path(publish(series, edition, account=True).path)
    place = URIRef("https://agency.example/one/")
    text = (bundle / "metadata/dataset.jsonld").read_text(encoding="utf-8")
    graph = Graph().parse(data=text, format="json-ld", base=f"{place}metadata/dataset.jsonld")
    assert [str(each) for each in graph.objects(place, URIRef(f"{DCAT}version"))] == [edition]
    assert [str(each) for each in graph.objects(place, SCHEMA.version)] == [edition]
    intervals = [str(each) for each in graph.objects(place, SCHEMA.temporalCoverage)]
    days = [
        (graph.value(each, RDF.type), graph.value(each, DCAT.startDate), graph.value(each, DCAT.endDate))
        for each in graph.objects(place, DCTERMS.temporal)
    ]
    study = etree.parse(bundle / "metadata/codebook.xml").find("d:stdyDscr", DDI)
    assert study.findtext("d:citation/d:verStmt/d:version", None, DDI) == edition
    assert [etree.QName(each).localname for each in study.find("d:citation", DDI)][
        -1
    ] == "verStmt"  # as its schema asks
    assert etree.QName(study.find("d:stdyInfo/d:sumDscr", DDI)[-1]).localname == "dataKind"
    told = [(each.get("event"), each.get("date")) for each in study.findall("d:stdyInfo/d:sumDscr/d:timePrd", DDI)]
    observations = (bundle / "tables/incomes.sdmx.csv").read_text(encoding="ascii").splitlines()
    if is_period:
        assert intervals == ["2026-07-01/2026-09-30"]
        first, last = (Literal(day, datatype=XSD.date) for day in ("2026-07-01", "2026-09-30"))
        assert days == [(DCTERMS.PeriodOfTime, first, last)]
        assert told == [("start", "2026-07-01"), ("end", "2026-09-30")]
        assert all(",2026-Q3," in line for line in observations[1:])
    else:
        assert (intervals, days, told) == ([], [], [])
        assert "TIME_PERIOD" not in observations[0]


@pytest.mark.parametrize("edition", ["answers", "Answers"])
def test_an_edition_may_not_lie_among_published_answers(series: Workplace, edition: str) -> None:
    assert place_of_answer(series.published, "survey", "one").parent == series.published / "survey" / "answers"
    ask_for(series, edition)
    with pytest.raises(SpecRefused, match=r"source\.edition refused: must not be answers"):
        load_spec(series.write_spec())
