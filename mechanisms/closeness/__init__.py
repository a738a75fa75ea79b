"""exp(epsilon)-closeness by buckets, and groups of similar confidential values published as Anatomy.

    settings     what a spec says, and whether it fits the columns
    bound        t, a fraction not above e^epsilon, and how many buckets it allows
    _mechanism   `protect`: buckets, groups, and what is published of them
    _cuts        which bucket every record is in: along sorted values, by categories, or by several columns together
    _labels      what a bucket is called: an interval or a set of categories, never the value of a few records
    _allotment   how many records of each bucket every group gets, exactly within the bounds
    _nearest     what could be done instead, where a request cannot
    _informed    what is learnt with each other member's bucket that is known
    _assigned    which records of a bucket go to which group, and the tables that are published
    _promise     the promise in words and as data
    _expect      what to expect before any row is read;  _explain: what data users need to know
    _possible    what measures can come to

Others use what is exported here, `settings` and `bound`.
"""

from __future__ import annotations

from penstock.mechanisms.closeness._expect import expect
from penstock.mechanisms.closeness._explain import advice, treatments
from penstock.mechanisms.closeness._mechanism import (
    Params,
    chosen_facts,
    faults,
    promise,
    protect,
    released_columns,
)
from penstock.mechanisms.closeness._possible import possible
from penstock.mechanisms.mechanism import Mechanism, never
from penstock.mechanisms.stated import ClosenessChosen, ClosenessParameters, NothingChosen, RankedParameters

__all__ = ["MECHANISM", "Params", "chosen_facts", "faults", "promise", "protect", "released_columns"]

# Its epsilon is a bound that does not add up with others, so nothing is spent.
MECHANISM = Mechanism(
    name="closeness",
    params=Params,
    kind="groups",
    faults=faults,
    promise=promise,
    protect=protect,
    expect=expect,
    treatments=treatments,
    advice=advice,
    spends=never,
    takes_units=never,
    stated=ClosenessParameters | RankedParameters,
    possible=possible,
    released_columns=released_columns,
    chosen=chosen_facts,
    chosen_form=ClosenessChosen | NothingChosen,
)
