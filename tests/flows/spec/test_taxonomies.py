"""Taxonomies in files, and how a spec takes them up."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import ReleaseSpec, json_schema, load_spec, parse_spec
from penstock.flows.spec._taxonomies import read_taxonomy
from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import SpecRefused
from penstock.mechanisms.taxonomy import Taxonomy

TREE = {"port": ["coast"], "beach": ["coast"], "sea": ["place"], "coast": ["place"], "place": []}
SPEC: dict[str, Any] = {
    "name": "places",
    "source": {
        "path": "places.parquet",
        "unit": "row",
        "columns": {
            "place": {"role": "quasi_identifier", "type": "nominal", "taxonomy": "trees/places.json"},
            "income": {"role": "confidential", "type": "integer", "domain": [0, 9]},
        },
    },
    "protect": [{"mechanism": "probabilistic_k_anonymity", "method": "mdav_id", "k": 3}],
    "gates": [{"measure": "record_linkage", "max": 0.5}],
    "publish": {"path": "out"},
}


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(content, encoding="utf-8")
    return path


def spec_file(folder: Path, taxonomy: object) -> Path:
    spec = copy.deepcopy(SPEC)
    spec["source"]["columns"]["place"]["taxonomy"] = taxonomy
    return written(folder, "spec.yaml", yaml.safe_dump(spec, sort_keys=False))


def test_a_taxonomy_in_json_is_read_as_it_stands(tmp_path: Path) -> None:
    read = read_taxonomy(written(tmp_path, "tree.json", json.dumps(TREE)))
    assert list(read.items()) == list(TREE.items())


def test_a_hierarchy_in_csv_becomes_a_taxonomy_with_the_values_as_leaves(tmp_path: Path) -> None:
    read = read_taxonomy(written(tmp_path, "tree.csv", 'port;coast;*\nsea;sea;*\n"a;b";coast;*\nbeach;shore;*\n'))
    assert read == {
        "port": ["coast"],
        "coast": ["*"],
        "sea": ["*"],
        "a;b": ["coast"],
        "beach": ["shore"],
        "shore": ["*"],
        "*": [],
    }
    assert Taxonomy(read).leaves == ("port", "a;b", "sea", "beach")


def test_labels_repeated_between_neighbouring_levels_are_one_concept(tmp_path: Path) -> None:
    read = read_taxonomy(written(tmp_path, "tree.csv", "1;1-2;1-2;all\n2;1-2;1-2;all\n3;3;3-4;all\n4;4;3-4;all"))
    assert read == {"1": ["1-2"], "1-2": ["all"], "2": ["1-2"], "3": ["3-4"], "3-4": ["all"], "4": ["3-4"], "all": []}


def test_a_row_may_reach_the_top_early(tmp_path: Path) -> None:
    read = read_taxonomy(written(tmp_path, "tree.csv", "port;coast;*\nbeach;coast;*\nother;*;*\n"))
    assert read == {"port": ["coast"], "beach": ["coast"], "coast": ["*"], "other": ["*"], "*": []}


def test_levels_may_be_separated_by_commas_and_then_semicolons_belong_to_labels(tmp_path: Path) -> None:
    read = read_taxonomy(written(tmp_path, "tree.csv", 'port,"coast; sea",*\nbeach,"coast; sea",*\nfarm,land,*\n'))
    assert read == {
        "port": ["coast; sea"],
        "beach": ["coast; sea"],
        "coast; sea": ["*"],
        "farm": ["land"],
        "land": ["*"],
        "*": [],
    }


def test_commas_of_intervals_do_not_separate(tmp_path: Path) -> None:
    read = read_taxonomy(written(tmp_path, "tree.csv", "1;[0, 2[;*\n2;[2, 4[;*\n3;[2, 4[;*\n"))
    assert read == {"1": ["[0, 2["], "[0, 2[": ["*"], "2": ["[2, 4["], "[2, 4[": ["*"], "3": ["[2, 4["], "*": []}


def test_a_hierarchy_of_argus_becomes_a_taxonomy_under_its_implied_total(tmp_path: Path) -> None:
    read = read_taxonomy(written(tmp_path, "TREE.HRC", "coast\n@port\n@ beach \n@@sand\n@@rock\ninland\n\n"))
    assert list(read.items()) == [
        ("coast", ["Total"]),
        ("port", ["coast"]),
        ("beach", ["coast"]),
        ("sand", ["beach"]),
        ("rock", ["beach"]),
        ("inland", ["Total"]),
        ("Total", []),
    ]
    assert Taxonomy(read).leaves == ("port", "sand", "rock", "inland")


def test_a_single_uppermost_category_is_the_top_itself(tmp_path: Path) -> None:
    assert read_taxonomy(written(tmp_path, "tree.hrc", "Total\n@a\n@b\n")) == {
        "Total": [],
        "a": ["Total"],
        "b": ["Total"],
    }


def test_a_mark_of_byte_order_is_no_part_of_the_first_value(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_bytes(b"\xef\xbb\xbfa;*\r\nb;*\r\n")
    assert read_taxonomy(path) == {"a": ["*"], "b": ["*"], "*": []}


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("absent.json", None, r"readable file \(No such file"),
        ("latin.csv", b"\xe9;*\n", "must be text in UTF-8"),
        ("tree.txt", b"a;*", ".json, .csv or .hrc"),
        ("bad.json", b'{"a":\n}', "line 2: must be valid JSON"),
        ("twice.json", b'{"a": ["r"], "a": ["s"]}', "must not hold a key twice"),
        ("list.json", b'["a"]', "object of lists of text"),
        ("text.json", b'{"a": "r"}', "object of lists of text"),
        ("number.json", b'{"a": [1]}', "object of lists of text"),
        ("empty.csv", b"", "a row for each value"),
        ("blank.csv", b"\n\n", "line 1: must have as many levels"),
        ("ragged.csv", b"a;g;*\nb;*\n", "line 2: must have as many levels"),
        ("gap.csv", b"a;g;*\n\nb;g;*\n", "line 2: must have as many levels"),
        ("tops.csv", b"a;g;*\nb;g;all\n", "line 2: must end with the one top"),
        ("values.csv", b"a;g;*\nb;g;*\na;h;*\n", "line 3: must not repeat a value"),
        ("label.csv", b"Other;Other;*\nrare;Other;*\n", "line 2: must not use a value as the label"),
        ("parents.csv", b"a;g;h;*\nb;g;i;*\n", "line 2: must give every label one generalisation"),
        ("levels.csv", b"a;g;g;*\nb;g;h;*\n", "line 2: must give every label one generalisation"),
        ("circle.csv", b"a;g;h;g;*\n", "line 1: must give every label one generalisation"),
        ("top.csv", b"a;*;g;*\n", "line 1: must give every label one generalisation"),
        ("quotes.csv", b'a;*\n"b;*\n', "line 2: must be values separated by ;"),
        ("commas.csv", b'a,*\n"b,*\n', "line 2: must be values separated by ,"),
        ("ragged_commas.csv", b"a,g,*\nb,*\n", "line 2: must have as many levels"),
        ("value.csv", b"a\n", "line 1: must have a value and at least one level"),
        ("both.csv", b"a,b;g,*\nc,d;g,*\n", "line 1: must separate the levels by either ; or ,"),
        ("narrower.csv", b"a;g;g;*\nb;b;g;*\n", "line 2: must use a label for the same values"),
        ("empty.hrc", b"", "line 1: must name a category"),
        ("gap.hrc", b"a\n\n@b\n", "line 2: must name a category"),
        ("leads.hrc", b"a\n@b\n@\n", "line 3: must name a category"),
        ("apart.hrc", b"a\n@b\n@ @c\n", "line 3: must name a category"),
        ("first.hrc", b"@a\n@@b\n", "line 1: must have at most one @ more"),
        ("jump.hrc", b"a\n@@b\n", "line 2: must have at most one @ more"),
        ("twice.hrc", b"a\n@x\nb\n@x\n", "line 4: must not name a category twice"),
        ("itself.hrc", b"a\n@a\n", "line 2: must not name a category twice"),
        ("flat.hrc", b"a\nb\n", "must have lines that begin with @"),
        ("dots.hrc", b"a\n.b\n..c\nd\n", "must have lines that begin with @"),
        ("total.hrc", b"a\n@Total\nb\n", "line 2: must not be Total, the name of the implied top"),
        ("latin.hrc", b"a\n@\xe9\n", "must be text in UTF-8"),
    ],
)
def test_a_file_that_holds_no_taxonomy_is_refused_without_being_quoted(
    name: str, content: bytes | None, rule: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecRefused, match=rule) as refused:
        read_taxonomy(path)
    [fault] = refused.value.faults
    assert fault.field == "taxonomy"
    assert fault.got == repr(str(path))
    assert fault.remedy


def test_a_spec_holds_the_content_of_the_file_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREES", "trees")
    written(tmp_path, "trees/places.json", json.dumps(TREE))
    spec = load_spec(spec_file(tmp_path, "${TREES}/places.json"))
    assert spec == load_spec(spec_file(tmp_path, TREE))
    assert spec.columns["place"].taxonomy == {child: tuple(parents) for child, parents in TREE.items()}
    assert spec.columns["place"].categories == ("sea", "port", "beach")
    assert ReleaseSpec.model_validate(json.loads(spec.model_dump_json())) == spec


def test_the_digest_of_a_spec_covers_its_taxonomy(tmp_path: Path) -> None:
    def digest() -> str:
        return draw_up_plan(load_spec(spec_file(tmp_path, "tree.json"))).spec_digest

    written(tmp_path, "tree.json", json.dumps(TREE))
    before = digest()
    assert digest() == before
    written(tmp_path, "tree.json", json.dumps({**TREE, "sea": ["coast"]}))
    assert digest() != before
    by_order = dict(reversed(TREE.items()))
    written(tmp_path, "tree.json", json.dumps(by_order))
    assert digest() != before  # the order of the leaves is the order of the codes


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("${NOT_SET}/tree.json", "must name a variable that is set"),
        ("s3://bucket/tree.json", "local path"),
        ("absent.json", "readable file"),
        ("cycle.json", "must not put a concept above itself"),
        ("branch.hrc", "at least two leaves"),
    ],
)
def test_a_taxonomy_that_cannot_be_read_is_refused_once_beside_all_other_faults(
    path: str, rule: str, tmp_path: Path
) -> None:
    written(tmp_path, "cycle.json", json.dumps({**TREE, "coast": ["place", "beach"], "river": ["place"]}))
    written(tmp_path, "branch.hrc", "place\n@coast\n")
    spec = copy.deepcopy(SPEC)
    spec["source"]["columns"]["place"]["taxonomy"] = path
    spec["gates"] = []
    with pytest.raises(SpecRefused, match=rule) as refused:
        load_spec(written(tmp_path, "spec.json", json.dumps(spec)))
    fields = [fault.field for fault in refused.value.faults]
    assert sorted(fields) == ["gates", "source.columns.place.taxonomy"]


def test_a_path_outside_a_spec_file_is_refused_with_a_remedy() -> None:
    with pytest.raises(SpecRefused, match="Put the spec into a file") as refused:
        parse_spec(SPEC)
    assert [fault.field for fault in refused.value.faults] == ["source.columns.place.taxonomy"]


@pytest.mark.parametrize("taxonomy", [TREE, "trees/places.json", None])
def test_the_schema_takes_a_taxonomy_or_its_path(taxonomy: object) -> None:
    spec = copy.deepcopy(SPEC)
    spec["source"]["columns"]["place"]["taxonomy"] = taxonomy
    jsonschema.validate(spec, json_schema())
    spec["source"]["columns"]["place"]["taxonomy"] = {"a": "b"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(spec, json_schema())


@pytest.mark.parametrize(
    ("name", "leaves", "concepts"), [("occupation_wordnet30", 14, 37), ("native_country_wordnet30", 41, 66)]
)
def test_the_reference_taxonomies_have_as_many_concepts_as_their_source_says(
    name: str, leaves: int, concepts: int, data_folder: Path
) -> None:
    taxonomy = Taxonomy(read_taxonomy(data_folder / "taxonomy" / f"{name}.json"))
    assert (len(taxonomy.leaves), len(taxonomy.concepts)) == (leaves, concepts)


def test_every_reference_hierarchy_is_a_taxonomy_of_its_values(data_folder: Path) -> None:
    files = sorted((data_folder / "adult_hierarchies").glob("*.csv"))
    assert len(files) == 9
    for file in files:
        parents = read_taxonomy(file)
        column = Column.model_validate({"role": "confidential", "type": "nominal", "taxonomy": parents})
        values = {line.split(";")[0] for line in file.read_text(encoding="utf-8").splitlines()}
        assert set(column.categories or ()) == values, file.name


def test_a_release_of_adult_is_planned_with_its_hierarchy(data_folder: Path, tmp_path: Path) -> None:
    spec: dict[str, Any] = copy.deepcopy(SPEC)
    hierarchies = data_folder / "adult_hierarchies"
    spec["source"] = {
        "path": str(data_folder / "adult.parquet"),
        "unit": "row",
        "columns": {
            "occupation": {
                "role": "quasi_identifier",
                "type": "nominal",
                "taxonomy": str(hierarchies / "adult_hierarchy_occupation.csv"),
            },
            "age": {"role": "quasi_identifier", "type": "integer", "domain": [16, 100]},
        },
    }
    spec["budget"] = {"dataset": "adult", "epsilon": "1"}
    spec["protect"] = [{"mechanism": "dp_microaggregation", "epsilon": "1", "adjacency": "replace", "k": 500}]
    spec["gates"] = [{"measure": "privacy_loss", "max": 1}]
    adult = load_spec(written(tmp_path, "adult.json", json.dumps(spec)))
    plan = draw_up_plan(adult)
    assert plan.name == "places"
    by_argus = copy.deepcopy(spec)
    lines = [line.split(";") for line in (hierarchies / "adult_hierarchy_occupation.csv").read_text().splitlines()]
    groups = dict.fromkeys(group for _, group, _ in lines)
    hrc = [name for group in groups for name in (group, *(f"@{leaf}" for leaf, above, _ in lines if above == group))]
    by_argus["source"]["columns"]["occupation"]["taxonomy"] = str(written(tmp_path, "jobs.hrc", "\n".join(hrc)))
    same = load_spec(written(tmp_path, "argus.json", json.dumps(by_argus)))
    assert set(same.columns["occupation"].categories or ()) == set(adult.columns["occupation"].categories or ())
    assert draw_up_plan(same).spec_digest != plan.spec_digest  # the top has another name
