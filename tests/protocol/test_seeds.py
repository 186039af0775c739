"""Patterns and seeds: the known values of p3-challenger 0.8.0, and every rule of the texts and labels on its own."""

import numpy as np
import pytest

from tests.oracle.keccak import keccak256 as keccak256_ref
from whir_mlx.protocol import seeds
from whir_mlx.protocol.folding import Constant, ConstantFromSecondRound, PerRound
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.parameters import ConjecturedSoundnessWarning, derive_config
from whir_mlx.protocol.patterns import Step, challenge, keccak256, message, opaque, pattern_text
from whir_mlx.protocol.statement import OpeningBatch


def test_keccak_known_values():
    """The two basis ids and the commitment pattern; 135..137 bytes straddle the sponge's rate of 136."""
    assert keccak256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    known = {
        b"p3-scalar-basis-v1": "cfa353fe66eeeae7600254a68073d57125abac3820fde7a3e32c84482b826469",
        b"p3-power-basis-v1:X^4-11": "a31559f97eacd63de762fb78f0de2204c31e4445522c8e285fc45d814b83063d",
    }
    for text, digest in known.items():
        assert keccak256(text).hex() == digest
    for length in (1, 135, 136, 137, 272, 300):
        data = bytes(i % 251 for i in range(length))
        assert keccak256(data) == keccak256_ref(data)


def test_commitment_pattern():
    text = pattern_text(opaque("commitment"))
    assert text == "Plonky3 Fiat-Shamir Transcript (1 interactions)\n0 Atomic Message 10 commitment Scalar Opaque\n"
    assert keccak256(text.encode()).hex() == "de2644dafc9d326c94bcd3346ad8cdb2ce615d4d185a524fd7d11e4be51e8256"


def test_commitment_seed():
    seed = seeds.commitment_seed()
    assert (len(seed), seed[:3].tolist()) == (35, [101, 3371009, 7697197])
    assert seed.dtype == np.uint32 and not seed.flags.writeable


def test_pattern_text_numbers_and_indents():
    """Eleven steps take two digits; a bracket indents what it holds; no step at all still prints a header."""
    begin, end = (Step(word, "Protocol", "outer", "None", "Marker") for word in ("Begin", "End"))
    lines = pattern_text([begin, *message("x", 3), *challenge("y"), end, *opaque("z") * 7]).splitlines()
    assert lines[0] == "Plonky3 Fiat-Shamir Transcript (11 interactions)"
    assert lines[1] == "00 Begin Protocol 5 outer None Marker"
    assert lines[2].startswith("01   Atomic Message 1 x Fixed(3) Algebra(2013265921^4;a31559f9")
    assert lines[3].startswith("02   Atomic Challenge 1 y Scalar Algebra(2013265921^4;")
    assert lines[4] == "03 End Protocol 5 outer None Marker"
    assert lines[11] == "10 Atomic Message 1 z Scalar Opaque"
    assert pattern_text([]) == "Plonky3 Fiat-Shamir Transcript (0 interactions)\n"
    assert pattern_text(opaque("z") * 10).splitlines()[-1].startswith("9 ")


@pytest.mark.parametrize(
    ("data", "elements"),
    [
        (b"", [0]),
        (b"\x01", [1, 1]),
        (b"\x01\x02", [2, 0x0201]),
        (b"\x01\x02\x03", [3, 0x030201]),
        (b"\x01\x02\x03\xff", [4, 0x030201, 0xFF]),
        (b"\xff" * 6, [6, 0xFFFFFF, 0xFFFFFF]),
    ],
)
def test_pack_bytes(data, elements):
    packed = seeds.pack_bytes(data)
    assert packed.dtype == np.uint32 and packed.tolist() == elements


def test_seed_bytes():
    label = b"\x00\x00\x00\x01\x07"
    data = seeds.seed_bytes(3, "name", "text\n", label)
    assert data == b"\x03name" + bytes(58) + b"\x04" + keccak256_ref(b"text\n") + b"\x00\x00\x00\x05" + label + b"\x80"
    assert seeds.seed_bytes(1, "a" * 62, "", b"")[62:64] == b"a\x3e"
    for name in ("", "a" * 63):
        with pytest.raises(ValueError, match=r"1\.\.62"):
            seeds.seed_bytes(1, name, "", b"")


def test_whir_pattern_with_a_round():
    """n = 12, fold 3, 40 bits, 8 bits of grinding: one round, two-digit positions, every kind of step."""
    config = derive_config(12, folding_factor=3, security_level=40, pow_bits=8)
    text = seeds.whir_pattern(config)
    assert keccak256(text.encode()).hex() == "a97a94ab92f69b49a95b2ecce3f31861923b9136e028ca8757ea30f983f6bd8e"
    assert text.splitlines()[7].startswith("06 Atomic Challenge 13 query_indices Fixed(75) UniformBits(10)")
    assert len(seeds.whir_label(config, 1)) == 216


def test_whir_pattern_leaves_out_empty_steps():
    """n = 1: the initial fold takes the only variable, both folded positions are opened undrawn, nothing is closed."""
    config = derive_config(1, folding_factor=1, security_level=30, pow_bits=0, soundness="unique")
    words = [line.split()[4] for line in seeds.whir_pattern(config).splitlines()[1:]]
    assert words == ["initial_fold", "initial_fold", "final_poly"]


def numbers(label):
    """A label of eight-byte chunks, read back."""
    assert len(label) % 12 == 0
    chunks = [label[i : i + 12] for i in range(0, len(label), 12)]
    assert all(chunk[:4] == b"\x00\x00\x00\x08" for chunk in chunks)
    return [int.from_bytes(chunk[4:], "big") for chunk in chunks]


def test_whir_label():
    """n = 20, folds 5 4 4 4: three rounds. The folding rule is named as stated, not as the schedule it gives."""
    rules = {
        Constant(4): ((4, 4, 4, 4), (0, 4)),
        ConstantFromSecondRound(5, 4): ((5, 4, 4, 4), (1, 5, 4)),
        PerRound((4, 4, 4, 4)): ((4, 4, 4, 4), (2, 4, 4, 4, 4, 4)),
        PerRound((5, 6, 4)): ((5, 6, 4), (2, 3, 5, 6, 4)),
    }
    for rule, (schedule, words) in rules.items():
        config = derive_config(20, folding_factor=rule)
        rounds = [
            value
            for record, fold in zip(config.rounds, schedule[1:])
            for value in (record.log_inv_rate, fold, record.folding_pow_bits)
        ]
        assert numbers(seeds.whir_label(config, 7)) == [
            *(20, 2, 7, 2 ** schedule[0], 100, 20, 1, 1),
            *words,
            *(schedule[0], config.starting_folding_pow_bits),
            *(20 - sum(schedule), config.final_folding_pow_bits, len(schedule) - 1),
            *rounds,
        ]


def test_whir_label_soundness_numbers():
    for number, name in enumerate(("unique", "johnson")):
        assert numbers(seeds.whir_label(derive_config(12, security_level=40, soundness=name), 1))[7] == number
    with pytest.warns(ConjecturedSoundnessWarning):
        config = derive_config(12, security_level=40, soundness="capacity")
    assert numbers(seeds.whir_label(config, 1))[7] == 2


def test_opening_label():
    """Padded arity, columns in the order named, both sides counted; the point's source shows in the pattern only."""
    layout = Layout("prefix", ((1, 3), (4, 1)), 2)
    batch = OpeningBatch((2, 0), (1,))
    drawn, given = (seeds.opening_seed(layout, 0, batch, prescribed) for prescribed in (False, True))
    assert drawn[0] == given[0] == 101 + len(layout.binding()) + 12 * 7
    label = layout.binding() + b"".join(b"\0\0\0\x08" + v.to_bytes(8, "big") for v in (0, 2, 2, 2, 0, 1, 1))
    type_ = "Algebra(2013265921^4;a31559f97eacd63de762fb78f0de2204c31e4445522c8e285fc45d814b83063d)"
    messages = ["Message 13 current_evals Fixed(2)", "Message 10 next_evals Fixed(1)"]
    for seed, lines in ((given, messages), (drawn, ["Challenge 13 opening_point Scalar", *messages])):
        text = f"Plonky3 Fiat-Shamir Transcript ({len(lines)} interactions)\n"
        text += "".join(f"{i} Atomic {line} {type_}\n" for i, line in enumerate(lines))
        expected = seeds.pack_bytes(seeds.seed_bytes(1, "p3-sumcheck-layout-opening", text, label))
        assert np.array_equal(seed, expected)


def test_seeds_differ():
    """Whatever distinguishes two sub-protocols of one layout, or two statements, reaches the seed."""
    tables = [((4, 2),), ((4, 1), (4, 1)), ((5, 1),)]
    layouts = [Layout(order, t, k) for order in ("suffix", "prefix") for t in tables for k in (4, 5)]
    found = [seeds.commitment_seed()]
    for layout in set(layouts):
        found += [seeds.ood_seed(layout), seeds.batching_seed(layout, 1, 2), seeds.batching_seed(layout, 2, 1)]
        for batch in (OpeningBatch((0,)), OpeningBatch((), (0,)), OpeningBatch((0,), (0,))):
            found += [seeds.opening_seed(layout, 0, batch, prescribed) for prescribed in (False, True)]
    found += [seeds.sumcheck_seed(rounds, bits) for rounds in (1, 2) for bits in (0, 1, 2)]
    by_value = {seed.tobytes() for seed in found}
    # A single table of arity 5 is the same statement for k_0 = 4 and 5.
    assert len(by_value) == len(found) - 2 * 9


def test_no_round_has_no_seed():
    assert seeds.sumcheck_seed(0, 5).shape == (0,) and seeds.sumcheck_seed(0, 5).dtype == np.uint32


def test_seeds_are_cached_and_read_only():
    layout = Layout("suffix", ((4, 1),), 4)
    assert seeds.ood_seed(layout) is seeds.ood_seed(Layout("suffix", ((4, 1),), 4))
    with pytest.raises(ValueError, match="read-only"):
        seeds.ood_seed(layout)[0] = 1
