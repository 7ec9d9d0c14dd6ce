//! The line that begins a sample: `comm pid/tid [cpu] time: period event: arguments`, of which `perf script -F` can
//! leave out any part.
//!
//! A command's name can contain blanks, numbers, slashes and brackets, so the line cannot be split from the left: the
//! name ends where the rest of the line makes sense.

use crate::encodings::text::{number, seconds, trim};

/// The parts of a line that begins a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SampleHeader<'a> {
    pub comm: &'a [u8],
    pub pid: Option<u64>,
    pub tid: Option<u64>,
    /// The beginning of the line up to here says which thread it is.
    pub thread_end: usize,
    /// Nanoseconds.
    pub time: Option<i64>,
    pub period: Option<u64>,
    /// Without the colon; empty when left out.
    pub event: &'a [u8],
    /// What follows the event: a tracepoint's arguments, or the one frame of a sample without call chain.
    pub rest: &'a [u8],
}

/// A line that has a process or thread id with a processor, a time or an event after it.
pub(crate) fn strict(line: &[u8]) -> Option<SampleHeader<'_>> {
    let mut at = 0;
    while let Some((start, end)) = next_token(line, at) {
        let token = line.get(start..end)?;
        at = end;
        if !token.first()?.is_ascii_digit() {
            continue;
        }
        if token.strip_suffix(b":").and_then(seconds).is_some() {
            return None;
        }
        let Some((pid, tid)) = ids(token) else { continue };
        let Some(tail) = tail(line, end) else { continue };
        return Some(SampleHeader {
            comm: trim(line.get(..start)?),
            pid,
            tid: Some(tid),
            thread_end: end,
            ..tail
        });
    }
    None
}

/// What can be made of a line that lacks ids: a time or an event, or else it is all name.
pub(crate) fn loose(line: &[u8]) -> SampleHeader<'_> {
    let mut at = 0;
    while let Some((start, end)) = next_token(line, at) {
        if let Some(tail) = tail(line, start) {
            let comm = trim(line.get(..start).unwrap_or(&[]));
            return SampleHeader { comm, thread_end: start, ..tail };
        }
        at = end;
    }
    SampleHeader { comm: trim(line), thread_end: line.len(), ..SampleHeader::default() }
}

/// Processor, time, period and event from `at` on; at least one of time and event, and nothing that is neither.
fn tail(line: &[u8], mut at: usize) -> Option<SampleHeader<'_>> {
    let mut header = SampleHeader::default();
    let mut cpu = false;
    while let Some((start, end)) = next_token(line, at) {
        let token = line.get(start..end)?;
        match *token.first()? {
            b'[' if !cpu && header.time.is_none() && header.period.is_none() => {
                number(token.strip_prefix(b"[")?.strip_suffix(b"]")?)?;
                cpu = true;
            }
            b'0'..=b'9' => {
                if let Some(time) = token.strip_suffix(b":").and_then(seconds)
                    && header.time.is_none()
                    && header.period.is_none()
                {
                    header.time = Some(time);
                } else if let Some(period) = number(token)
                    && header.period.is_none()
                {
                    header.period = Some(period);
                } else if let Some(event) = event(token) {
                    return Some(SampleHeader { event, rest: line.get(end..)?, ..header });
                } else {
                    // A single frame may follow a time directly where there is no event.
                    return header
                        .time
                        .is_some()
                        .then(|| SampleHeader { rest: rest(line, start), ..header });
                }
            }
            _ => {
                if let Some(event) = event(token) {
                    return Some(SampleHeader { event, rest: line.get(end..)?, ..header });
                }
                // The letters of `-F +misc` stand between processor and time.
                let misc = token.len() <= 4 && token.iter().all(u8::is_ascii_uppercase);
                let misc = misc && header.time.is_none() && header.period.is_none();
                let after = next_token(line, end).and_then(|(start, end)| line.get(start..end));
                let timed = after.and_then(|token| seconds(token.strip_suffix(b":")?)).is_some();
                if !(misc && timed) {
                    return header
                        .time
                        .is_some()
                        .then(|| SampleHeader { rest: rest(line, start), ..header });
                }
            }
        }
        at = end;
    }
    header.time.is_some().then_some(header)
}

/// What follows a time where there is no event; a number taken for a period may have been a frame's address.
fn rest(line: &[u8], at: usize) -> &[u8] {
    line.get(at..).unwrap_or(&[])
}

fn next_token(line: &[u8], at: usize) -> Option<(usize, usize)> {
    let rest = line.get(at..)?;
    let start = at + rest.iter().position(|byte| !blank(*byte))?;
    let length = line.get(start..)?.iter().position(|byte| blank(*byte));
    Some((start, length.map_or(line.len(), |length| start + length)))
}

fn blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// `tid` or `pid/tid`.
fn ids(token: &[u8]) -> Option<(Option<u64>, u64)> {
    match memchr::memchr(b'/', token) {
        Some(slash) => Some((Some(number(token.get(..slash)?)?), number(token.get(slash + 1..)?)?)),
        None => Some((None, number(token)?)),
    }
}

/// The name of an event from a token that ends in a colon.
fn event(token: &[u8]) -> Option<&[u8]> {
    token.strip_suffix(b":").filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::fmt::Write as _;

    fn check(lines: &str, expect: &Expect) {
        let mut out = String::new();
        for line in lines.lines() {
            let header = strict(line.as_bytes());
            let kind = if header.is_some() { "" } else { "loose " };
            let header = header.unwrap_or_else(|| loose(line.as_bytes()));
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let _ = writeln!(
                out,
                "{kind}comm={:?} pid={:?} tid={:?} time={:?} period={:?} event={:?} rest={:?}",
                text(header.comm),
                header.pid,
                header.tid,
                header.time,
                header.period,
                text(header.event),
                text(header.rest),
            );
        }
        expect.assert_eq(&out.replace("Some(", "").replace(')', ""));
    }

    #[test]
    fn parts_are_found_wherever_they_stand() {
        check(
            "iperf 27409/28744 [000] 441995.133575: cpu-clock: 
func_ab 15294 cpu-clock: 
java  3244 cycles:u:
dd 29776 666709.771979:   10101010 cpu-clock: 
jq  4801/4801  [001]  4703.069888112:  raw_syscalls:sys_exit: NR 59 = 0
           false 39654 19115.489713:          1 cycles:u:  ffffffff9b201293 [unknown] ([unknown])
V8 Worker 12/ x 4711/4712 [003] U 1.5: 99 cpu/event=0x3c/:
comm and3 part5\t0/0\t\t[000] 0.0:\t\t\t1 event_name: event_properties
77\t1/1\t\t[000] 0.0:\t\t\t1 event_name: event_properties
    2/2\t\t[000] 0.0:\t\t\t1 event_name: event_properties
k/[2]  4/4\t\t[000] 0.0:\t\t\t1 event_name: event_properties
perf 31621/31621 [001] 16208.424204:
swapper 0 [000] 16208.424204:   ffffffff9b201293 main
java 16208.424204: cycles:
16208.424204: 12 cycles:
cycles:ppp:
just a name",
            &expect![[r#"
                comm="iperf" pid=27409 tid=28744 time=441995133575000 period=None event="cpu-clock" rest=" "
                comm="func_ab" pid=None tid=15294 time=None period=None event="cpu-clock" rest=" "
                comm="java" pid=None tid=3244 time=None period=None event="cycles:u" rest=""
                comm="dd" pid=None tid=29776 time=666709771979000 period=10101010 event="cpu-clock" rest=" "
                comm="jq" pid=4801 tid=4801 time=4703069888112 period=None event="raw_syscalls:sys_exit" rest=" NR 59 = 0"
                comm="false" pid=None tid=39654 time=19115489713000 period=1 event="cycles:u" rest="  ffffffff9b201293 [unknown] ([unknown]"
                comm="V8 Worker 12/ x" pid=4711 tid=4712 time=1500000000 period=99 event="cpu/event=0x3c/" rest=""
                comm="comm and3 part5" pid=0 tid=0 time=0 period=1 event="event_name" rest=" event_properties"
                comm="77" pid=1 tid=1 time=0 period=1 event="event_name" rest=" event_properties"
                comm="" pid=2 tid=2 time=0 period=1 event="event_name" rest=" event_properties"
                comm="k/[2]" pid=4 tid=4 time=0 period=1 event="event_name" rest=" event_properties"
                comm="perf" pid=31621 tid=31621 time=16208424204000 period=None event="" rest=""
                comm="swapper" pid=None tid=0 time=16208424204000 period=None event="" rest="ffffffff9b201293 main"
                loose comm="java" pid=None tid=None time=16208424204000 period=None event="cycles" rest=""
                loose comm="" pid=None tid=None time=16208424204000 period=12 event="cycles" rest=""
                loose comm="" pid=None tid=None time=None period=None event="cycles:ppp" rest=""
                loose comm="just a name" pid=None tid=None time=None period=None event="" rest=""
            "#]],
        );
    }
}
