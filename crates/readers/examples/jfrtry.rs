use perfblame_readers::*;
fn main() {
    for p in std::env::args().skip(1) {
        let t = std::time::Instant::now();
        let r = Input::open(p.as_ref()).and_then(|i| read(i, &ReadOptions::default()));
        match r {
            Ok(p2) => {
                println!(
                    "{p} {:?} samples={} nodes={} threads={} producer={:?} cmd={:?} dur={:?}",
                    t.elapsed(),
                    p2.samples,
                    p2.tree.len(),
                    p2.threads.len(),
                    p2.info.producer,
                    p2.info.command,
                    p2.info.duration
                );
                for (id, m) in p2.metrics() {
                    println!(
                        "   {} {} {:?} total={}",
                        m.name,
                        m.unit.name(),
                        m.period,
                        p2.self_values(id).iter().sum::<i64>()
                    );
                }
                println!("   {:?}", p2.info.labels);
                for w in &p2.warnings {
                    println!("   W {w:?}");
                }
            }
            Err(e) => println!("{p} ERR {e} help {:?}", e.help),
        }
    }
}
