package java.perfblame;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The tree of one thread, and the calls it is in.
 *
 * <p>Trees of threads that have ended are added up by name, so that a program with a million short threads costs no more
 * than one with a few.
 */
public final class Recorder {
    /** Deepest context that is kept. */
    private static int depthLimit = 256;
    /** Most nodes of all threads together, and of one. */
    private static int nodeLimit = 2_000_000;
    private static int threadNodeLimit = 2_000_000;
    /** Contexts this deep find room until the very end. */
    private static final int SHALLOW = 8;
    /** Past so many names of threads that have ended, numbers in names no longer tell threads apart. */
    private static final int NAMES_KEPT = 64;
    /** Look for threads that have ended once there are so many, then whenever their number has doubled. */
    private static final int FIRST_SWEEP = 32;

    private static final AtomicInteger NODES = new AtomicInteger();

    private static final HashMap<Integer, List<Recorder>> LIVE = new HashMap<>();
    private static final HashMap<String, Recorder> ENDED = new HashMap<>();
    private static int live;
    private static int nextSweep = FIRST_SWEEP;
    private static boolean writing;

    private final WeakReference<Thread> thread;
    private String name;
    public final Node root = new Node(null, 0, Node.ROOT, null);
    private final Frame bottom = new Frame(this, null);
    /** The innermost call. */
    public Frame top = bottom;
    /** What the agent took for itself; its clock stands still meanwhile. */
    public long own;
    /** Calls without a node, as it would have been too deep, or there were too many. */
    public long tooDeep;
    public long tooMany;
    private int nodes;

    private Recorder(Thread thread, String name) {
        this.thread = thread == null ? null : new WeakReference<>(thread);
        this.name = name;
        bottom.node = root;
    }

    /** Sets how much is kept. Called before any class is instrumented. */
    public static void limit(int depth, int nodes, int nodesPerThread) {
        depthLimit = depth;
        nodeLimit = nodes;
        threadNodeLimit = nodesPerThread;
    }

    /** How many nodes there are. */
    public static int nodes() {
        return NODES.get();
    }

    /** The recorders of all threads, those that have ended included. No tree is added to another until {@link #written}. */
    public static List<Recorder> all() {
        synchronized (LIVE) {
            writing = true;
            ArrayList<Recorder> all = new ArrayList<>(ENDED.values());
            for (List<Recorder> same : LIVE.values()) {
                all.addAll(same);
            }
            return all;
        }
    }

    /** The trees of {@link #all} have been written. */
    public static void written() {
        synchronized (LIVE) {
            writing = false;
        }
    }

    /** A recorder of no thread, which no profile will hold. */
    static Recorder detached() {
        return new Recorder(null, "");
    }

    /** The thread's name, as it is now where the thread still runs. */
    public String name() {
        Thread running = thread == null ? null : thread.get();
        if (running != null) {
            name = running.getName();
        }
        return name;
    }

    /** The recorder of the calling thread: a thread that cleans its thread-locals keeps its tree. */
    static Recorder ofThisThread() {
        Thread thread = Thread.currentThread();
        Integer key = System.identityHashCode(thread);
        synchronized (LIVE) {
            List<Recorder> same = LIVE.get(key);
            if (same != null) {
                for (Recorder recorder : same) {
                    if (recorder.thread.get() == thread) {
                        return recorder;
                    }
                }
            }
            if (live >= nextSweep && !writing) {
                sweep();
                nextSweep = Math.max(FIRST_SWEEP, live * 2);
                same = LIVE.get(key);
            }
            if (same == null) {
                same = new ArrayList<>(1);
                LIVE.put(key, same);
            }
            Recorder recorder = new Recorder(thread, thread.getName());
            same.add(recorder);
            live++;
            return recorder;
        }
    }

    /** Adds the trees of threads that have ended to those of their names. */
    private static void sweep() {
        ArrayList<Integer> keys = new ArrayList<>(LIVE.keySet());
        for (Integer key : keys) {
            List<Recorder> same = LIVE.get(key);
            for (int at = same.size() - 1; at >= 0; at--) {
                Recorder recorder = same.get(at);
                Thread thread = recorder.thread.get();
                if (thread == null || !thread.isAlive()) {
                    recorder.name();
                    same.remove(at);
                    live--;
                    recorder.retire();
                }
            }
            if (same.isEmpty()) {
                LIVE.remove(key);
            }
        }
    }

    private void retire() {
        String key = name;
        if (!ENDED.containsKey(key) && ENDED.size() >= NAMES_KEPT) {
            key = role(name);
        }
        Recorder sum = ENDED.get(key);
        if (sum == null) {
            sum = new Recorder(null, key);
            ENDED.put(key, sum);
        }
        sum.add(this);
    }

    /** Adds another tree to this one. The nodes of the other are given back. */
    private void add(Recorder other) {
        NODES.addAndGet(-other.nodes);
        tooDeep += other.tooDeep;
        tooMany += other.tooMany;
        ArrayList<Node> into = new ArrayList<>();
        ArrayList<Node> from = new ArrayList<>();
        into.add(root);
        from.add(other.root);
        while (!from.isEmpty()) {
            Node to = into.remove(into.size() - 1);
            Node node = from.remove(from.size() - 1);
            to.calls += node.calls;
            to.selfTime += node.selfTime;
            to.totalTime += node.totalTime;
            to.squares += node.squares;
            for (Node child = node.firstChild; child != null; child = child.nextSibling) {
                into.add(child.method == Node.NOT_KEPT ? notKept(to) : find(to, child.site, child.method));
                from.add(child);
            }
        }
    }

    /** Digits become {@code #}: threads of one pool play one role. */
    private static String role(String name) {
        StringBuilder role = new StringBuilder();
        for (int at = 0; at < name.length(); at++) {
            char c = name.charAt(at);
            if (c < '0' || c > '9') {
                role.append(c);
            } else if (role.length() == 0 || role.charAt(role.length() - 1) != '#') {
                role.append('#');
            }
        }
        return role.toString();
    }

    /** The node for a call, made when it is the first of its kind. */
    Node find(Node from, int site, int method) {
        if (from.method == Node.NOT_KEPT) {
            if (from.depth > depthLimit) {
                tooDeep++;
            } else {
                tooMany++;
            }
            return from;
        }
        Node child = from.child(site, method);
        if (child == null) {
            child = make(from, site, method);
        }
        from.lastCalled = child;
        return child;
    }

    private Node make(Node from, int site, int method) {
        if (!hasRoom(from.depth)) {
            tooMany++;
            return notKept(from);
        }
        Node above = from;
        while (above != null && above.method != method) {
            above = above.parent;
        }
        // A recursive call leads nowhere new, so it is let in however deep it is.
        if (above == null && from.depth >= depthLimit) {
            tooDeep++;
            return notKept(from);
        }
        return add(from, site, method, above);
    }

    /**
     * The second half of the room is given out by depth: the deeper, the sooner there is none left. What comes first
     * would otherwise take all of it, and nothing would be known of what comes last.
     */
    private boolean hasRoom(int depth) {
        if (thread == null) {
            // What ended threads had room for has room in their sum.
            return true;
        }
        int all = NODES.get();
        if (all >= nodeLimit || nodes >= threadNodeLimit) {
            return false;
        }
        long half = nodeLimit / 2;
        if (all < half || depth <= SHALLOW) {
            return true;
        }
        long left = nodeLimit - all;
        return depth <= SHALLOW + (depthLimit - SHALLOW) * left / Math.max(half, 1);
    }

    /** The child that stands for all that is not kept. There is at most one for each node that is. */
    private Node notKept(Node from) {
        Node child = from.child(0, Node.NOT_KEPT);
        return child == null ? add(from, 0, Node.NOT_KEPT, null) : child;
    }

    private Node add(Node from, int site, int method, Node target) {
        long began = System.nanoTime();
        Node child = new Node(from, site, method, target);
        from.add(child);
        NODES.incrementAndGet();
        nodes++;
        own += System.nanoTime() - began;
        return child;
    }
}
