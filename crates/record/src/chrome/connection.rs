//! The DevTools protocol: calls with answers, and events, of many sessions over one connection.
//!
//! A thread of its own receives. It hands answers to who asked and events to who listens; what must be answered at once
//! (dialogs, new targets) the [`Attendant`] answers right there, as a page stands still until then. A trace can have
//! gigabytes: its pieces go to a sink as raw text, in that thread, so that a slow disk slows the browser down instead of
//! filling our memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ChromeError;
use super::attendant::Attendant;
use super::transport::{Incoming, Outgoing};

/// How often we look up from waiting.
const TICK: Duration = Duration::from_millis(25);

/// Events that wait for a listener; those beyond are dropped, as nobody looks at them any more.
const MOST_WAITING: usize = 1 << 16;

/// When waiting ends.
#[derive(Clone, Copy, Debug)]
pub struct Until<'a> {
    /// Nothing is waited for beyond.
    pub deadline: Instant,
    /// The time that was given, for what we say.
    pub given: Duration,
    /// Set by somebody who wants us to stop.
    pub cancel: &'a AtomicBool,
}

impl<'a> Until<'a> {
    /// From now on.
    pub fn after(given: Duration, cancel: &'a AtomicBool) -> Self {
        let now = Instant::now();
        let far = Duration::from_secs(u32::MAX.into());
        Self { deadline: now.checked_add(given).unwrap_or(now + far), given, cancel }
    }

    /// The same, and not longer than this from now on.
    pub fn at_most(self, given: Duration) -> Self {
        let sooner = Self::after(given, self.cancel);
        if sooner.deadline < self.deadline { sooner } else { self }
    }

    /// Fails once it is time.
    pub fn check(&self, doing: &str) -> Result<(), ChromeError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(ChromeError::Cancelled);
        }
        if Instant::now() >= self.deadline {
            let (doing, after) = (doing.to_owned(), self.given);
            return Err(ChromeError::TimedOut { doing, after, why: String::new() });
        }
        Ok(())
    }

    fn tick(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()).min(TICK)
    }
}

/// Something that a browser told by itself.
#[derive(Clone, Debug)]
pub struct BrowserEvent {
    /// The session it is of; none for the browser's own.
    pub session: Option<String>,
    /// Its name, such as `Page.loadEventFired`.
    pub method: String,
    /// What it says.
    pub params: Value,
}

/// One connection to a browser. Clones are the same connection; it ends with the last one.
#[derive(Clone)]
pub struct Connection(Arc<Link>);

/// The part that callers hold. When the last one is gone, the way out is closed, and with it the way in.
struct Link {
    outgoing: Arc<Mutex<Option<Box<dyn Outgoing>>>>,
    shared: Arc<Shared>,
}

struct Shared {
    next: AtomicU64,
    state: Mutex<ConnectionState>,
    trace: Mutex<Option<TraceSink>>,
}

/// Takes the events of a trace as the browser wrote them: one call has some of them, each an object in JSON.
pub type TraceSink = Box<dyn FnMut(&[&RawValue]) + Send>;

#[derive(Default)]
struct ConnectionState {
    calls: BTreeMap<u64, Call>,
    listeners: Vec<Listener>,
    /// Sessions that are over.
    gone: BTreeMap<String, Gone>,
    /// Set when nothing comes any more.
    ended: Option<String>,
    attendant: Attendant,
}

struct Call {
    session: Option<Arc<str>>,
    answer: SyncSender<Answer>,
}

type Answer = Result<Box<RawValue>, Failed>;

enum Failed {
    Refused(String),
    Gone(Gone),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gone {
    Crashed,
    Closed,
}

struct Listener {
    session: Option<Arc<str>>,
    methods: Vec<String>,
    events: SyncSender<BrowserEvent>,
}

/// A message as it arrives. Nothing is taken apart that nobody asked for.
#[derive(Deserialize)]
struct Wire<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<WireError>,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Value,
}

#[derive(Deserialize)]
struct Collected<'a> {
    #[serde(borrow)]
    value: Vec<&'a RawValue>,
}

impl Connection {
    /// Starts receiving.
    pub fn new(outgoing: Box<dyn Outgoing>, mut incoming: Box<dyn Incoming>) -> Self {
        let shared = Arc::new(Shared {
            next: AtomicU64::new(1),
            state: Mutex::default(),
            trace: Mutex::default(),
        });
        let outgoing = Arc::new(Mutex::new(Some(outgoing)));
        let (receiver, answers) = (Arc::clone(&shared), Arc::clone(&outgoing));
        std::thread::spawn(move || {
            let mut message = Vec::new();
            let why = loop {
                match incoming.receive(&mut message) {
                    Ok(true) => receiver.dispatch(&message, &answers),
                    Ok(false) => break "it closed the connection".to_owned(),
                    Err(error) => break error.to_string(),
                }
            };
            receiver.end(why);
        });
        Self(Arc::new(Link { outgoing, shared }))
    }

    /// The browser itself, as a session.
    pub fn browser<'a>(&self, until: Until<'a>) -> Session<'a> {
        Session { connection: self.clone(), id: None, until }
    }

    /// A session that was attached.
    pub fn session<'a>(&self, id: &str, until: Until<'a>) -> Session<'a> {
        Session { connection: self.clone(), id: Some(id.into()), until }
    }

    /// Where the events of a trace go from now on.
    pub fn set_trace_sink(&self, sink: Option<TraceSink>) {
        *lock(&self.0.shared.trace) = sink;
    }

    /// What answers for us; see there.
    pub(super) fn attendant<T>(&self, look: impl FnOnce(&mut Attendant) -> T) -> T {
        look(&mut lock(&self.0.shared.state).attendant)
    }

    /// True once nothing comes any more.
    pub fn has_ended(&self) -> bool {
        lock(&self.0.shared.state).ended.is_some()
    }

    fn send(&self, id: u64, session: Option<&str>, method: &str, params: &Value) -> bool {
        send(&self.0.outgoing, id, session, method, params)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        lock(&self.outgoing).take();
    }
}

fn send(
    outgoing: &Mutex<Option<Box<dyn Outgoing>>>,
    id: u64,
    session: Option<&str>,
    method: &str,
    params: &Value,
) -> bool {
    let mut message = serde_json::json!({ "id": id, "method": method, "params": params });
    if let Some(session) = session {
        message["sessionId"] = session.into();
    }
    let text = message.to_string();
    lock(outgoing).as_mut().is_some_and(|outgoing| outgoing.send(&text).is_ok())
}

/// A thread that panicked has a bug; what it left is still the best there is.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn dispatch(&self, message: &[u8], outgoing: &Mutex<Option<Box<dyn Outgoing>>>) {
        // What is no message of the protocol cannot be anybody's answer.
        let Ok(wire) = serde_json::from_slice::<Wire<'_>>(message) else { return };
        if let Some(id) = wire.id {
            let Some(call) = lock(&self.state).calls.remove(&id) else { return };
            let answer = match (wire.error, wire.result) {
                (Some(error), _) => Err(Failed::Refused(error.text())),
                (None, Some(result)) => Ok(result.to_owned()),
                (None, None) => Ok(RawValue::NULL.to_owned()),
            };
            let _ = call.answer.try_send(answer);
            return;
        }
        let Some(method) = wire.method else { return };
        if method == "Tracing.dataCollected" {
            let collected = wire.params.map(|params| serde_json::from_str(params.get()));
            if let Some(Ok(Collected { value })) = collected
                && let Some(sink) = lock(&self.trace).as_mut()
            {
                sink(&value);
            }
            return;
        }
        let mut state = lock(&self.state);
        let listened = state.listeners.iter().any(|l| l.wants(wire.session.as_deref(), &method));
        if !listened && !Attendant::wants(&method) {
            return;
        }
        let params = wire.params.and_then(|params| serde_json::from_str(params.get()).ok());
        let event = BrowserEvent {
            session: wire.session.map(Cow::into_owned),
            method: method.into_owned(),
            params: params.unwrap_or(Value::Null),
        };
        state.see(&event);
        let answers = state.attendant.see(&event);
        state.listeners.retain(|listener| {
            !listener.wants(event.session.as_deref(), &event.method)
                || !matches!(
                    listener.events.try_send(event.clone()),
                    Err(TrySendError::Disconnected(_))
                )
        });
        drop(state);
        for (session, method, params) in answers {
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            send(outgoing, id, session.as_deref(), method, &params);
        }
    }

    fn end(&self, why: String) {
        // The sink may hold a file that has to be closed.
        lock(&self.trace).take();
        let mut state = lock(&self.state);
        state.ended = Some(why);
        state.calls.clear();
        state.listeners.clear();
    }
}

impl WireError {
    fn text(self) -> String {
        match self.data {
            Value::String(data) if !data.is_empty() => format!("{}: {data}", self.message),
            _ => self.message,
        }
    }
}

impl ConnectionState {
    /// Sessions end with their target.
    fn see(&mut self, event: &BrowserEvent) {
        let (session, gone) = match &*event.method {
            "Inspector.targetCrashed" => (event.session.clone(), Gone::Crashed),
            "Target.detachedFromTarget" => {
                let session = event.params["sessionId"].as_str().map(str::to_owned);
                (session, Gone::Closed)
            }
            _ => return,
        };
        let Some(session) = session else { return };
        let gone = *self.gone.entry(session.clone()).or_insert(gone);
        let of = |other: &Option<Arc<str>>| other.as_deref() == Some(&*session);
        let calls: Vec<u64> =
            self.calls.iter().filter(|(_, call)| of(&call.session)).map(|(id, _)| *id).collect();
        for id in calls {
            if let Some(call) = self.calls.remove(&id) {
                let _ = call.answer.try_send(Err(Failed::Gone(gone)));
            }
        }
        self.listeners.retain(|listener| !of(&listener.session));
    }
}

impl Listener {
    fn wants(&self, session: Option<&str>, method: &str) -> bool {
        self.session.as_deref() == session && self.methods.iter().any(|wanted| wanted == method)
    }
}

/// One target of a browser as we are attached to it: a page, a frame in a process of its own, a worker; or the browser.
#[derive(Clone)]
pub struct Session<'a> {
    connection: Connection,
    id: Option<Arc<str>>,
    until: Until<'a>,
}

impl<'a> Session<'a> {
    /// Its id; none for the browser itself.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The connection it is on.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// How long its calls may take.
    pub fn until(&self) -> Until<'a> {
        self.until
    }

    /// The same session with less time, or more.
    pub fn with(&self, until: Until<'a>) -> Self {
        Self { until, ..self.clone() }
    }

    /// Asks and waits for the answer.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "parameters are written at the call, with `json!`"
    )]
    pub fn call(&self, method: &str, params: Value) -> Result<Value, ChromeError> {
        self.call_for(method, &params)
    }

    /// Asks, and takes of the answer what is wanted.
    pub(super) fn call_for<T: serde::de::DeserializeOwned>(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<T, ChromeError> {
        let result = self.call_raw(method, params)?;
        serde_json::from_str(result.get()).map_err(|error| ChromeError::Refused {
            method: method.to_owned(),
            why: format!("invalid response: {error}"),
        })
    }

    /// Asks and does not wait.
    pub fn send(&self, method: &str, params: &Value) {
        let id = self.connection.0.shared.next.fetch_add(1, Ordering::Relaxed);
        self.connection.send(id, self.id(), method, params);
    }

    fn call_raw(&self, method: &str, params: &Value) -> Result<Box<RawValue>, ChromeError> {
        self.until.check(method)?;
        self.alive()?;
        let shared = &self.connection.0.shared;
        let id = shared.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = sync_channel(1);
        lock(&shared.state).calls.insert(id, Call { session: self.id.clone(), answer });
        if !self.connection.send(id, self.id(), method, params) {
            lock(&shared.state).calls.remove(&id);
            self.alive()?;
            return Err(ChromeError::Ended { why: String::new() });
        }
        loop {
            match answered.recv_timeout(self.until.tick()) {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(Failed::Refused(why))) => {
                    return Err(ChromeError::Refused { method: method.to_owned(), why });
                }
                Ok(Err(Failed::Gone(gone))) => return Err(gone.error()),
                Err(RecvTimeoutError::Disconnected) => {
                    self.alive()?;
                    return Err(ChromeError::Ended { why: String::new() });
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(error) = self.until.check(method) {
                lock(&shared.state).calls.remove(&id);
                return Err(error);
            }
            // It may have gone between looking and asking.
            self.alive()?;
        }
    }

    /// Events of these names, from now on.
    pub fn listen(&self, methods: &[&str]) -> Events<'a> {
        let (events, receiver) = sync_channel(MOST_WAITING);
        let methods = methods.iter().map(|method| (*method).to_owned()).collect();
        let mut state = lock(&self.connection.0.shared.state);
        let gone = self.id().is_some_and(|id| state.gone.contains_key(id));
        if state.ended.is_none() && !gone {
            state.listeners.push(Listener { session: self.id.clone(), methods, events });
        }
        drop(state);
        Events { receiver, session: self.clone() }
    }

    /// Fails when the target or the whole browser is gone.
    pub fn alive(&self) -> Result<(), ChromeError> {
        let state = lock(&self.connection.0.shared.state);
        if let Some(why) = &state.ended {
            return Err(ChromeError::Ended { why: why.clone() });
        }
        match self.id().and_then(|id| state.gone.get(id)) {
            Some(gone) => Err(gone.error()),
            None => Ok(()),
        }
    }
}

impl Gone {
    fn error(self) -> ChromeError {
        match self {
            Self::Crashed => ChromeError::Crashed,
            Self::Closed => ChromeError::Closed,
        }
    }
}

/// Events as they come.
pub struct Events<'a> {
    receiver: Receiver<BrowserEvent>,
    session: Session<'a>,
}

impl<'a> Events<'a> {
    /// The same events, waited for longer or shorter.
    pub fn with(mut self, until: Until<'a>) -> Self {
        self.session.until = until;
        self
    }

    /// The next one.
    pub fn next(&self, doing: &str) -> Result<BrowserEvent, ChromeError> {
        loop {
            if let Some(event) = self.receive(self.session.until.tick())? {
                return Ok(event);
            }
            self.session.until.check(doing)?;
        }
    }

    /// The next one, or nothing when none comes for so long.
    pub fn next_within(&self, time: Duration) -> Result<Option<BrowserEvent>, ChromeError> {
        let until = self.session.until.at_most(time);
        loop {
            if let Some(event) = self.receive(until.tick())? {
                return Ok(Some(event));
            }
            match until.check("") {
                Ok(()) => {}
                Err(ChromeError::TimedOut { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next one that fits.
    pub fn wait_for(
        &self,
        doing: &str,
        mut fits: impl FnMut(&BrowserEvent) -> bool,
    ) -> Result<BrowserEvent, ChromeError> {
        loop {
            let event = self.next(doing)?;
            if fits(&event) {
                return Ok(event);
            }
        }
    }

    fn receive(&self, time: Duration) -> Result<Option<BrowserEvent>, ChromeError> {
        match self.receiver.recv_timeout(time) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                self.session.alive()?;
                Err(ChromeError::Ended { why: String::new() })
            }
        }
    }
}
