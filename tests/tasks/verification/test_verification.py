"""Each claim of a bundle is broken in turn and signed with the right key: the signature alone must not save it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from penstock.mechanisms.columns import Column
from penstock.mechanisms.models import MODELS
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.randomness import seeded
from penstock.records.bundle.bundle import BundleAltered
from penstock.records.bundle.statement import BundleMissing
from penstock.records.signing import signing
from penstock.records.signing.keyfile import KeyDamaged
from penstock.tasks.files.columns import GUARANTEE_KEY
from penstock.tasks.verification.bundle import KeyMissing, verify_bundle
from tests.tasks.published_bundle import ROWS, K, Published, broken, finding


@pytest.fixture
def published(tmp_path: Path) -> Published:
    return Published(tmp_path, "mdav_id")


def test_a_path_without_a_folder_is_told_as_the_path(published: Published, tmp_path: Path) -> None:
    with pytest.raises(BundleMissing) as refused:
        verify_bundle(tmp_path / "mistyped", published.public)
    assert refused.value.faults[0].field == "bundle"
    assert "mistyped" in refused.value.faults[0].got


def test_a_sound_bundle_says_what_was_checked_and_what_cannot_be(published: Published) -> None:
    found = {each.name: each.checked for each in published.verify()}
    assert found == {
        "signature": True,
        "digests": True,
        "approval": False,
        "records": True,
        "k-anonymity": True,
        "gates": False,
        "log head": False,
        "environment": False,
    }


def test_the_event_of_the_log_is_named_as_something_only_the_publisher_can_confirm(published: Published) -> None:
    said = finding(published, "log head").text
    assert "the publisher's audit log by its digest; only that log can confirm it" in said


def test_pages_that_were_read_inside_are_named_where_they_are_bound(published: Published) -> None:
    published.manifest["confidential"] = {"report.html": "ab" * 32, "assessment.json": "cd" * 32}
    published.seal()
    found = finding(published, "confidential pages")
    assert (found.checked, "assessment.json, report.html" in found.text) == (False, True)


@pytest.mark.parametrize(
    ("model", "name"),
    [("dp", "noise"), ("idp", "noise"), ("bdp", "noise"), ("prob_k", "swapping"), ("t_close", "closeness")],
)
def test_of_every_model_it_is_said_what_cannot_be_seen(published: Published, model: str, name: str) -> None:
    def promise(table: pa.Table) -> pa.Table:
        text = json.dumps(published.manifest["guarantee"]).encode()
        return table.replace_schema_metadata({GUARANTEE_KEY: text})

    published.manifest["guarantee"]["model"] = model
    published.manifest["guarantee"]["parameters"]["epsilon"] = "1"
    published.change("data.parquet", promise)
    assert finding(published, name).checked is False


def test_what_cannot_be_seen_is_said_of_every_model_but_one() -> None:
    assert [name for name, model in MODELS.items() if model.unseen is None] == ["k_anon"]


@pytest.mark.parametrize("method", ["mdav_swap", "ir_swap"])
def test_of_a_swap_it_is_said_that_it_cannot_be_seen(tmp_path: Path, method: str) -> None:
    found = {each.name: each for each in Published(tmp_path, method).verify()}
    assert "cannot be seen" in found["swapping"].text
    assert found["swapping"].checked is False
    assert "k-anonymity" not in found
    json.dumps([each.as_dict() for each in found.values()])


@pytest.mark.parametrize("name", ["data.parquet", "data.csv"])
def test_a_missing_row_is_noticed(published: Published, name: str) -> None:
    published.change(name, lambda table: table.slice(1))
    assert (name, "must have as many records as") in [(f.field, f.rule[:28]) for f in broken(published).faults]


def test_a_wrong_number_of_records_in_the_manifest_is_noticed_in_every_file(published: Published) -> None:
    published.manifest["records"] = ROWS + 1
    published.seal()
    assert [fault.field for fault in broken(published).faults] == ["data.parquet", "data.csv"]


def test_another_guarantee_in_the_file_is_noticed(published: Published) -> None:
    def promise_more(table: pa.Table) -> pa.Table:
        text = table.schema.metadata[GUARANTEE_KEY].replace(b'"k":5', b'"k":50')
        return table.replace_schema_metadata({GUARANTEE_KEY: text})

    published.change("data.parquet", promise_more)
    [fault] = broken(published).faults
    assert (fault.field, fault.rule) == ("data.parquet", "must carry the guarantee of the manifest")


@pytest.mark.parametrize("metadata", [{}, {GUARANTEE_KEY: b"not a guarantee"}])
def test_a_file_without_a_guarantee_is_noticed(published: Published, metadata: dict[bytes, bytes]) -> None:
    published.change("data.parquet", lambda table: table.replace_schema_metadata(metadata))
    assert "the guarantee of the manifest" in str(broken(published))


def test_another_guarantee_in_the_manifest_is_noticed(published: Published) -> None:
    published.manifest["guarantee"]["parameters"]["k"] = K - 1
    published.seal()
    assert "the guarantee of the manifest" in str(broken(published))


@pytest.mark.parametrize("name", ["data.parquet", "data.csv"])
@pytest.mark.parametrize("column", ["age", "weight"])
def test_a_combination_that_too_few_records_share_is_noticed(published: Published, name: str, column: str) -> None:
    def single_out(table: pa.Table) -> pa.Table:
        values = table[column].to_pylist()
        values[0] += 1
        return table.set_column(table.column_names.index(column), column, pa.array(values))

    published.change(name, single_out)
    [fault] = broken(published).faults
    assert fault.field == name
    assert f"at least {K} records" in fault.rule


def test_every_broken_claim_is_listed_at_once(published: Published) -> None:
    published.change("data.parquet", lambda table: table.slice(0, 3).replace_schema_metadata({}))
    assert [fault.rule[:12] for fault in broken(published).faults] == ["must have as", "must carry t", "must have at"]


@pytest.mark.parametrize("name", ["data.parquet", "data.csv"])
def test_a_data_file_that_cannot_be_read_is_noticed(published: Published, name: str) -> None:
    (published.folder / name).write_bytes(b'a,b\n1\n"' if name.endswith("csv") else b"PAR1 is not enough PAR1")
    published.measure()
    published.seal()
    assert [(fault.field, fault.rule) for fault in broken(published).faults] == [(name, "must be readable")]


@pytest.mark.parametrize(
    "change",
    [lambda table: table.drop_columns("age"), lambda table: table.append_column("name", table["age"])],
    ids=["lacks one", "has one more"],
)
def test_other_columns_than_listed_are_noticed(published: Published, change: Callable[[pa.Table], pa.Table]) -> None:
    published.change("data.parquet", change)
    [fault] = broken(published).faults
    assert (fault.field, fault.rule) == ("data.parquet", "must have the columns that the manifest lists")


def test_a_bundle_without_data_is_noticed(published: Published) -> None:
    for name in ("data.parquet", "data.csv"):
        (published.folder / name).unlink()
    (published.folder / "data.parquet").mkdir()  # a folder of this name is no data file
    (published.folder / "data.parquet" / "part.parquet").write_bytes(b"PAR1")
    published.measure()
    published.seal()
    assert "must hold data.parquet or data.csv" in str(broken(published))


def test_no_record_at_all_is_no_class_of_k_records(published: Published) -> None:
    published.manifest["records"] = 0
    published.change("data.parquet", lambda table: table.slice(0, 0))
    assert f"data.parquet refused: must have at least {K}" in str(broken(published))


def test_promised_differences_inside_groups_are_counted_in_every_file(tmp_path: Path) -> None:
    published = Published(tmp_path, "mdav_id", diversity=3)
    assert "at least 3 different values" in finding(published, "diversity").text
    for name in ("data.parquet", "data.csv"):

        def alike(table: pa.Table) -> pa.Table:
            place = table.column_names.index("income")
            same = pa.array([table.column("income")[0].as_py()] * table.num_rows, table.column("income").type)
            return table.set_column(place, table.field("income"), same)

        again = Published(_folder(tmp_path, name), "mdav_id", diversity=3)
        again.change(name, alike)
        assert f"{name} refused: must have at least 3 different values" in str(broken(again))


def _folder(above: Path, name: str) -> Path:
    folder = above / name
    folder.mkdir()
    return folder


@pytest.mark.parametrize("diversity", ["many", -1, 0, 1, True, 2.5, None, []])
def test_a_diversity_that_is_no_number_of_values_is_noticed(tmp_path: Path, diversity: object) -> None:
    published = Published(tmp_path, "mdav_id", diversity=2)
    published.manifest["guarantee"]["parameters"]["diversity"] = diversity
    published.seal()
    assert broken(published)


def test_k_anonymity_without_a_k_is_noticed(published: Published) -> None:
    del published.manifest["guarantee"]["parameters"]["k"]
    published.seal()
    assert "must state guarantee, records, columns, bytes and reviewers in format 1" in str(broken(published))


@pytest.mark.parametrize("missing", ["penstock", "guarantee", "records", "columns", "bytes"])
def test_a_manifest_that_leaves_out_a_claim_is_noticed(published: Published, missing: str) -> None:
    del published.manifest[missing]
    published.seal()
    assert "must state guarantee, records, columns, bytes and reviewers in format 1" in str(broken(published))


@pytest.mark.parametrize(
    "change",
    [
        {"penstock": 3},
        {"guarantee": []},
        {"guarantee": {"model": "k_anon"}},
        {"records": -1},
        {"records": 60.0},
        {"records": "60"},
        {"columns": {}},
        {"columns": [5]},
        {"columns": [{"name": 5, "role": "weight"}]},
        {"columns": [{"name": ["age"], "role": "weight"}]},
        {"columns": [{"name": "age"}]},
        {"bytes": []},
        {"bytes": {"data.csv": "many"}},
    ],
    ids=repr,
)
def test_a_claim_of_another_form_is_noticed(published: Published, change: dict[str, Any]) -> None:
    published.manifest.update(change)
    published.seal()
    assert "must state guarantee, records, columns, bytes and reviewers in format 1" in str(broken(published))


@pytest.mark.parametrize("k", [None, "many", [], {}, 0, -5])
def test_a_k_that_is_no_number_of_records_is_noticed(published: Published, k: object) -> None:
    published.manifest["guarantee"]["parameters"]["k"] = k
    published.seal()
    assert "must state guarantee" in str(broken(published))


@pytest.mark.parametrize("change", [{"data.csv": 5}, {"more.csv": 5}])
def test_other_sizes_than_the_files_have_are_noticed(published: Published, change: dict[str, int]) -> None:
    published.manifest["bytes"].update(change)
    published.seal()
    [fault] = broken(published).faults
    assert (fault.field, fault.rule) == ("manifest.json", "must state the sizes that the files have")


def test_a_bundle_that_is_not_as_signed_is_noticed_first(published: Published) -> None:
    with open(published.folder / "data.csv", "ab") as file:
        file.write(b"\n")
    with pytest.raises(BundleAltered, match=r"data\.csv refused: must have the listed digest; it was altered"):
        published.verify()


def test_another_key_is_noticed(published: Published, tmp_path: Path) -> None:
    other = tmp_path / "other.pub"
    other.write_bytes(signing.public_pem(Ed25519PrivateKey.generate().public_key()))
    with pytest.raises(BundleAltered, match="it names another key"):
        verify_bundle(published.folder, other)


def test_without_a_key_nothing_is_verified(published: Published, tmp_path: Path) -> None:
    with pytest.raises(KeyMissing, match="publisher's public key") as refused:
        verify_bundle(published.folder, tmp_path / "absent.pub")
    assert refused.value.kind == "integrity"


def test_what_is_no_key_is_refused(published: Published) -> None:
    published.public.write_text("not a key", encoding="utf-8")
    with pytest.raises(KeyDamaged):
        published.verify()


def test_a_folder_that_is_no_bundle_is_refused(published: Published, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BundleAltered, match=r"manifest\.json refused: must exist"):
        verify_bundle(tmp_path / "empty", published.public)
    shutil.rmtree(published.folder)
    with pytest.raises(BundleMissing):
        published.verify()


SETTINGS = Params(method="ir_swap", k=2)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        # A row whose only value is missing is an empty line.
        (Column(role="confidential", type="continuous", domain=(0, 1), missing="own_group"), [0.5, 0.25, np.nan]),
        # Nothing in the first megabyte says that the column is not one of whole numbers.
        (Column(role="confidential", type="ordinal", categories=("1", "A")), [*([0] * 300_000), 1]),
        # A category may hold whatever a line of text may not, also where the file is cut into blocks.
        (
            Column(role="confidential", type="ordinal", categories=("two\nlines", 'a "quote", and comma')),
            [*([0] * 400_000), 1],
        ),
    ],
    ids=["missing", "late text", "line break"],
)
def test_a_sound_bundle_is_not_suspected_because_of_its_csv(
    published: Published, column: Column, values: list[float]
) -> None:
    declared = {"answer": column}
    protected = protect({"answer": np.array(values)}, declared, SETTINGS, seeded(1))
    # Left in the order of the source, where the odd value comes last.
    columns = {"answer": np.array(values)}
    published.release(columns, declared, protected.guarantee)
    assert finding(published, "records").checked
