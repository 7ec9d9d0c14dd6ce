package perfblame.agent;

import java.util.Arrays;

/** A column that grows. */
final class Numbers {
    private long[] values = new long[1024];
    private int size;

    int size() {
        return size;
    }

    long get(int row) {
        return values[row];
    }

    void set(int row, long value) {
        values[row] = value;
    }

    void add(long value) {
        if (size == values.length) {
            values = Arrays.copyOf(values, size + (size >> 1));
        }
        values[size] = value;
        size++;
    }

    void cut(int rows) {
        size = rows;
    }

    void become(Numbers other) {
        values = other.values;
        size = other.size;
    }
}
