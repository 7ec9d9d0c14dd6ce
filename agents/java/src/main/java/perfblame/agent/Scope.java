package perfblame.agent;

import java.util.List;

/** Which classes are instrumented. */
final class Scope {
    /** The JDK's classes, unless packages of theirs are asked for. */
    private static final String[] PLATFORM = {"java/", "javax/", "jdk/", "sun/", "com/sun/"};

    private final String[] packages;
    private final String[] exclude;

    Scope(List<String> packages, List<String> exclude) {
        this.packages = internal(packages);
        this.exclude = internal(exclude);
    }

    private static String[] internal(List<String> names) {
        String[] internal = new String[names.size()];
        for (int at = 0; at < internal.length; at++) {
            String name = names.get(at).replace('.', '/');
            internal[at] = name.endsWith("*") ? name.substring(0, name.length() - 1) : name;
        }
        return internal;
    }

    /** {@code name} has slashes. Classes of the bootstrap loader are what the agent itself is made of. */
    boolean covers(ClassLoader loader, String name) {
        if (loader == null || name == null || name.startsWith("perfblame/agent/") || isIn(exclude, name)) {
            return false;
        }
        if (packages.length > 0) {
            return isIn(packages, name);
        }
        return !isOfPlatform(name);
    }

    /** {@code name} has dots. */
    static boolean isPlatform(String name) {
        return isOfPlatform(name.replace('.', '/'));
    }

    private static boolean isOfPlatform(String name) {
        for (String platform : PLATFORM) {
            if (name.startsWith(platform)) {
                return true;
            }
        }
        return false;
    }

    /** {@code com/foo} covers itself, {@code com/foo/Bar} and, as a class, {@code com/foo$Bar}; not {@code com/food}. */
    private static boolean isIn(String[] packages, String name) {
        for (String each : packages) {
            if (name.startsWith(each)) {
                int end = each.length();
                if (end == 0 || end == name.length() || each.charAt(end - 1) == '/') {
                    return true;
                }
                if (name.charAt(end) == '/' || name.charAt(end) == '$') {
                    return true;
                }
            }
        }
        return false;
    }
}
