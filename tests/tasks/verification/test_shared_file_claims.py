"""A published file with several treatments: what the bundle states of it, and what is found of one that was changed."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from lxml import etree

from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal
from penstock.records import open_records
from penstock.records.bundle import bundle as bundles
from penstock.records.bundle.bundle import BundleAltered
from penstock.records.home import Home
from penstock.records.log.log import Action
from penstock.tasks.files.columns import GUARANTEE_KEY
from penstock.tasks.files.joined import PROMISES_KEY
from penstock.tasks.publish import Receipt
from penstock.tasks.verification.bundle import ClaimBroken, verify_bundle
from tests.support.shared_file import AMOUNTS, KEYS, make_shared
from tests.support.workplace import ROWS, Workplace, files_of, predicate

COLUMNS = ["age", "region", "education", "income", "savings", "weight"]
Facts = dict[str, Any]


class Shared:
    """A bundle with a file of two treatments, and the key that signed it."""

    def __init__(self, folder: Path) -> None:
        self.workplace = Workplace(folder)
        make_shared(self.workplace)
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("PENSTOCK_HOME", str(self.workplace.home))
            patched.delenv("PENSTOCK_DB", raising=False)
            from penstock.flows.release import release

            receipt = release(load_spec(self.workplace.write_spec()))
            assert isinstance(receipt, Receipt)
            self.receipt = receipt
            self.private = Home.open().signing_key()
            self.public = Home.open().public_key_path
            events = open_records().log.events()
            [self.drawn] = [event.facts for event in events if event.action is Action.PROTECTED]
        self.bundle = Path(receipt.path)

    def copied(self, folder: Path) -> Path:
        return Path(shutil.copytree(self.bundle, folder / "bundle"))

    def sealed(self, folder: Path, release: Facts) -> None:
        """Sign a changed bundle as a careless or dishonest holder of the key would."""
        stated = predicate(self.bundle)
        (folder / "manifest.json").unlink()
        subject = bundles.subjects(folder)
        sizes = {file["name"]: (folder / file["name"]).stat().st_size for file in subject}
        bundles.seal(
            folder,
            subject=subject,
            release={**release, "bytes": sizes},
            approval=stated["approval"],
            log_head=stated["log_head"],
            key=self.private,
        )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    return Shared(tmp_path_factory.mktemp("shared"))


def test_the_manifest_states_every_promise_and_the_file_once(shared: Shared) -> None:
    release = predicate(shared.bundle)["release"]
    assert release["penstock"] == 2
    assert [(each["name"], each["folder"], each["guarantee"]["model"]) for each in release["outputs"]] == [
        ("keys", "people", "k_anon"),
        ("amounts", "people", "prob_k"),
    ]
    [file] = release["files"]
    assert (file["name"], file["outputs"], file["columns"]) == ("people", ["keys", "amounts"], COLUMNS)
    assert any("finds a group of at least 5 rows" in sentence for sentence in file["together"])
    assert release["together"]["uncovered"] == ["keys", "amounts"]
    assert shared.receipt.records == ROWS


def test_the_bundle_has_the_file_once_and_its_descriptions_once(shared: Shared) -> None:
    assert {*files_of(shared.bundle)} == {
        "manifest.json",
        "report.html",
        "people/data.parquet",
        "people/data.csv",
        "metadata/people/dataset.jsonld",
        "metadata/people/codebook.xml",
        "metadata/keys/deployment.json",
        "metadata/amounts/deployment.json",
    }
    assert pq.read_table(shared.bundle / "people" / "data.parquet").column_names == COLUMNS


def test_the_file_is_on_record_as_it_is_published(shared: Shared) -> None:
    [stated] = [
        file["digest"]["sha256"] for file in bundles.subjects(shared.bundle) if file["name"] == "people/data.parquet"
    ]
    assert shared.drawn["files"] == {"people": stated}


def test_descriptions_tell_every_columns_treatment_and_promise(shared: Shared) -> None:
    entry = json.loads((shared.bundle / "metadata/people/dataset.jsonld").read_bytes())
    told = {column["name"]: column["description"] for column in entry["variableMeasured"]}
    assert list(told) == COLUMNS
    for names, promise in ((KEYS, "keys: k_anon, k = 5, mdav_id"), (AMOUNTS, "amounts: prob_k, k = 20, ir_swap")):
        assert all(f"(promise of {promise})" in told[name] for name in names)
    links = [each["@id"] for each in entry["distribution"]]
    assert sorted(links) == ["../../people/data.csv", "../../people/data.parquet"]
    assert "finds a group of at least 5 rows" in entry["dct:description"]
    codebook = etree.parse(shared.bundle / "metadata/people/codebook.xml")
    names = codebook.xpath("//d:var/@name", namespaces={"d": "ddi:codebook:2_5"})
    assert names == COLUMNS
    disclaimer = codebook.xpath("string(//d:disclaimer)", namespaces={"d": "ddi:codebook:2_5"})
    assert "keys: anything for whoever also uses" in disclaimer
    assert "amounts: anything for whoever also uses" in disclaimer


def test_both_reports_tell_the_file_once_and_what_its_columns_allow_together(shared: Shared) -> None:
    public = (shared.bundle / "report.html").read_text(encoding="utf-8")
    assert public.count('<h2 id="people">') == 1
    assert public.count('<th scope="row">income</th>') == 1
    assert "k_anon, k = 5, mdav_id" in public
    inside = Path(shared.receipt.confidential_report).read_text(encoding="utf-8")
    assert inside.count('<h2 id="people">') == 1
    for page in (public, inside):
        assert "Whoever knows age, region, education of somebody finds a group of at least 5 rows" in page
    assert "holds every original record with all judged columns" in inside  # the attacker of record_linkage
    assert "How the file is put together" in inside


def test_nothing_secret_and_no_measured_value_is_public(shared: Shared) -> None:
    [inside] = (shared.workplace.home / "runs").rglob("assessment.json")
    [file] = json.loads(inside.read_text(encoding="utf-8"))["files"]
    values = [repr(each["value"]) for each in file["measurements"] if len(repr(each["value"])) > 8]
    assert values
    public = b"".join(files_of(shared.bundle).values()) + base64.b64decode(
        json.loads((shared.bundle / "manifest.json").read_bytes())["payload"]
    )
    assert [value for value in values if value.encode() in public] == []
    assert b"origin" not in public.replace(b"original", b"")
    assert shared.workplace.working_files() == []  # the orders went with the run


def test_it_verifies_and_says_what_cannot_be_checked(shared: Shared) -> None:
    found = {finding.name: finding for finding in verify_bundle(shared.bundle, shared.public)}
    assert found["people: columns"].checked
    assert not found["people: linkage"].checked
    assert found["keys: k-anonymity"].checked
    assert not found["amounts: swapping"].checked


@pytest.mark.parametrize("name", COLUMNS)
def test_a_changed_column_of_either_part_is_found(shared: Shared, tmp_path: Path, name: str) -> None:
    bundle = shared.copied(tmp_path)
    path = bundle / "people" / "data.parquet"
    table = pq.read_table(path)
    place = table.column_names.index(name)
    pq.write_table(
        table.set_column(place, table.schema.field(place), table.column(name).take([*range(ROWS)][::-1])), path
    )
    with pytest.raises(BundleAltered) as refused:
        verify_bundle(bundle, shared.public)
    assert [fault.field for fault in refused.value.faults] == ["people/data.parquet"]


def rewritten(bundle: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    table = change(pq.read_table(bundle / "people" / "data.parquet"))
    pq.write_table(table, bundle / "people" / "data.parquet")


def spoilt(shared: Shared, tmp_path: Path, change: Callable[[pa.Table], pa.Table]) -> list[tuple[str, str]]:
    bundle = shared.copied(tmp_path)
    rewritten(bundle, change)
    shared.sealed(bundle, predicate(shared.bundle)["release"])
    with pytest.raises(ClaimBroken) as refused:
        verify_bundle(bundle, shared.public)
    return [(fault.field, fault.rule) for fault in refused.value.faults]


def unlike(table: pa.Table) -> pa.Table:
    place = table.column_names.index("age")
    return table.set_column(place, table.schema.field(place), [pa.array([*range(ROWS)], pa.int64())])


def of_all_fewer(table: pa.Table) -> pa.Table:
    return table.slice(1)


LISTED = "must have the columns that the manifest lists"
CARRIED = "must carry the guarantee of the manifest"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (unlike, "must have at least 5 records for every combination of quasi-identifiers"),
        (of_all_fewer, "must have as many records as the manifest says"),
        (lambda table: table.drop_columns(["savings"]), LISTED),
        (lambda table: table.append_column("more", table.column("age")), LISTED),
        (lambda table: table.select([*COLUMNS[1:], "age"]), LISTED),
        (lambda table: table.replace_schema_metadata({}), CARRIED),
        (lambda table: table.replace_schema_metadata({PROMISES_KEY: b"no json"}), CARRIED),
        (
            lambda table: table.replace_schema_metadata(
                {GUARANTEE_KEY: json.dumps(json.loads(table.schema.metadata[PROMISES_KEY])["keys"])}
            ),
            CARRIED,
        ),
    ],
    ids=["unlike", "fewer", "without", "more", "order", "no promise", "garbled", "one promise"],
)
def test_a_file_that_was_changed_and_signed_again_is_found_as_far_as_it_shows(
    shared: Shared, tmp_path: Path, change: Callable[[pa.Table], pa.Table], rule: str
) -> None:
    found = spoilt(shared, tmp_path, change)
    assert ("people/data.parquet", rule) in found
    assert len(found) == len(set(found))


def without_file(release: Facts) -> None:
    del release["files"]


def of_one(release: Facts) -> None:
    release["files"][0]["outputs"] = ["keys"]


def another_folder(release: Facts) -> None:
    release["outputs"][1]["folder"] = "others"


def another_order(release: Facts) -> None:
    release["files"][0]["outputs"].reverse()


def twice(release: Facts) -> None:
    release["files"] *= 2


def fewer_columns(release: Facts) -> None:
    release["files"][0]["columns"].remove("savings")


def repeated_column(release: Facts) -> None:
    release["files"][0]["columns"].append("age")


def other_records(release: Facts) -> None:
    release["outputs"][1]["records"] += 1


def singling_out(release: Facts) -> None:
    release["outputs"][1]["columns"][0]["role"] = "quasi_identifier"


def without_words(release: Facts) -> None:
    release["files"][0]["together"] = []


@pytest.mark.parametrize(
    "change",
    [
        without_file,
        of_one,
        another_folder,
        another_order,
        twice,
        fewer_columns,
        repeated_column,
        other_records,
        singling_out,
        without_words,
    ],
)
def test_a_manifest_that_states_another_file_is_not_believed(
    shared: Shared, tmp_path: Path, change: Callable[[Facts], None]
) -> None:
    bundle = shared.copied(tmp_path)
    release = predicate(shared.bundle)["release"]
    change(release)
    shared.sealed(bundle, release)
    with pytest.raises(Refusal) as refused:
        verify_bundle(bundle, shared.public)
    assert [(type(refused.value), fault.field) for fault in refused.value.faults] == [(ClaimBroken, "manifest.json")]
