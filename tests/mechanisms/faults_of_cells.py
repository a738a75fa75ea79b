"""Settings of tables without dimensions, and with cells that cannot have records, each with its fault."""

from __future__ import annotations

from tests.mechanisms.table_fault_case import MANY, THIRDS, bounds, faulty

FAULTS_OF_CELLS = {
    "margins of one row": faulty(
        "dp",
        "margins",
        "must not be measured where there are no dimensions",
        "measured",
        dimensions=[],
        margins="measured",
        margin_share="1/2",
    ),
    "nothing but the public number of records": faulty(
        "dp", "sums", "the count is the number of records, which is public", dimensions=[], exact_total=True
    ),
    "nothing but the number of records of bdp": faulty(
        "bdp", "sums", "the count is the number of records, which is public", dimensions=[]
    ),
    "nothing but the number of records of idp": faulty(
        "idp", "sums", "the count is the number of records, which is public", dimensions=[]
    ),
    "a share of a public count": faulty(
        "dp",
        "shares",
        "must be one for each of x",
        "count, x",
        dimensions=[],
        sums=["x"],
        exact_total=True,
        shares=THIRDS,
    ),
    "bounds of a cell of one row": faulty(
        "dp",
        "bounds.x.0.cells",
        "must name dimensions of this table",
        "{'area': ['north']}",
        dimensions=[],
        sums=["x"],
        bounds=bounds({"area": ["north"]}, [0, 1]),
    ),
    "impossible combinations of one dimension": faulty(
        "dp", "impossible.0", "must name at least two dimensions", impossible=[{"area": "north"}]
    ),
    "impossible combinations of none": faulty(
        "dp", "impossible.0", "must name at least two dimensions", impossible=[{}]
    ),
    "impossible combinations of other columns": faulty(
        "dp",
        "impossible.0.d0",
        "must be a dimension of this table",
        impossible=[{"area": "north", "size": "small", "d0": "yes"}],
    ),
    "impossible combinations of other categories": faulty(
        "k_anon",
        "impossible.1.size",
        "must name declared categories",
        "'huge'",
        impossible=[{"area": "north", "size": "small"}, {"area": "north", "size": ["small", "huge"]}],
    ),
    "everything is impossible": faulty(
        "dp",
        "impossible",
        "must leave a cell that is possible",
        impossible=[{"area": ["north", "south"], "size": "small"}, {"area": ["north", "south"], "size": "large"}],
    ),
    "impossible combinations of bdp": faulty(
        "bdp",
        "impossible",
        "no figure says whether noise is in it",
        "bdp",
        impossible=[{"area": "north", "size": "small"}],
    ),
    "impossible combinations of idp": faulty(
        "idp",
        "impossible",
        "no figure says whether noise is in it",
        "idp",
        impossible=[{"area": "north", "size": "small"}],
    ),
    "impossible combinations beside an exact total": faulty(
        "dp",
        "impossible",
        "must not be given with exact_total",
        exact_total=True,
        impossible=[{"area": "north", "size": "small"}],
    ),
    "impossible combinations of linked tables": faulty(
        "dp",
        "impossible",
        "must not be given with tables",
        dimensions=None,
        tables={"one": ["area", "size"], "other": ["area", "d0"]},
        impossible=[{"area": "north", "size": "small"}],
    ),
    "impossible combinations that are much work": faulty(
        "dp",
        "impossible",
        "must cover at most 67,108,864 cells",
        "83,886,080",
        dimensions=[*MANY][:24],
        margins="none",
        impossible=[{"d0": "yes", "d1": ["yes", "no"]}] * 10,
    ),
}
