//! Protocol parameters from `args`, and the derived configuration as JSON.

use p3_sumcheck::layout::plan_stacked_layout;
use p3_whir::parameters::{FoldingFactor, ProtocolParameters, SecurityAssumption, WhirConfig};
use serde_json::{Value, json};

use crate::Refused;
use crate::args::Args;
use crate::data::{EF, F};
use crate::schemes::Challenger;

pub type Config = WhirConfig<EF, F, Challenger>;

/// The number of variables of the stacked polynomial: `n` if given, else that of the padded tables.
fn num_variables(args: &Args) -> Result<usize, Refused> {
    match args.n {
        Some(n) => Ok(n),
        None if args.tables.is_empty() => Err(Refused::request("tables or n must be given")),
        None => Ok(plan_stacked_layout(&args.protocol().table_shapes()).0),
    }
}

fn folding_factor(args: &Args) -> FoldingFactor {
    match args.second_fold {
        _ if !args.folds.is_empty() => FoldingFactor::PerRound(args.folds.clone()),
        Some(second) => FoldingFactor::ConstantFromSecondRound(args.fold, second),
        None => FoldingFactor::Constant(args.fold),
    }
}

/// The round rates: given ones, or `rate + fold - reduction`, then one bit of domain less per round.
fn round_rates(args: &Args, folding: &FoldingFactor, n: usize) -> Result<Vec<usize>, Refused> {
    if !args.rates.is_empty() {
        return Ok(args.rates.clone());
    }
    // A schedule that cannot be is the crate's to refuse, whatever rates it is given.
    let schedule = folding.compute_folding_schedule(n).unwrap_or_default();
    let mut rate = args.rate;
    let mut rates = vec![];
    for (round, fold) in schedule.split_last().map_or(&[][..], |(_, rounds)| rounds).iter().enumerate() {
        let lost = if round == 0 { args.reduction.unwrap_or(1) } else { 1 };
        rate = (rate + fold)
            .checked_sub(lost)
            .ok_or_else(|| Refused::request(format!("reduction must be at most {}, got {lost}", rate + fold)))?;
        rates.push(rate);
    }
    Ok(rates)
}

/// Derives the configuration; the class of a refusal is the variant of the crate's error.
pub fn derive(args: &Args) -> Result<Config, Refused> {
    let n = num_variables(args)?;
    let folding_factor = folding_factor(args);
    let soundness_type = args.soundness.parse::<SecurityAssumption>().map_err(Refused::request)?;
    let parameters = ProtocolParameters {
        starting_log_inv_rate: args.rate,
        round_log_inv_rates: round_rates(args, &folding_factor, n)?,
        folding_factor,
        soundness_type,
        security_level: args.security,
        pow_bits: args.pow,
    };
    Config::new(n, parameters).map_err(Refused::by_crate)
}

/// The configuration under the keys that the vectors use.
pub fn to_json(config: &Config) -> Value {
    let rounds = config.round_parameters();
    let round = |r: &p3_whir::parameters::RoundConfig| {
        json!({
            "pow_bits": r.pow_bits,
            "folding_pow_bits": r.folding_pow_bits,
            "num_queries": r.num_queries,
            "ood_samples": r.ood_samples,
            "num_variables": r.num_variables,
            "folding_factor": r.folding_factor,
            "log_inv_rate": r.log_inv_rate,
            "domain_size": r.domain_size,
            "log_folded_domain_size": r.log_folded_domain_size,
        })
    };
    json!({
        "num_variables": config.num_variables(),
        "commitment_ood_samples": config.commitment_ood_samples(),
        "starting_folding_pow_bits": config.starting_folding_pow_bits(),
        "folding_schedule": config.folding_schedule(),
        "round_log_inv_rates": config.round_log_inv_rates,
        "rounds": rounds.iter().map(round).collect::<Vec<_>>(),
        "final_queries": config.terminal().num_queries,
        "final_pow_bits": config.terminal().pow_bits,
        "final_sumcheck_rounds": config.final_sumcheck_rounds(),
        "final_folding_pow_bits": config.final_folding_pow_bits(),
        "max_pow_bits": config.max_pow_bits(),
        "within_pow_budget": config.check_pow_bits(),
    })
}
