"""Seeds of the sub-protocols: pattern text, label, bytes, elements (p3-challenger 0.8.0 `fs/`)."""

from .field import P
from .keccak import keccak256

TF = f"Algebra({P}^1;{keccak256(b'p3-scalar-basis-v1').hex()})"
TE = f"Algebra({P}^4;{keccak256(b'p3-power-basis-v1:X^4-11').hex()})"


def chunk(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def u64(*numbers: int) -> bytes:
    return b"".join(chunk(x.to_bytes(8, "big")) for x in numbers)


def step(hierarchy: str, kind: str, label: str, length: str, type_: str) -> str:
    return f"{hierarchy} {kind} {len(label)} {label} {length} {type_}"


def challenge(label):
    return [step("Atomic", "Challenge", label, "Scalar", TE)]


def message(label):
    return [step("Atomic", "Message", label, "Scalar", TE)]


def messages(label, count):
    return [step("Atomic", "Message", label, f"Fixed({count})", TE)] if count else []


def opaque(label):
    return [step("Atomic", "Message", label, "Scalar", "Opaque")]


def pow_step(label, bits):
    return [step("Atomic", "Pow", label, f"Fixed({bits})", TF)] if bits else []


def uniform_bits(label, width, count):
    return [step("Atomic", "Challenge", label, f"Fixed({count})", f"UniformBits({width})")] if count else []


def delegate(label):
    return [step(side, "Protocol", label, "None", "Marker") for side in ("Begin", "End")]


def pattern_text(steps: list) -> str:
    """No step is ever nested here, so no line is indented."""
    digits = max(1, len(str(len(steps) - 1)))
    lines = [f"{i:0{digits}} {line}\n" for i, line in enumerate(steps)]
    return f"Plonky3 Fiat-Shamir Transcript ({len(steps)} interactions)\n" + "".join(lines)


def seed(version: int, name: str, steps: list, label: bytes) -> bytes:
    identity = (bytes([version]) + name.encode()).ljust(63, b"\0") + bytes([len(name)])
    return identity + keccak256(pattern_text(steps).encode()) + chunk(label) + b"\x80"


def elements(data: bytes) -> list:
    """The length, then 3 bytes an element, little-endian."""
    return [len(data)] + [int.from_bytes(data[i : i + 3], "little") for i in range(0, len(data), 3)]


def binding(layout) -> bytes:
    order = b"\1\0" if layout.prefix else b"\0\1"
    head = u64(layout.num_variables) + chunk(order[:1]) + chunk(order[1:]) + u64(len(layout.tables))
    return head + b"".join(u64(log_rows, columns) for log_rows, columns in layout.tables)


def commitment_seed() -> list:
    return elements(seed(1, "p3-sumcheck-layout-commitment", opaque("commitment"), b""))


def ood_seed(layout) -> list:
    steps = challenge("virtual_point") + message("virtual_eval")
    return elements(seed(1, "p3-sumcheck-layout-ood", steps, binding(layout)))


def opening_seed(layout, batch) -> list:
    steps = challenge("opening_point") if batch.point is None else []
    steps = steps + messages("current_evals", len(batch.current)) + messages("next_evals", len(batch.next))
    label = binding(layout) + u64(batch.table, layout.tables[batch.table][0])
    label += u64(len(batch.current), *batch.current) + u64(len(batch.next), *batch.next)
    return elements(seed(1, "p3-sumcheck-layout-opening", steps, label))


def batching_seed(layout, column_claims: int, ood_claims: int) -> list:
    label = binding(layout) + u64(column_claims, ood_claims)
    return elements(seed(1, "p3-sumcheck-layout-batching", challenge("batching"), label))


def sumcheck_seed(rounds: int, bits: int) -> list:
    steps = (messages("round_poly", 2) + pow_step("round_pow", bits) + challenge("round_challenge")) * rounds
    return elements(seed(1, "p3-sumcheck-quadratic", steps, chunk(b"\0")))


def draws(queries: int, log_folded: int) -> int:
    """No index is drawn when the queries saturate the folded domain."""
    return 0 if queries >= 2**log_folded else queries


def folding_label(folding: tuple) -> bytes:
    kind, *args = folding
    if kind == "per_round":
        return u64(2, len(args[0]), *args[0])
    return u64(("constant", "second").index(kind), *args)


def whir_seed(params, config: dict, num_batches: int, soundness_code: int) -> list:
    ks, rounds = config["folding_schedule"], config["rounds"]
    steps = delegate("initial_fold")
    for record in rounds:
        width = record["log_folded_domain_size"]
        steps += opaque("commitment") + (challenge("ood_point") + message("ood_answer")) * record["ood_samples"]
        steps += pow_step("query_pow", record["pow_bits"])
        steps += uniform_bits("query_indices", width, draws(record["num_queries"], width))
        steps += challenge("round_batching") + delegate("round_fold")
    m, width = config["final_sumcheck_rounds"], final_log_folded(params, config)
    steps += messages("final_poly", 2**m) + pow_step("final_query_pow", config["final_pow_bits"])
    steps += uniform_bits("final_query_indices", width, draws(config["final_queries"], width))
    steps += delegate("final_fold") if m else []
    label = u64(config["num_variables"], config["commitment_ood_samples"], num_batches, 2 ** ks[0])
    label += u64(params.security, params.pow_bits, params.rate, soundness_code) + folding_label(params.folding)
    label += u64(ks[0], config["starting_folding_pow_bits"], m, config["final_folding_pow_bits"], len(rounds))
    for record, k in zip(rounds, ks[1:], strict=True):
        label += u64(record["log_inv_rate"], k, record["folding_pow_bits"])
    return elements(seed(3, "p3-whir", steps, label))


def final_log_folded(params, config: dict) -> int:
    """log of the number of rows of the last codeword."""
    ks = config["folding_schedule"]
    rate = (config["round_log_inv_rates"] or [params.rate])[-1]
    return config["num_variables"] - sum(ks) + rate
