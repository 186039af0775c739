"""Round-by-round configuration of WHIR (p3-whir 0.8.0 `parameters/`, p3-security 0.8.0), in doubles as there."""

import math
from dataclasses import dataclass
from math import log2

BITS = 124  # bit length of p^4
SOUNDNESS = ("UniqueDecoding", "JohnsonBound", "CapacityBound")


class Refused(Exception):
    """`kind` is the crate's error name."""

    def __init__(self, kind: str):
        super().__init__(kind)
        self.kind = kind


@dataclass(frozen=True)
class Params:
    """`folding` is ("constant", f), ("second", a, b) or ("per_round", (k, ...)); no `round_rates`: defaults."""

    folding: tuple
    rate: int = 1
    soundness: str = "JohnsonBound"
    security: int = 100
    pow_bits: int = 20
    round_rates: tuple | None = None


def folding_schedule(folding: tuple, n: int) -> list:
    kind, *factors = folding
    if kind == "per_round":
        factors = list(factors[0])
        if not factors:
            raise Refused("EmptySchedule")
    if any(f == 0 for f in factors):
        raise Refused("ZeroFactor")
    if factors[0] > n or (kind == "per_round" and max(factors) > n):
        raise Refused("TooLarge")
    schedule, left = [], n
    while not schedule or left > 6:
        i = len(schedule)
        if kind == "per_round" and i == len(factors):
            raise Refused("InsufficientFolding")
        k = factors[i] if kind == "per_round" else factors[min(i, len(factors) - 1)]
        if k > left and kind == "per_round":
            raise Refused("TooLarge")
        schedule.append(min(k, left))
        left -= schedule[-1]
    return schedule


class Bounds:
    """The error terms of one soundness assumption, all as bits; d = number of variables, r = log inverse rate."""

    def __init__(self, soundness: str):
        self.kind = SOUNDNESS.index(soundness)

    def log_eta(self, r):
        return -(0.5 * r + log2(10.0) + 1.0) if self.kind == 1 else -(r + log2(10.0) + 1.0)

    def list_size(self, d, r):
        if self.kind == 0:
            return 0.0
        return r / 2.0 - (1.0 + self.log_eta(r)) if self.kind == 1 else (d + r) - self.log_eta(r)

    def log_1_minus_delta(self, r):
        if self.kind == 0:
            return log2(1.0 + 2.0**-r) - 1.0
        return log2(21.0 / 20.0) - (0.5 * r if self.kind == 1 else r)

    def queries(self, level, r) -> int:
        count = -level / self.log_1_minus_delta(r)
        return math.ceil(count) if count > 0 else 0

    def query_error(self, r, q):
        return -q * self.log_1_minus_delta(r)

    def proximity(self, d, r):
        if self.kind == 0:
            return BITS - (d + r)
        if self.kind == 2:
            return BITS - ((d + 2.0 * r) - self.log_eta(r))
        if d == 0:
            return BITS - (r + (r + log2(1.0 - 2.0**-r)) - 1.0)
        return BITS - (3.0 + (d + r) + 3.0 * log2(10.5) - log2(3.0) - (log2(1.0 - 2.0**-d) - r))

    def folding_pow(self, level, d, r) -> int:
        return math.ceil(max(0.0, level - min(self.proximity(d, r), BITS - (self.list_size(d, r) + 1.0))))

    def ood_samples(self, level, d, r) -> int:
        if self.kind == 0:
            return 0
        for s in range(1, 64):
            if s * BITS + 1.0 - (2.0 * self.list_size(d, r) + d * s) >= level:
                return s
        raise Refused("OodSamplesInfeasible")

    def combination(self, d, r, s, q):
        return BITS - ((log2(s + q) if s + q else -math.inf) + self.list_size(d, r) + 1.0)


def _check_shape(params: Params, n: int) -> tuple:
    """(schedule, rates), the refusals that need no error term, in the crate's order."""
    if params.rate == 0:
        raise Refused("NonRedundantStartingRate")
    ks = folding_schedule(params.folding, n)
    if n + params.rate >= 64:
        raise Refused("InitialDomainExceedsUsize")
    if n + params.rate - ks[0] > 27:
        raise Refused("FoldedDomainExceedsCapacity")
    rates = [params.rate]
    if params.round_rates is None:
        for k in ks[:-1]:
            rates.append(rates[-1] + k - 1)
    elif len(params.round_rates) != len(ks) - 1:
        raise Refused("RoundRateCountMismatch")
    else:
        rates += params.round_rates
    if 0 in rates:
        raise Refused("NonRedundantRoundRate")
    if params.folding[0] == "per_round" and len(params.folding[1]) > len(ks):
        raise Refused("FoldingFactorCountMismatch")
    return ks, rates


def derive(params: Params, n: int) -> dict:
    """The configuration as a dict with the keys of the vectors' `config`; raises Refused."""
    ks, rates = _check_shape(params, n)
    bounds = Bounds(params.soundness)
    security = float(params.security)
    level = max(0.0, security - params.pow_bits)
    r, v, domain = params.rate, n - ks[0], n + params.rate
    config = {
        "num_variables": n,
        "folding_schedule": ks,
        "round_log_inv_rates": rates[1:],
        "commitment_ood_samples": bounds.ood_samples(security, n, r),
        "starting_folding_pow_bits": bounds.folding_pow(security, n, r),
        "rounds": [],
    }
    for k, k_next, rate in zip(ks[:-1], ks[1:], rates[1:], strict=True):
        if rate > r + k:
            raise Refused("RateGrowsDomain")
        ood = bounds.ood_samples(security, v, rate)
        queries = bounds.queries(level, r)
        error = min(bounds.query_error(r, queries), bounds.combination(v, rate, ood, queries))
        config["rounds"].append(
            {
                "pow_bits": math.ceil(max(0.0, security - error)),
                "folding_pow_bits": bounds.folding_pow(security, v, rate),
                "num_queries": queries,
                "ood_samples": ood,
                "num_variables": v,
                "folding_factor": k,
                "log_inv_rate": rate,
                "domain_size": 2**domain,
                "log_folded_domain_size": domain - k,
            }
        )
        v, domain, r = v - k_next, domain - (r + k - rate), rate
    queries = bounds.queries(level, r)
    config["final_queries"] = queries
    config["final_pow_bits"] = math.ceil(max(0.0, security - bounds.query_error(r, queries)))
    config["final_sumcheck_rounds"] = v
    config["final_folding_pow_bits"] = math.ceil(max(0.0, security - (BITS - 1.0)))
    if queries == 0 and all(record["num_queries"] == 0 for record in config["rounds"]):
        raise Refused("ZeroQueries")
    pows = [config["starting_folding_pow_bits"], config["final_pow_bits"], config["final_folding_pow_bits"]]
    pows += [record[key] for record in config["rounds"] for key in ("pow_bits", "folding_pow_bits")]
    config["max_pow_bits"] = max(pows)
    config["within_pow_budget"] = True
    if max(pows) > params.pow_bits:
        raise Refused("PowBitsExceedBudget")
    return config


def check_initial_claims(params: Params, n: int, claims: int) -> None:
    """Run at open and verify time: `claims` column claims plus commitment OOD samples."""
    if claims > 1:
        error = BITS - 1.0 - log2(claims - 1) - Bounds(params.soundness).list_size(n, params.rate)
        if error < params.security:
            raise Refused("InitialClaimsBelowTarget")
