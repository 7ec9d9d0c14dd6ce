//! What in a body costs time: calls, loops, allocations, locks and waits.

use super::class_file::{ACC_SYNCHRONIZED, ClassError, ClassFile, Constant, MethodInfo, text};
use super::instructions::{
    ANEWARRAY, INVOKEDYNAMIC, INVOKEINTERFACE, INVOKEVIRTUAL, MONITORENTER, MULTIANEWARRAY, NEW,
    NEWARRAY, Operand, instructions,
};
use super::numbered::{numbered_class, numbered_method};
use perfblame_changes::Addition;

/// Calls that wait, by class; all methods of a class where none is named.
const WAITS: &[(&str, &[&str])] = &[
    ("java/lang/Thread", &["sleep", "join", "onSpinWait", "yield"]),
    ("java/lang/Object", &["wait"]),
    ("java/lang/Process", &["waitFor"]),
    ("java/lang/ProcessBuilder", &["start"]),
    ("java/lang/Runtime", &["exec"]),
    ("java/util/concurrent/TimeUnit", &["sleep", "timedJoin", "timedWait"]),
    ("java/util/concurrent/Future", &["get"]),
    ("java/util/concurrent/CompletableFuture", &["get", "join"]),
    ("java/util/concurrent/CountDownLatch", &["await"]),
    ("java/util/concurrent/CyclicBarrier", &["await"]),
    ("java/util/concurrent/Semaphore", &["acquire", "tryAcquire", "acquireUninterruptibly"]),
    ("java/util/concurrent/BlockingQueue", &["take", "put", "poll", "offer"]),
    (
        "java/util/concurrent/ExecutorService",
        &["awaitTermination", "invokeAll", "invokeAny", "close"],
    ),
    ("java/util/concurrent/locks/Condition", &["await", "awaitNanos", "awaitUntil"]),
    ("java/util/concurrent/locks/LockSupport", &["park", "parkNanos", "parkUntil"]),
    ("java/io/InputStream", &["read", "readAllBytes", "readNBytes", "transferTo"]),
    ("java/io/FileInputStream", &["<init>", "read", "readAllBytes", "readNBytes"]),
    ("java/io/OutputStream", &["write", "flush"]),
    ("java/io/FileOutputStream", &["<init>", "write"]),
    ("java/io/Reader", &["read"]),
    ("java/io/BufferedReader", &["read", "readLine", "lines"]),
    ("java/io/FileReader", &["<init>"]),
    ("java/io/FileWriter", &["<init>"]),
    ("java/io/Writer", &["write", "flush"]),
    ("java/io/RandomAccessFile", &[]),
    ("java/io/PrintStream", &["print", "println", "printf", "write", "flush"]),
    (
        "java/io/File",
        &[
            "exists",
            "length",
            "list",
            "listFiles",
            "delete",
            "mkdirs",
            "isFile",
            "isDirectory",
            "createNewFile",
            "getCanonicalPath",
        ],
    ),
    ("java/nio/file/Files", &[]),
    ("java/nio/channels/FileChannel", &[]),
    ("java/nio/channels/SocketChannel", &[]),
    ("java/nio/channels/Selector", &["select"]),
    ("java/net/Socket", &[]),
    ("java/net/ServerSocket", &["accept"]),
    ("java/net/URL", &["openStream", "openConnection"]),
    ("java/net/URLConnection", &["connect", "getInputStream", "getOutputStream"]),
    (
        "java/net/HttpURLConnection",
        &["connect", "getInputStream", "getOutputStream", "getResponseCode"],
    ),
    ("java/net/InetAddress", &["getByName", "getAllByName"]),
    ("java/net/http/HttpClient", &["send"]),
    ("java/sql/Statement", &["execute", "executeQuery", "executeUpdate", "executeBatch"]),
    ("java/sql/PreparedStatement", &["execute", "executeQuery", "executeUpdate", "executeBatch"]),
    ("java/sql/Connection", &["commit", "rollback"]),
    ("java/sql/DriverManager", &["getConnection"]),
    ("javax/sql/DataSource", &["getConnection"]),
];

/// Calls that take a lock.
const LOCKS: &[(&str, &[&str])] = &[
    ("java/util/concurrent/locks/Lock", &["lock", "lockInterruptibly", "tryLock"]),
    ("java/util/concurrent/locks/ReentrantLock", &["lock", "lockInterruptibly", "tryLock"]),
    ("java/util/concurrent/locks/StampedLock", &["readLock", "writeLock"]),
];

/// What a body does that costs time.
#[derive(Default)]
pub struct Costs {
    /// Sorted.
    calls: Vec<String>,
    loops: usize,
    allocations: usize,
    locks: usize,
    waits: usize,
}

impl Costs {
    pub fn of(class: &ClassFile<'_>, method: &MethodInfo<'_>) -> Result<Self, ClassError> {
        let mut costs = Self::default();
        costs.locks += usize::from(method.flags & ACC_SYNCHRONIZED != 0);
        let Some(code) = &method.code else { return Ok(costs) };
        let mut heads = Vec::new();
        for instruction in instructions(code) {
            let instruction = instruction?;
            let mut head = |target: i64| {
                if target <= instruction.at as i64 {
                    heads.push(target);
                }
            };
            match instruction.operand {
                Operand::Jump(target) => head(target),
                Operand::Switch(switch) => {
                    head(switch.default);
                    switch.cases().for_each(|(_, target)| head(target));
                }
                _ => {}
            }
            match (instruction.operation, instruction.operand) {
                (NEW | NEWARRAY | ANEWARRAY | MULTIANEWARRAY, _) => costs.allocations += 1,
                (MONITORENTER, _) => costs.locks += 1,
                (INVOKEVIRTUAL..=INVOKEINTERFACE, Operand::Constant(number, _)) => {
                    costs.call(class.member(number)?);
                }
                (INVOKEDYNAMIC, Operand::Constant(number, _)) => {
                    costs.allocations += usize::from(joins_text(class, number)?);
                }
                _ => {}
            }
        }
        // Several jumps to one head, as `continue` makes them, are one loop.
        heads.sort_unstable();
        heads.dedup();
        costs.loops = heads.len();
        costs.calls.sort_unstable();
        Ok(costs)
    }

    fn call(&mut self, [class, name, _]: [&[u8]; 3]) {
        // What the compiler numbered goes by another name after the next change.
        if numbered_method(name).is_some() || numbered_class(class).is_some() {
            return;
        }
        self.waits += usize::from(is_listed(WAITS, class, name));
        self.locks += usize::from(is_listed(LOCKS, class, name));
        self.calls.push(format!("{}.{}", text(class).replace('/', "."), text(name)));
    }

    /// What there is more of in `self` than in `before`.
    pub fn beyond(&self, before: &Self) -> Vec<Addition> {
        let mut additions = Vec::new();
        let mut known = before.calls.iter().peekable();
        for call in &self.calls {
            while known.next_if(|other| *other < call).is_some() {}
            if known.next_if(|other| *other == call).is_none() {
                additions.push(Addition::Call(call.clone()));
            }
        }
        let mut more = |now: usize, then: usize, what: Addition| {
            additions.extend(std::iter::repeat_n(what, now.saturating_sub(then)));
        };
        more(self.loops, before.loops, Addition::Loop);
        more(self.allocations, before.allocations, Addition::Allocation);
        more(self.locks, before.locks, Addition::Lock);
        more(self.waits, before.waits, Addition::Wait);
        additions
    }
}

fn is_listed(list: &[(&str, &[&str])], class: &[u8], name: &[u8]) -> bool {
    list.iter().any(|(listed, methods)| {
        listed.as_bytes() == class
            && (methods.is_empty() || methods.iter().any(|method| method.as_bytes() == name))
    })
}

/// Whether a dynamic call joins text, which allocates.
fn joins_text(class: &ClassFile<'_>, number: u16) -> Result<bool, ClassError> {
    let Constant::Dynamic(bootstrap, _) = class.constant(number)? else { return Ok(false) };
    let Some((handle, _)) = class.bootstraps.get(usize::from(bootstrap)) else { return Ok(false) };
    let Constant::MethodHandle(_, member) = class.constant(*handle)? else { return Ok(false) };
    Ok(class.member(member)?[0] == b"java/lang/invoke/StringConcatFactory")
}
