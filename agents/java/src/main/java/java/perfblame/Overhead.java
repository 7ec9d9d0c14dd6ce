package java.perfblame;

/**
 * What telling a call costs, split at the moment the clock is read: a part counts as the callee's time, the rest as the
 * caller's. A profile takes both away.
 */
public final class Overhead {
    private static final int BATCHES = 60;
    private static final int CALLS = 2_000;

    /** Nanoseconds that each call adds to itself. */
    public final double inCallee;
    /** Nanoseconds that each call adds to its caller. */
    public final double inCaller;

    /** Nanoseconds that a call that is counted and not timed adds to its caller. */
    public final double ofCounted;

    private Overhead(double inCallee, double inCaller, double ofCounted) {
        this.inCallee = inCallee;
        this.inCaller = inCaller;
        this.ofCounted = ofCounted;
    }

    /**
     * Makes calls that do nothing. The cheapest batch counts: it is the one that nothing disturbed, and taking away too
     * little is better than inventing time that was never spent.
     */
    static Overhead measure() {
        double inCallee = Double.MAX_VALUE;
        double inCaller = Double.MAX_VALUE;
        double ofCounted = Double.MAX_VALUE;
        for (int batch = 0; batch < BATCHES; batch++) {
            Frame outer = Calls.enter(0);
            outer.site = 1;
            Node node = outer.node;
            for (int call = 0; call < CALLS; call++) {
                Calls.exit(Calls.enter(1));
            }
            Calls.exit(outer);
            Node inner = node.firstChild;
            inCallee = Math.min(inCallee, (double) inner.selfTime / CALLS);
            inCaller = Math.min(inCaller, (double) node.selfTime / CALLS);
            inner.selfTime = 0;
            node.selfTime = 0;
        }
        for (int batch = 0; batch < BATCHES; batch++) {
            Frame outer = Calls.enter(2);
            outer.site = 1;
            for (int call = 0; call < CALLS; call++) {
                Calls.count(3);
            }
            Calls.exit(outer);
            ofCounted = Math.min(ofCounted, (double) outer.node.selfTime / CALLS);
            outer.node.selfTime = 0;
        }
        return new Overhead(Math.max(inCallee, 0), Math.max(inCaller, 0), Math.max(ofCounted, 0));
    }
}
