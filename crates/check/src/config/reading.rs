//! From TOML to [`Config`], by hand: every complaint has a line, and every unknown key a neighbour.

use std::ops::Range;

use perfblame_analysis::{Amount, MinDelta};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    BUDGET, CacheLimits, Command, Config, MAX_RUNS, MIN_RUNS, Output, PRECISION, Workload,
};

/// A file that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ConfigError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

/// What a workload can say, and the top of the file for all of them; those after the first two only a workload.
const SETTINGS: &[&str] = &[
    "build",
    "directory",
    "environment",
    "profiler",
    "runs",
    "budget",
    "warmup",
    "output",
    "min-delta",
    "precision",
    "metric",
];
const OF_WORKLOADS: &[&str] = &["name", "run", "inputs"];
const OF_THE_FILE: &[&str] = &["workload", "cache"];

type Result<T> = std::result::Result<T, ConfigError>;
type Value<'a> = Spanned<DeValue<'a>>;

/// The whole file.
pub fn config(text: &str) -> Result<Config> {
    let reader = ConfigReader { text };
    let table = DeTable::parse(text).map_err(|error| ConfigError {
        line: reader.line(error.span().unwrap_or_default()),
        message: error.message().to_owned(),
        help: None,
    })?;
    let whole = table.span();
    let table = table.get_ref();
    reader.known(table, &[OF_THE_FILE, SETTINGS])?;
    let defaults = reader.settings(table, Settings::default())?;
    let mut workloads: Vec<Workload> = Vec::new();
    for value in reader.tables(table.get("workload"))? {
        let workload = reader.workload(value, defaults.clone())?;
        if workloads.iter().any(|known| known.name == workload.name) {
            let message = format!("two workloads have the name `{}`", workload.name);
            return Err(reader.wrong(value.span(), message, None));
        }
        workloads.push(workload);
    }
    if workloads.is_empty() {
        let help = "add `[[workload]]` with `name` and `run`".to_owned();
        return Err(reader.wrong(whole, "this file has no workload".to_owned(), Some(help)));
    }
    let mut cache = CacheLimits::default();
    if let Some(value) = table.get("cache") {
        let limits = reader.table(value, "cache")?;
        reader.known(limits, &[&["trees", "profiles"]])?;
        for (name, limit) in [("trees", &mut cache.trees), ("profiles", &mut cache.profiles)] {
            if let Some(value) = limits.get(name) {
                *limit = reader.amount(value, name, "500MB", Amount::size)?;
            }
        }
    }
    Ok(Config { workloads, cache })
}

#[derive(Clone)]
struct Settings {
    build: Option<String>,
    directory: Option<String>,
    environment: Vec<(String, String)>,
    profiler: Option<String>,
    runs: (u32, u32),
    budget: std::time::Duration,
    warmup: u32,
    output: Output,
    min_delta: Option<MinDelta>,
    precision: f64,
    metric: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            build: None,
            directory: None,
            environment: Vec::new(),
            profiler: None,
            runs: (MIN_RUNS, MAX_RUNS),
            budget: BUDGET,
            warmup: 0,
            output: Output::Same,
            min_delta: None,
            precision: PRECISION,
            metric: None,
        }
    }
}

struct ConfigReader<'t> {
    text: &'t str,
}

impl ConfigReader<'_> {
    fn line(&self, span: Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    fn wrong(&self, span: Range<usize>, message: String, help: Option<String>) -> ConfigError {
        ConfigError { line: self.line(span), message, help }
    }

    fn known(&self, table: &DeTable<'_>, known: &[&[&'static str]]) -> Result<()> {
        let known: Vec<&str> = known.iter().flat_map(|keys| keys.iter().copied()).collect();
        // The first in the file, whatever order the table has.
        let unknown = (table.iter().map(|(key, _)| key))
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        let Some(key) = unknown else { return Ok(()) };
        let name = key.get_ref().as_ref();
        let (message, help) = if let Some(meant) = closest(name, &known) {
            (format!("unknown key `{name}`; did you mean `{meant}`?"), None)
        } else {
            let keys = format!("the keys here are {}", known.join(", "));
            (format!("unknown key `{name}`"), Some(keys))
        };
        Err(self.wrong(key.span(), message, help))
    }

    fn text(&self, value: &Value<'_>, key: &str) -> Result<String> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.as_ref().to_owned()),
            other => Err(self.kind(value, key, "a string", other)),
        }
    }

    fn kind(&self, value: &Value<'_>, key: &str, wanted: &str, got: &DeValue<'_>) -> ConfigError {
        let message = format!("`{key}` must be {wanted}, not {}", got.type_str());
        self.wrong(value.span(), message, None)
    }

    fn number(&self, value: &Value<'_>, key: &str, least: u32) -> Result<u32> {
        let number = value.get_ref().as_integer().and_then(|number| {
            let digits = number.as_str().replace('_', "");
            u32::from_str_radix(&digits, number.radix()).ok()
        });
        number.filter(|number| *number >= least && *number <= 1_000_000).ok_or_else(|| {
            let message = format!("`{key}` must be a whole number of at least {least}");
            self.wrong(value.span(), message, None)
        })
    }

    fn amount<T, E>(
        &self,
        value: &Value<'_>,
        key: &str,
        example: &str,
        parse: impl FnOnce(&str) -> std::result::Result<T, E>,
    ) -> Result<T> {
        let text = self.text(value, key)?;
        parse(&text).map_err(|_| {
            let message = format!("invalid value `{text}` for `{key}`");
            self.wrong(value.span(), message, Some(format!("as in `{key} = \"{example}\"`")))
        })
    }

    fn table<'a, 'v>(&self, value: &'a Value<'v>, key: &str) -> Result<&'a DeTable<'v>> {
        let got = value.get_ref();
        got.as_table().ok_or_else(|| self.kind(value, key, "a table", got))
    }

    fn tables<'a, 'v>(&self, value: Option<&'a Value<'v>>) -> Result<Vec<&'a Value<'v>>> {
        let Some(value) = value else { return Ok(Vec::new()) };
        match value.get_ref() {
            DeValue::Array(values) => Ok(values.iter().collect()),
            DeValue::Table(_) => Err(self.wrong(
                value.span(),
                "`workload` must be a list".to_owned(),
                Some("write `[[workload]]`, in double brackets".to_owned()),
            )),
            other => Err(self.kind(value, "workload", "a list of tables", other)),
        }
    }

    fn workload(&self, value: &Value<'_>, defaults: Settings) -> Result<Workload> {
        let table = self.table(value, "workload")?;
        self.known(table, &[OF_WORKLOADS, SETTINGS])?;
        let required = |key: &str| {
            table.get(key).ok_or_else(|| {
                let message = format!("a workload needs `{key}`");
                self.wrong(value.span(), message, None)
            })
        };
        let named = required("name")?;
        let name = self.text(named, "name")?;
        if name.trim().is_empty() {
            return Err(self.wrong(named.span(), "a workload needs a name".to_owned(), None));
        }
        let line = required("run")?;
        let run = self.command(line)?;
        let inputs = match table.get("inputs") {
            None => vec![String::new()],
            Some(list) => self.inputs(list)?,
        };
        match (run.takes_input(), table.contains_key("inputs")) {
            (true, false) => {
                let message = "`run` has `{input}`, but there are no `inputs`".to_owned();
                return Err(self.wrong(line.span(), message, None));
            }
            (false, true) => {
                let message = "there are `inputs`, but `run` has no `{input}`".to_owned();
                return Err(self.wrong(line.span(), message, None));
            }
            _ => {}
        }
        let settings = self.settings(table, defaults)?;
        Ok(Workload {
            name,
            run,
            inputs,
            build: settings.build.filter(|build| !build.trim().is_empty()),
            directory: settings.directory,
            environment: settings.environment,
            profiler: settings.profiler.filter(|name| name != "auto"),
            min_runs: settings.runs.0,
            max_runs: settings.runs.1,
            budget: settings.budget,
            warmup: settings.warmup,
            output: settings.output,
            min_delta: settings.min_delta,
            precision: settings.precision,
            metric: settings.metric,
        })
    }

    fn command(&self, value: &Value<'_>) -> Result<Command> {
        if let DeValue::Array(words) = value.get_ref() {
            let words: Result<Vec<String>> =
                words.iter().map(|word| self.text(word, "run")).collect();
            let words = words?;
            if words.first().is_none_or(String::is_empty) {
                return Err(self.wrong(value.span(), "`run` is empty".to_owned(), None));
            }
            return Ok(Command::Words(words));
        }
        let line = self.text(value, "run")?;
        Command::parse(&line).map_err(|error| self.wrong(value.span(), error.to_string(), None))
    }

    fn inputs(&self, value: &Value<'_>) -> Result<Vec<String>> {
        let DeValue::Array(values) = value.get_ref() else {
            return Err(self.kind(value, "inputs", "a list of strings", value.get_ref()));
        };
        let mut inputs: Vec<String> = Vec::new();
        for value in values {
            let input = self.text(value, "inputs")?;
            if inputs.contains(&input) {
                let message = format!("the input `{input}` is listed twice");
                return Err(self.wrong(value.span(), message, None));
            }
            inputs.push(input);
        }
        if inputs.is_empty() {
            let message = "`inputs` is empty".to_owned();
            return Err(self.wrong(value.span(), message, Some("leave it out".to_owned())));
        }
        Ok(inputs)
    }

    fn settings(&self, table: &DeTable<'_>, mut settings: Settings) -> Result<Settings> {
        let text = |key: &str| table.get(key).map(|value| self.text(value, key)).transpose();
        if let Some(build) = text("build")? {
            settings.build = Some(build);
        }
        if let Some(value) = table.get("directory") {
            let directory = self.text(value, "directory")?;
            let inside = |part: std::path::Component<'_>| {
                matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir)
            };
            if !std::path::Path::new(&directory).components().all(inside) {
                let message = "`directory` must be below the root of the repository".to_owned();
                return Err(self.wrong(value.span(), message, None));
            }
            settings.directory = Some(directory);
        }
        if let Some(value) = table.get("environment") {
            for (name, value) in self.table(value, "environment")? {
                let name = name.get_ref().as_ref().to_owned();
                let value = self.text(value, "environment")?;
                settings.environment.retain(|(known, _)| *known != name);
                settings.environment.push((name, value));
            }
            settings.environment.sort();
        }
        if let Some(profiler) = text("profiler")? {
            settings.profiler = Some(profiler);
        }
        if let Some(value) = table.get("runs") {
            settings.runs = self.runs(value, settings.runs)?;
        }
        if let Some(value) = table.get("budget") {
            settings.budget = self.amount(value, "budget", "10min", Amount::time)?;
        }
        if let Some(value) = table.get("warmup") {
            settings.warmup = self.number(value, "warmup", 0)?;
        }
        if let Some(value) = table.get("output") {
            settings.output = self.amount(value, "output", "ignore", |text| match text {
                "same" => Ok(Output::Same),
                "ignore" => Ok(Output::Ignore),
                _ => Err(()),
            })?;
        }
        if let Some(value) = table.get("min-delta") {
            settings.min_delta = Some(self.amount(value, "min-delta", "2%", |text| {
                Amount::parse(text).map(MinDelta::from)
            })?);
        }
        if let Some(value) = table.get("precision") {
            settings.precision =
                self.amount(value, "precision", "5%", |text| match Amount::share(text) {
                    Ok(share) if share > 0.0 => Ok(share),
                    _ => Err(()),
                })?;
        }
        if let Some(metric) = text("metric")? {
            settings.metric = Some(metric);
        }
        Ok(settings)
    }

    /// `runs = 5`, or `runs = { min = 3, max = 20 }`.
    fn runs(&self, value: &Value<'_>, (least, most): (u32, u32)) -> Result<(u32, u32)> {
        let runs = if value.get_ref().is_integer() {
            let runs = self.number(value, "runs", 2)?;
            (runs, runs)
        } else {
            let table = self.table(value, "runs")?;
            self.known(table, &[&["min", "max"]])?;
            let least = match table.get("min") {
                Some(value) => self.number(value, "min", 2)?,
                None => least,
            };
            let most = match table.get("max") {
                Some(value) => self.number(value, "max", 2)?,
                None => most.max(least),
            };
            (least, most)
        };
        if runs.0 > runs.1 {
            let message =
                format!("the `min` of `runs`, {}, is larger than its `max`, {}", runs.0, runs.1);
            return Err(self.wrong(value.span(), message, None));
        }
        Ok(runs)
    }
}

/// The known word that was probably meant: at most a third of its letters differ.
pub fn closest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known.iter().map(|known| (distance(word, known), *known));
    near.filter(|(distance, known)| *distance <= known.len().div_ceil(3)).min().map(|(_, it)| it)
}

/// Letters to insert, drop or replace; swapping two neighbours counts as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut least =
                (rows[i][j] + usize::from(x != y)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
