"""What a bundle says of itself to catalogues, archives and registries, read by readers that are not ours."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from lxml import etree
from rdflib import DCAT, DCTERMS, RDF, XSD, Graph, Literal, Namespace, URIRef

from penstock.flows.spec import load_spec
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.refusal import SpecRefused
from penstock.records.bundle import bundle as bundles
from penstock.tasks.files.columns import load_columns
from penstock.tasks.publish import stage, staged_content
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import begun
from tests.support.workplace import DESCRIPTIONS, Workplace, make_private, make_units
from tests.tasks.described_release import PLACE, RELEASES, Released, prepare

# The reader itself uses what it has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")

SCHEMA, STAT, SPDX = (
    Namespace(name) for name in ("https://schema.org/", "http://data.europa.eu/s1n/", "http://spdx.org/rdf/terms#")
)
DDI = {"d": "ddi:codebook:2_5"}
WORDS = {
    "title": "Income & wealth",
    "publisher": "Office of <Statistics>",
    "license": "https://creativecommons.org/licenses/by/4.0/",
    "keywords": ["income", "wealth"],
    "language": "en",
}


@pytest.fixture(scope="module", params=RELEASES)
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Released:
    return Released(tmp_path_factory.mktemp("release"), request.param)


@pytest.fixture(scope="module")
def worded(tmp_path_factory: pytest.TempPathFactory) -> Released:
    return Released(tmp_path_factory.mktemp("worded"), "table", WORDS)


def test_the_descriptions_are_signed_with_the_bundle_and_it_verifies(released: Released) -> None:
    assert {file["name"] for file in bundles.subjects(released.bundle)} >= set(DESCRIPTIONS)
    verify_bundle(released.bundle, released.key)
    page = (released.bundle / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in DESCRIPTIONS)


def test_a_catalogue_finds_one_dataset_with_a_title_a_description_and_a_number(released: Released) -> None:
    graph, dataset = released.graph, URIRef(PLACE)
    assert set(graph.subjects(RDF.type, DCAT.Dataset)) == set(graph.subjects(RDF.type, SCHEMA.Dataset)) == {dataset}
    release = released.release
    for title, text, number in (
        (DCTERMS.title, DCTERMS.description, DCTERMS.identifier),
        (SCHEMA.name, SCHEMA.description, SCHEMA.identifier),
    ):
        assert [str(each) for each in graph.objects(dataset, title)] == ["survey"]
        assert [str(each) for each in graph.objects(dataset, number)] == [f"survey/{release['release']}"]
        [told] = graph.objects(dataset, text)
        assert release["guarantee"]["statement"] in str(told)
        assert 50 <= len(told) <= 5000  # what search engines take
    [created] = graph.objects(dataset, DCTERMS.created)
    assert str(created) == release["created"]
    assert created.datatype == XSD.dateTime
    [issued] = graph.objects(dataset, DCTERMS.issued)
    assert issued.toPython().isoformat() == release["created"][:10]


def test_every_data_file_is_a_distribution_with_its_size_digest_and_kind(released: Released) -> None:
    graph, dataset = released.graph, URIRef(PLACE)
    distributions = set(graph.objects(dataset, DCAT.distribution))
    assert distributions == set(graph.objects(dataset, SCHEMA.distribution))
    assert distributions == {URIRef(PLACE + name) for name in released.data_files}
    for name in released.data_files:
        content, node = (released.bundle / name).read_bytes(), URIRef(PLACE + name)
        assert set(graph.objects(node, RDF.type)) == {DCAT.Distribution, SCHEMA.DataDownload}
        assert [*graph.objects(node, DCAT.downloadURL)] == [*graph.objects(node, SCHEMA.contentUrl)] == [node]
        assert [*graph.objects(node, DCAT.accessURL)] == [dataset]
        assert [each.toPython() for each in graph.objects(node, DCAT.byteSize)] == [len(content)]
        [checksum] = graph.objects(node, SPDX.checksum)
        [digest] = graph.objects(checksum, SPDX.checksumValue)
        assert str(digest).lower() == hashlib.sha256(content).hexdigest()
        assert [*graph.objects(checksum, SPDX.algorithm)] == [SPDX.checksumAlgorithm_sha256]
        assert [*graph.objects(node, SCHEMA.sha256)] == [Literal(hashlib.sha256(content).hexdigest())]
        [kind] = graph.objects(node, SCHEMA.encodingFormat)
        expected = {"parquet": "application/vnd.apache.parquet", "xml": "application/vnd.sdmx.structure+xml"}
        if ".sdmx." not in name:
            assert str(kind) == expected.get(name.rpartition(".")[2], "text/csv")
        [media] = graph.objects(node, DCAT.mediaType)
        assert str(media) == f"http://www.iana.org/assignments/media-types/{kind}"


def test_every_column_is_a_variable_of_the_dataset(released: Released) -> None:
    graph = released.graph
    variables = {str(graph.value(node, SCHEMA.name)): node for node in graph.objects(None, SCHEMA.variableMeasured)}
    assert set(variables) == {column["name"] for column in released.described}
    for column in released.described:
        assert str(graph.value(variables[column["name"]], SCHEMA.description)) == column["treatment"]
        bounds = [graph.value(variables[column["name"]], name) for name in (SCHEMA.minValue, SCHEMA.maxValue)]
        assert [None if bound is None else bound.toPython() for bound in bounds] == (column["domain"] or [None, None])


def test_only_a_table_has_dimensions_measures_and_attributes(released: Released) -> None:
    graph = released.graph
    found = {
        role: sorted(
            str(next(graph.objects(node, URIRef("http://www.w3.org/2000/01/rdf-schema#label")))) for node in each
        )
        for role, each in (
            ("dimension", graph.objects(URIRef(PLACE), STAT.dimension)),
            ("figure", graph.objects(URIRef(PLACE), STAT.measure)),
            ("standard_error", graph.objects(URIRef(PLACE), STAT.attribute)),
        )
    }
    table = "layout" in released.release
    for role, names in found.items():
        expected = [column["name"] for column in released.described if table and column["role"] == role]
        assert names == sorted(expected), role


def test_an_archive_finds_every_column_of_every_file(released: Released) -> None:
    tree = released.codebook
    assert tree.getroot().tag == "{ddi:codebook:2_5}codeBook"
    names = {
        file.get("ID"): file.findtext("d:fileTxt/d:fileName", None, DDI) for file in tree.findall("d:fileDscr", DDI)
    }
    documented = {name: [] for name in names.values()}  # type: dict[str, list[str]]
    for variable in tree.findall("d:dataDscr/d:var", DDI):
        for file in variable.get("files").split():
            documented[names[file]].append(variable.get("name"))
    formats = ("parquet", "csv")
    sheets = [name for name in released.data_files if name.endswith(formats) and ".sdmx." not in name]
    assert sorted(documented) == sorted(sheets)
    for name, columns in documented.items():
        if name.endswith("parquet"):
            assert pq.read_schema(released.bundle / name).names == columns
        else:
            header = (released.bundle / name).read_text(encoding="utf-8").partition("\n")[0]
            assert header.replace('"', "").split(",") == columns
    others = {other.findtext("d:labl", None, DDI) for other in tree.findall("d:otherMat", DDI)}
    assert others == set(released.data_files) - set(documented)


def test_an_archive_finds_ranges_categories_and_what_was_done(released: Released) -> None:
    variables = released.codebook.findall("d:dataDscr/d:var", DDI)
    assert len(variables) == len(released.described)
    for variable, column in zip(variables, released.described, strict=True):
        assert variable.get("name") == variable.findtext("d:labl", None, DDI) == column["name"]
        assert variable.findtext("d:txt", None, DDI) == column["treatment"]
        limits = [
            (float(each.get("min")), float(each.get("max"))) for each in variable.findall("d:valrng/d:range", DDI)
        ]
        assert limits == ([tuple(column["domain"])] if column["domain"] else [])
        values = [each.findtext("d:catValu", None, DDI) for each in variable.findall("d:catgry", DDI)]
        assert values == [str(category) for category in column["categories"] or ()]
        assert (variable.get("wgt") == "wgt") is (column["role"] == "weight")
        assert variable.find("d:sumStat", DDI) is None
        assert variable.find("d:catgry/d:catStat", DDI) is None


# The order of the elements in DDI Codebook 2.5; its schema is a sequence, so another order is not valid.
ORDER = {
    "codeBook": "docDscr stdyDscr fileDscr dataDscr otherMat",
    "stdyDscr": "citation studyAuthorization stdyInfo studyDevelopment method dataAccs othrStdyMat notes",
    "citation": "titlStmt rspStmt prodStmt distStmt serStmt verStmt biblCit holdings notes",
    "titlStmt": "titl subTitl altTitl parTitl IDNo",
    "prodStmt": "producer copyright prodDate prodPlac software fundAg grantNo",
    "distStmt": "distrbtr contact depositr depDate distDate",
    "stdyInfo": "studyBudget subject abstract sumDscr qualityStatement notes exPostEvaluation",
    "subject": "keyword topcClas",
    "sumDscr": "timePrd collDate nation geogCover geogUnit geoBndBox boundPoly anlyUnit universe dataKind",
    "method": "dataColl notes anlyInfo stdyClas dataProcessing codingInstructions",
    "dataAccs": "setAvail useStmt notes",
    "useStmt": "confDec specPerm restrctn contact citReq deposReq conditions disclaimer",
    "fileDscr": "fileTxt locMap notes",
    "fileTxt": "fileName fileCitation dataFingerprint fileCont fileStrc dimensns fileType format filePlac",
    "dataFingerprint": "digitalFingerprintValue algorithmSpecification algorithmVersion",
    "dimensns": "caseQnty varQnty logRecL recPrCas recNumTot",
    "dataDscr": "varGrp nCubeGrp var nCube notes",
    "var": "location labl imputation security embargo respUnit anlysUnit qstn valrng invalrng undocCod universe "
    "TotlResp sumStat txt stdCatgry catgryGrp catgry codInstr verStmt concept derivation varFormat geoMap catLevel "
    "notes",
    "valrng": "item range key notes",
    "catgry": "catValu labl txt catStat mrow",
    "otherMat": "typ labl txt notes table citation otherMat",
}


def test_the_elements_of_the_codebook_stand_in_the_order_of_the_standard(released: Released, worded: Released) -> None:
    for tree in (released.codebook, worded.codebook):
        seen: set[str] = set()
        for element in tree.iter():
            children = [etree.QName(child).localname for child in element]
            if children:
                order = ORDER[etree.QName(element).localname].split()
                places = [order.index(child) for child in children]
                assert places == sorted(places), element.tag
            if "ID" in element.attrib:
                assert element.get("ID") not in seen
                seen.add(element.get("ID"))


def test_the_promise_is_in_the_codebook_with_its_limits(released: Released) -> None:
    study, stated = released.codebook.find("d:stdyDscr", DDI), released.release["guarantee"]
    assert study.findtext("d:method/d:dataProcessing", None, DDI) == stated["statement"]
    [disclaimer] = study.findall("d:dataAccs/d:useStmt/d:disclaimer", DDI)
    assert disclaimer.text == f"Not promised: {'; '.join(stated['not_promised'])}"


def keys_of(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield key
            yield from keys_of(value)


def test_only_differential_privacy_states_an_epsilon(released: Released) -> None:
    record, stated = released.deployment, released.release["guarantee"]["parameters"]
    loss, variant = record["privacy_loss"], record["dp_variant" if released.model == "dp" else "privacy_variant"]
    assert variant["is_differential_privacy"] is (released.model == "dp")
    assert ("This is not differential privacy." in variant["variant_details"]) is (released.model != "dp")
    assert ("epsilon" in set(keys_of(record))) is (released.model == "dp")
    expected = {
        "dp": {"epsilon": "1", "delta": "0"},
        "bdp": {"bootstrap_epsilon": "1"},
        "idp": {"individual_epsilon": "1"},
        "t_close": {"k": str(stated.get("k")), "t": str(stated.get("t"))},
        "prob_k": {"k": str(stated.get("k"))},
        "k_anon": {"k": str(stated.get("k"))},
    }
    assert loss["privacy_parameters"] == expected[released.model]
    assert loss["privacy_unit"] == "One record"
    assert loss["adjacency"] == released.release["guarantee"]["adjacency"]
    assert record["implementation"]["composition"] == released.release["guarantee"]["composes_with"]


def test_the_unit_of_privacy_is_the_individual_where_it_is(workplace: Workplace, tmp_path: Path) -> None:
    make_private(workplace)
    make_units(workplace, 3)
    with begun(workplace) as line:
        folder = Path(line.publish().path)
    record = json.loads((folder / "metadata/deployment.json").read_bytes())["deployment"]
    assert record["privacy_loss"]["privacy_unit"] == "One individual, with all of their records that are used"


def test_what_the_spec_says_for_readers_stands_in_every_description(worded: Released) -> None:
    graph, dataset = worded.graph, URIRef(PLACE)
    assert str(graph.value(dataset, DCTERMS.title)) == str(graph.value(dataset, SCHEMA.name)) == WORDS["title"]
    publisher = graph.value(dataset, DCTERMS.publisher)
    assert publisher == graph.value(dataset, SCHEMA.publisher)
    assert str(graph.value(publisher, SCHEMA.name)) == WORDS["publisher"]
    assert graph.value(dataset, SCHEMA.license) == URIRef(WORDS["license"])
    for file in graph.objects(dataset, DCAT.distribution):
        assert graph.value(file, DCTERMS.license) == URIRef(WORDS["license"])
    assert {str(word) for word in graph.objects(dataset, DCAT.keyword)} == set(WORDS["keywords"])
    assert str(graph.value(dataset, DCTERMS.language)) == "http://id.loc.gov/vocabulary/iso639-1/en"
    study = worded.codebook.find("d:stdyDscr", DDI)
    assert study.findtext("d:citation/d:titlStmt/d:titl", None, DDI) == WORDS["title"]
    assert study.findtext("d:citation/d:distStmt/d:distrbtr", None, DDI) == WORDS["publisher"]
    assert [each.text for each in study.findall("d:stdyInfo/d:subject/d:keyword", DDI)] == WORDS["keywords"]
    assert study.findtext("d:dataAccs/d:useStmt/d:conditions", None, DDI) == WORDS["license"]
    basic = worded.deployment["basic"]
    assert basic["name"] == WORDS["title"]
    assert basic["data_curators"] == [{"data_curator_name": WORDS["publisher"]}]


def test_what_the_spec_does_not_say_is_not_invented(released: Released) -> None:
    graph, dataset = released.graph, URIRef(PLACE)
    for name in (
        DCTERMS.publisher,
        DCTERMS.language,
        DCTERMS.spatial,
        DCTERMS.temporal,
        DCAT.contactPoint,
        DCAT.keyword,
    ):
        assert graph.value(dataset, name) is None
    assert graph.value(None, DCTERMS.license) is None
    assert "data_curators" not in released.deployment["basic"]
    assert released.codebook.find("d:stdyDscr/d:citation/d:distStmt", DDI) is None


def test_an_empty_section_says_nothing_and_an_absent_one_leaves_the_digest(workplace: Workplace) -> None:
    assert "describe" not in load_spec(workplace.write_spec()).model_dump(mode="json", exclude_none=True)
    workplace.raw["describe"] = {}
    assert load_spec(workplace.write_spec()).model_dump(mode="json", exclude_none=True)["describe"] == {}


@pytest.mark.parametrize(
    "words",
    [
        {"license": "CC BY"},
        {"license": "https://x.example/ y"},
        {"language": "english"},
        {"title": ""},
        {"keywords": []},
        {"keywords": [""]},
        {"contact": "somebody"},
    ],
)
def test_words_that_cannot_be_used_are_refused(workplace: Workplace, words: dict[str, Any]) -> None:
    workplace.raw["describe"] = words
    with pytest.raises(SpecRefused, match="describe"):
        load_spec(workplace.write_spec())


@pytest.mark.parametrize("kind", RELEASES)
def test_no_secret_no_measured_value_and_no_source_is_in_a_description(workplace: Workplace, kind: str) -> None:
    prepare(workplace, kind)
    with begun(workplace, account=RELEASES[kind][0] in ADDS_UP) as line:
        _, staged, decision = line.assess()
        hidden = load_columns(staged.secrets)
        stage.fn(line.job, (staged,), decision)  # type: ignore[attr-defined]
        descriptions = {name: (line.job.bundle / name).read_text(encoding="utf-8") for name in DESCRIPTIONS}
        # What they may say: the promise, and the columns as they were declared or, as labels, are published.
        release = (staged_content(line.job) or {})["release"]
        public = json.dumps([release["guarantee"], release["columns"], release.get("linked")])
        values = pq.read_table(workplace.source)
    assessed = json.loads(line.job.run.path("assessment.json").read_bytes())
    secrets = {repr(each["value"]) for each in assessed["measurements"]}
    secrets |= {str(number) for numbers in hidden.values() for number in numbers.tolist()}
    secrets |= {str(value) for name in values.column_names for value in values[name].to_pylist()}
    secrets = {secret for secret in secrets if len(secret) > 4 and secret not in public}
    assert len(secrets) > 100
    for name, text in descriptions.items():
        told = re.sub(r"[0-9a-f]{64}|[0-9T-]{10,}[0-9:+Z]*(-[0-9a-f]{8})?", "", text)  # digests, times and run numbers
        found = set(re.findall(r"[\w.+-]+", told))
        assert found.isdisjoint(secrets), name
        assert str(workplace.folder) not in text
        assert "survey.parquet" not in text


def test_no_day_of_issue_is_stated_before_reviewers_agreed(workplace: Workplace) -> None:
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    with begun(workplace, account=False) as line:
        line.stage()
        staged = line.job.bundle / "metadata"
        entry = json.loads((staged / "dataset.jsonld").read_bytes())
        record = json.loads((staged / "deployment.json").read_bytes())
    assert {"dct:issued", "datePublished"}.isdisjoint(entry)
    assert "publication_date" not in record["deployment"]["basic"]


def test_names_that_xml_and_addresses_must_escape_come_back_as_they_are(workplace: Workplace) -> None:
    columns, survey = workplace.raw["source"]["columns"], pq.read_table(workplace.source)
    odd = 'in<come> & "more" #1'
    columns[odd] = columns.pop("income")
    pq.write_table(
        survey.rename_columns([odd if name == "income" else name for name in survey.column_names]), workplace.source
    )
    with begun(workplace, account=False) as line:
        folder = Path(line.publish().path)
    tree = etree.parse(folder / "metadata/codebook.xml")
    assert odd in [each.get("name") for each in tree.findall("d:dataDscr/d:var", DDI)]
    graph = Graph().parse(folder / "metadata/dataset.jsonld", format="json-ld")
    assert Literal(odd) in set(graph.objects(None, SCHEMA.name))
