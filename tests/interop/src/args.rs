//! What is proved and how: the `args` object of a request.

use p3_sumcheck::{OpeningBatch, OpeningProtocol, TableShape, TableSpec};
use serde::Deserialize;

use crate::Refused;

/// Cells over all tables above which a statement is refused, so that a slip does not exhaust the memory.
const MAX_CELLS: usize = 1 << 28;

/// One opening batch: columns at the point, and columns at its repeat-last successor.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    #[serde(default)]
    pub current: Vec<usize>,
    #[serde(default)]
    pub next: Vec<usize>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields, default)]
pub struct Args {
    /// Tables as [log2 rows, columns].
    pub tables: Vec<(usize, usize)>,
    /// Opening batches per table, each of all columns, where no `schedule` is given.
    pub points: usize,
    /// With `points`: open all columns at the successor too.
    pub next: bool,
    /// Opening batches, table by table.
    pub schedule: Option<Vec<Vec<Batch>>>,
    /// Open at given points (`open_at`) instead of drawn ones.
    pub prescribed: bool,
    /// Prescribed points, one per batch, coordinates as 4 canonical words; made from `seed` if absent.
    pub point_values: Option<Vec<Vec<[u32; 4]>>>,
    /// Column entries as canonical words, table by table, column by column; made from `seed` if absent.
    pub data: Option<Vec<Vec<Vec<u32>>>>,
    pub seed: u64,
    /// Number of variables, where only a configuration is asked for.
    pub n: Option<usize>,
    /// Folding factor of every round, or of the first one if `second_fold` is given.
    pub fold: usize,
    pub second_fold: Option<usize>,
    /// Folding factors round by round; replaces the two above unless empty.
    pub folds: Vec<usize>,
    /// Starting log inverse rate.
    pub rate: usize,
    /// Log inverse rates of the rounds; empty for the default ones.
    pub rates: Vec<usize>,
    /// By how many bits the first round's domain shrinks, where `rates` is empty; 1 is the default.
    pub reduction: Option<usize>,
    pub security: usize,
    pub pow: usize,
    pub soundness: String,
    pub layout: String,
    pub tree: String,
    pub cap: usize,
    /// Poseidon2 constants: the crates' default ones, "grain".
    pub constants: String,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            tables: vec![],
            points: 1,
            next: false,
            schedule: None,
            prescribed: false,
            point_values: None,
            data: None,
            seed: 0,
            n: None,
            fold: 4,
            second_fold: None,
            folds: vec![],
            rate: 1,
            rates: vec![],
            reduction: None,
            security: 100,
            pow: 20,
            soundness: "JohnsonBound".into(),
            layout: "suffix".into(),
            tree: "w16".into(),
            cap: 0,
            constants: "grain".into(),
        }
    }
}

impl Args {
    /// The folding factor that commitment and padding use.
    pub fn first_fold(&self) -> usize {
        self.folds.first().copied().unwrap_or(self.fold)
    }

    /// Refuses other constants and misshapen lists.
    pub fn check(&self) -> Result<(), Refused> {
        if self.constants != "grain" {
            return Err(Refused::request(format!("constants must be \"grain\", got {:?}", self.constants)));
        }
        if self.tables.iter().any(|&(_, columns)| columns == 0) {
            return Err(Refused::request("a table must have at least one column"));
        }
        if self.schedule.as_ref().is_some_and(|schedule| schedule.len() != self.tables.len()) {
            return Err(Refused::request("schedule must have one list of batches per table"));
        }
        Ok(())
    }

    /// Refuses a statement that would exhaust the memory, which no caught panic reports.
    pub fn check_size(&self) -> Result<(), Refused> {
        let fold = self.first_fold();
        let cells = self.tables.iter().try_fold(0usize, |sum, &(rows, columns)| {
            let column = 1usize.checked_shl(u32::try_from(rows.max(fold)).ok()?)?;
            sum.checked_add(column.checked_mul(columns)?)
        });
        match cells {
            Some(cells) if cells <= MAX_CELLS => Ok(()),
            _ => Err(Refused::request(format!("tables must have at most {MAX_CELLS} padded cells"))),
        }
    }

    /// The committed (padded) shapes with their opening schedule.
    pub fn protocol(&self) -> OpeningProtocol {
        let specs = self.tables.iter().enumerate().map(|(t, &(rows, columns))| {
            let batches = match &self.schedule {
                Some(schedule) => {
                    schedule[t].iter().map(|b| OpeningBatch::new(b.current.clone(), b.next.clone())).collect()
                }
                None => {
                    let all: Vec<usize> = (0..columns).collect();
                    let next = if self.next { all.clone() } else { vec![] };
                    vec![OpeningBatch::new(all, next); self.points]
                }
            };
            TableSpec::new(TableShape::new(rows, columns), batches)
        });
        OpeningProtocol::new(specs.collect()).pad_to_min_num_variables(self.first_fold())
    }
}
