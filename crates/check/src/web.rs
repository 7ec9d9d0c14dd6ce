//! Two web sites: the same visit to both in turns, until the answer is clear.
//!
//! A site is an address, a folder that is served here, or a server that a command starts. Each run is a visit by a fresh
//! browser, recorded as a trace of its own; runs alternate and are looked at as those of two revisions are
//! (`sequential`). Two things are measured beside: what recording costs, by visits without it, which both sides bear
//! alike; and how steady the machine is, by the same work done before every run.

mod machine_noise;
mod started_server;

pub use machine_noise::MachineNoise;
pub use started_server::StartedServer;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perfblame_analysis::{Ask, DiffQuery, InputOptions, LoadOptions, Source, Verdict, load};
use perfblame_cct::{Profile, Side, Sides};
use perfblame_record::RecordError;
use perfblame_record::chrome::{Visit, Visited, record_visit, visit};
use perfblame_words::counted;

use crate::metric::refuse_foreign_unit;
use crate::sequential::{
    Budget, CollectedRuns, Decided, FALSE_ALARM, Plan, Reading, Runs, SetBy, decide,
};
use crate::{CheckEvent, Failure, Watch};

/// Where the pages of one side come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Site {
    /// A server that runs already.
    Address(String),
    /// A folder, to be served.
    Folder(PathBuf),
    /// A server, to be started.
    Command {
        /// A line for the shell; `{port}` is a free port.
        line: String,
        /// Where it answers; at that port when not given.
        url: Option<String>,
    },
}

/// What to compare, and how.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// Before and after.
    pub sites: Sides<Site>,
    /// The page below the site's address that is visited; when empty, that of the flow, or the site's own.
    pub page: String,
    /// What is done at each page; its address is the site's.
    pub visit: Visit,
    /// Visits to each side that are not recorded.
    pub warm_up: u32,
    /// Runs of each side before the first look.
    pub min_runs: u32,
    /// Runs of each side at most.
    pub max_runs: u32,
    /// No pair of runs is begun that would take longer than this in all.
    pub budget: Duration,
    /// How long servers may take to answer.
    pub patience: Duration,
    /// What is compared.
    pub query: DiffQuery,
    /// How traces are read.
    pub inputs: InputOptions,
    /// Where recordings go: `before/run-1.json.gz` and so on.
    pub folder: PathBuf,
}

/// The answer, and what is known of how it was measured.
#[derive(Debug)]
pub struct WebCompared {
    /// The answer.
    pub decided: Decided,
    /// How steady the machine was.
    pub noise: MachineNoise,
    /// How much longer a visit takes when it is recorded, as a part, by side; none without visits to compare with.
    pub overhead: Option<Sides<f64>>,
    /// What is worth knowing of the visits, each once.
    pub notes: Vec<String>,
    /// Where the recordings of each side are.
    pub folders: Sides<PathBuf>,
}

/// Unchanged is clear once the total is known to a twentieth.
const PRECISION: f64 = 0.05;

/// Visits both sites in turns until the answer is clear.
pub fn compare(options: &WebOptions, watch: &dyn Watch, ask: &Ask) -> Result<WebCompared, Failure> {
    // Times are the first metric of a visit.
    let (least, metric) = (options.query.min_delta, options.query.metric.as_deref());
    refuse_foreign_unit(least, metric, Some("wall"), SetBy::Options)?;
    let folders = Sides::of(|side| options.folder.join(side.name()));
    for folder in &folders {
        std::fs::create_dir_all(folder).map_err(|error| Failure::io("create", folder, &error))?;
    }
    let sites = Sides::try_of(|side| Running::start(options, side, watch, ask))?;
    let mut visits = Visits {
        options,
        watch,
        ask,
        sites,
        folders: folders.clone(),
        noise: MachineNoise::default(),
        traces: Sides::default(),
        plain: Sides::default(),
        recorded: Sides::default(),
        notes: Vec::new(),
        budget: Budget { whole: options.budget, spent: Duration::ZERO },
    };
    visits.warm_up()?;
    let plan = Plan {
        min_runs: options.min_runs.min(options.max_runs),
        max_runs: options.max_runs,
        false_alarm: FALSE_ALARM,
        precision: PRECISION,
        query: options.query.clone(),
        set_by: SetBy::Options,
    };
    let mut decided = decide(&plan, &mut CollectedRuns::default(), &mut visits, ask)?;
    let inputs =
        |traces: &[PathBuf]| traces.iter().map(|path| path.display().to_string()).collect();
    decided.diff.before.inputs = inputs(&visits.traces.before);
    decided.diff.after.inputs = inputs(&visits.traces.after);
    let overhead = visits.overhead();
    let Visits { noise, notes, .. } = visits;
    Ok(WebCompared { decided, noise, overhead, notes, folders })
}

/// A site that can be visited, for as long as it is held.
struct Running {
    url: String,
    server: Server,
    log: PathBuf,
}

enum Server {
    Elsewhere,
    Folder(#[expect(dead_code, reason = "held so that it continues")] perfblame_serve::Site),
    Started(StartedServer),
}

impl Running {
    fn start(
        options: &WebOptions,
        side: Side,
        watch: &dyn Watch,
        ask: &Ask,
    ) -> Result<Self, Failure> {
        let log = options.folder.join(format!("{side}-server.log"));
        let (url, server) = match &options.sites[side] {
            Site::Address(url) => (url.clone(), Server::Elsewhere),
            Site::Folder(folder) => {
                let served = perfblame_serve::Site::of_folder(folder)
                    .map_err(|error| Failure::io("serve", folder, &error))?;
                (served.url(), Server::Folder(served))
            }
            Site::Command { line, url } => {
                watch.event(&CheckEvent::Note { text: &format!("waiting for `{line}`") });
                let (url, patience) = (url.as_deref(), options.patience);
                let started = StartedServer::start(line, url, &log, patience, ask.cancel_flag())?;
                (started.url.clone(), Server::Started(started))
            }
        };
        let page = match options.page.as_str() {
            // The page where a flow was recorded.
            "" => path_of(options.visit.start_url()),
            page => page,
        };
        Ok(Self { url: page_of(&url, page), server, log })
    }
}

/// The address of a page below a site's.
fn page_of(site: &str, page: &str) -> String {
    match page.trim_start_matches('/') {
        "" => site.to_owned(),
        page => format!("{}/{page}", site.trim_end_matches('/')),
    }
}

/// What stands behind the host of an address.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.find(['/', '?', '#']).and_then(|at| rest.get(at..)).unwrap_or("")
}

/// Visits to both sites, one after the other.
struct Visits<'a> {
    options: &'a WebOptions,
    watch: &'a dyn Watch,
    ask: &'a Ask,
    sites: Sides<Running>,
    folders: Sides<PathBuf>,
    noise: MachineNoise,
    /// What was recorded, by side.
    traces: Sides<Vec<PathBuf>>,
    /// What visits took that were not recorded, by side.
    plain: Sides<Vec<Duration>>,
    /// What recorded visits took, by side.
    recorded: Sides<Vec<Duration>>,
    notes: Vec<String>,
    budget: Budget,
}

impl Visits<'_> {
    fn warm_up(&mut self) -> Result<(), Failure> {
        for number in 1..=self.options.warm_up {
            for side in Side::BOTH {
                let text =
                    format!("warming up, visit {number} of {}, {side}", self.options.warm_up);
                self.watch.event(&CheckEvent::Note { text: &text });
                let visited = visit(&self.visit_to(side)?, self.ask.cancel_flag())
                    .map_err(|error| failed(&error, side))?;
                self.plain[side].push(visited.took);
                self.note(visited.notes);
            }
        }
        Ok(())
    }

    /// The visit to one side, whose server must still be there.
    fn visit_to(&mut self, side: Side) -> Result<Visit, Failure> {
        let site = &mut self.sites[side];
        if let Server::Started(server) = &mut site.server {
            server.check(&site.log)?;
        }
        Ok(self.options.visit.at(&site.url))
    }

    fn note(&mut self, notes: Vec<String>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// How much longer recorded visits took than others, by side. The first visit of a side also fills caches.
    fn overhead(&self) -> Option<Sides<f64>> {
        let of_side = |side: Side| {
            let plain = median(self.plain[side].get(1..).filter(|warm| !warm.is_empty())?)?;
            Some(median(&self.recorded[side])? / plain.max(1e-9) - 1.0)
        };
        Some(Sides { before: of_side(Side::Before)?, after: of_side(Side::After)? })
    }
}

impl Runs for Visits<'_> {
    fn run(&mut self, side: Side, number: u32) -> Result<Reading, Failure> {
        let most = self.options.max_runs;
        let text = format!("run {} of at most {most} per side, {side}", number + 1);
        self.watch.event(&CheckEvent::Note { text: &text });
        let visit = self.visit_to(side)?;
        let started = Instant::now();
        self.noise.measure();
        let name = format!("run-{}", number + 1);
        let visited = record_visit(&visit, &self.folders[side], &name, self.ask.cancel_flag())
            .map_err(|error| failed(&error, side))?;
        self.budget.spent += started.elapsed();
        let Visited { trace, took, notes, .. } = visited;
        self.recorded[side].push(took);
        self.note(notes);
        let mut load = self.options.query.load_options(&self.options.inputs);
        // Source maps that are served lie beside their scripts.
        if let Site::Folder(folder) = &self.options.sites[side] {
            load.scripts.maps.push(folder.clone());
        }
        let trace = trace.unwrap_or_else(|| self.folders[side].join(name));
        self.traces[side].push(trace.clone());
        let ask = self.ask.clone();
        Ok(Box::new(move || read(&trace, load, &ask)))
    }

    fn has_time(&mut self, done: u32) -> bool {
        self.budget.fits(done)
    }

    fn looked(&mut self, runs: u32, verdict: Verdict, clear: bool) {
        let clear = if clear { "clear" } else { "not clear yet" };
        let runs = counted(runs.into(), "run", "runs");
        let text = format!("{} after {runs} per side, {clear}", verdict.name());
        self.watch.event(&CheckEvent::Note { text: &text });
    }
}

fn read(trace: &Path, options: LoadOptions, ask: &Ask) -> Result<Profile, Failure> {
    let loaded = load(&[Source::File(trace.to_owned())], options, ask);
    loaded?.runs.profile(0).ok_or_else(|| Failure::new("a trace contains no run", trace.display()))
}

fn failed(error: &RecordError, side: Side) -> Failure {
    if matches!(error, RecordError::Cancelled) {
        return Failure::cancelled();
    }
    let failure = Failure::new(format!("{side}: {error}"), error.why());
    Failure { help: error.help(), ..failure }
}

fn median(times: &[Duration]) -> Option<f64> {
    let mut seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_page_is_known_by_its_path() {
        for (url, expected) in [
            ("http://localhost:3000/cart?x=1", "/cart?x=1"),
            ("http://localhost:3000", ""),
            ("http://localhost?x", "?x"),
            ("about:blank", ""),
        ] {
            assert_eq!(path_of(url), expected, "{url}");
        }
    }

    #[test]
    fn pages_lie_below_sites() {
        for (site, page, expected) in [
            ("http://a:1/", "", "http://a:1/"),
            ("http://a:1/", "/", "http://a:1/"),
            ("http://a:1/", "/x/y.html?z", "http://a:1/x/y.html?z"),
            ("http://a:1/app", "x", "http://a:1/app/x"),
        ] {
            assert_eq!(page_of(site, page), expected);
        }
    }
}
