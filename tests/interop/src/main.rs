//! The published p3-whir prover and verifier behind JSON.
//!
//! `whir-interop` reads one request from standard input (or from the file named as its argument) and writes
//! one answer; `whir-interop serve` answers one request per line until its input ends. README.md lists the
//! requests. Every answer has `ok`; a refusal has `error` (its class) and `detail`, a caught panic has `panic`.

mod args;
mod config;
mod data;
mod modes;
mod pool;
mod schemes;

use std::fmt::{Debug, Display};
use std::io::{BufRead, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

/// A refusal: its class, and the sentence that explains it.
pub struct Refused {
    class: String,
    detail: String,
}

impl Refused {
    /// A request that asks for something impossible or says it wrongly.
    pub fn request(detail: impl Display) -> Self {
        Self { class: "Request".into(), detail: detail.to_string() }
    }

    /// A commitment or proof that the crates' reader does not take.
    pub fn unreadable(detail: impl Display) -> Self {
        Self { class: "Unreadable".into(), detail: detail.to_string() }
    }

    /// An error of the crates.
    pub fn by_crate(error: impl Debug + Display) -> Self {
        Self { class: variant_name(&format!("{error:?}")), detail: error.to_string() }
    }
}

/// The variant path of an error's debug text: `Sumcheck(InvalidPowWitness { .. })` -> `Sumcheck(InvalidPowWitness)`.
fn variant_name(debug: &str) -> String {
    let end = debug.find(|c: char| !c.is_alphanumeric()).unwrap_or(debug.len());
    let (name, rest) = debug.split_at(end);
    match rest.strip_prefix('(') {
        Some(inner) if inner.starts_with(|c: char| c.is_ascii_uppercase()) => {
            format!("{name}({})", variant_name(inner))
        }
        _ => name.to_string(),
    }
}

fn answer(line: &str) -> String {
    // The crates assert on caller's mistakes; a panic is an answer like any other, and the process goes on.
    let outcome = catch_unwind(AssertUnwindSafe(|| modes::answer(line)));
    let value = match outcome {
        Ok(Ok(text)) => return text,
        Ok(Err(refused)) => json!({"ok": false, "error": refused.class, "detail": refused.detail}),
        Err(payload) => {
            let message = payload
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string))
                .unwrap_or_default();
            json!({"ok": false, "panic": message})
        }
    };
    Value::to_string(&value)
}

fn serve() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", answer(&line?))?;
        out.flush()?;
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    // Panics are reported in the answer.
    std::panic::set_hook(Box::new(|_| {}));
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("serve") {
        return serve();
    }
    let text = match argument {
        Some(path) => std::fs::read_to_string(path)?,
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    println!("{}", answer(&text));
    Ok(())
}
