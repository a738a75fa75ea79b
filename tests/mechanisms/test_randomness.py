"""Where chance comes from: uniform words, independent streams, and no seed in a release.

Distribution tests fail for a correct generator with probability 1e-9 at most; each has a twin that must fail.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from penstock.mechanisms.randomness import Randomness, require_system, seeded, system
from penstock.mechanisms.refusal import SeedRefused

FALSE_ALARM = 1e-9
WORDS = 1 << 16


def assert_uniform_bits(words: np.ndarray) -> None:
    """Each of the 64 bits is set in half of the words, and each of the 8 bytes takes its 256 values equally.

    72 tests, each at FALSE_ALARM / 72: 64 on one bit with chi-square of 1 degree, 8 on one byte with 255.
    """
    level = FALSE_ALARM / 72
    half = len(words) / 2
    bits = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    set_bits = bits.sum(axis=0, dtype=np.int64)
    assert (2 * (set_bits - half) ** 2 / half).max() < chi2.isf(level, 1)
    for byte in words.view(np.uint8).reshape(-1, 8).T:
        expected = len(words) / 256
        counts = np.bincount(byte, minlength=256)
        assert ((counts - expected) ** 2).sum() / expected < chi2.isf(level, 255)


def assert_independent(one: np.ndarray, other: np.ndarray) -> None:
    """The words of two streams agree in half of their bits, place by place: their exclusive or is uniform."""
    assert_uniform_bits(one ^ other)


@pytest.mark.parametrize("source", [system(), seeded(7)], ids=["system", "seeded"])
def test_words_are_uniform_bits(source: Randomness) -> None:
    words = source.words(WORDS)
    assert words.dtype == np.uint64
    assert words.shape == (WORDS,)
    assert_uniform_bits(words)


def test_the_uniformity_test_notices_a_bit_that_is_set_in_52_of_100_words() -> None:
    words = seeded(1).words(WORDS).copy()
    words[: WORDS // 25] |= np.uint64(1 << 40)
    with pytest.raises(AssertionError):
        assert_uniform_bits(words)


def test_the_uniformity_test_notices_a_value_of_a_byte_that_never_occurs() -> None:
    words = seeded(1).words(WORDS).copy()
    words[(words >> np.uint64(56)) == 255] ^= np.uint64(0x5A << 56)
    with pytest.raises(AssertionError):
        assert_uniform_bits(words)


@pytest.mark.parametrize("source", [system(), seeded(7)], ids=["system", "seeded"])
def test_streams_are_independent_of_each_other_and_of_their_source(source: Randomness) -> None:
    drawn = [stream.words(WORDS) for stream in (source, *source.streams(2))]
    for words in drawn:
        assert_uniform_bits(words)
    assert_independent(drawn[0], drawn[1])
    assert_independent(drawn[1], drawn[2])
    assert_independent(drawn[0], drawn[2])


def test_the_independence_test_notices_streams_that_are_the_same_word_in_64() -> None:
    one, other = seeded(1).words(WORDS), seeded(2).words(WORDS).copy()
    other[::32] = one[::32]
    with pytest.raises(AssertionError):
        assert_independent(one, other)


@given(st.integers(0, 2**128), st.integers(0, 64), st.integers(0, 5))
def test_a_seed_gives_the_same_words_and_streams_again(seed: int, count: int, streams: int) -> None:
    one, again = seeded(seed), seeded(seed)
    assert one.words(count).tolist() == again.words(count).tolist()
    pairs = zip(one.streams(streams), again.streams(streams), strict=True)
    assert all(left.words(count).tolist() == right.words(count).tolist() for left, right in pairs)


@given(st.integers(0, 2**32), st.lists(st.integers(0, 40), max_size=4))
def test_words_are_the_same_however_they_are_asked_for(seed: int, parts: list[int]) -> None:
    source = seeded(seed)
    together = [word for part in parts for word in source.words(part).tolist()]
    assert together == seeded(seed).words(sum(parts)).tolist()


def test_streams_of_a_seed_do_not_depend_on_what_was_drawn_before_or_on_who_draws_first() -> None:
    fresh, used = seeded(5), seeded(5)
    used.words(1000)
    forth = [stream.words(4).tolist() for stream in fresh.streams(3)]
    back = [stream.words(4).tolist() for stream in reversed(used.streams(3))]
    assert forth == back[::-1]
    assert len({tuple(words) for words in forth}) == 3


def test_a_second_set_of_streams_is_another_one() -> None:
    source = seeded(5)
    first, second = (source.streams(1)[0].words(8).tolist() for _ in range(2))
    assert first != second


def test_the_system_never_gives_the_same_words_again() -> None:
    # Two equal draws of eight words have probability 2^-512.
    assert system().words(8).tolist() != system().words(8).tolist()
    one, other = system().streams(2)
    assert one.words(8).tolist() != other.words(8).tolist()


def test_no_word_is_an_answer_too() -> None:
    assert system().words(0).size == seeded(1).words(0).size == 0


def test_a_release_refuses_a_seed_and_every_stream_of_it() -> None:
    for source in (seeded(1), *seeded(1).streams(2)):
        with pytest.raises(SeedRefused, match="must come from the operating system for a release") as refused:
            require_system(source)
        assert refused.value.kind == "spec"


@pytest.mark.parametrize("seed", [None, -1, True, 1.5, "1"])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(SeedRefused) as refused:
        seeded(seed)
    assert refused.value.faults[0].field == "seed"


def test_a_release_accepts_the_system_and_its_streams() -> None:
    for source in (system(), *system().streams(2)):
        require_system(source)
