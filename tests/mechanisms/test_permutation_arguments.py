from __future__ import annotations

import numpy as np
import pytest

from penstock.mechanisms.permutation import permutation, permute_within
from penstock.mechanisms.randomness import seeded


@pytest.mark.parametrize("starts", [[], [1, 3], [0, 2], [0, 4], [0, 2, 1, 3]])
def test_runs_must_cover_the_order(starts):
    with pytest.raises(ValueError, match="starts must rise from 0 to the length of order"):
        permute_within(np.arange(3), np.array(starts, dtype=np.int64), seeded(1))


def test_more_rows_than_a_32_bit_draw_can_reach_are_refused():
    with pytest.raises(ValueError, match=r"fewer than 2\^32 rows"):
        permutation(2**32, seeded(1))
    with pytest.raises(ValueError, match=r"fewer than 2\^32 rows"):
        permute_within(np.broadcast_to(np.int64(0), 2**32), np.array([0, 2**32]), seeded(1))


def test_the_order_given_stays_as_it_is():
    order = np.arange(50)
    order.flags.writeable = False
    assert permute_within(order, np.array([0, 20, 50]), seeded(1)).tolist() != order.tolist()
