//! Code drawn byte by byte, and what a real compiler makes of loops and straight lines.

use std::process::Command;

use super::*;
use crate::{Binary, BinaryNames};

/// Functions one behind the other from address 0x1000 on, each as bytes; `e8` calls of these have no names.
fn drawn(functions: &[&[u8]]) -> Vec<Rc<FunctionFlow>> {
    let mut start = 0x1000;
    let read = |code: &&[u8]| {
        let flow = FunctionFlow::read(start, code, false, |_| Callee::Plain);
        start += code.len() as u64;
        Rc::new(flow)
    };
    functions.iter().map(read).collect()
}

fn walked(functions: &[&[u8]], from: u64, to: u64) -> CodeWalk {
    let flows = drawn(functions);
    let ends: Vec<u64> =
        flows.iter().zip(functions).map(|(flow, code)| flow.start + code.len() as u64).collect();
    let mut find = |address: u64| {
        let row = ends.iter().position(|end| address < *end)?;
        (address >= flows[row].start).then(|| flows[row].clone())
    };
    walk(&mut find, from, Some(to), &mut 1_000)
}

const CALL: [u8; 5] = [0xe8, 0, 1, 0, 0];
const RET: u8 = 0xc3;

/// Everything that is called does ten instructions, and calling costs four.
fn work(flow: &FunctionFlow, from: Option<u64>, goal: Destination) -> Option<perfblame_cct::Work> {
    let called = |_| perfblame_cct::Work { amounts: [10.0, 0.0, 0.0, 0.0], odds: 1.0 };
    flow.work(from, goal, called, &mut 0)
}

#[test]
fn what_lies_behind_is_not_reached_without_a_loop() {
    let straight = [&CALL[..], &CALL, &[RET]].concat();
    assert_eq!(walked(&[&straight], 0x1005, 0x100a), CodeWalk::Leads);
    assert_eq!(walked(&[&straight], 0x100a, 0x1005), CodeWalk::Stays);
    assert_eq!(walked(&[&straight], 0x1005, 0x1005), CodeWalk::Stays);
    // `jne` back to the first call.
    let round = [&CALL[..], &CALL, &[0x75, 0xf4], &[RET]].concat();
    for (from, to) in [(0x1005, 0x1005), (0x100a, 0x1005), (0x100a, 0x100a)] {
        assert_eq!(walked(&[&round], from, to), CodeWalk::Leads);
    }
    // Where the processor itself is: behind the loop there is only the end.
    assert_eq!(walked(&[&round], 0x100c, 0x100a), CodeWalk::Stays);
    assert_eq!(walked(&[&round], 0x1005, 0x100c), CodeWalk::Leads);
}

#[test]
fn jumps_to_other_functions_are_followed() {
    // The first jumps to the second, which jumps back into its middle, as cold parts of functions do.
    let hot = [&CALL[..], &[0xeb, 0x06], &CALL, &[RET]].concat();
    let cold = [0x90, 0xeb, 0xf7];
    assert_eq!(walked(&[&hot, &cold], 0x1005, 0x100c), CodeWalk::Leads);
    let other = [0x90, RET, RET];
    assert_eq!(walked(&[&hot, &other], 0x1005, 0x100c), CodeWalk::Stays);
    // Through a pointer at a fixed place: another object.
    let stub = [0xff, 0x25, 0, 0, 0, 0];
    assert_eq!(walked(&[&hot, &stub], 0x1005, 0x100c), CodeWalk::LeadsAway);
    let flows = drawn(&[&hot, &stub]);
    assert!(flows[1].is_stub_at(0x100d) && !flows[0].is_stub_at(0x1000));
    // Nothing happens before the jump: who is called here has no frame.
    let wrapper = [0x31, 0xc0, 0xe9, 0x00, 0x02, 0, 0];
    let flows = drawn(&[&wrapper, &hot]);
    assert_eq!(flows[0].jumps_on(0x1000), Some(0x1207));
    assert_eq!(flows[1].jumps_on(0x1007), None);
}

#[test]
fn what_is_not_known_may_lead_anywhere() {
    let computed = [&CALL[..], &CALL, &[0xff, 0xe0]].concat();
    let no_code = [&CALL[..], &CALL, &[0x06]].concat();
    let cut_off = [&CALL[..], &CALL, &[0x0f]].concat();
    let out = [&CALL[..], &CALL, &[0xe9, 0, 0, 1, 0]].concat();
    for code in [computed, no_code, cut_off, out] {
        assert_eq!(walked(&[&code], 0x1005, 0x1005), CodeWalk::Leads, "{code:x?}");
    }
    let straight = [&CALL[..], &[RET]].concat();
    for (from, to) in [(0x1003, 0x1003), (0x1005, 0x9000), (0x9000, 0x1005), (0, 0), (u64::MAX, 0)]
    {
        assert_eq!(walked(&[&straight], from, to), CodeWalk::Leads, "{from:x} {to:x}");
    }
    // Neither are functions that are entered in their middle, nor walks that take too long.
    let twice = |_| Callee::ReturnsTwice;
    let flow = Rc::new(FunctionFlow::read(0x1000, &straight, false, twice));
    let mut find = |address| (0x1000..0x1006).contains(&address).then(|| flow.clone());
    assert_eq!(walk(&mut find, 0x1005, Some(0x1005), &mut 1_000), CodeWalk::Leads);
    let flow = Rc::new(FunctionFlow::read(0x1000, &straight, false, |_| Callee::Plain));
    let mut find = |address| (0x1000..0x1006).contains(&address).then(|| flow.clone());
    assert_eq!(walk(&mut find, 0x1005, Some(0x1005), &mut 0), CodeWalk::Leads);
    assert_eq!(walk(&mut find, 0x1005, Some(0x1005), &mut 9), CodeWalk::Stays);
}

#[test]
fn return_addresses_may_be_one_less() {
    let flows = drawn(&[&[&CALL[..], &[0x0f, 0x05], &[RET]].concat()]);
    let shown: Vec<u64> = (0x1000..0x1009).map(|at| flows[0].behind_call(at) - 0x1000).collect();
    assert_eq!(shown, [0, 1, 2, 3, 5, 5, 7, 7, 8]);
    assert!(flows[0].returns_to(0x1005) && flows[0].returns_to(0x1007));
    assert_eq!(flows[0].called_before(0x1005), Some(0x1105));
}

#[test]
fn work_is_what_lies_between_two_places() {
    let straight = [&CALL[..], &CALL, &[RET]].concat();
    let flow = &drawn(&[&straight])[0];
    let found = |from, goal| work(flow, from, goal).map(|work| (work.amounts, work.odds));
    assert_eq!(found(None, Destination::Return), Some(([31.0, 0.0, 0.0, 0.0], 1.0)));
    assert_eq!(found(Some(0x1005), Destination::Return), Some(([16.0, 0.0, 0.0, 0.0], 1.0)));
    assert_eq!(found(None, Destination::Place(0x100a, 1.0)), Some(([16.0, 0.0, 0.0, 0.0], 1.0)));
    // Nothing comes behind it where another one could be meant.
    assert_eq!(found(None, Destination::Place(0x100a, 0.5)), Some(([16.0, 0.0, 0.0, 0.0], 0.5)));
    assert_eq!(found(Some(0x1005), Destination::Place(0x1005, 1.0)), None);
}

#[test]
fn loops_go_round_eight_times() {
    // `jne` back to the first call.
    let round = [&CALL[..], &CALL, &[0x75, 0xf4], &[RET]].concat();
    let flow = &drawn(&[&round])[0];
    let close = |found: Option<perfblame_cct::Work>, amounts: [f64; 2], odds: f64| {
        let found = found.unwrap();
        let near = |one: f64, other: f64| (one - other).abs() <= other * 0.02;
        assert!(near(found.amounts[0], amounts[0]), "{found:?}");
        assert!(near(found.amounts[1], amounts[1]) && near(found.odds, odds), "{found:?}");
        assert_eq!(found.amounts[2..], [0.0, 0.0]);
    };
    // Two calls and the jump, eight times, the way back seven times, and the instruction behind.
    close(work(flow, None, Destination::Return), [1.0, 8.0 * 31.0], 1.0);
    close(work(flow, Some(0x100c), Destination::Return), [1.0, 0.0], 1.0);
    // From the second call round to the first.
    close(work(flow, Some(0x100a), Destination::Place(0x1005, 1.0)), [0.0, 2.0], 7.0 / 8.0);
    // Only one call in many is the one that is meant: so many rounds go before it as the loop has.
    let seldom = work(flow, None, Destination::Place(0x1005, 0.01)).unwrap();
    assert!(seldom.odds > 0.07 && seldom.odds < 0.08, "{seldom:?}");
    assert!(seldom.amounts[1] > 150.0, "{seldom:?}");
}

#[test]
fn who_does_not_return_is_hardly_ever_called() {
    // `jne` over the return, to a call of what never returns.
    let code = [&[0x75, 0x01, RET], &CALL[..], &[RET]].concat();
    let flow = &drawn(&[&code])[0];
    let called = |_| perfblame_cct::Work { amounts: [9.0, 0.0, 0.0, 0.0], odds: 0.0 };
    let found = flow.work(None, Destination::Return, called, &mut 0).unwrap();
    assert_eq!((found.amounts[0], found.odds), (2.0, 63.0 / 64.0));
    // If it does return, it is called every other time.
    let found = work(flow, None, Destination::Return).unwrap();
    assert_eq!((found.amounts[0], found.odds), (9.5, 1.0));
}

proptest::proptest! {
    /// Whatever bytes there are.
    #[test]
    fn no_code_does_harm(code in proptest::collection::vec(0u8..=255, 0..200), from in 0u64..220, to in 0u64..220) {
        walked(&[&code], 0x1000 + from, 0x1000 + to);
        let flows = drawn(&[&code]);
        for goal in [Destination::Return, Destination::Place(0x1000 + to, 0.5)] {
            if let Some(work) = work(&flows[0], Some(0x1000 + from), goal) {
                proptest::prop_assert!(work.odds > 0.0 && work.odds <= 1.0, "{work:?}");
                proptest::prop_assert!(work.amounts.iter().all(|one| one.is_finite() && *one >= 0.0), "{work:?}");
            }
        }
        flows[0].behind_call(0x1000 + from);
    }
}

/// The compiler's own code: a function that calls in a loop, and one that calls three times. The compiler is the one that
/// links Rust programs, so it is there.
#[cfg(target_arch = "x86_64")]
#[test]
fn compiled_functions_are_understood() {
    const SOURCE: &str = "extern void one(int), two(int), three(int);
        void round_and_round(int n) { one(n); while (n-- > 0) { two(n); three(n); } one(0); }
        void straight(int n) { one(n); if (n) two(n); three(n); one(1); }";
    let folder = std::env::temp_dir().join(format!("perfblame-flow-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, object) = (folder.join("flow.c"), folder.join("flow.so"));
    std::fs::write(&source, SOURCE).unwrap();
    for level in ["-O0", "-O2"] {
        let made = Command::new("cc")
            .args([level, "-shared", "-fPIC", "-o"])
            .args([&object, &source])
            .status();
        assert!(made.unwrap().success());
        let names =
            BinaryNames::of_binary(std::sync::Arc::new(Binary::open(&object, None).unwrap()));
        let mut find = |address| {
            let range = names.function_range(address)?;
            let code = names.code(range.start, range.end - range.start)?;
            Some(Rc::new(FunctionFlow::read(range.start, &code, range.catches, |_| Callee::Plain)))
        };
        // The calls of a function in the order of their addresses, by the names of what they call.
        let calls = |function: &str| {
            let flow = find(names.address_of(function).unwrap()).unwrap();
            let call = |turn: &Turn| match turn.kind {
                JumpKind::Call(Some(target)) => {
                    let name = names.name(names.symbol(target)?)?;
                    Some((name.split('@').next()?.to_owned(), turn.next))
                }
                _ => None,
            };
            flow.turns.iter().filter_map(call).collect::<Vec<_>>()
        };
        let (round, straight) = (calls("round_and_round"), calls("straight"));
        let place = |calls: &[(String, u64)], name: &str| {
            calls.iter().find(|call| call.0 == name).map(|call| call.1).unwrap()
        };
        let mut leads = |from, to| walk(&mut find, from, Some(to), &mut 100_000) == CodeWalk::Leads;
        let [one, two, three] = ["one", "two", "three"].map(|name| place(&round, name));
        assert!(
            leads(two, two) && leads(three, two) && leads(two, three) && leads(one, three),
            "{level}"
        );
        assert!(!leads(one, one) && !leads(two, one), "{level}");
        let [one, two, three] = ["one", "two", "three"].map(|name| place(&straight, name));
        assert!(leads(one, two) && leads(one, three) && leads(two, three), "{level}");
        assert!(!leads(two, two) && !leads(three, two) && !leads(three, one), "{level}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
