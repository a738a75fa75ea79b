"""Whether 32 bytes are a public key that only its owner can sign for (Ed25519, RFC 8032, 5.1.3).

    -x^2 + y^2 = 1 + d x^2 y^2   over the integers modulo p = 2^255 - 19                         (1)
    key: y in 255 bits, little-endian, then the lowest bit of x; canonical if y < p and 0 has no sign    (2)
    sound: on the curve, canonical, and 8 A is not the neutral point (0, 1)                       (3)

Under a key A of order 1, 2, 4 or 8 the equation that every verifier checks, S B = R + h A, holds for R among eight
points and S = 0: whoever hands in such a key signs anything with it, and one signature can serve many contents.
The libraries load such keys without complaint.
"""

from __future__ import annotations

__all__ = ["is_sound_key"]

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE = pow(2, (_P - 1) // 4, _P)
_BYTES = 32
_COFACTOR_DOUBLINGS = 3


def is_sound_key(raw: bytes) -> bool:
    """Return whether (3) holds."""
    point = _decoded(raw)
    if point is None:
        return False
    for _ in range(_COFACTOR_DOUBLINGS):
        point = _doubled(*point)
    return point != (0, 1)


def _decoded(raw: bytes) -> tuple[int, int] | None:
    """Return the point of (2); None if the bytes are not the canonical form of one."""
    if len(raw) != _BYTES:
        return None
    number = int.from_bytes(raw, "little")
    y, odd = number & (1 << 255) - 1, number >> 255
    if y >= _P:
        return None
    above, below = (y * y - 1) % _P, (_D * y * y + 1) % _P
    square = above * pow(below, -1, _P) % _P  # x^2 by (1); d is no square, so `below` is not 0
    x = pow(square, (_P + 3) // 8, _P)
    if x * x % _P != square:
        x = x * _ROOT_OF_MINUS_ONE % _P
    if x * x % _P != square or (x == 0 and odd):
        return None
    return (x if x & 1 == odd else _P - x), y


def _doubled(x: int, y: int) -> tuple[int, int]:
    product = _D * x * x * y * y
    return (
        2 * x * y * pow(1 + product, -1, _P) % _P,
        (y * y + x * x) * pow(1 - product, -1, _P) % _P,
    )
