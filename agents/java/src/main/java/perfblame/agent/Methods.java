package perfblame.agent;

import java.util.ArrayList;

/** The instrumented methods by the numbers that instrumented code knows them by. */
final class Methods {
    /** One of them. */
    static final class Method implements Comparable<Method> {
        /** With dots. */
        final String className;
        final String name;
        final String descriptor;
        /** Null where the class does not say. */
        final String file;
        /** Its first line; 0 where the class does not say. */
        final int line;

        Method(String className, String name, String descriptor, String file, int line) {
            this.className = className;
            this.name = name;
            this.descriptor = descriptor;
            this.file = file;
            this.line = line;
        }

        /** By what identifies it, so that a method of two loaders, or loaded twice, is one. */
        @Override
        public int compareTo(Method other) {
            int order = className.compareTo(other.className);
            if (order == 0) {
                order = name.compareTo(other.name);
            }
            if (order == 0) {
                order = descriptor.compareTo(other.descriptor);
            }
            if (order == 0) {
                order = Integer.compare(line, other.line);
            }
            return order != 0 ? order : String.valueOf(file).compareTo(String.valueOf(other.file));
        }
    }

    private final ArrayList<Method> methods = new ArrayList<>();

    /** Gives a method its number. */
    synchronized int add(Method method) {
        methods.add(method);
        return methods.size() - 1;
    }

    /** All there are by now. */
    synchronized Method[] all() {
        return methods.toArray(new Method[0]);
    }
}
