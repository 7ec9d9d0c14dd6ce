import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;

/** Counts its own calls, and prints how many there were of each method. */
public class Counted {
    static long f, g, h, recursive, even, odd, thrower, catcher, box, boxSuper, tiny, lambda, twice, run, deep, compare;

    static void f(int n) {
        f++;
        g(n);
        g(n + 1);
        h(n); h(n + 1); h(n + 2);
    }

    static int g(int n) {
        g++;
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += tiny(i);
        }
        return sum;
    }

    static String h(int n) {
        h++;
        return String.valueOf(n);
    }

    /** Too small to be timed. */
    static int tiny(int n) {
        tiny++;
        return n + 1;
    }

    static int recursive(int n) {
        recursive++;
        return n == 0 ? 0 : recursive(n - 1) + 1;
    }

    static boolean even(int n) {
        even++;
        return n == 0 || odd(n - 1);
    }

    static boolean odd(int n) {
        odd++;
        return n != 0 && even(n - 1);
    }

    static void thrower(int n) {
        thrower++;
        if (n % 2 == 1) {
            throw new IllegalStateException(String.valueOf(n));
        }
    }

    static int catcher(int n) {
        catcher++;
        try {
            thrower(n);
            return 0;
        } catch (IllegalStateException expected) {
            return g(1);
        }
    }

    static class Super {
        Super(int n) {
            boxSuper++;
            if (n % 3 == 0) {
                throw new IllegalArgumentException(String.valueOf(n));
            }
        }
    }

    static class Box extends Super implements Comparable<Box> {
        final int n;

        Box(int n) {
            super(g(n) + n);
            this.n = n;
            box++;
        }

        @Override
        public int compareTo(Box other) {
            compare++;
            return Integer.compare(n, other.n);
        }
    }

    interface Doubling {
        default int twice(IntUnaryOperator operator, int n) {
            twice++;
            return operator.applyAsInt(operator.applyAsInt(n));
        }
    }

    static void deep(int n) {
        deep++;
        switch (n) {
            case 0: deep0(); break;
            default: f(1);
        }
    }

    static void deep0() { deep1(); }

    static void deep1() { deep2(); }

    static void deep2() { deep3(); }

    static void deep3() { f(2); }

    static void work() {
        run++;
        for (int n = 0; n < 10; n++) {
            f(n);
            recursive(n);
            even(n);
            catcher(n);
            try {
                new Box(n);
            } catch (IllegalArgumentException expected) {
                g(0);
            }
            new Doubling() {}.twice(m -> {
                lambda++;
                return m + 1;
            }, n);
            deep(n % 2);
        }
        List<Box> boxes = Arrays.asList(new Box(5), new Box(1), new Box(4));
        boxes.sort(null);
    }

    public static void main(String[] arguments) throws Exception {
        work();
        for (int n = 0; n < 3; n++) {
            Thread thread = new Thread(Counted::work, "worker-" + n);
            thread.start();
            thread.join();
        }
        // More than are kept apart, so that those that have ended are added up.
        for (int n = 0; n < 200; n++) {
            Thread thread = new Thread(() -> g(2), "short-" + n);
            thread.start();
            thread.join();
        }
        Map<String, Long> counts = new TreeMap<>();
        counts.put("Counted.f", f);
        counts.put("Counted.g", g);
        counts.put("Counted.h", h);
        counts.put("Counted.tiny", tiny);
        counts.put("Counted.recursive", recursive);
        counts.put("Counted.even", even);
        counts.put("Counted.odd", odd);
        counts.put("Counted.thrower", thrower);
        counts.put("Counted.catcher", catcher);
        counts.put("Counted$Super.<init>", boxSuper);
        counts.put("Counted$Doubling.twice", twice);
        counts.put("Counted.deep", deep);
        counts.put("Counted.work", run);
        counts.put("Counted.lambda$work$0", lambda);
        // Each is called through a bridge that the compiler makes.
        counts.put("Counted$Box.compareTo", 2 * compare);
        for (Map.Entry<String, Long> entry : counts.entrySet()) {
            System.out.println(entry.getKey() + " " + entry.getValue());
        }
    }
}
