"""The one table of Poseidon2 constants of the package: widths 16, 24 and 32 over BabyBear.

Round constants are canonical (not Montgomery) words. They come from the Grain LFSR with field type 1, S-box type 0
(x^7), n = 31 bits, t = width, R_F = 8 and R_P = 13, 21 or 30, drawn in the order external initial, internal, external
final; the tests derive all of them again. Source: p3-baby-bear 0.8.0 (`poseidon2.rs`), p3-poseidon2 0.8.0
(`generate_constants.py`), https://eprint.iacr.org/2023/323.
"""

import hashlib

from .constants import P

__all__ = [
    "HALF_FULL_ROUNDS",
    "PARTIAL_ROUNDS",
    "WIDTHS",
    "diagonal",
    "diagonal_terms",
    "external_final",
    "external_initial",
    "internal",
    "tables_digest",
]

WIDTHS = (16, 24, 32)

HALF_FULL_ROUNDS = 4
"""Full rounds before the partial rounds, and as many after them."""

PARTIAL_ROUNDS = {16: 13, 24: 21, 32: 30}
"""Partial rounds by width."""

# Width -> external initial (4 rows of `width` words), internal, external final (4 rows), as 8-digit hex words.
_ROUND_CONSTANTS_HEX = {
    16: (
        """
        69cbb6af 46ad93f9 60a00f4e 6b1297cd 23189afe 732e7bef 72c246de 2c941900 0557eede 1580496f 3a3ea77b 54f3f271
        0f49b029 47872fe1 221e2e36 1ab7202e 487779a6 3851c9d8 38dc17c0 209f8849 268dcee8 350c48da 5b9ad32e 0523272b
        3f89055b 01e894b2 13ddedde 1b2ef334 7507d8b4 6ceeb94e 52eb6ba2 50642905 05453f3f 06349efc 6922787c 04bfff9c
        768c714a 3e9ff21a 15737c9c 2229c807 0d47f88c 097e0ecc 27eadba0 2d7d29e4 3502aaa0 0f475fd7 29fbda49 018afffd
        0315b618 6d4497d1 1b171d9e 52861abd 2e5d0501 3ec8646c 6e5f250a 148ae8e6 17f5fa4a 3e66d284 0051aa3b 483f7913
        2cfe5f15 023427ca 2cc78315 1e36ea47
        """,
        """
        5a8053c0 693be639 3858867d 19334f6b 128f0fd8 4e2b1ccb 61210ce0 3c318939 0b5b2f22 2edb11d5 213effdf 0cac4606
        241af16d
        """,
        """
        7290a80d 6f7e5329 598ec8a8 76a859a0 6559e868 657b83af 13271d3f 1f876063 0aeeae37 706e9ca6 46400cee 72a05c26
        2c589c9e 20bd37a7 6a2d3d10 20523767 5b8fe9c4 2aa501d6 1e01ac3e 1448bc54 5ce5ad1c 4918a14d 2c46a83f 4fcf6876
        61d8d5c8 6ddf4ff9 11fda4d3 02933a8f 170eaf81 5a9c314f 49a12590 35ec52a1 58eb1611 5e481e65 367125c9 0eba33ba
        1fc28ded 066399ad 0cbec0ea 75fd1af0 50f5bf4e 643d5f41 6f4fe718 5b3cbbde 1e3afb3e 296fb027 45e1547b 4a8db2ab
        59986d19 30bcdfa3 1db63932 1d7c2824 53b33681 0673b747 038a98a3 2c5bce60 351979cd 5008fb73 547bca78 711af481
        3f93bf64 644d987b 3c8bcd87 608758b8
        """,
    ),
    24: (
        """
        0fa20c37 0795bb97 12c60b9c 0eabd88e 096485ca 07093527 1b1d4e50 30a01ace 3bd86f5a 69af7c28 3f94775f 731560e8
        465a0ecd 574ef807 62fd4870 52ccfe44 14772b14 4dedf371 260acd7c 1f51dc58 75125532 686a4d7b 54bac179 31947706
        29799d3b 6e01ae90 203a7a64 4f7e25be 72503f77 45bd3b69 769bd6b4 5a867f08 4fdba082 251c4318 28f06201 6788c43a
        4c6d6a99 357784a8 2abaf051 770f7de6 1794b784 4796c57a 724b7a10 449989a7 64935cf1 59e14aac 0e620bb8 3af5a33b
        4465cc0e 019df68f 4af8d068 08784f82 0cefdeae 6337a467 32fa7a16 486f62d6 386a7480 20f17c4a 54e50da8 2012cf03
        5fe52950 09afb6cd 2523044e 5c54d0ef 71c01f3c 60b2c4fb 4050b379 5e6a70a5 418543f5 71debe56 1aad2994 3368a483
        07a86f3a 5ea43ff1 2443780e 4ce444f7 146f9882 3132b089 197ea856 667030c3 2317d5dc 0c2c48a7 56b2df66 67bd81e9
        4fcdfb19 4baaef32 0328d30a 6235760d 12432912 0a49e258 030e1b70 48caeb03 49e4d9e9 1051b5c6 6a36dbbe 4cff27a5
        """,
        """
        1da78ec2 730b0924 3eb56cf3 5bd93073 37204c97 51642d89 66e943e8 1a3e72de 70beb1e9 30ff3b3f 4240d1c4 12647b8d
        65d86965 49ef4d7c 47785697 46b3969f 5c7b7a0e 7078fc60 4f22d482 482a9aee 6beb839d
        """,
        """
        032959ad 2b18af6a 55d3dc8c 43bd26c8 0c41595f 7048d2e2 00db8983 2af563d7 6e84758f 611d64e1 1f9977e2 64163a0a
        5c5fc27b 02e22561 3a2d75db 1ba7b71a 34343f64 7406b35d 19df8299 6ff4480a 514a81c8 57ab52ce 6ad69f52 3e0c0e0d
        48126114 2a9d62cc 17441f23 485762bb 2f218674 06fdc64a 0861b7f2 3b36eee6 70a11040 04b31737 3722a872 2a351c63
        623560dc 62584ab2 382c7c04 3bf9edc7 0e38fe51 376f3b10 5381e178 3afc61c7 5c1bcb4d 6643ce1f 2d0af1c1 08f583cc
        5d6ff60f 6324c1e5 74412fb7 70c0192e 0b72f141 4067a111 57388c4f 351009ec 0974c159 539a58b3 038c0cff 476c0392
        3f7bc15f 4491dd2c 4d1fef55 04936ae3 58214dd4 683c6aad 1b42f16b 6dc79135 2d4e71ec 3e2946ea 59dce8db 6cee892a
        47f07350 7106ce93 3bd4a7a9 2bfe636a 430011e9 001cd66a 307faf5b 0d9ef3fe 6d40043a 2e8f470c 1b6865e8 0c0e6c01
        4d41981f 423b9d3d 410408cc 263f0884 5311bbd0 4dae58d8 30401cea 09afa575 4b3d5b42 63ac0b37 5fe5bb14 5244e9d4
        """,
    ),
    32: (
        """
        6710e381 01ab3dad 49bdc51f 41c98c65 23885d8a 24ea7d7c 6b65fc6d 6106615a 084957f3 157c3634 4dada10f 6cdfa46d
        1bf208be 5bd22fac 4c8bcbdf 27f79490 70495412 2a41844e 51bb69f1 3215dc21 67114819 27aa6a09 5f4d3cad 5fd6c724
        1b4c108d 5799d04d 568c212f 680821db 62073729 229ee780 3b4f94c3 17a3ac54 6c388279 4876fe55 3170f20a 33703e4e
        03980ab1 012fb0fa 145ee8db 49815b30 46ad879c 52bc503d 586530d7 5c36f9e5 028e6503 08310368 75546646 732516f1
        33483e5a 04a0842c 1a3135d9 537b2eb1 5baf4f77 4b78cd6d 5aed2c4a 66c893e1 3c5493a6 46c62bfc 564e591a 52ded7a7
        00d1032d 2b30d801 101dabf7 2efb21cd 4a361c39 49eff572 2e13caf4 016e6799 1b5cdb44 17ca2dc6 0e500ee0 0141ca9b
        279b2376 6647c40b 0dcaee3c 16e7fcf9 59e6d65c 1eb730c9 28607848 45727f9c 4e543ffb 03ee2550 010cd54b 02dc4b76
        2b3a9a3c 2eabb2d9 06928553 2d23b3f5 6da322b1 1527ec07 0e450b7a 53961612 20f16b10 16f00c60 4c39d50f 41d59d76
        5253f822 3b53d381 1b7f470a 5e3d895c 52658125 012190d3 65563b80 1d0faa47 3575b3c9 4c0d9d20 18cff09f 64a7da5c
        2f140b25 139f9e31 66e36bd5 6442c811 58879bce 5fcc87c6 6807ae0c 4111c657 633c8929 74962971 3fc18eb8 456cf288
        31f6c8d2 6c3a31a8 6d82df50 3d432793 4195a297 6bce9b95 3c822af0 7629e5b3
        """,
        """
        3dddd04e 5a3d0558 763e6c75 676f1d88 77b82255 25df8a51 697c3b10 03cf6edf 12b54f78 6633d534 426fbcb7 554665dc
        5689bdb2 12e747de 60c28745 11ca4ba5 3f0f9583 56c7d993 20f6875f 69e597c8 3c911573 29c7f702 1a58e115 29113198
        776b289f 1e922ee2 2165fbf0 28ccaf78 1983287d 492b22e0
        """,
        """
        77cc4657 39005c27 48cd8089 267cfcbb 1c41ca85 41b3943f 20e7727a 64ad78f3 13dd4413 1042e3dc 74adeb2c 2dcdd3c7
        06006fbc 35a609e9 0daf273c 3a4f694f 59fd101d 27d2112b 1937b69f 2e8880bc 40c12429 067965a6 6ea1b36d 6e01476e
        29cd718a 5406c693 51de2e9a 6ddc388a 53763473 17a25cbf 1f2982cd 19ca5afd 2d703c93 0c2840e4 2cda82cd 5c7f51e0
        1db58806 3cb62bd1 2b45461b 6204ba50 6857f0bc 4af2a368 32c146f4 1acfdd93 2dc39570 0dbdeb4e 50bef84d 6f83a22c
        434c3741 2060e160 68f58f0b 2529b2bd 112c4768 70409ce2 1b57460e 21dc818c 5f6b5330 443f8fba 211a90de 591d4a30
        5b5a3e75 635c333a 1efd6a70 5d35445f 5637cf22 6e9ba8b1 10b54e2c 04291eb8 2d4ea543 720a5c61 1a5b6323 68e176e7
        26149775 58f30beb 450402ab 24928255 32c59955 2b5b7261 6279779f 599b6a8e 70d145d3 3786c4d1 11363460 22ff2181
        4d06fc50 27a8a3df 647df984 3a748cc3 4aa91ea2 21ead2a1 50cd5d8d 06d6ffc6 5bc51117 45f848bc 12c3d5f1 487f9065
        1617243c 5c8774e4 76bcd3ec 349c8a4b 265d6a36 39fc652e 246831a8 488058fc 0a5c75d6 760d4eed 2d2957ad 6188b6fe
        2084c575 67c5ff60 3d6d899b 2759464a 1e4319d2 09fef836 305660e4 2437e398 698e8bad 51a1c08a 6f6b42ea 4e7a622c
        3359b875 6fc9bf1d 349ecd95 402affed 0e7d1f4a 7568ff95 6d26f65b 527b8ff5
        """,
    ),
}

# The internal layer is s_i = V_i * s_i + sum(s). V is written as the crate's comment writes it: "c" is the integer c,
# "hK" is 2^-K, with an optional minus sign. Small integers cost additions and 2^-K a Montgomery shift, so kernels are
# generated from these terms and not from the words.
_DIAGONAL_TEXT = {
    16: "-2 1 2 h1 3 4 -h1 -3 -4 h8 h2 h3 h27 -h8 -h4 -h27",
    24: "-2 1 2 h1 3 4 -h1 -3 -4 h8 h2 h3 h4 h7 h9 h27 -h8 -h2 -h3 -h4 -h5 -h6 -h7 -h27",
    32: "-2 1 2 h1 3 4 -h1 -3 -4 h8 h2 h3 h4 h5 h6 h7 h9 h10 h12 h27 "
    "-h8 -h2 -h3 -h4 -h5 -h6 -h7 -h9 -h10 -h12 -h14 -h27",
}


def _parse_term(text: str) -> tuple:
    if "h" not in text:
        return ("int", int(text))
    sign, exponent = text.split("h")
    return ("inv_pow2", int(exponent), -1 if sign else 1)


def _term_value(term: tuple) -> int:
    if term[0] == "int":
        return term[1] % P
    _, exponent, sign = term
    return sign * pow(2, -exponent, P) % P


def _load(width: int) -> tuple:
    """The tables of one width: initial rows, internal words, final rows, diagonal terms."""
    parts = [tuple(int(word, 16) for word in text.split()) for text in _ROUND_CONSTANTS_HEX[width]]
    terms = tuple(_parse_term(word) for word in _DIAGONAL_TEXT[width].split())
    lengths = [len(part) for part in parts] + [len(terms)]
    wanted = [HALF_FULL_ROUNDS * width, PARTIAL_ROUNDS[width], HALF_FULL_ROUNDS * width, width]
    if lengths != wanted:
        raise ImportError(f"Poseidon2 tables of width {width} have lengths {lengths}, not {wanted}")
    if any(word >= P for part in parts for word in part):
        raise ImportError(f"Poseidon2 tables of width {width} hold a word that is not below p")
    initial, final = (tuple(part[i : i + width] for i in range(0, len(part), width)) for part in parts[::2])
    return initial, parts[1], final, terms


_TABLES = {width: _load(width) for width in WIDTHS}


def _tables(width: int) -> tuple:
    if width not in _TABLES:
        raise ValueError(f"width must be one of {WIDTHS}, got {width!r}")
    return _TABLES[width]


def external_initial(width: int) -> tuple[tuple[int, ...], ...]:
    """Constants of the first full rounds: 4 rows of `width` canonical ints. Raises ValueError for other widths."""
    return _tables(width)[0]


def internal(width: int) -> tuple[int, ...]:
    """Constants of the partial rounds, added to word 0: 13, 21 or 30 canonical ints. Raises ValueError."""
    return _tables(width)[1]


def external_final(width: int) -> tuple[tuple[int, ...], ...]:
    """Constants of the last full rounds: 4 rows of `width` canonical ints. Raises ValueError for other widths."""
    return _tables(width)[2]


def diagonal_terms(width: int) -> tuple[tuple, ...]:
    """The internal diagonal V, symbolic: `width` terms, each ("int", c) or ("inv_pow2", k, sign) for sign * 2^-k.

    c is in -4..4 and k in 1..27. Raises ValueError for other widths.
    """
    return _tables(width)[3]


def diagonal(width: int) -> tuple[int, ...]:
    """The internal diagonal V as `width` canonical ints: s_i becomes V_i * s_i + sum(s). Raises ValueError."""
    return tuple(_term_value(term) for term in _tables(width)[3])


def tables_digest() -> str:
    """16 hex digits of SHA-256 over every table, for reports: each word as u32 little-endian, widths ascending, in
    the order initial, internal, final, diagonal.
    """
    digest = hashlib.sha256()
    for width in WIDTHS:
        rows = (*external_initial(width), internal(width), *external_final(width), diagonal(width))
        for row in rows:
            digest.update(b"".join(word.to_bytes(4, "little") for word in row))
    return digest.hexdigest()[:16]
