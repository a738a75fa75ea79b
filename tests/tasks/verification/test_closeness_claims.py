"""Each claim of a bundle of groups is broken in turn and signed with the right key; and all is counted exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.closeness.bound import below_exp
from penstock.tasks.files.columns import GUARANTEE_KEY
from penstock.tasks.outputs._claims import ColumnClaim
from penstock.tasks.outputs._group_claims import GroupsClaim, LinkedClaim, _compared, _short
from penstock.tasks.verification.bundle import ClaimBroken
from tests.tasks.close_release import House, K, Signed

Change = Callable[[pa.Table], pa.Table]
FILES = ["tables/buckets.parquet", "tables/buckets.csv"]
both_files = pytest.mark.parametrize("name", FILES)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("house"))


@pytest.fixture
def signed(house: House, tmp_path: Path) -> Signed:
    return house.copy(tmp_path)


def broken(signed: Signed) -> list[tuple[str, str]]:
    with pytest.raises(ClaimBroken) as refused:
        signed.verify()
    assert refused.value.kind == "integrity"
    return [(fault.field, fault.rule) for fault in refused.value.faults]


def edited(name: str, change: Callable[[list[Any]], None]) -> Change:
    """The table with one column changed."""

    def apply(table: pa.Table) -> pa.Table:
        values = table.column(name).to_pylist()
        change(values)
        kind = table.schema.field(name).type
        kind = pa.string() if pa.types.is_dictionary(kind) else kind
        place = table.column_names.index(name)
        return table.set_column(place, name, pa.array(values, kind))

    return apply


def test_a_sound_bundle_tells_the_exact_factor(signed: Signed) -> None:
    table = pq.read_table(signed.folder / FILES[0]).to_pydict()
    sizes, totals = Counter[int](), Counter[str]()
    cells = list(zip(table["group"], table["income"], table["records"], strict=True))
    for group, bucket, records in cells:
        sizes[group] += records
        totals[bucket] += records
    all_records = sum(sizes.values())
    ratios = [Fraction(records * all_records, sizes[group] * totals[bucket]) for group, bucket, records in cells]
    largest = max(max(ratio, 1 / ratio) for ratio in ratios)
    found = {each.name: each for each in signed.verify()}
    assert found["closeness"].text == (
        f"Every group has at least {K} records, and its shares of buckets differ from the whole by a factor of at most "
        f"{_short(largest)}; promised is 2."
    )
    assert found["grouping"].checked is False
    assert found["records"].text.startswith("Every file of records has 400 of them; it and the tables beside it")


@both_files
def test_a_table_that_is_not_close_is_noticed(signed: Signed, name: str) -> None:
    def concentrate(records: list[int]) -> None:
        records[0], records[1] = records[0] + records[1] - 1, 1

    signed.change(name, edited("records", concentrate))
    assert broken(signed) == [
        (name, "must have groups whose shares of buckets differ from the whole by a factor of at most 2"),
        (name, "must have groups of which the stated factors for known members (`after_known`) are true"),
    ]


def test_a_factor_that_is_promised_a_hair_too_small_is_noticed(signed: Signed) -> None:
    told = next(each for each in signed.verify() if each.name == "closeness").text
    ratio = Fraction(told.partition("at most ")[2].partition(";")[0])
    signed.promise(t=str(ratio))
    assert next(each for each in signed.verify() if each.name == "closeness").checked  # on the bound is inside
    signed.promise(t=str(ratio - Fraction(1, 10**30)))
    rule = "must have groups whose shares of buckets differ from the whole by a factor of at most"
    assert [(name, found.startswith(rule)) for name, found in broken(signed)] == [(name, True) for name in FILES]


@both_files
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (
            edited("records", lambda records: records.__setitem__(0, records[0] + 1)),
            "must have groups of the same sizes as the records",
        ),
        (
            edited("records", lambda records: records.__setitem__(0, 0)),
            "must have groups of the same sizes as the records",
        ),
        (
            edited("records", lambda records: records.__setitem__(0, -1)),
            "must have groups of the same sizes as the records",
        ),
        (
            edited("records", lambda records: records.__setitem__(0, 2**62)),
            "must have groups of the same sizes as the records",
        ),
        (
            edited("records", lambda records: records.__setitem__(0, None)),
            "must have whole numbers as groups and numbers of records",
        ),
        (edited("group", lambda groups: groups.__setitem__(0, 10**6)), "must have the groups of the records"),
        (
            edited("group", lambda groups: groups.__setitem__(0, None)),
            "must have whole numbers as groups and numbers of records",
        ),
        (lambda table: table.slice(3), "must have the groups of the records"),
        (lambda table: table.slice(1), "must have groups of the same sizes as the records"),
        (lambda table: table.slice(0, 0), "must have the groups of the records"),
        (lambda table: table.drop_columns("records"), "must have the columns that the manifest lists"),
        (lambda table: table.drop_columns("group"), "must have the columns that the manifest lists"),
        (lambda table: table.append_column("more", table["group"]), "must have the columns that the manifest lists"),
    ],
)
def test_a_table_that_does_not_bear_out_its_manifest_is_refused(
    signed: Signed, name: str, change: Change, rule: str
) -> None:
    signed.change(name, change)
    [(field, found)] = broken(signed)
    assert field == name
    assert found.startswith(rule)


def one_label(labels: list[str]) -> None:
    labels[0] = labels[1]


def test_a_bucket_that_stands_twice_or_nowhere_in_a_group_is_noticed(signed: Signed) -> None:
    signed.change(FILES[0], edited("income", one_label))
    assert broken(signed) == [(FILES[0], "must not have a bucket of a group twice")]

    def merge(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        rows[1]["records"] += rows[0]["records"]
        return pa.Table.from_pylist(rows[1:]).replace_schema_metadata(table.schema.metadata)

    signed.change(FILES[0], lambda table: merge(edited("income", lambda labels: labels.__setitem__(0, "x"))(table)))
    assert "must have every bucket in every group" in [rule for _, rule in broken(signed)]


def test_a_row_without_a_bucket_is_noticed(signed: Signed) -> None:
    signed.change(FILES[0], edited("income", lambda labels: labels.__setitem__(0, None)))
    assert broken(signed) == [(FILES[0], "must have a bucket in every row")]


def test_a_bucket_that_is_no_text_is_noticed(signed: Signed) -> None:
    def nest(table: pa.Table) -> pa.Table:
        return table.set_column(1, "income", pa.array([[1]] * table.num_rows))

    signed.change(FILES[0], nest)
    assert broken(signed) == [(FILES[0], "must have a bucket in every row")]


def test_a_number_that_is_none_is_noticed_in_csv(signed: Signed) -> None:
    path = signed.folder / FILES[1]
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1].rpartition(",")[0] + ",many"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    signed.seal()
    assert broken(signed) == [(FILES[1], "must have whole numbers as groups and numbers of records")]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_record_in_another_group_than_the_table_counts_is_noticed(signed: Signed, suffix: str) -> None:
    def move(groups: list[int]) -> None:
        groups[0] = groups[0] % max(groups) + 1

    signed.change(f"data{suffix}", edited("group", move))
    assert broken(signed) == [(f"tables/buckets{suffix}", "must have groups of the same sizes as the records")]


def test_groups_that_are_smaller_than_promised_are_noticed(signed: Signed) -> None:
    signed.promise(k=12)
    assert broken(signed) == [(name, "must not have a group of fewer than 12 records") for name in FILES]


def test_a_table_without_the_guarantee_is_noticed(signed: Signed) -> None:
    signed.change(FILES[0], lambda table: table.replace_schema_metadata({GUARANTEE_KEY: b"{}"}))
    assert broken(signed) == [(FILES[0], "must carry the guarantee of the manifest")]


@both_files
def test_a_table_that_cannot_be_read_is_noticed(signed: Signed, name: str) -> None:
    (signed.folder / name).write_bytes(b'a,b\n1\n"' if name.endswith("csv") else b"PAR1 is not enough PAR1")
    signed.seal()
    assert broken(signed) == [(name, "must be readable")]


@both_files
def test_a_table_that_is_missing_in_one_format_is_noticed(signed: Signed, name: str) -> None:
    (signed.folder / name).unlink()
    signed.seal()
    assert broken(signed) == [("tables/buckets", "must exist in the same formats as the records")]


def test_a_table_that_is_missing_is_noticed(signed: Signed) -> None:
    for name in FILES:
        (signed.folder / name).unlink()
    (signed.folder / "tables").rmdir()
    signed.seal()
    assert broken(signed)[0] == ("bundle", "must hold tables/buckets.parquet or tables/buckets.csv")


@pytest.mark.parametrize(
    "change",
    [lambda table: table.drop_columns("group"), lambda table: table.append_column("group", table["group"])],
    ids=["none", "two"],
)
def test_records_without_their_key_or_with_two_are_noticed_once(signed: Signed, change: Change) -> None:
    signed.change("data.csv", change)
    assert broken(signed) == [("data.csv", "must have the columns that the manifest lists")]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_values_by_group_are_counted(house: House, tmp_path: Path, suffix: str) -> None:
    signed = house.copy(tmp_path, "ranked")
    name = f"tables/values{suffix}"
    signed.change(name, lambda table: table.slice(1))
    assert broken(signed) == [(name, "must have groups of the same sizes as the records")]


def test_every_table_of_several_is_counted(house: House, tmp_path: Path) -> None:
    signed = house.copy(tmp_path, "each")
    for name in ("buckets_1", "buckets_2"):
        signed.change(f"tables/{name}.csv", edited("records", lambda records: records.__setitem__(0, records[0] + 1)))
    assert [field for field, _ in broken(signed)] == ["tables/buckets_1.csv", "tables/buckets_2.csv"]


UNSTATED = ("manifest.json", "must state guarantee, records, columns, bytes and reviewers in format 1")


def rename(release: dict[str, Any], name: str) -> None:
    release["linked"][0]["name"] = name


def as_confidential(release: dict[str, Any]) -> None:
    release["columns"][0]["role"] = "confidential"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda release: release.pop("linked"),
        lambda release: release.update(linked=[]),
        lambda release: release.update(linked={}),
        lambda release: release["linked"].append(release["linked"][0]),
        lambda release: release["linked"][0].pop("key"),
        lambda release: release["linked"][0].update(key="age"),
        lambda release: release["linked"][0].update(columns=[]),
        lambda release: release["linked"][0]["columns"].pop(0),
        lambda release: release["linked"][0]["columns"].pop(1),
        lambda release: release["linked"][0]["columns"].pop(2),
        lambda release: release["linked"][0]["columns"].insert(1, {"name": "age", "role": "quasi_identifier"}),
        lambda release: release["linked"][0]["columns"].insert(1, release["linked"][0]["columns"][1]),
        lambda release: rename(release, "../data"),
        lambda release: rename(release, ""),
        lambda release: release["columns"][-1].update(role="quasi_identifier"),
        as_confidential,
        lambda release: release.update(settled={"parts": [{"k": 2, "columns": {"age": {}}}]}),
        lambda release: release["guarantee"].update(model="prob_k"),
        lambda release: release["guarantee"].update(model="dp"),
        lambda release: release["guarantee"]["parameters"].pop("t"),
        lambda release: release["guarantee"]["parameters"].pop("k"),
        lambda release: release["guarantee"]["parameters"].pop("output"),
        lambda release: release["guarantee"]["parameters"].update(method="ranked"),
        lambda release: release["guarantee"]["parameters"].update(output="permuted"),
        lambda release: release["guarantee"]["parameters"].update(mechanism="probabilistic_k_anonymity"),
        lambda release: release["guarantee"]["parameters"].update(k="10"),
        lambda release: release["guarantee"]["parameters"].update(k=1),
        lambda release: release["guarantee"]["parameters"].update(t=2),
        lambda release: release["guarantee"]["parameters"].update(t="2.0"),
        lambda release: release["guarantee"]["parameters"].update(t="1/0"),
        lambda release: release["guarantee"]["parameters"].update(t="1/2"),
        lambda release: release["guarantee"]["parameters"].update(t="-2"),
        lambda release: release["guarantee"]["parameters"].update(epsilon="much"),
        lambda release: release["guarantee"]["parameters"].update(epsilon="69/100"),  # e^0.69 = 1.9937
    ],
)
def test_claims_that_do_not_fit_each_other_are_noticed(signed: Signed, spoil: Callable[[dict[str, Any]], Any]) -> None:
    spoil(signed.release)
    signed.carry()
    assert broken(signed) == [UNSTATED]


@pytest.mark.parametrize("form", ["permuted", "ranked"])
def test_a_factor_that_cannot_be_is_noticed_in_every_form(house: House, tmp_path: Path, form: str) -> None:
    signed = house.copy(tmp_path, form)
    signed.promise(t="1/2")
    assert broken(signed) == [UNSTATED]


def test_tables_beside_records_of_another_mechanism_are_noticed(signed: Signed) -> None:
    signed.promise(mechanism=None)
    assert broken(signed) == [UNSTATED]


def claim(epsilon: Fraction | None, t: Fraction) -> GroupsClaim:
    stated = None if epsilon is None else str(epsilon)
    return GroupsClaim(method="buckets", output="anatomy", k=2, t=str(t), epsilon=stated)


@given(st.fractions(0, 5, max_denominator=10**6), st.integers(-3, 3), st.integers(1, 40))
def test_a_factor_is_compared_with_the_exponential_exactly(epsilon: Fraction, steps: int, digits: int) -> None:
    """Against the decimal library with 120 digits, next to e^epsilon and far from it."""
    with localcontext() as context:
        context.prec = 120
        exponential = Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
    unit = Fraction(1, 10**digits)
    t = exponential // unit * unit + steps * unit
    expected = t >= 1 and (t <= exponential if epsilon else t <= 1)
    assert claim(epsilon, t).is_sound is expected


@pytest.mark.parametrize("epsilon", ["1/100", "1/2", "1", "7/2", "23/5"])
def test_the_factor_of_a_release_is_sound_and_a_hair_more_is_not(epsilon: str) -> None:
    t = below_exp(Fraction(epsilon))
    assert claim(Fraction(epsilon), t).is_sound
    assert not claim(Fraction(epsilon), t + Fraction(1, 10**12)).is_sound
    assert claim(None, t + 1).is_sound


def test_an_exponential_beyond_all_factors_is_found_at_once() -> None:
    assert claim(Fraction(10**60), Fraction(10**60)).is_sound
    assert not claim(Fraction(1, 10**60), Fraction(10**60)).is_sound


CELLS = st.lists(st.lists(st.integers(1, 6), min_size=3, max_size=3), min_size=1, max_size=4)


@given(CELLS, st.fractions(1, 4, max_denominator=20), st.integers(2, 12), st.booleans())
def test_closeness_is_counted_as_by_definition(cells: list[list[int]], t: Fraction, k: int, as_text: bool) -> None:
    rows = [(group, bucket, count) for group, line in enumerate(cells, 1) for bucket, count in enumerate(line)]
    keys = [group for group, _, count in rows for _ in range(count)]
    kind = pa.string() if as_text else pa.int64()
    data = pa.table({"group": pa.array(keys).cast(kind)})
    table = pa.table(
        {
            "group": pa.array([group for group, _, _ in rows]).cast(kind),
            # Two columns tell three buckets together, though neither does alone.
            "one": pa.array(["a" if bucket < 2 else "b" for _, bucket, _ in rows]),
            "two": pa.array(["a" if bucket % 2 else "b" for _, bucket, _ in rows]),
            "records": pa.array([count for _, _, count in rows]).cast(kind),
        }
    )
    columns = [ColumnClaim(name=name, role="link") for name in table.column_names]
    ratio, faults = _compared(
        data, table, LinkedClaim(name="b", key="group", columns=columns), claim(None, t).model_copy(update={"k": k})
    )
    sizes, totals = [sum(line) for line in cells], [sum(column) for column in zip(*cells, strict=True)]
    expected = max(
        max(q, 1 / q)
        for group, bucket, count in rows
        for q in [Fraction(count, sizes[group - 1]) / Fraction(totals[bucket], len(keys))]
    )
    assert ratio == expected
    assert bool(faults) == (expected > t or min(sizes) < k)


def test_a_long_fraction_is_told_shortly_and_never_too_small() -> None:
    assert _short(Fraction(3, 2)) == "3/2"
    assert _short(Fraction(2)) == "2"
    assert _short(Fraction(10**12 + 1, 10**12)) == "1.0001"
    assert _short(Fraction(16487212707, 10**10)) == "1.6488"
