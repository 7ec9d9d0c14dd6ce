package perfblame.agent;

import java.perfblame.Calls;
import java.perfblame.Frame;
import java.perfblame.Node;
import java.perfblame.Overhead;
import java.perfblame.Recorder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * The trees of all threads as one: rows in pre-order, and for each row what each thread spent there.
 *
 * <p>Threads are walked side by side, so no second tree is built. Siblings are ordered by site, then by method, which is
 * the same in every run.
 */
final class Profile {
    /** What stands for calls that have no context of their own. */
    static final String NOT_KEPT = "(calls not kept)";

    private final Options options;
    private final Methods.Method[] methods;
    /** The rank of each method by name: equal methods have one. */
    private final int[] rank;
    /** A method of each rank. */
    private final Methods.Method[] ofRank;
    /** Stands behind all methods. */
    private final int notKeptRank;

    /** Names of threads. */
    final List<String> threads = new ArrayList<>();
    final Numbers depth = new Numbers();
    /** Rank and site of each row. */
    final Numbers functionOfRow = new Numbers();
    final Numbers siteOfRow = new Numbers();
    final Numbers cellRow = new Numbers();
    final Numbers cellThread = new Numbers();
    final Numbers cellTime = new Numbers();
    final Numbers cellCalls = new Numbers();
    /** Calls that were measured: those that are not part of another call of the same context. */
    final Numbers cellMeasured = new Numbers();
    /** Standard deviation of what they took. */
    final Numbers cellDeviation = new Numbers();
    long tooDeep;
    long tooMany;
    long tooRare;
    Overhead overhead;

    /** Calls of recursive calls by the node they lead back to. */
    private final Map<Node, long[]> folded = new IdentityHashMap<>();
    /** What calls that are still under way took so far. */
    private final Map<Node, long[]> underWay = new IdentityHashMap<>();

    Profile(Methods.Method[] methods, Options options) {
        this.options = options;
        this.methods = methods;
        Integer[] order = new Integer[methods.length];
        Arrays.setAll(order, at -> at);
        Arrays.sort(order, Comparator.comparing(at -> methods[at]));
        rank = new int[methods.length];
        ofRank = new Methods.Method[methods.length];
        int ranks = 0;
        for (int at = 0; at < order.length; at++) {
            if (at > 0 && methods[order[at]].compareTo(methods[order[at - 1]]) != 0) {
                ranks++;
            }
            rank[order[at]] = ranks;
            ofRank[ranks] = methods[order[at]];
        }
        notKeptRank = methods.length;
    }

    boolean sitesAreLines() {
        return options.sitesAreLines;
    }

    /** The method of a rank; null for what stands for many. */
    Methods.Method method(int rank) {
        return rank == notKeptRank ? null : ofRank[rank];
    }

    /** A context in one thread. */
    private static final class Part {
        final Node node;
        final int thread;

        Part(Node node, int thread) {
            this.node = node;
            this.thread = thread;
        }
    }

    /** A context in all threads that have it. */
    private static final class Context {
        final List<Part> parts;
        final int depth;

        Context(List<Part> parts, int depth) {
            this.parts = parts;
            this.depth = depth;
        }
    }

    /** {@code now} is the end for calls that are still under way. */
    void collect(List<Recorder> recorders, long now) {
        if (options.subtractOverhead) {
            overhead = Calls.measureOverhead();
        }
        List<Part> roots = new ArrayList<>();
        Map<String, Integer> threadOfName = new HashMap<>();
        Map<Recorder, String> names = new IdentityHashMap<>();
        for (Recorder recorder : recorders) {
            names.put(recorder, recorder.name());
        }
        recorders.sort(Comparator.comparing(names::get));
        for (Recorder recorder : recorders) {
            tooDeep += recorder.tooDeep;
            tooMany += recorder.tooMany;
            String name = names.get(recorder);
            Integer thread = threadOfName.get(name);
            if (thread == null) {
                thread = threads.size();
                threads.add(name);
                threadOfName.put(name, thread);
            }
            lookAtCallsUnderWay(recorder, now - recorder.own);
            foldCalls(recorder.root);
            roots.add(new Part(recorder.root, thread));
        }
        walk(roots);
        if (options.minCalls > 1 || options.minTime > 0) {
            dropTheRare();
        }
    }

    private void lookAtCallsUnderWay(Recorder recorder, long now) {
        Frame top = recorder.top;
        long inCallee = 0;
        for (Frame frame = top; frame.caller != null; frame = frame.caller) {
            long took = Math.max(now - frame.start, 0);
            add(underWay, frame.node, Math.max(took - frame.inCallees - inCallee, 0));
            inCallee = took;
        }
    }

    private static void add(Map<Node, long[]> sums, Node node, long value) {
        long[] sum = sums.get(node);
        if (sum == null) {
            sum = new long[1];
            sums.put(node, sum);
        }
        sum[0] += value;
    }

    private static long sum(Map<Node, long[]> sums, Node node) {
        long[] sum = sums.get(node);
        return sum == null ? 0 : sum[0];
    }

    private void foldCalls(Node root) {
        ArrayList<Node> open = new ArrayList<>();
        open.add(root);
        while (!open.isEmpty()) {
            Node node = open.remove(open.size() - 1);
            if (node.isFolded()) {
                add(folded, node.target, node.calls);
            }
            for (Node child = node.firstChild; child != null; child = child.nextSibling) {
                open.add(child);
            }
        }
    }

    private int rankOf(Node node) {
        return node.method < 0 || node.method >= methods.length ? notKeptRank : rank[node.method];
    }

    private static int site(Node node) {
        return node.site & ~Frame.FROM_SUPER;
    }

    private void walk(List<Part> roots) {
        ArrayList<Context> open = new ArrayList<>();
        open.add(new Context(roots, -1));
        Comparator<Part> order = (one, other) -> {
            int result = Integer.compare(site(one.node), site(other.node));
            if (result == 0) {
                result = Integer.compare(rankOf(one.node), rankOf(other.node));
            }
            return result != 0 ? result : Integer.compare(one.thread, other.thread);
        };
        while (!open.isEmpty()) {
            Context context = open.remove(open.size() - 1);
            if (context.depth >= 0) {
                row(context);
            }
            List<Part> children = new ArrayList<>();
            for (Part part : context.parts) {
                for (Node child = part.node.firstChild; child != null; child = child.nextSibling) {
                    if (!child.isFolded()) {
                        children.add(new Part(child, part.thread));
                    }
                }
            }
            children.sort(order);
            // The last is pushed first, so that the first is on top.
            int end = children.size();
            for (int at = end - 1; at >= 0; at--) {
                if (at == 0 || !alike(children.get(at), children.get(at - 1))) {
                    open.add(new Context(children.subList(at, end), context.depth + 1));
                    end = at;
                }
            }
        }
        folded.clear();
        underWay.clear();
    }

    private boolean alike(Part one, Part other) {
        return site(one.node) == site(other.node) && rankOf(one.node) == rankOf(other.node);
    }

    private void row(Context context) {
        Node any = context.parts.get(0).node;
        int row = depth.size();
        depth.add(context.depth);
        functionOfRow.add(rankOf(any));
        siteOfRow.add(site(any));
        for (int at = 0; at < context.parts.size(); at++) {
            Part part = context.parts.get(at);
            Cell cell = cell(part.node);
            int last = cellRow.size() - 1;
            if (last >= 0 && cellRow.get(last) == row && cellThread.get(last) == part.thread) {
                // Threads of one name, or a method of two class loaders.
                cellTime.set(last, cellTime.get(last) + cell.time);
                cellCalls.set(last, cellCalls.get(last) + cell.calls);
                cellDeviation.set(last, pooled(last, cell));
                cellMeasured.set(last, cellMeasured.get(last) + cell.measured);
            } else {
                cellRow.add(row);
                cellThread.add(part.thread);
                cellTime.add(cell.time);
                cellCalls.add(cell.calls);
                cellMeasured.add(cell.measured);
                cellDeviation.add(Math.round(cell.deviation));
            }
        }
    }

    /** Two groups of calls as one; how far their means are apart is left out. */
    private long pooled(int last, Cell cell) {
        double before = cellMeasured.get(last) * Math.pow(cellDeviation.get(last), 2);
        double all = cellMeasured.get(last) + cell.measured;
        return all == 0 ? 0 : Math.round(Math.sqrt((before + cell.measured * Math.pow(cell.deviation, 2)) / all));
    }

    private static final class Cell {
        long time;
        long calls;
        long measured;
        double deviation;
    }

    private Cell cell(Node node) {
        Cell cell = new Cell();
        cell.calls = node.calls + sum(folded, node);
        cell.measured = node.method == Node.NOT_KEPT || isCountedOnly(node) ? 0 : node.calls;
        cell.time = node.selfTime + sum(underWay, node);
        if (overhead != null) {
            cell.time -= Math.round(costOfTelling(node, cell.calls));
        }
        cell.time = Math.max(cell.time, 0);
        if (cell.measured > 1) {
            double mean = (double) node.totalTime / cell.measured;
            cell.deviation = Math.sqrt(Math.max(node.squares / cell.measured - mean * mean, 0));
        }
        return cell;
    }

    /** What the agent's own work added to a context. */
    private double costOfTelling(Node node, long calls) {
        if (isCountedOnly(node)) {
            return 0;
        }
        double cost = calls * overhead.inCallee;
        if (node.method == Node.NOT_KEPT) {
            cost += calls * overhead.inCaller;
        }
        for (Node child = node.firstChild; child != null; child = child.nextSibling) {
            cost += child.calls * (isCountedOnly(child) ? overhead.ofCounted : overhead.inCaller);
        }
        return cost;
    }

    /** Too small to be timed; whatever is timed takes at least a nanosecond. */
    private static boolean isCountedOnly(Node node) {
        return node.totalTime == 0 && node.selfTime == 0 && !node.isFolded();
    }

    /**
     * Takes out subtrees all of whose contexts are below the minimum. The first one below a context becomes what stands
     * for all of them.
     */
    private void dropTheRare() {
        int rows = depth.size();
        long[] time = new long[rows];
        long[] calls = new long[rows];
        for (int cell = 0; cell < cellRow.size(); cell++) {
            int row = (int) cellRow.get(cell);
            time[row] += cellTime.get(cell);
            calls[row] += cellCalls.get(cell);
        }
        int[] parent = parents();
        boolean[] kept = new boolean[rows];
        for (int row = rows - 1; row >= 0; row--) {
            boolean stands = functionOfRow.get(row) == notKeptRank;
            kept[row] |= stands || calls[row] >= options.minCalls && time[row] >= options.minTime;
            if (parent[row] >= 0) {
                kept[parent[row]] |= kept[row];
                time[parent[row]] += time[row];
            }
        }
        // Where each row goes: to itself, or to the row that stands for it.
        int[] to = new int[rows];
        int[] standIn = new int[rows + 1];
        Arrays.fill(standIn, -1);
        for (int row = 0; row < rows; row++) {
            int above = parent[row];
            if (functionOfRow.get(row) == notKeptRank && standIn[above + 1] < 0) {
                standIn[above + 1] = row;
            }
        }
        for (int row = 0; row < rows; row++) {
            int above = parent[row];
            if (kept[row]) {
                to[row] = row;
            } else if (above >= 0 && !kept[above]) {
                to[row] = to[above];
                tooRare++;
            } else {
                if (standIn[above + 1] < 0) {
                    standIn[above + 1] = row;
                    functionOfRow.set(row, notKeptRank);
                    siteOfRow.set(row, 0);
                }
                to[row] = standIn[above + 1];
                tooRare++;
            }
        }
        rebuild(to);
    }

    private int[] parents() {
        int rows = depth.size();
        int[] parent = new int[rows];
        for (int row = 0; row < rows; row++) {
            int above = row - 1;
            while (above >= 0 && depth.get(above) >= depth.get(row)) {
                above = parent[above];
            }
            parent[row] = above;
        }
        return parent;
    }

    private void rebuild(int[] to) {
        int[] renumbered = new int[to.length];
        int rows = 0;
        for (int row = 0; row < to.length; row++) {
            if (to[row] == row) {
                depth.set(rows, depth.get(row));
                functionOfRow.set(rows, functionOfRow.get(row));
                siteOfRow.set(rows, siteOfRow.get(row));
                renumbered[row] = rows;
                rows++;
            }
        }
        depth.cut(rows);
        functionOfRow.cut(rows);
        siteOfRow.cut(rows);
        int cells = cellRow.size();
        Integer[] order = new Integer[cells];
        Arrays.setAll(order, at -> at);
        Arrays.sort(order, (one, other) -> {
            int result = Integer.compare(target(renumbered, to, one), target(renumbered, to, other));
            return result != 0 ? result : Long.compare(cellThread.get(one), cellThread.get(other));
        });
        Numbers[] columns = {cellTime, cellCalls, cellMeasured, cellDeviation};
        Numbers[] merged = {new Numbers(), new Numbers(), new Numbers(), new Numbers()};
        Numbers mergedRow = new Numbers();
        Numbers mergedThread = new Numbers();
        for (int cell : order) {
            int row = target(renumbered, to, cell);
            int last = mergedRow.size() - 1;
            boolean more = last >= 0 && mergedRow.get(last) == row && mergedThread.get(last) == cellThread.get(cell);
            if (!more) {
                mergedRow.add(row);
                mergedThread.add(cellThread.get(cell));
            }
            boolean standsForMany = functionOfRow.get(row) == notKeptRank;
            for (int column = 0; column < columns.length; column++) {
                long value = column >= 2 && standsForMany ? 0 : columns[column].get(cell);
                if (more) {
                    merged[column].set(last, merged[column].get(last) + value);
                } else {
                    merged[column].add(value);
                }
            }
        }
        cellRow.become(mergedRow);
        cellThread.become(mergedThread);
        for (int column = 0; column < columns.length; column++) {
            columns[column].become(merged[column]);
        }
    }

    private int target(int[] renumbered, int[] to, int cell) {
        return renumbered[to[(int) cellRow.get(cell)]];
    }
}
