//! The requests: `config`, `prove`, `verify`, `bench`.

use std::time::Instant;

use p3_challenger::{CanObserve, CanSample};
use p3_commit::{Mmcs, MultilinearPcs};
use p3_field::{PackedValue, PrimeField32};
use p3_multilinear_util::point::Point;
use p3_sumcheck::layout::{Layout, PrefixProver, SuffixProver, Witness};
use p3_sumcheck::{OpeningProtocol, PrescribedPointPcs};
use p3_whir::PcsProof;
use p3_whir::pcs::prover::WhirProver;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::args::Args;
use crate::data::{EF, F};
use crate::schemes::{Challenger, Dft, Packing};
use crate::{Refused, config, data, pool, schemes};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    mode: Mode,
    args: Args,
    /// Worker threads; 1 unless given, so that grinding finds the smallest witness.
    threads: Option<usize>,
    /// `verify`: the commitment and the proof, in the crates' own JSON.
    commitment: Option<Box<RawValue>>,
    proof: Option<Box<RawValue>>,
    /// `bench`: timed runs, after one that is not counted.
    runs: Option<usize>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Config,
    Prove,
    Verify,
    Bench,
}

/// Answers one request: the JSON text, or why there is none.
pub fn answer(line: &str) -> Result<String, Refused> {
    let request: Request = serde_json::from_str(line).map_err(Refused::request)?;
    let args = &request.args;
    args.check()?;
    if request.mode == Mode::Config {
        return Ok(json!({"ok": true, "config": config::to_json(&config::derive(args)?)}).to_string());
    }
    args.check_size()?;
    pool::on_threads(request.threads.unwrap_or(1).max(1), || match (args.layout.as_str(), args.tree.as_str()) {
        ("suffix", "w16") => run::<SuffixProver<F, EF>, _>(&request, schemes::tree_w16(args.cap)),
        ("suffix", "w24") => run::<SuffixProver<F, EF>, _>(&request, schemes::tree_w24(args.cap)),
        ("suffix", "ary4") => run::<SuffixProver<F, EF>, _>(&request, schemes::tree_ary4(args.cap)),
        ("prefix", "w16") => run::<PrefixProver<F, EF>, _>(&request, schemes::tree_w16(args.cap)),
        ("prefix", "w24") => run::<PrefixProver<F, EF>, _>(&request, schemes::tree_w24(args.cap)),
        ("prefix", "ary4") => run::<PrefixProver<F, EF>, _>(&request, schemes::tree_ary4(args.cap)),
        (layout, tree) => Err(Refused::request(format!(
            "layout must be suffix or prefix and tree w16, w24 or ary4, got {layout:?} and {tree:?}"
        ))),
    })
}

/// One statement under one scheme, ready to be proved or verified.
struct Session<'a, L, M: Mmcs<F>> {
    args: &'a Args,
    pcs: WhirProver<EF, F, Dft, M, Challenger, L>,
    protocol: OpeningProtocol,
    /// The opening points, if prescribed.
    points: Option<Vec<Point<EF>>>,
}

/// A proof with what it took: milliseconds of `commit` and `open`.
struct Proved<M: Mmcs<F>> {
    commitment: M::Commitment,
    proof: PcsProof<F, EF, M>,
    times: [f64; 2],
    tail: Vec<u32>,
}

fn run<L, M>(request: &Request, tree: M) -> Result<String, Refused>
where
    L: Layout<F, EF>,
    M: Mmcs<F>,
    Challenger: CanObserve<M::Commitment>,
{
    let session = Session::<L, M>::new(&request.args, tree)?;
    match request.mode {
        Mode::Prove => session.answer_prove(),
        Mode::Verify => session.answer_verify(request),
        _ => session.answer_bench(request),
    }
}

impl<'a, L, M> Session<'a, L, M>
where
    L: Layout<F, EF>,
    M: Mmcs<F>,
    Challenger: CanObserve<M::Commitment>,
{
    fn new(args: &'a Args, tree: M) -> Result<Self, Refused> {
        let config = config::derive(args)?;
        let protocol = args.protocol();
        let points = args.prescribed.then(|| data::points(args, &protocol)).transpose()?;
        let dft = Dft::new(1 << config.max_fft_size());
        Ok(Self { args, pcs: WhirProver::new(config, dft, tree), protocol, points })
    }

    fn witness(&self) -> Result<Witness<F>, Refused> {
        Ok(L::new_witness(data::tables(self.args)?, self.args.first_fold()))
    }

    fn prove(&self, witness: Witness<F>) -> Result<Proved<M>, Refused> {
        let mut challenger = schemes::challenger();
        let protocol = self.protocol.clone();
        let start = Instant::now();
        let (commitment, data) = self.pcs.commit(witness, &mut challenger).map_err(Refused::by_crate)?;
        let commit = milliseconds(start);
        let start = Instant::now();
        let proof = match &self.points {
            None => self.pcs.open(data, protocol, &mut challenger),
            Some(points) => self.pcs.open_at(data, &protocol, points, &mut challenger),
        }
        .map_err(Refused::by_crate)?;
        Ok(Proved { commitment, proof, times: [commit, milliseconds(start)], tail: tail(&mut challenger) })
    }

    /// Returns the transcript's next samples.
    fn verify(&self, commitment: &M::Commitment, proof: &PcsProof<F, EF, M>) -> Result<Vec<u32>, Refused> {
        let mut challenger = schemes::challenger();
        let protocol = self.protocol.clone();
        match &self.points {
            None => self.pcs.verify(commitment, proof, &mut challenger, protocol),
            Some(points) => {
                // `verify_at` leaves the commitment to its caller, who must absorb it first.
                self.pcs.observe_commitment(commitment, &mut challenger);
                self.pcs.verify_at(commitment, proof, &protocol, points, &mut challenger).map(|_| ())
            }
        }
        .map_err(Refused::by_crate)?;
        Ok(tail(&mut challenger))
    }

    fn answer_prove(&self) -> Result<String, Refused> {
        let proved = self.prove(self.witness()?)?;
        let [commit, open] = proved.times;
        Ok(json!({
            "ok": true,
            "config": config::to_json(&self.pcs),
            "commitment": to_value(&proved.commitment)?,
            "proof": to_value(&proved.proof)?,
            "tail": proved.tail,
            "times_ms": {"commit": commit, "open": open},
        })
        .to_string())
    }

    fn answer_verify(&self, request: &Request) -> Result<String, Refused> {
        let (Some(commitment), Some(proof)) = (&request.commitment, &request.proof) else {
            return Err(Refused::request("commitment and proof must be given"));
        };
        let commitment = serde_json::from_str(commitment.get()).map_err(Refused::unreadable)?;
        let proof: PcsProof<F, EF, M> = serde_json::from_str(proof.get()).map_err(Refused::unreadable)?;
        let start = Instant::now();
        let tail = self.verify(&commitment, &proof)?;
        let time = milliseconds(start);
        Ok(json!({"ok": true, "evals": to_value(&proof.evals)?, "tail": tail, "times_ms": {"verify": time}})
            .to_string())
    }

    fn answer_bench(&self, request: &Request) -> Result<String, Refused> {
        pool::reset_peak_memory();
        let runs = request.runs.unwrap_or(3);
        let mut times = [vec![], vec![], vec![]];
        let mut size = 0;
        for run in 0..=runs {
            let proved = self.prove(self.witness()?)?;
            let start = Instant::now();
            self.verify(&proved.commitment, &proved.proof)?;
            let verify = milliseconds(start);
            // The first run fills caches and twiddle tables and starts the threads.
            if run > 0 {
                let [commit, open] = proved.times;
                times.iter_mut().zip([commit, open, verify]).for_each(|(list, time)| list.push(time));
            } else {
                size = serde_json::to_string(&proved.proof).map_err(Refused::request)?.len();
            }
        }
        let [commit, open, verify] = times;
        Ok(json!({
            "ok": true,
            "commit_ms": commit,
            "open_ms": open,
            "verify_ms": verify,
            "proof_json_bytes": size,
            "peak_rss_kib": pool::peak_memory_kib(),
            "threads": request.threads.unwrap_or(1),
            "parallel": cfg!(feature = "parallel"),
            "lanes": <Packing as PackedValue>::WIDTH,
        })
        .to_string())
    }
}

/// The next 8 samples as canonical words: equal tails mean equal transcripts.
fn tail(challenger: &mut Challenger) -> Vec<u32> {
    (0..8).map(|_| <Challenger as CanSample<F>>::sample(challenger).as_canonical_u32()).collect()
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn to_value(object: impl serde::Serialize) -> Result<Value, Refused> {
    serde_json::to_value(object).map_err(Refused::request)
}
