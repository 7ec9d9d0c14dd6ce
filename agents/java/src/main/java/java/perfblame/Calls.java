package java.perfblame;

/**
 * What instrumented methods call.
 *
 * <p>The package starts with {@code java.}, as every class loader there is finds such classes by asking the bootstrap
 * loader: loaders of plug-ins and test runners often hide everything else.
 */
public final class Calls {
    private static final ThreadLocal<Recorder> LOCAL = new ThreadLocal<>();

    private Calls() {}

    /** A method begins. */
    public static Frame enter(int method) {
        Recorder recorder = LOCAL.get();
        if (recorder == null) {
            recorder = Recorder.ofThisThread();
            LOCAL.set(recorder);
        }
        Frame caller = recorder.top;
        Frame frame = caller.callee;
        if (frame == null) {
            frame = new Frame(recorder, caller);
            caller.callee = frame;
        }
        Node from = caller.node;
        int site = caller.site;
        Node called = from.lastCalled;
        if (called.method != method || called.site != site) {
            called = recorder.find(from, site, method);
        }
        called.calls++;
        frame.counted = called;
        frame.node = called.target;
        frame.site = 0;
        frame.inCallees = 0;
        frame.start = System.nanoTime() - recorder.own;
        // Last, so that an error on the way here (the stack is full) leaves the caller on top.
        recorder.top = frame;
        return frame;
    }

    /** A method begins that is too small to be timed: reading the clock would take longer than all of it. */
    public static void count(int method) {
        Recorder recorder = LOCAL.get();
        if (recorder == null) {
            recorder = Recorder.ofThisThread();
            LOCAL.set(recorder);
        }
        Frame caller = recorder.top;
        Node from = caller.node;
        int site = caller.site;
        Node called = from.lastCalled;
        if (called.method != method || called.site != site) {
            called = recorder.find(from, site, method);
        }
        called.calls++;
    }

    /** A method returns, or an exception leaves it. */
    public static void exit(Frame frame) {
        Recorder recorder = frame.recorder;
        long took = System.nanoTime() - recorder.own - frame.start;
        Node node = frame.node;
        node.selfTime += took - frame.inCallees;
        if (node == frame.counted) {
            node.totalTime += took;
            node.squares += (double) took * took;
        }
        Frame caller = frame.caller;
        caller.inCallees += took;
        recorder.top = caller;
    }

    /** An exception leaves a constructor, and so all those that have called it before they had an object. */
    public static void exitFailed(Frame frame) {
        exit(frame);
        Frame caller = frame.caller;
        while ((caller.site & Frame.FROM_SUPER) != 0 && caller.caller != null) {
            exit(caller);
            caller = caller.caller;
        }
    }

    /** A method catches an exception: calls that ended without saying so, for want of stack, end here. */
    public static void caught(Frame frame) {
        Recorder recorder = frame.recorder;
        while (recorder.top != frame && recorder.top.caller != null) {
            exit(recorder.top);
        }
    }

    /** Costs that no call can be told without, see {@link Overhead}. Leaves no trace of the calls it makes. */
    public static Overhead measureOverhead() {
        Recorder before = LOCAL.get();
        LOCAL.set(Recorder.detached());
        Overhead overhead = Overhead.measure();
        if (before == null) {
            LOCAL.remove();
        } else {
            LOCAL.set(before);
        }
        return overhead;
    }

    /** Time that the agent took for itself in this thread counts for nobody. */
    public static void ownTime(long nanos) {
        Recorder recorder = LOCAL.get();
        if (recorder != null) {
            recorder.own += nanos;
        }
    }
}
