"""Statistics whose publisher states shares, groups or epsilons that do not fit together, in manifest and file alike."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.tasks.files.columns import GUARANTEE_KEY
from penstock.tasks.verification.bundle import ClaimBroken
from tests.support.workplace import Workplace, make_table, open_dp_account
from tests.tasks.verification.test_several_claims import Signed

Change = Callable[[dict[str, Any]], object]
MEAN, SUM = {"statistic": "mean", "of": "income"}, {"statistic": "sum", "of": "income"}
FORMS: dict[str, dict[str, Any]] = {
    "dp": {"adjacency": "replace", "groups": ["region"], "figures": [{"statistic": "count"}, SUM]},
    "alone": {"adjacency": "add_remove", "noise": "laplace", "figures": [{"statistic": "count"}, SUM], "model": "dp"},
    "idp": {"adjacency": "from_D_within_cell", "groups": ["region"], "figures": [MEAN], "group_epsilons": ["1", "2"]},
    "bdp": {"adjacency": "bootstrap_replace", "only": {"region": "East"}, "figures": [{"statistic": "count"}]},
}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """A bundle of each form, and the key that signed it."""
    made = {}
    for form, settings in FORMS.items():
        model = settings.get("model", form)
        with pytest.MonkeyPatch.context() as environment:
            workplace = Workplace(tmp_path_factory.mktemp(form))
            environment.setenv("PENSTOCK_HOME", str(workplace.home))
            environment.delenv("PENSTOCK_DB", raising=False)
            make_table(workplace)
            relaxed = {} if model == "dp" else {"acknowledges": [model]}
            chosen = {"mechanism": "statistics", "table": "incomes", "model": model, "epsilon": "1"}
            workplace.raw["protect"] = [{**chosen, **relaxed, **settings}]
            open_dp_account(2, model=model, adjacency=settings["adjacency"])
            receipt = release(load_spec(workplace.write_spec()))
        made[form] = Path(receipt.path), workplace.home / "keys" / "signing.pem"
    return made


def changed(bundle: tuple[Path, Path], folder: Path, change: Change) -> Signed:
    """Return a copy with a changed manifest, and files that carry the changed promise."""
    shutil.copytree(bundle[0], folder)
    signed = Signed(folder, bundle[1])
    change(signed.release)
    path = folder / "tables" / "incomes.parquet"
    table, promise = pq.read_table(path), json.dumps(signed.release["guarantee"])
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, GUARANTEE_KEY: promise}), path)
    return signed


def parameter(name: str, value: object) -> Change:
    return lambda release: release["guarantee"]["parameters"].update({name: value})


def promised(name: str, value: object) -> Change:
    return lambda release: release["guarantee"].update({name: value})


def share(number: str) -> Change:
    """Change one figure in promise and facts."""

    def change(release: dict[str, Any]) -> None:
        first = release["settled"]["measured"][0]
        first["epsilon"] = release["guarantee"]["parameters"]["epsilon_by_figure"][first["figure"]] = number

    return change


@pytest.mark.parametrize("form", FORMS)
def test_statistics_verify_before_they_are_changed(
    bundles: dict[str, tuple[Path, Path]], form: str, tmp_path: Path
) -> None:
    changed(bundles[form], tmp_path / "bundle", lambda release: None).verify()


@pytest.mark.parametrize(
    ("form", "change"),
    [
        *((form, parameter("epsilon", "1/2")) for form in FORMS),
        *((form, promised("unit", "individual")) for form in FORMS),
        *((form, share("-1")) for form in FORMS),
        *((form, lambda release: release.pop("settled")) for form in FORMS),
        *((form, lambda release: release["guarantee"]["parameters"]["figures"].pop()) for form in FORMS),
        ("alone", share("1/100")),
        ("alone", share("1")),
        ("dp", lambda release: release["settled"]["together"][0].update(epsilon="1/4")),
        ("dp", lambda release: release["settled"].update(epsilon="1/2")),
        ("dp", promised("adjacency", "add_remove")),
        ("dp", promised("adjacency", "from_D")),
        ("dp", promised("model", "idp")),
        ("dp", parameter("groups", [])),
        ("dp", parameter("group_epsilons", ["1", "2"])),
        ("dp", parameter("only", {"region": "East"})),
        ("idp", promised("adjacency", "from_D")),
        ("idp", promised("adjacency", "from_D_add_remove")),
        *(("idp", parameter("group_epsilons", each)) for each in (["1", "3/2"], ["2", "4"], ["1"], [], ["1", "x"], 1)),
        ("bdp", promised("adjacency", "bootstrap_within_cell")),
        ("bdp", parameter("only", {"region": "West"})),
        ("bdp", lambda release: release["guarantee"]["parameters"].pop("only")),
    ],
)
def test_statistics_that_state_what_does_not_fit_together_are_refused(
    bundles: dict[str, tuple[Path, Path]], form: str, change: Change, tmp_path: Path
) -> None:
    with pytest.raises(ClaimBroken):
        changed(bundles[form], tmp_path / "bundle", change).verify()
