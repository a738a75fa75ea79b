"""Bundles of several outputs whose publisher is careless or dishonest: claims about all of them are counted again."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.records.bundle import bundle
from penstock.records.signing import signing
from penstock.tasks.verification.bundle import ClaimBroken, Finding, verify_bundle
from tests.support.several import add_records, make_several
from tests.support.workplace import Workplace, open_dp_account, predicate

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A bundle of three tables and of records, and the key that signed it."""
    from penstock.flows.release import release
    from penstock.flows.spec import load_spec

    with pytest.MonkeyPatch.context() as environment:
        workplace = Workplace(tmp_path_factory.mktemp("several"))
        environment.setenv("PENSTOCK_HOME", str(workplace.home))
        environment.delenv("PENSTOCK_DB", raising=False)
        make_several(workplace)
        add_records(workplace)
        open_dp_account(2)
        receipt = release(load_spec(workplace.write_spec()))
    return Path(receipt.path), workplace.home / "keys" / "signing.pem"


class Signed:
    """A copy of the bundle that its publisher changes and signs again."""

    def __init__(self, folder: Path, key: Path) -> None:
        self.folder, self.key = folder, key
        self.release: dict[str, Any] = copy.deepcopy(predicate(folder)["release"])

    def verify(self) -> list[Finding]:
        subject = bundle.subjects(self.folder)
        self.release["bytes"] = {file["name"]: (self.folder / file["name"]).stat().st_size for file in subject}
        bundle.seal(
            self.folder,
            subject=subject,
            release=self.release,
            approval={"required": 0, "decisions": []},
            log_head={"digest": "d"},
            key=signing.private_key(self.key),
        )
        return verify_bundle(self.folder, self.key.with_suffix(".pub"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A bundle of a table under dp and one under idp, and the key that signed it."""
    from penstock.flows.release import release
    from penstock.flows.spec import load_spec

    with pytest.MonkeyPatch.context() as environment:
        workplace = Workplace(tmp_path_factory.mktemp("mixed"))
        environment.setenv("PENSTOCK_HOME", str(workplace.home))
        environment.delenv("PENSTOCK_DB", raising=False)
        make_several(workplace)
        del workplace.raw["protect"][2]
        workplace.raw["protect"][1] |= {"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"]}
        open_dp_account(2)
        open_dp_account(2, model="idp", adjacency="from_D")
        receipt = release(load_spec(workplace.write_spec()))
    return Path(receipt.path), workplace.home / "keys" / "signing.pem"


@pytest.fixture
def signed(real: tuple[Path, Path], tmp_path: Path) -> Signed:
    folder, key = real
    shutil.copytree(folder, tmp_path / "bundle")
    return Signed(tmp_path / "bundle", key)


def test_the_bundle_verifies_before_it_is_changed(signed: Signed) -> None:
    assert {"by_region: records", "people: records", "together"} <= {found.name for found in signed.verify()}


def less(release: dict[str, Any]) -> None:
    release["together"]["guarantees"][0]["parameters"]["epsilon"] = "1/2"


def other_sentence(release: dict[str, Any]) -> None:
    release["together"]["guarantees"][0]["statement"] = "Nothing can be learnt."


def covered(release: dict[str, Any]) -> None:
    release["together"]["uncovered"] = []


def dropped(release: dict[str, Any]) -> None:
    del release["outputs"][0]


def twice(release: dict[str, Any]) -> None:
    release["outputs"].append(release["outputs"][0])


def one_file_under_two_names(release: dict[str, Any]) -> None:
    release["outputs"][1] |= {"name": "other", "layout": release["outputs"][0]["layout"]}


def cheaper(release: dict[str, Any]) -> None:
    release["outputs"][0]["guarantee"]["parameters"]["epsilon"] = "1/8"


def elsewhere(release: dict[str, Any]) -> None:
    release["outputs"][3]["folder"] = "../people"


def no_outputs(release: dict[str, Any]) -> None:
    release["outputs"] = []


def no_list(release: dict[str, Any]) -> None:
    release["outputs"] = "all"


def nobody_asked(release: dict[str, Any]) -> None:
    del release["together"]


def other_adjacency(release: dict[str, Any]) -> None:
    release["outputs"][0]["guarantee"]["adjacency"] = "add_remove"


def nameless(release: dict[str, Any]) -> None:
    del release["outputs"][0]["name"]


@pytest.mark.parametrize(
    "change",
    [
        less,
        other_sentence,
        covered,
        dropped,
        twice,
        one_file_under_two_names,
        cheaper,
        elsewhere,
        no_outputs,
        no_list,
        nobody_asked,
        other_adjacency,
        nameless,
    ],
)
def test_a_manifest_that_says_more_than_its_outputs_promise_is_refused(signed: Signed, change: Change) -> None:
    change(signed.release)
    with pytest.raises(ClaimBroken):
        signed.verify()


def test_a_promise_that_a_file_does_not_carry_is_refused(signed: Signed) -> None:
    """The whole manifest says a smaller epsilon; the file of the table says what it was."""
    signed.release["outputs"][0]["guarantee"]["parameters"]["epsilon"] = "1/8"
    for stated in (signed.release["together"]["guarantees"][0],):
        stated["parameters"]["epsilon"] = "7/8"
    with pytest.raises(ClaimBroken):
        signed.verify()


@pytest.mark.parametrize("name", ["tables/by_region", "tables/incomes", "people/data"])
def test_a_file_with_another_row_is_refused(signed: Signed, name: str) -> None:
    path = signed.folder / f"{name}.parquet"
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), path)
    with pytest.raises(ClaimBroken, match=name):
        signed.verify()


def test_records_that_are_not_as_anonymous_as_promised_are_refused(signed: Signed) -> None:
    path = signed.folder / "people" / "data.parquet"
    table = pq.read_table(path)
    ages = table["age"].to_pylist()
    ages[0] = max(ages) + 1
    changed = pa.table({"age": pa.array(ages, table.schema.field("age").type)}, schema=table.schema)
    pq.write_table(changed, path)
    with pytest.raises(ClaimBroken, match="people/data"):
        signed.verify()


def alone(release: dict[str, Any]) -> None:
    """As manifests said it before: every model by itself."""
    release["together"]["guarantees"][1] = release["outputs"][1]["guarantee"]


def unsaid(release: dict[str, Any]) -> None:
    del release["together"]["includes"]


def of_itself(release: dict[str, Any]) -> None:
    release["together"]["includes"]["idp"] = ["by_education"]


def uncountable(release: dict[str, Any]) -> None:
    for stated in (release["outputs"][0]["guarantee"], release["together"]["guarantees"][0]):
        stated["adjacency"] = "presence"


@pytest.mark.parametrize("change", [alone, unsaid, of_itself, uncountable])
def test_a_sum_that_leaves_an_output_under_dp_out_is_refused(
    mixed: tuple[Path, Path], tmp_path: Path, change: Change
) -> None:
    folder, key = mixed
    shutil.copytree(folder, tmp_path / "bundle")
    copied = Signed(tmp_path / "bundle", key)
    assert any("idp, epsilon = 1/2" in found.text for found in copied.verify() if found.name == "together")
    change(copied.release)
    with pytest.raises(ClaimBroken):
        copied.verify()
