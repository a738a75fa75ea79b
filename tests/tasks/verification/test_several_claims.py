"""Bundles of several outputs whose publisher is careless or dishonest: claims about all of them are counted again."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.composition import uncovered
from penstock.mechanisms.guarantee import Guarantee, side_by_side
from penstock.records.bundle import bundle
from penstock.records.signing import signing
from penstock.tasks.files.columns import GUARANTEE_KEY
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


def stated(signed: Signed, epsilon: object) -> None:
    """Let the manifest and the file of an output say the same epsilon."""
    promise = signed.release["outputs"][0]["guarantee"]
    promise["parameters"]["epsilon"] = epsilon
    path = signed.folder / "tables" / "by_region.parquet"
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, GUARANTEE_KEY: json.dumps(promise)}), path)


@pytest.mark.parametrize(
    "epsilon", ["1/0", "0", "-1/4", "nan", "", "1_0/4", " 1/4", "\u0661/\u0664", "1" * 401, None, [], {}, True, 0.25]
)
def test_an_epsilon_that_is_no_number_above_zero_is_refused(signed: Signed, epsilon: object) -> None:
    """Some of them ended in a traceback; a negative one made the sum smaller, which was then called checked."""
    stated(signed, epsilon)
    with suppress(ArithmeticError, TypeError, ValueError):  # of some there is no sum
        resum(signed.release)
    with pytest.raises(ClaimBroken):
        signed.verify()


@pytest.mark.parametrize("epsilon", ["1e99999999", "1e-99999999"])
def test_an_epsilon_that_nobody_could_write_down_is_not_computed(signed: Signed, epsilon: str) -> None:
    """Verification did not end."""
    stated(signed, epsilon)
    with pytest.raises(ClaimBroken):
        signed.verify()


def test_a_sum_that_is_too_long_to_be_written_is_refused(signed: Signed) -> None:
    """Two numbers of 400 digits have a sum of 800; with enough of them Python refuses to write it."""
    first = signed.release["outputs"][0]
    for place in range(20):
        layout = {**first["layout"], "table": f"more_{place}"}
        promise = copy.deepcopy(first["guarantee"])
        promise["parameters"]["epsilon"] = f"1/{10**399 + 2 * place + 1}"
        signed.release["outputs"].append({**first, "name": f"more_{place}", "layout": layout, "guarantee": promise})
    with pytest.raises(ClaimBroken):
        signed.verify()


def resum(release: dict[str, Any]) -> None:
    """State the sums that belong to the outputs."""
    promises = {each["name"]: Guarantee.model_validate(each["guarantee"]) for each in release["outputs"]}
    release["together"] = {
        "guarantees": [each.model_dump(mode="json") for each in side_by_side(list(promises.values()))],
        "uncovered": list(uncovered({name: each.model for name, each in promises.items()})),
    }


@pytest.mark.parametrize("place", [0, 3])
def test_an_output_that_only_the_manifest_left_out_is_found_by_its_files(signed: Signed, place: int) -> None:
    """The sum of the others was stated and called checked, beside files that it does not include."""
    gone = signed.release["outputs"].pop(place)
    resum(signed.release)
    with pytest.raises(ClaimBroken) as refused:
        signed.verify()
    stem = gone.get("folder") or f"tables/{gone['name']}"
    assert {fault.rule for fault in refused.value.faults} == {"must be of an output that the manifest states"}
    assert any(fault.field.startswith(stem) for fault in refused.value.faults)
    for found in [*signed.folder.rglob(f"{gone['name']}*")]:  # without its files nothing is wrong
        shutil.rmtree(found) if found.is_dir() else found.unlink()
    assert signed.verify()


@pytest.mark.parametrize(
    "name",
    ["raw.parquet", "people/more.csv", "people/data.csv.bak", "tables/by_region.parquet.csv", "metadata/raw.csv"],
)
def test_a_listed_file_of_no_output_is_refused(signed: Signed, name: str) -> None:
    (signed.folder / name).write_text("name,income\nAda,1\n")
    with pytest.raises(ClaimBroken) as refused:
        signed.verify()
    assert [fault.field for fault in refused.value.faults] == [name]


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
