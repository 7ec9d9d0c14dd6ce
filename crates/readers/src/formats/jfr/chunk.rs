//! One chunk: the layouts it describes, the pools it carries, the events it holds.
//!
//! Events refer to pools that may come later in the chunk, so the chunk is walked once from record to record; then the
//! checkpoints found on the way are read, what the recording says about itself, and the samples.

use hashbrown::HashMap;
use perfblame_words::counted;

use super::events::{About, Amount, EventUse, Meter, use_of};
use super::header::ChunkHeader;
use super::layout::{Layout, Slots};
use super::metadata::{ClassId, Metadata, Timespan};
use super::pools::Pools;
use super::recording::{JfrRecording, Moment};
use super::scan::JfrScanner;
use super::stacks::{JfrStacks, StackLayouts};
use super::threads::{JfrThreads, ThreadLayouts};
use super::walk::{ValueWalk, anchors, walk};

/// A class of events, ready to be read.
struct EventType<'m> {
    id: ClassId,
    /// With package.
    class: &'m str,
    purpose: EventUse,
    layout: Layout,
}

/// Slots of events with a stack.
const START: usize = 0;
const SAMPLED_THREAD: usize = 1;
const EVENT_THREAD: usize = 2;
const STACK: usize = 3;
/// Of the first measure; that of the second stands behind its two slots.
const AMOUNT: usize = 4;

/// Reads a chunk and says how many of its bytes it is made of: fewer than there are when another chunk starts in the
/// middle of them.
pub fn read_chunk(recording: &mut JfrRecording, header: &ChunkHeader, bytes: &[u8]) -> usize {
    note_gaps(recording, header, bytes);
    let anchors = anchors(bytes, header);
    let Some(metadata) = find_metadata(header, bytes, &anchors) else {
        let offset = recording.offset;
        recording.builder.warn("damaged-chunks", || {
            format!("a chunk without a readable description of its layout, at byte {offset}, was left out")
        });
        return walk(bytes, header, |_| None, &anchors).end;
    };
    let types = event_types(recording, &metadata, header);
    let rows: HashMap<ClassId, u32> =
        (0..).zip(&types).map(|(row, event)| (event.id, row)).collect();
    let walk = walk(bytes, header, |kind| rows.get(&kind).copied(), &anchors);
    recording.begin_chunk(header);
    note_losses(recording, header, bytes, &walk);
    let mut pools = Pools::new(bytes, header.integers, &metadata);
    let stack_layouts = StackLayouts::new(&mut pools, pooled_class(&types, &[STACK]));
    let thread_class = pooled_class(&types, &[SAMPLED_THREAD, EVENT_THREAD]);
    let thread_layouts = ThreadLayouts::new(&mut pools, thread_class);
    for at in &walk.checkpoints {
        if let Err(at) = pools.read_checkpoint(*at) {
            let at = recording.offset + at as u64;
            recording.builder.warn("damaged-pools", || {
                format!(
                    "names and stacks were lost with a damaged constant pool, first at byte {at}"
                )
            });
        }
    }
    // async-profiler writes its settings into the first chunk only; whatever a chunk has replaces what was before.
    let is_setting = |row: u32| types[row as usize].purpose == EventUse::About(About::Setting);
    if walk.records.iter().any(|(row, _)| is_setting(*row)) {
        recording.forget_settings();
    }
    let mut occurs = vec![false; types.len()];
    for (row, at) in &walk.records {
        let event = &types[*row as usize];
        occurs[*row as usize] = true;
        if let EventUse::About(about) = event.purpose
            && read_about(recording, about, event, &types, pools.scanner(*at), &pools).is_none()
        {
            damaged_event(recording, event, *at);
        }
    }
    for (event, _) in types.iter().zip(occurs).filter(|(_, occurs)| *occurs) {
        for (_, meter, _) in measures(event) {
            recording.announce(event.class, meter);
        }
    }
    let mut stacks = JfrStacks::new(&pools, &stack_layouts);
    let mut threads = JfrThreads::new(&pools, &thread_layouts, recording.pid());
    for (row, at) in &walk.records {
        let event = &types[*row as usize];
        if matches!(event.purpose, EventUse::About(_)) {
            continue;
        }
        let mut kept = Slots::default();
        if event.layout.read(&mut pools.scanner(*at), &mut kept).is_none() {
            // Of those that are not read, nothing is lost.
            if event.purpose != EventUse::Unread {
                damaged_event(recording, event, *at);
            }
            continue;
        }
        if event.purpose == EventUse::Unread {
            if kept[STACK] != 0 {
                recording.unread(event.class);
            }
            continue;
        }
        let thread_id = kept[SAMPLED_THREAD].max(kept[EVENT_THREAD]);
        let stack = stacks.stack(&mut recording.builder, kept[STACK], thread_id);
        let mut moment = Moment {
            time: header.clock.time(kept[START] as i64),
            thread: threads.thread(&mut recording.builder, thread_id),
            at: recording.place(stack),
            meter: Meter::Execution,
            number: 0,
        };
        for (slot, meter, amount) in measures(event) {
            let weight = || float(&pools, kept[slot + 1]);
            let number = amount_of(event, amount, header, kept[slot], weight);
            moment = Moment { meter, number, ..moment };
            recording.sample(&moment);
        }
    }
    walk.end
}

/// What an event measures: the slot of its amount, the metric, and how the amount is meant.
fn measures(event: &EventType<'_>) -> impl Iterator<Item = (usize, Meter, Amount)> {
    let measures = event.purpose.measures().iter();
    let slots = (AMOUNT..).step_by(2);
    slots.zip(measures).map(|(slot, (meter, amount))| (slot, *meter, *amount)).filter(
        // The first always counts; a second one that not every version has only where it is.
        move |(slot, ..)| *slot == AMOUNT || event.layout.fields[*slot].is_some(),
    )
}

/// The number with a fraction at an offset; 1 where there is none.
fn float(pools: &Pools<'_>, at: u64) -> f64 {
    let bits = usize::try_from(at).ok().filter(|at| *at > 0);
    let bits = bits.and_then(|at| pools.scanner(at).fixed(4));
    bits.map_or(1.0, |bits| f64::from(f32::from_bits(bits as u32)))
}

/// The description of the chunk's layout: where the header says, else the last one there is.
fn find_metadata(header: &ChunkHeader, bytes: &[u8], anchors: &[usize]) -> Option<Metadata> {
    let said = usize::try_from(header.metadata).ok();
    let said = said.and_then(|at| Metadata::read(bytes, header.integers, at));
    said.or_else(|| {
        let found = walk(bytes, header, |_| None, anchors).metadata;
        // Few chunks have more than one; a chunk made of nothing else must not cost a try each.
        let tries = found.iter().rev().take(16);
        tries.copied().find_map(|at| Metadata::read(bytes, header.integers, at))
    })
}

fn event_types<'m>(
    recording: &mut JfrRecording,
    metadata: &'m Metadata,
    header: &ChunkHeader,
) -> Vec<EventType<'m>> {
    let mut types: Vec<EventType<'m>> = (metadata.classes.iter())
        .filter_map(|(id, class)| {
            let has_stack = || class.fields.iter().any(|field| field.name == "stackTrace");
            let purpose =
                use_of(&class.name).or_else(|| has_stack().then_some(EventUse::Unread))?;
            let mut keep = vec!["startTime", "sampledThread", "eventThread", "stackTrace"];
            match purpose {
                EventUse::Samples(measures) => {
                    keep.extend(measures.iter().flat_map(|(_, amount)| amount.fields()));
                }
                EventUse::About(about) => keep = about.fields().to_vec(),
                EventUse::Unread => {}
            }
            let Some(layout) = Layout::of(metadata, header.integers, *id, &keep) else {
                recording.builder.warn("unreadable-events", || {
                    format!(
                        "events were left out, because their layout refers to itself: {}",
                        class.name
                    )
                });
                return None;
            };
            let layout = layout.without_rest();
            Some(EventType { id: *id, class: &class.name, purpose, layout })
        })
        .collect();
    types.sort_by_key(|event| event.id);
    types
}

/// The pool that the first of these slots refers to.
fn pooled_class(types: &[EventType<'_>], slots: &[usize]) -> Option<ClassId> {
    let samples = types.iter().filter(|event| matches!(event.purpose, EventUse::Samples(_)));
    let mut fields = samples
        .flat_map(|event| slots.iter().filter_map(|slot| event.layout.fields[*slot].as_ref()));
    fields.find(|field| field.pooled).map(|field| field.class)
}

/// Says what is missing of a chunk.
fn note_gaps(recording: &mut JfrRecording, header: &ChunkHeader, bytes: &[u8]) {
    let offset = recording.offset;
    if (bytes.len() as u64) < header.size {
        let missing = header.size - bytes.len() as u64;
        recording.builder.warn("truncated", || {
            let missing = counted(missing, "byte is", "bytes are");
            format!("the file is cut off; {missing} missing from the chunk at byte {offset}")
        });
    } else if header.unfinished {
        recording.builder.warn("unfinished", || {
            format!(
                "the chunk at byte {offset} was still being written and is read as far as it goes"
            )
        });
    }
}

/// Says what is lost in a chunk. At the end of one that is cut off or unfinished, that is no surprise.
fn note_losses(recording: &mut JfrRecording, header: &ChunkHeader, bytes: &[u8], walk: &ValueWalk) {
    let whole = bytes.len() as u64 >= header.size && !header.unfinished;
    if let Some(at) = walk.broken_at.filter(|_| whole) {
        let (at, lost) = (recording.offset + at as u64, walk.lost);
        recording.builder.warn("damaged-records", || {
            format!("records were lost in {lost} damaged bytes, first at byte {at}")
        });
    }
}

fn damaged_event(recording: &mut JfrRecording, event: &EventType<'_>, at: usize) {
    let (class, at) = (event.class, recording.offset + at as u64);
    recording.builder.warn("damaged-events", || {
        format!(
            "events that do not match their layout were left out; the first is {class} at byte {at}"
        )
    });
}

/// What the recording says about itself.
fn read_about(
    recording: &mut JfrRecording,
    about: About,
    event: &EventType<'_>,
    types: &[EventType<'_>],
    mut scan: JfrScanner<'_>,
    pools: &Pools<'_>,
) -> Option<()> {
    let mut kept = Slots::default();
    event.layout.read(&mut scan, &mut kept)?;
    let text = |slot: usize| {
        let field = event.layout.fields[slot].as_ref();
        field.and_then(|field| pools.text(field, kept[slot])).unwrap_or_default()
    };
    match about {
        About::Setting => {
            let of = types.iter().find(|event| event.id == kept[0]).map(|event| event.class);
            recording.setting(of, &text(1), &text(2));
        }
        About::Recording => recording.recorder(&text(0)),
        About::Machine => recording.machine(&text(0), &text(1), &text(2), kept[3]),
        About::Log => recording.log(&text(0), &text(1)),
        About::LostSamples => recording.lost_samples(kept[0]),
        About::LostData => recording.lost_data(kept[0]),
    }
    Some(())
}

/// Samples, bytes or nanoseconds of an event.
fn amount_of(
    event: &EventType<'_>,
    amount: Amount,
    header: &ChunkHeader,
    kept: u64,
    weight: impl FnOnce() -> f64,
) -> i64 {
    match amount {
        Amount::One => 1,
        Amount::Samples(_) => i64::from((kept as u32).max(1)),
        Amount::Number(_) => i64::try_from(kept).unwrap_or(i64::MAX),
        // Casts of floats end at the ends of the range.
        Amount::Weighted(..) => (kept as f64 * weight()).round().max(0.0) as i64,
        Amount::Span(_) => {
            let unit = event.layout.fields[AMOUNT].as_ref().map(|field| field.timespan);
            match unit.unwrap_or_default() {
                Timespan::Ticks => header.clock.span(kept as i64),
                Timespan::Nanos(each) => (kept as i64).saturating_mul(each),
            }
        }
    }
}
