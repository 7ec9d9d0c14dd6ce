package perfblame.agent;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;

/**
 * Writes perfblame's own file, version 1. docs/perfblame-file.md has the bytes.
 *
 * <p>Sections are zstd frames of stored blocks: the format allows it, and so no library is needed. The file appears under
 * its name when it is whole.
 */
final class ProfileFile {
    private static final int BLOCK = 128 * 1024;
    private static final int GRAIN_CALL_SITES = 1;
    private static final int SITE_LINE = 1;
    private static final int SITE_BYTECODE = 2;
    private static final int LAYER_APPLICATION = 0;
    private static final int LAYER_LIBRARY = 1;
    private static final int LAYER_RUNTIME = 3;

    private final OutputStream out;
    private final List<String> texts = new ArrayList<>();
    private final Map<String, Integer> rowOfText = new HashMap<>();

    private ProfileFile(OutputStream out) {
        this.out = out;
    }

    static void write(Profile profile, About about, File file) throws IOException {
        File folder = file.getAbsoluteFile().getParentFile();
        File unfinished = File.createTempFile(file.getName() + ".", ".tmp", folder);
        try {
            try (OutputStream out = new BufferedOutputStream(new FileOutputStream(unfinished), 1 << 16)) {
                new ProfileFile(out).all(profile, about);
            }
            try {
                Files.move(unfinished.toPath(), file.toPath(),
                        StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            } catch (AtomicMoveNotSupportedException other) {
                Files.move(unfinished.toPath(), file.toPath(), StandardCopyOption.REPLACE_EXISTING);
            }
        } finally {
            Files.deleteIfExists(unfinished.toPath());
        }
    }

    private void all(Profile profile, About about) throws IOException {
        out.write("PERFBLAME\0".getBytes(StandardCharsets.US_ASCII));
        out.write(new byte[] {1, 0, 0, 0, 0, 0});
        Columns functions = new Columns();
        Columns frames = new Columns();
        Numbers frameOfRow = symbols(profile, functions, frames);
        Columns threads = threads(profile);
        Columns strings = new Columns();
        strings.texts(1, 2, texts);
        section("STRS", strings);
        section("FUNC", functions);
        section("FRAM", frames);
        section("THRD", threads);
        section("METR", metrics());
        section("TREE", tree(profile, frameOfRow));
        section("INFO", info(about));
        section("CELL", cells(profile));
        section("CALL", calls(profile));
        section("END ", new Columns());
    }

    private int text(String text) {
        Integer row = rowOfText.get(text);
        if (row == null) {
            row = texts.size();
            texts.add(text);
            rowOfText.put(text, row);
        }
        return row;
    }

    /** Functions and frames in the order in which the tree needs them; the answer is each row's frame. */
    private Numbers symbols(Profile profile, Columns functions, Columns frames) {
        Map<Long, Integer> rowOfFunction = new HashMap<>();
        Map<Long, Integer> rowOfFrame = new HashMap<>();
        Numbers[] function = columns(6);
        Numbers[] frame = columns(3);
        Numbers frameOfRow = new Numbers();
        for (int row = 0; row < profile.depth.size(); row++) {
            long rank = profile.functionOfRow.get(row);
            // A root has no caller, so there is no place in it.
            long site = profile.depth.get(row) == 0 ? 0 : profile.siteOfRow.get(row);
            Long key = rank << 32 | site;
            Integer known = rowOfFrame.get(key);
            if (known == null) {
                Integer of = rowOfFunction.get(rank);
                if (of == null) {
                    of = rowOfFunction.size();
                    rowOfFunction.put(rank, of);
                    describe(profile.method((int) rank), function);
                }
                known = rowOfFrame.size();
                rowOfFrame.put(key, known);
                frame[0].add(of);
                frame[1].add(site == 0 ? 0 : profile.sitesAreLines() ? SITE_LINE : SITE_BYTECODE);
                frame[2].add(site == 0 || profile.sitesAreLines() ? site : site - 1);
            }
            frameOfRow.add(known);
        }
        int[] fields = {1, 2, 3, 4, 5, 7};
        for (int at = 0; at < fields.length; at++) {
            functions.numbers(fields[at], function[at], 0);
        }
        frames.numbers(1, frame[0], 0);
        frames.numbers(8, frame[1], 0);
        frames.numbers(9, frame[2], 0);
        return frameOfRow;
    }

    private static Numbers[] columns(int count) {
        Numbers[] columns = new Numbers[count];
        Arrays.setAll(columns, at -> new Numbers());
        return columns;
    }

    private void describe(Methods.Method method, Numbers[] function) {
        if (method == null) {
            function[0].add(text(Profile.NOT_KEPT));
            for (int at = 1; at < 5; at++) {
                function[at].add(0);
            }
            function[5].add(LAYER_RUNTIME);
            return;
        }
        function[0].add(text(method.className + "." + method.name));
        function[1].add(text(method.className) + 1);
        function[2].add(text(method.descriptor) + 1);
        function[3].add(method.file == null ? 0 : text(method.file) + 1);
        function[4].add(method.line);
        function[5].add(Scope.isPlatform(method.className) ? LAYER_LIBRARY : LAYER_APPLICATION);
    }

    private Columns threads(Profile profile) {
        Columns columns = new Columns();
        Numbers names = new Numbers();
        for (String name : profile.threads) {
            names.add(text(name));
        }
        columns.numbers(1, names, 0);
        return columns;
    }

    private static Columns metrics() {
        Columns columns = new Columns();
        columns.texts(1, 2, Arrays.asList("wall", "calls"));
        columns.texts(3, 4, Arrays.asList("ns", "count"));
        columns.numbers(5, 1, 1);
        return columns;
    }

    private static Columns tree(Profile profile, Numbers frameOfRow) {
        Numbers closed = new Numbers();
        long before = -1;
        for (int row = 0; row < profile.depth.size(); row++) {
            long depth = profile.depth.get(row);
            closed.add(before + 1 - depth);
            before = depth;
        }
        Columns columns = new Columns();
        columns.numbers(1, GRAIN_CALL_SITES);
        columns.numbers(2, closed, 0);
        columns.numbers(3, frameOfRow, 0);
        return columns;
    }

    private static Columns info(About about) {
        Columns columns = new Columns();
        columns.numbers(1, 0);
        columns.text(2, "perfblame");
        String version = ProfileFile.class.getPackage().getImplementationVersion();
        columns.text(3, "perfblame's Java agent" + (version == null ? "" : " " + version));
        String command = System.getProperty("sun.java.command");
        if (command != null) {
            columns.text(4, command);
        }
        columns.numbers(5, about.duration);
        columns.numbers(6, about.started);
        columns.texts(7, 8, about.labelKeys);
        columns.texts(9, 10, about.labelValues);
        columns.texts(11, 12, about.warningCodes);
        columns.texts(13, 14, about.warningMessages);
        Numbers counts = new Numbers();
        for (long count : about.warningCounts) {
            counts.add(count);
        }
        columns.numbers(15, counts, 0);
        return columns;
    }

    private static Columns cells(Profile profile) {
        Columns columns = new Columns();
        columns.differences(1, profile.cellRow);
        columns.numbers(2, profile.cellThread, 1);
        columns.numbers(16, profile.cellTime, 0);
        columns.numbers(17, profile.cellCalls, 0);
        return columns;
    }

    /** How far the calls of a context are apart. */
    private static Columns calls(Profile profile) {
        Columns columns = new Columns();
        columns.differences(1, profile.cellRow);
        columns.numbers(2, profile.cellThread, 1);
        columns.numbers(3, profile.cellMeasured, 0);
        columns.numbers(4, profile.cellDeviation, 0);
        return columns;
    }

    private void section(String tag, Columns columns) throws IOException {
        byte[] body = columns.bytes();
        int length = columns.size();
        int blocks = Math.max((length + BLOCK - 1) / BLOCK, 1);
        long packed = 4 + 1 + 1 + 8 + 3L * blocks + length;
        byte[] header = new byte[24];
        byte[] name = tag.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(name, 0, header, 0, 4);
        little(header, 8, packed, 8);
        little(header, 16, length, 8);
        byte[] frame = new byte[14];
        little(frame, 0, 0xFD2FB528L, 4);
        // The size has eight bytes, the window is one block.
        frame[4] = (byte) 0xC0;
        frame[5] = 7 << 3;
        little(frame, 6, length, 8);
        CRC32 crc = new CRC32();
        crc.update(header, 0, header.length);
        crc.update(frame, 0, frame.length);
        for (int block = 0; block < blocks; block++) {
            byte[] head = blockHeader(block, blocks, length);
            crc.update(head, 0, head.length);
            crc.update(body, block * BLOCK, Math.min(BLOCK, length - block * BLOCK));
        }
        byte[] sum = new byte[4];
        little(sum, 0, crc.getValue(), 4);
        out.write(header);
        out.write(sum);
        out.write(frame);
        for (int block = 0; block < blocks; block++) {
            out.write(blockHeader(block, blocks, length));
            out.write(body, block * BLOCK, Math.min(BLOCK, length - block * BLOCK));
        }
    }

    /** Bit 0: the last block; bits 1 and 2: stored; above: its length. */
    private static byte[] blockHeader(int block, int blocks, int length) {
        byte[] head = new byte[3];
        int last = block == blocks - 1 ? 1 : 0;
        little(head, 0, last | (long) Math.min(BLOCK, length - block * BLOCK) << 3, 3);
        return head;
    }

    private static void little(byte[] into, int at, long value, int bytes) {
        for (int each = 0; each < bytes; each++) {
            into[at + each] = (byte) (value >>> 8 * each);
        }
    }
}
