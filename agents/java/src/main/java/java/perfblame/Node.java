package java.perfblame;

/**
 * One context of one thread: a method, called from one site of its caller's context.
 *
 * <p>Only its thread changes it. Another thread may read it while a profile is written, so children are only ever added
 * at the front of their list and nothing is taken away; a reader sees counts that are a moment old at worst.
 */
public final class Node {
    /** The method of a node that stands for all calls below its parent that were not kept. */
    public static final int NOT_KEPT = -1;

    /** The method of a thread's root. */
    static final int ROOT = -2;

    /** No node is a child of this one. Stands where no child was called yet, which saves a test. */
    private static final Node NONE = new Node(null, 0, -3, null);

    /** More children than this are found by a table; a list is quicker for the few that most nodes have. */
    private static final int LIST_UP_TO = 3;

    public final Node parent;
    public final int method;
    /** Where in the caller, as the instrumented code numbers it; 0 is unknown. */
    public final int site;
    final int depth;
    /** This node, or the node above of the same method, which a recursive call leads back to. */
    public final Node target;

    /** Children, the youngest first. */
    public Node firstChild;
    public Node nextSibling;
    /** The child that was called last, mostly the one that is called next. */
    Node lastCalled;
    private Node[] table;
    private int children;

    /** Calls, of a recursive call those from this site. */
    public long calls;
    /** Time that was not spent in instrumented callees. */
    public long selfTime;
    /** What calls that are not part of another call of this context took, callees included. */
    public long totalTime;
    /** Sum of the squares of what each of those took. */
    public double squares;

    Node(Node parent, int site, int method, Node target) {
        this.parent = parent;
        this.site = site;
        this.method = method;
        this.depth = parent == null ? 0 : parent.depth + 1;
        this.target = target == null ? this : target;
        this.lastCalled = NONE;
    }

    /** True for a call that leads back to a node above. */
    public boolean isFolded() {
        return target != this;
    }

    /** The child for a method called from a site, or null. */
    Node child(int site, int method) {
        Node[] table = this.table;
        if (table == null) {
            Node child = firstChild;
            while (child != null && (child.method != method || child.site != site)) {
                child = child.nextSibling;
            }
            return child;
        }
        int mask = table.length - 1;
        int at = hash(site, method) & mask;
        while (true) {
            Node child = table[at];
            if (child == null || child.method == method && child.site == site) {
                return child;
            }
            at = at + 1 & mask;
        }
    }

    /** Adds a child that is not there yet. */
    void add(Node child) {
        child.nextSibling = firstChild;
        firstChild = child;
        children++;
        if (table != null && children * 2 <= table.length) {
            place(table, child);
        } else if (children > LIST_UP_TO) {
            Node[] larger = new Node[Integer.highestOneBit(children) * 4];
            for (Node each = firstChild; each != null; each = each.nextSibling) {
                place(larger, each);
            }
            table = larger;
        }
    }

    private static void place(Node[] table, Node child) {
        int mask = table.length - 1;
        int at = hash(child.site, child.method) & mask;
        while (table[at] != null) {
            at = at + 1 & mask;
        }
        table[at] = child;
    }

    private static int hash(int site, int method) {
        int mixed = (method * 31 + site) * 0x9E3779B9;
        return mixed ^ mixed >>> 15;
    }
}
