package perfblame.agent;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** The columns of one section of perfblame's own file. docs/perfblame-file.md has the bytes. */
final class Columns {
    private static final int BYTES = 0;
    private static final int UNSIGNED = 1;
    private static final int DIFFERENCES = 3;

    private Buffer out = new Buffer();

    byte[] bytes() {
        return out.bytes;
    }

    int size() {
        return out.size;
    }

    void text(int field, String text) {
        Buffer rows = new Buffer();
        rows.put(text);
        column(field, BYTES, rows.size, rows);
    }

    /** One text after the other, and before them how long each is. */
    void texts(int lengths, int texts, List<String> all) {
        Buffer sizes = new Buffer();
        Buffer rows = new Buffer();
        for (String text : all) {
            int before = rows.size;
            rows.put(text);
            sizes.leb(rows.size - before);
        }
        column(lengths, UNSIGNED, all.size(), sizes);
        column(texts, BYTES, rows.size, rows);
    }

    void numbers(int field, long... values) {
        Buffer rows = new Buffer();
        for (long value : values) {
            rows.leb(value);
        }
        column(field, UNSIGNED, values.length, rows);
    }

    /** Values plus {@code more}. */
    void numbers(int field, Numbers values, long more) {
        Buffer rows = new Buffer();
        for (int row = 0; row < values.size(); row++) {
            rows.leb(values.get(row) + more);
        }
        column(field, UNSIGNED, values.size(), rows);
    }

    void differences(int field, Numbers values) {
        Buffer rows = new Buffer();
        long before = 0;
        for (int row = 0; row < values.size(); row++) {
            long difference = values.get(row) - before;
            rows.leb(difference << 1 ^ difference >> 63);
            before = values.get(row);
        }
        column(field, DIFFERENCES, values.size(), rows);
    }

    private void column(int field, int encoding, int rows, Buffer values) {
        out.leb(field);
        out.put(encoding);
        out.leb(rows);
        out.leb(values.size);
        out.put(values.bytes, values.size);
    }

    private static final class Buffer {
        byte[] bytes = new byte[256];
        int size;

        void put(int value) {
            if (size == bytes.length) {
                bytes = Arrays.copyOf(bytes, size * 2);
            }
            bytes[size] = (byte) value;
            size++;
        }

        void put(byte[] more, int length) {
            if (size + length > bytes.length) {
                bytes = Arrays.copyOf(bytes, Math.max(size + length, size * 2));
            }
            System.arraycopy(more, 0, bytes, size, length);
            size += length;
        }

        void put(String text) {
            byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
            put(utf8, utf8.length);
        }

        void leb(long value) {
            long left = value;
            while ((left & ~0x7FL) != 0) {
                put((int) (left & 0x7F | 0x80));
                left >>>= 7;
            }
            put((int) left);
        }
    }
}
