package perfblame.agent;

import java.lang.instrument.ClassFileTransformer;
import java.perfblame.Calls;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodTooLargeException;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Rewrites classes as they are loaded.
 *
 * <p>A class that cannot be rewritten stays as it is and is counted: a profile with a hole is better than a program that
 * fails. No member is added, and no frame is computed: both would be seen, the one by reflection and serialisation, the
 * other by class loaders that would be asked for classes out of turn.
 */
final class Instrumenter implements ClassFileTransformer {
    private final Scope scope;
    private final Methods methods;
    private final boolean sitesAreLines;
    private final boolean countTiny;

    private int tooLarge;
    private int refused;
    private String firstRefused;

    Instrumenter(Options options, Methods methods) {
        this.scope = new Scope(options.packages, options.exclude);
        this.methods = methods;
        this.sitesAreLines = options.sitesAreLines;
        this.countTiny = !options.timeTiny;
    }

    /** Methods that would have become larger than Java allows. */
    synchronized int tooLarge() {
        return tooLarge;
    }

    /** Classes that could not be rewritten. */
    synchronized int refused() {
        return refused;
    }

    /** The first of them, and why. */
    synchronized String firstRefused() {
        return firstRefused;
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] classFile) {
        if (!scope.covers(loader, name)) {
            return null;
        }
        long began = System.nanoTime();
        try {
            return instrument(classFile);
        } catch (Throwable error) {
            refuse(name, error);
            return null;
        } finally {
            Calls.ownTime(System.nanoTime() - began);
        }
    }

    private synchronized void refuse(String name, Throwable error) {
        refused++;
        if (firstRefused == null) {
            firstRefused = name.replace('/', '.') + ": " + error;
        }
    }

    /** The rewritten class, or null when there is nothing to do. */
    byte[] instrument(byte[] classFile) {
        Set<String> left = new HashSet<>();
        while (true) {
            try {
                byte[] rewritten = rewrite(classFile, left);
                synchronized (this) {
                    tooLarge += left.size();
                }
                return rewritten;
            } catch (MethodTooLargeException error) {
                if (!left.add(error.getMethodName() + error.getDescriptor())) {
                    throw error;
                }
            }
        }
    }

    private byte[] rewrite(byte[] classFile, Set<String> left) {
        Reader reader = new Reader(classFile);
        Parsed parsed = new Parsed(reader);
        reader.accept(parsed, ClassReader.EXPAND_FRAMES);
        // Older classes are verified by inference and have no frames.
        boolean hasFrames = (parsed.version & 0xFFFF) >= Opcodes.V1_6;
        String className = parsed.name.replace('/', '.');
        boolean changed = false;
        for (MethodNode each : parsed.methods) {
            WithOffsets method = (WithOffsets) each;
            if (method.instructions.size() == 0 || left.contains(method.name + method.desc)) {
                continue;
            }
            MethodRewriter rewriter = new MethodRewriter(method, method.offsets, sitesAreLines, hasFrames);
            int number = methods.add(new Methods.Method(
                    className, method.name, method.desc, parsed.sourceFile, rewriter.firstLine()));
            if (countTiny && rewriter.isTiny()) {
                rewriter.countOnly(number);
            } else {
                rewriter.rewrite(number);
            }
            changed = true;
        }
        if (!changed) {
            return null;
        }
        ClassWriter writer = new ClassWriter(reader, 0);
        parsed.accept(writer);
        return writer.toByteArray();
    }

    /** Knows where in the original bytecode it is. */
    private static final class Reader extends ClassReader {
        int offset;

        Reader(byte[] classFile) {
            super(classFile);
        }

        @Override
        protected void readBytecodeInstructionOffset(int bytecodeOffset) {
            offset = bytecodeOffset;
        }
    }

    private static final class Parsed extends ClassNode {
        private final Reader reader;

        Parsed(Reader reader) {
            super(Opcodes.ASM9);
            this.reader = reader;
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] exceptions) {
            MethodNode method = new WithOffsets(reader, access, name, descriptor, signature, exceptions);
            methods.add(method);
            return method;
        }
    }

    /** A method that remembers where each of its calls is. */
    private static final class WithOffsets extends MethodNode {
        private final Reader reader;
        final List<Integer> offsets = new ArrayList<>();

        WithOffsets(
                Reader reader, int access, String name, String descriptor, String signature, String[] exceptions) {
            super(Opcodes.ASM9, access, name, descriptor, signature, exceptions);
            this.reader = reader;
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
            offsets.add(reader.offset);
        }

        @Override
        public void visitInvokeDynamicInsn(
                String name, String descriptor, org.objectweb.asm.Handle bootstrap, Object... arguments) {
            super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
            offsets.add(reader.offset);
        }
    }
}
