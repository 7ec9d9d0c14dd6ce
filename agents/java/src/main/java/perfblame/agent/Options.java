package perfblame.agent;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the text after {@code -javaagent:JAR=} asks for: {@code key=value} with commas between them. A piece without
 * {@code =} goes on with the value before it, so lists of packages and file names can have commas too.
 */
final class Options {
    private static final String KNOWN =
            "out, packages, exclude, sites, depth, nodes, thread-nodes, min-calls, min-time, tiny, overhead, trigger";

    /** Bytes of heap that one node may count on: 88 of its own, the rest for tables and for writing the profile. */
    private static final long HEAP_PER_NODE = 256;
    private static final int MOST_NODES = 2_000_000;

    String out = "perfblame-%p.perfblame";
    List<String> packages = new ArrayList<>();
    List<String> exclude = new ArrayList<>();
    boolean sitesAreLines;
    int depth = 256;
    int nodes;
    int threadNodes;
    long minCalls = 1;
    long minTime;
    boolean timeTiny;
    boolean subtractOverhead = true;
    String trigger;

    static Options parse(String text) {
        Options options = new Options();
        for (Map.Entry<String, String> entry : pieces(text == null ? "" : text).entrySet()) {
            options.set(entry.getKey(), entry.getValue());
        }
        if (options.nodes == 0) {
            long room = Runtime.getRuntime().maxMemory() / 2 / HEAP_PER_NODE;
            options.nodes = (int) Math.min(MOST_NODES, Math.max(room, 1_000));
        }
        if (options.threadNodes == 0) {
            options.threadNodes = options.nodes;
        }
        options.out = options.out.replace("%p", processId());
        return options;
    }

    private static Map<String, String> pieces(String text) {
        Map<String, String> pieces = new LinkedHashMap<>();
        String key = null;
        for (String piece : text.split(",")) {
            int equals = piece.indexOf('=');
            if (equals > 0 && (key == null || isWord(piece.substring(0, equals)))) {
                key = piece.substring(0, equals).trim();
                String value = piece.substring(equals + 1);
                String before = pieces.get(key);
                pieces.put(key, before == null ? value : before + "," + value);
            } else if (key != null) {
                pieces.put(key, pieces.get(key) + "," + piece);
            } else if (!piece.trim().isEmpty()) {
                throw new IllegalArgumentException("`" + piece + "` is not an option; the options are " + KNOWN);
            }
        }
        return pieces;
    }

    private static boolean isWord(String key) {
        for (int at = 0; at < key.length(); at++) {
            char c = key.charAt(at);
            if (c != '-' && (c < 'a' || c > 'z')) {
                return false;
            }
        }
        return true;
    }

    private void set(String key, String value) {
        switch (key) {
            case "out":
                out = value;
                break;
            case "packages":
                packages = list(value);
                break;
            case "exclude":
                exclude = list(value);
                break;
            case "sites":
                sitesAreLines = choice(key, value, "bytecode", "line");
                break;
            case "depth":
                depth = (int) number(key, value, 1, 1_000_000);
                break;
            case "nodes":
                nodes = (int) number(key, value, 1, 1_000_000_000);
                break;
            case "thread-nodes":
                threadNodes = (int) number(key, value, 1, 1_000_000_000);
                break;
            case "min-calls":
                minCalls = number(key, value, 1, Long.MAX_VALUE);
                break;
            case "min-time":
                minTime = number(key, value, 0, Long.MAX_VALUE);
                break;
            case "tiny":
                timeTiny = choice(key, value, "count", "time");
                break;
            case "overhead":
                subtractOverhead = !choice(key, value, "subtract", "keep");
                break;
            case "trigger":
                trigger = value;
                break;
            default:
                throw new IllegalArgumentException("`" + key + "` is not an option; the options are " + KNOWN);
        }
    }

    private static List<String> list(String value) {
        List<String> list = new ArrayList<>();
        for (String name : value.split("[,;:]")) {
            if (!name.trim().isEmpty()) {
                list.add(name.trim());
            }
        }
        return list;
    }

    /** True for the second of two words. */
    private static boolean choice(String key, String value, String first, String second) {
        if (value.equals(first) || value.equals(second)) {
            return value.equals(second);
        }
        throw new IllegalArgumentException("`" + key + "=" + value + "`: write " + first + " or " + second);
    }

    private static long number(String key, String value, long least, long most) {
        try {
            long number = Long.parseLong(value.replace("_", ""));
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException none) {
            // Said below.
        }
        throw new IllegalArgumentException(
                "`" + key + "=" + value + "`: write a number from " + least + " to " + most);
    }

    /** Java 8 has no call for it, and what it has instead loads half of its management classes. */
    private static String processId() {
        try {
            return new java.io.File("/proc/self").getCanonicalFile().getName();
        } catch (java.io.IOException none) {
            return "jvm";
        }
    }
}
