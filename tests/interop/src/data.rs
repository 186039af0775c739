//! Tables and points: given ones, or made from a seed by a 64-bit mixer, the same on the Python side.

use p3_field::extension::BinomialExtensionField;
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing, PrimeField32};
use p3_matrix::dense::RowMajorMatrix;
use p3_multilinear_util::point::Point;
use p3_sumcheck::OpeningProtocol;
use p3_sumcheck::layout::Table;

use crate::Refused;
use crate::args::Args;

pub type F = p3_baby_bear::BabyBear;
pub type EF = BinomialExtensionField<F, 4>;

/// Output `i` of the splitmix64 sequence that starts at `seed` times an odd constant, reduced mod p.
pub fn splitmix(seed: u64, i: u64) -> F {
    let start = seed.wrapping_mul(0xD134_2543_DE82_EF95);
    let mut z = start.wrapping_add((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    F::from_u64(z ^ (z >> 31))
}

fn element(word: u32) -> Result<F, Refused> {
    if word >= F::ORDER_U32 {
        return Err(Refused::request(format!("field elements must be below {}, got {word}", F::ORDER_U32)));
    }
    Ok(F::from_u32(word))
}

/// The source tables. Entry `i` of column `c` of table `t` is `splitmix(seed + 1000 t + c, i)` unless given.
pub fn tables(args: &Args) -> Result<Vec<Table<F>>, Refused> {
    if args.tables.is_empty() {
        return Err(Refused::request("tables must not be empty"));
    }
    let given = args.data.as_ref();
    if given.is_some_and(|data| data.len() != args.tables.len()) {
        return Err(Refused::request("data must have one list of columns per table"));
    }
    let mut tables = vec![];
    for (t, &(log_rows, columns)) in args.tables.iter().enumerate() {
        let rows = 1usize << log_rows;
        let values = match given {
            Some(data) => {
                if data[t].len() != columns || data[t].iter().any(|column| column.len() != rows) {
                    return Err(Refused::request(format!("data of table {t} must be {columns} columns of {rows}")));
                }
                data[t].iter().flatten().map(|&word| element(word)).collect::<Result<Vec<_>, _>>()?
            }
            None => (0..columns)
                .flat_map(|c| {
                    let seed = args.seed.wrapping_add((1000 * t + c) as u64);
                    (0..rows as u64).map(move |i| splitmix(seed, i))
                })
                .collect(),
        };
        tables.push(Table::new(RowMajorMatrix::new(values, rows)));
    }
    Ok(tables)
}

/// One point per opening batch, of its table's padded arity.
///
/// Coefficient `j` of coordinate `v` of point `k` is `splitmix(seed + 9000 + k, 4 v + j)` unless given.
pub fn points(args: &Args, protocol: &OpeningProtocol) -> Result<Vec<Point<EF>>, Refused> {
    if let Some(given) = &args.point_values {
        return given
            .iter()
            .map(|point| {
                let coordinates = point.iter().map(|words| {
                    let mut coefficients = [F::ZERO; 4];
                    for (to, &word) in coefficients.iter_mut().zip(words) {
                        *to = element(word)?;
                    }
                    Ok(extension(|j| coefficients[j]))
                });
                Ok(Point::new(coordinates.collect::<Result<Vec<_>, _>>()?))
            })
            .collect();
    }
    let shapes = protocol.table_shapes();
    Ok(protocol
        .iter_openings()
        .enumerate()
        .map(|(k, (table, _))| {
            let seed = args.seed.wrapping_add(9000 + k as u64);
            let coordinate = |v: usize| extension(|j| splitmix(seed, (4 * v + j) as u64));
            Point::new((0..shapes[table].num_variables()).map(coordinate).collect())
        })
        .collect())
}

fn extension(coefficient: impl FnMut(usize) -> F) -> EF {
    EF::from_basis_coefficients_fn(coefficient)
}
