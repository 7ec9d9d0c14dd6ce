import java.io.PrintStream;
import java.io.Serializable;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Prints what instrumentation could disturb; two runs print the same. Ends by System.exit from the middle of things. */
public class Nasty {
    static PrintStream out = System.out;
    static final Map<String, Integer> seen = new TreeMap<>();

    interface Shape {
        double area();

        default String describe() {
            return name() + " of " + area() + twice(2);
        }

        private static long ignored() {
            return 1L;
        }

        static int twice(int n) {
            return 2 * n + (int) ignored() - 1;
        }

        String name();
    }

    enum Kind implements Shape {
        ROUND {
            @Override
            public double area() {
                return Math.PI;
            }
        },
        SQUARE {
            @Override
            public double area() {
                return 1;
            }
        };

        static final Kind LAST;

        static {
            LAST = values()[values().length - 1];
        }
    }

    static class Base {
        static int made;
        final String what;

        Base(String what) {
            this.what = what;
            made++;
            if (what.startsWith("bad")) {
                throw new IllegalStateException("refused " + what);
            }
            hook();
        }

        void hook() {
            out.println("base hook " + what);
        }
    }

    static class Derived extends Base {
        private final List<String> filled = new ArrayList<>();

        Derived(String what, boolean loud) {
            super(loud ? new StringBuilder(what).append('!').toString() : check(what));
            filled.add(what);
        }

        Derived(int number) {
            this("number " + number, number > 1);
        }

        static String check(String what) {
            if (what.isEmpty()) {
                throw new IllegalArgumentException("empty, seen from " + where());
            }
            return what;
        }

        @Override
        void hook() {
            out.println("derived hook " + what + " " + filled);
        }
    }

    /** Throws before the constructor above is called, and from within it, in a lambda's class. */
    static class Initialised {
        static final int VALUE = compute();

        static int compute() {
            out.println("initialising from " + where());
            return 42;
        }
    }

    static class Broken {
        static final int VALUE = Integer.parseInt("not a number");
    }

    class Inner {
        int depth = 1;

        class Deeper {
            int depth = Inner.this.depth + 1;

            int sum() {
                return depth + Inner.this.depth + Nasty.this.field;
            }
        }
    }

    int field = 5;

    /** The frames above, as the program sees them. */
    static String where() {
        StringBuilder text = new StringBuilder();
        for (StackTraceElement element : new Throwable().getStackTrace()) {
            if (element.getClassName().startsWith("java.") || element.getClassName().startsWith("jdk.")
                    || element.getClassName().startsWith("sun.")) {
                continue;
            }
            text.append(element.getMethodName()).append(':').append(element.getLineNumber()).append(' ');
        }
        return text.toString().trim();
    }

    static void print(Throwable thrown) {
        for (Throwable each = thrown; each != null; each = each.getCause()) {
            out.println(each);
            for (StackTraceElement element : each.getStackTrace()) {
                if (element.getClassName().startsWith("Nasty")) {
                    out.println("  at " + element);
                }
            }
            for (Throwable suppressed : each.getSuppressed()) {
                out.println("  suppressed " + suppressed);
            }
        }
    }

    static int throwsDeep(int depth) throws Exception {
        if (depth == 0) {
            throw new Exception("deep");
        }
        try {
            return throwsDeep(depth - 1) + 1;
        } finally {
            seen.merge("finally", 1, Integer::sum);
        }
    }

    @SuppressWarnings("finally")
    static int overrides() {
        try {
            throw new RuntimeException("lost");
        } finally {
            return 3;
        }
    }

    static class Resource implements AutoCloseable {
        final String name;

        Resource(String name) {
            this.name = name;
        }

        @Override
        public void close() throws Exception {
            throw new Exception("closing " + name);
        }
    }

    static void resources() throws Exception {
        try (Resource a = new Resource("a"); Resource b = new Resource("b")) {
            throw new IllegalStateException("inside " + a.name + b.name);
        }
    }

    static synchronized int locked(Object lock, int depth) {
        synchronized (lock) {
            if (depth == 0) {
                return Thread.holdsLock(lock) && Thread.holdsLock(Nasty.class) ? 1 : -1;
            }
            try {
                synchronized (Nasty.class) {
                    return locked(lock, depth - 1) * 2;
                }
            } catch (RuntimeException never) {
                return -2;
            }
        }
    }

    static String choose(String word, int number) {
        switch (word) {
            case "one":
            case "uno":
                number += 1;
                break;
            case "Aa":
                number += 10;
            case "BB":
                number += 100;
                break;
            default:
                number = -number;
        }
        switch (number) {
            case 1:
                return "1";
            case 100000:
                return "many";
            case -7:
                return "seven below";
            default:
                return word + number;
        }
    }

    static long wide(long a, double b, int c, long... more) {
        long sum = a;
        for (long each : more) {
            double d = each * b;
            sum += (long) d;
            if (sum > 1000) {
                long e = sum;
                sum = e % 997;
            } else {
                String s = "x" + sum;
                sum += s.length();
            }
        }
        return sum + c;
    }

    static boolean even(int n) {
        return n == 0 || odd(n - 1);
    }

    static boolean odd(int n) {
        return n != 0 && even(n - 1);
    }

    static int overflow(int depth) {
        return overflow(depth + 1) + 1;
    }

    static <T extends Comparable<T>> T largest(List<? extends T> all) {
        T best = null;
        for (T each : all) {
            if (best == null || each.compareTo(best) > 0) {
                best = each;
            }
        }
        return best;
    }

    static class Version implements Comparable<Version>, Serializable {
        final int number;

        Version(int number) {
            this.number = number;
        }

        @Override
        public int compareTo(Version other) {
            return Integer.compare(number, other.number);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Version && ((Version) other).number == number;
        }

        @Override
        public int hashCode() {
            return number % 3;
        }

        @Override
        public String toString() {
            return "v" + number;
        }
    }

    /** A loader that knows nothing but the JDK and one class. */
    static class Lonely extends ClassLoader {
        final byte[] classFile;

        Lonely(byte[] classFile) {
            super(null);
            this.classFile = classFile;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals("Nasty$Alone")) {
                Class<?> known = findLoadedClass(name);
                return known != null ? known : defineClass(name, classFile, 0, classFile.length);
            }
            if (!name.startsWith("java.")) {
                throw new ClassNotFoundException("hidden: " + name);
            }
            return super.loadClass(name, resolve);
        }
    }

    public static class Alone implements Supplier<String> {
        @Override
        public String get() {
            return "alone " + IntStream.range(0, 4).map(this::square).sum();
        }

        int square(int n) {
            return n * n;
        }
    }

    static void threads() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Future<Integer>> futures = new ArrayList<>();
        for (int task = 0; task < 30; task++) {
            int number = task;
            futures.add(pool.submit((Callable<Integer>) () -> {
                if (number % 7 == 3) {
                    new Derived("bad " + number, false);
                }
                return even(number) ? number : -number;
            }));
        }
        for (Future<Integer> future : futures) {
            try {
                out.print(future.get() + " ");
            } catch (ExecutionException thrown) {
                out.print(thrown.getCause().getMessage() + " ");
            }
        }
        out.println();
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        Thread dies = new Thread(() -> {
            throw new IllegalStateException("on purpose");
        }, "dies");
        dies.setUncaughtExceptionHandler((thread, thrown) -> out.println(thread.getName() + ": " + thrown));
        dies.start();
        dies.join();
        Thread endless = new Thread(() -> {
            while (true) {
                idle();
            }
        }, "endless");
        endless.setDaemon(true);
        endless.start();
        Thread[] others = new Thread[100];
        int running = Thread.currentThread().getThreadGroup().enumerate(others);
        List<String> names = new ArrayList<>();
        for (Thread other : Arrays.copyOf(others, running)) {
            // One of a pool may be about to end.
            if (!other.getName().startsWith("pool-") && !other.getName().startsWith("ForkJoin")) {
                names.add(other.getName());
            }
        }
        out.println(names + " in " + Thread.currentThread().getThreadGroup().getName());
    }

    static void idle() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    static void reflection() throws Exception {
        Method method = Nasty.class.getDeclaredMethod("throwsDeep", int.class);
        try {
            method.invoke(null, 2);
        } catch (InvocationTargetException thrown) {
            print(thrown);
        }
        try {
            Derived.class.getDeclaredConstructor(String.class, boolean.class).newInstance("bad", false);
        } catch (InvocationTargetException thrown) {
            print(thrown);
        }
        String[] names = Arrays.stream(Derived.class.getDeclaredMethods()).map(Method::getName).sorted()
                .toArray(String[]::new);
        out.println(Arrays.toString(names) + " " + Derived.class.getDeclaredFields().length);
        out.println(java.io.ObjectStreamClass.lookup(Version.class).getSerialVersionUID());
        InvocationHandler handler = (proxy, called, arguments) -> called.getName() + Arrays.toString(arguments);
        @SuppressWarnings("unchecked")
        Function<Object, Object> proxy = (Function<Object, Object>) Proxy.newProxyInstance(
                Nasty.class.getClassLoader(), new Class<?>[] {Function.class}, handler);
        out.println(proxy.apply("x"));
    }

    public static void main(String[] arguments) throws Exception {
        out.println(where());
        for (Shape shape : Kind.values()) {
            out.println(shape.describe());
        }
        out.println(Kind.LAST + " " + Initialised.VALUE);
        try {
            out.println(Broken.VALUE);
        } catch (ExceptionInInitializerError error) {
            print(error);
        }
        try {
            out.println(Broken.VALUE);
        } catch (NoClassDefFoundError error) {
            out.println("gone " + error.getMessage());
        }
        for (String what : new String[] {"good", "bad", "", "bad!"}) {
            try {
                new Derived(what, what.endsWith("!"));
            } catch (RuntimeException thrown) {
                print(thrown);
            }
        }
        new Derived(1);
        new Derived(2);
        out.println(Base.made);
        Nasty nasty = new Nasty();
        out.println(nasty.new Inner().new Deeper().sum());
        try {
            throwsDeep(4);
        } catch (Exception thrown) {
            print(thrown);
        }
        out.println(overrides() + " " + seen);
        try {
            resources();
        } catch (Exception thrown) {
            print(thrown);
        }
        out.println(locked(new Object(), 5));
        out.println(choose("one", 0) + choose("Aa", 3) + choose("BB", 99900) + choose("x", 7));
        out.println(wide(7, 1.5, 3, 900, 900, 1, 2, 3));
        out.println(even(1001) + " " + odd(1001));
        try {
            overflow(0);
        } catch (StackOverflowError error) {
            out.println("stack overflow in " + error.getStackTrace()[50].getMethodName());
        }
        out.println(even(10));
        out.println(largest(Arrays.asList(new Version(3), new Version(11), new Version(7))));
        Map<Version, Integer> map = new HashMap<>();
        for (int n = 0; n < 20; n++) {
            map.merge(new Version(n % 7), n, Integer::sum);
        }
        out.println(map.entrySet().stream().sorted(Map.Entry.comparingByKey(Comparator.reverseOrder()))
                .map(Object::toString).collect(Collectors.joining(",")));
        IntBinaryOperator gcd = new IntBinaryOperator() {
            @Override
            public int applyAsInt(int a, int b) {
                return b == 0 ? a : applyAsInt(b, a % b);
            }
        };
        out.println(IntStream.rangeClosed(1, 100).reduce(360360, gcd));
        out.println(IntStream.range(0, 1000).parallel().map(n -> Shape.twice(n)).sum());
        AtomicInteger count = new AtomicInteger();
        List<Runnable> all = new ArrayList<>();
        for (int n = 0; n < 5; n++) {
            all.add(count::incrementAndGet);
        }
        all.forEach(Runnable::run);
        out.println(count);
        try (java.io.InputStream file = Nasty.class.getResourceAsStream("Nasty$Alone.class")) {
            byte[] classFile = new byte[100_000];
            int length = 0;
            for (int got = file.read(classFile); got > 0; got = file.read(classFile, length, classFile.length - length)) {
                length += got;
            }
            ClassLoader lonely = new Lonely(Arrays.copyOf(classFile, length));
            @SuppressWarnings("unchecked")
            Supplier<String> alone =
                    (Supplier<String>) lonely.loadClass("Nasty$Alone").getDeclaredConstructor().newInstance();
            out.println(alone.get());
        }
        reflection();
        threads();
        System.err.println("to the other stream");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> out.println("bye")));
        new Thread(() -> out.println("unused"), "never started");
        leave(3);
    }

    static void leave(int depth) {
        if (depth == 0) {
            System.exit(7);
        }
        leave(depth - 1);
    }
}
