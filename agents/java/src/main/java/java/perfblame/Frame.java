package java.perfblame;

/**
 * A call that is under way. Each thread keeps its frames and uses them again, so a call allocates nothing.
 *
 * <p>An instrumented method holds its frame in a local variable: it writes the site before each call, and hands the
 * frame back when it ends.
 */
public final class Frame {
    /** Part of the site while a constructor calls the one above: what that one throws cannot be caught here. */
    public static final int FROM_SUPER = 1 << 30;

    final Recorder recorder;
    public final Frame caller;
    Frame callee;

    /** Where this method is calling from. Written by instrumented code. */
    public int site;

    /** Where this call's costs go. */
    public Node node;
    /** What counted the call: the node, or a recursive call that leads back to it. */
    Node counted;
    /** When it began, by the recorder's clock. */
    public long start;
    /** What instrumented callees that have ended took. */
    public long inCallees;

    Frame(Recorder recorder, Frame caller) {
        this.recorder = recorder;
        this.caller = caller;
    }
}
