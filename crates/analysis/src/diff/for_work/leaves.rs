//! Functions in which threads wait, by name: all that samples by the clock tell of waiting.

use perfblame_latency::WaitOn;

/// What a thread waits for whose innermost function this is; none for functions that do something.
pub(super) fn wait_of(name: &str, component: Option<&str>) -> Option<WaitOn> {
    let name = name.split('@').next().unwrap_or(name);
    // Profilers of Python write methods with and without their class.
    let is_python = |file: &str, function: &str| {
        component.is_some_and(|place| place.ends_with(file))
            && name.rsplit('.').next() == Some(function)
    };
    let c_library = component.is_some_and(|place| {
        let base = place.rsplit('/').next().unwrap_or(place);
        ["libc.", "libc-", "libpthread"].iter().any(|start| base.starts_with(start))
    });
    Some(match name {
        "jdk.internal.misc.Unsafe.park"
        | "sun.misc.Unsafe.park"
        | "java.lang.Object.wait"
        | "java.lang.Object.wait0"
        | "pthread_cond_wait"
        | "pthread_cond_timedwait"
        | "__futex_abstimed_wait_common"
        | "__futex_abstimed_wait_common64"
        | "__futex_abstimed_wait_cancelable64" => WaitOn::Futex,
        _ if is_python("threading.py", "wait") => WaitOn::Futex,
        "epoll_wait"
        | "epoll_pwait"
        | "sun.nio.ch.EPoll.wait"
        | "sun.nio.ch.EPollArrayWrapper.epollWait"
        | "sun.nio.ch.KQueue.poll"
        | "sun.nio.ch.Net.poll" => WaitOn::Poll,
        "poll" | "__poll" | "ppoll" | "select" | "__select" | "pselect" if c_library => {
            WaitOn::Poll
        }
        _ if is_python("selectors.py", "select") => WaitOn::Poll,
        "sun.nio.ch.Net.accept"
        | "sun.nio.ch.ServerSocketChannelImpl.accept0"
        | "java.net.PlainSocketImpl.socketAccept"
        | "java.net.SocketInputStream.socketRead0" => WaitOn::Socket,
        "accept" | "__accept" | "__libc_accept" | "accept4" | "recv" | "__recv" if c_library => {
            WaitOn::Socket
        }
        _ if is_python("socket.py", "accept") => WaitOn::Socket,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_wait_are_known_by_name() {
        for (name, component, expected) in [
            ("jdk.internal.misc.Unsafe.park", None, Some(WaitOn::Futex)),
            ("pthread_cond_wait@@GLIBC_2.3.2", Some("/lib/libc.so.6"), Some(WaitOn::Futex)),
            ("poll", Some("/usr/lib/x86_64-linux-gnu/libc.so.6"), Some(WaitOn::Poll)),
            ("poll", Some("/home/me/app"), None),
            ("select", Some("/usr/lib/python3.11/selectors.py"), Some(WaitOn::Poll)),
            (
                "_PollLikeSelector.select",
                Some("/usr/lib/python3.11/selectors.py"),
                Some(WaitOn::Poll),
            ),
            ("Condition.wait", Some("threading.py"), Some(WaitOn::Futex)),
            ("Condition.notify", Some("threading.py"), None),
            ("select", Some("/home/me/query.py"), None),
            ("accept", Some("/usr/lib/python3.11/socket.py"), Some(WaitOn::Socket)),
            ("java.util.HashMap.get", None, None),
        ] {
            assert_eq!(wait_of(name, component), expected, "{name}");
        }
    }
}
