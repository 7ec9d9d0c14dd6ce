package perfblame.agent;

import java.perfblame.Frame;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.IntInsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Puts the calls to {@link java.perfblame.Calls} into one method.
 *
 * <pre>
 *   frame = Calls.enter(NUMBER);
 *   try {
 *     …
 *     frame.site = 17; callee();
 *     …
 *     Calls.exit(frame); return;
 *   } catch (Throwable any) { Calls.exit(frame); throw any; }
 * </pre>
 *
 * <p>The frame is in a new local variable behind all others, so the method's own keep their places, and every stack map
 * frame gets one more local.
 */
final class MethodRewriter {
    /** Instructions of a method that is too small to be timed: as long as reading the clock takes. */
    private static final int TINY = 40;

    private static final String CALLS = "java/perfblame/Calls";
    private static final String FRAME = "java/perfblame/Frame";

    /** Classes whose methods call nobody back, as long as they are given plain values only. */
    private static final Set<String> VALUES = new HashSet<>();

    /** Methods of theirs that compilers turn into an instruction or two. */
    private static final Set<String> AT_ONCE = new HashSet<>();

    static {
        Collections.addAll(AT_ONCE, "java/lang/String.length", "java/lang/String.charAt", "java/lang/String.isEmpty",
                "java/lang/Integer.intValue", "java/lang/Long.longValue", "java/lang/Double.doubleValue",
                "java/lang/Boolean.booleanValue", "java/lang/Boolean.valueOf", "java/lang/Character.charValue",
                "java/lang/Math.min", "java/lang/Math.max", "java/lang/Math.abs");
        Collections.addAll(VALUES, "java/lang/Math", "java/lang/StrictMath", "java/lang/String",
                "java/lang/StringBuilder", "java/lang/Integer", "java/lang/Long", "java/lang/Short", "java/lang/Byte",
                "java/lang/Character", "java/lang/Boolean", "java/lang/Float", "java/lang/Double");
    }

    private final MethodNode method;
    private final List<Integer> offsets;
    private final boolean sitesAreLines;
    private final boolean hasFrames;
    /** The new local variable. */
    private final int local;

    MethodRewriter(MethodNode method, List<Integer> offsets, boolean sitesAreLines, boolean hasFrames) {
        this.method = method;
        this.offsets = offsets;
        this.sitesAreLines = sitesAreLines;
        this.hasFrames = hasFrames;
        this.local = method.maxLocals;
    }

    /** The first line of the body; 0 where the class does not say. */
    int firstLine() {
        for (AbstractInsnNode each = method.instructions.getFirst(); each != null; each = each.getNext()) {
            if (each instanceof LineNumberNode) {
                return ((LineNumberNode) each).line;
            }
        }
        return 0;
    }

    /** Counts calls and nothing else. */
    void countOnly(int number) {
        InsnList entry = entry(firstLine());
        entry.add(push(number));
        entry.add(new MethodInsnNode(Opcodes.INVOKESTATIC, CALLS, "count", "(I)V", false));
        method.instructions.insert(entry);
        method.maxStack = Math.max(method.maxStack, 1);
    }

    /** What is told before the first line belongs to it, too: a full stack is noticed there. */
    private static InsnList entry(int line) {
        InsnList entry = new InsnList();
        if (line > 0) {
            LabelNode start = new LabelNode();
            entry.add(start);
            entry.add(new LineNumberNode(line, start));
        }
        return entry;
    }

    /**
     * True for a method that is over before a clock could be read: no call, no loop, no lock, no object made but an
     * exception that is thrown at once.
     */
    boolean isTiny() {
        if ((method.access & Opcodes.ACC_SYNCHRONIZED) != 0 || method.name.equals("<clinit>")) {
            return false;
        }
        int length = 0;
        Set<AbstractInsnNode> passed = new HashSet<>();
        for (AbstractInsnNode each = method.instructions.getFirst(); each != null; each = each.getNext()) {
            if (each instanceof LabelNode) {
                passed.add(each);
                continue;
            } else if (each.getOpcode() < 0) {
                continue;
            } else if (each.getOpcode() == Opcodes.NEW) {
                each = endOfThrow(each);
                if (each == null) {
                    return false;
                }
            }
            length++;
            if (length > TINY || jumpsBack(each, passed) || takesLong(each)) {
                return false;
            }
        }
        return true;
    }

    /** From {@code new SomeException(…)} of the JDK to its {@code throw}; null when there is more to it. */
    private static AbstractInsnNode endOfThrow(AbstractInsnNode made) {
        String type = ((TypeInsnNode) made).desc;
        AbstractInsnNode each = made;
        while (each != null && each.getOpcode() != Opcodes.ATHROW) {
            boolean isCall = each instanceof MethodInsnNode || each instanceof InvokeDynamicInsnNode;
            boolean isItsConstructor = each.getOpcode() == Opcodes.INVOKESPECIAL
                    && type.startsWith("java/") && ((MethodInsnNode) each).owner.equals(type);
            if (each instanceof FrameNode || each instanceof JumpInsnNode || isCall && !isItsConstructor) {
                return null;
            }
            each = each.getNext();
        }
        return each == null ? null : each.getPrevious();
    }

    private static boolean jumpsBack(AbstractInsnNode each, Set<AbstractInsnNode> passed) {
        if (each instanceof JumpInsnNode) {
            return passed.contains(((JumpInsnNode) each).label);
        } else if (each instanceof TableSwitchInsnNode) {
            TableSwitchInsnNode choice = (TableSwitchInsnNode) each;
            return passed.contains(choice.dflt) || !Collections.disjoint(choice.labels, passed);
        } else if (each instanceof LookupSwitchInsnNode) {
            LookupSwitchInsnNode choice = (LookupSwitchInsnNode) each;
            return passed.contains(choice.dflt) || !Collections.disjoint(choice.labels, passed);
        }
        return false;
    }

    private static boolean takesLong(AbstractInsnNode each) {
        switch (each.getOpcode()) {
            case Opcodes.INVOKESPECIAL:
                // That of Object does nothing.
                return !((MethodInsnNode) each).owner.equals("java/lang/Object")
                        && each.getNext().getOpcode() != Opcodes.ATHROW;
            case Opcodes.INVOKEVIRTUAL:
            case Opcodes.INVOKESTATIC:
                return !AT_ONCE.contains(((MethodInsnNode) each).owner + "." + ((MethodInsnNode) each).name);
            case Opcodes.INVOKEINTERFACE:
            case Opcodes.INVOKEDYNAMIC:
            case Opcodes.NEWARRAY:
            case Opcodes.ANEWARRAY:
            case Opcodes.MULTIANEWARRAY:
            case Opcodes.MONITORENTER:
            case Opcodes.JSR:
            case Opcodes.RET:
                return true;
            default:
                return false;
        }
    }

    void rewrite(int number) {
        AbstractInsnNode initialised = method.name.equals("<init>") ? callOfSuper() : null;
        int line = firstLine();
        if (hasFrames) {
            widenFrames();
        }
        tellExceptions();
        tellSitesAndReturns(initialised);

        LabelNode begin = new LabelNode();
        InsnList entry = entry(line);
        entry.add(push(number));
        entry.add(new MethodInsnNode(Opcodes.INVOKESTATIC, CALLS, "enter", "(I)L" + FRAME + ";", false));
        entry.add(new VarInsnNode(Opcodes.ASTORE, local));
        entry.add(begin);
        LabelNode end = new LabelNode();
        method.instructions.add(end);
        if (!method.name.equals("<init>")) {
            rethrow(begin, end, end, Opcodes.TOP);
        } else if (initialised != null) {
            // Before the call of the other constructor there is no object yet, after it there is: two handlers. The
            // call itself is both, so the verifier lets no handler have it; Frame.FROM_SUPER is for that.
            LabelNode before = new LabelNode();
            LabelNode after = new LabelNode();
            method.instructions.insertBefore(initialised, before);
            method.instructions.insert(initialised, after);
            LabelNode second = new LabelNode();
            rethrow(begin, before, end, Opcodes.UNINITIALIZED_THIS);
            method.instructions.add(second);
            rethrow(after, end, second, Opcodes.TOP);
        }
        method.instructions.insert(entry);
        method.maxLocals = local + 1;
        method.maxStack += 2;
    }

    /**
     * The call of another constructor on the object under construction; null when it cannot be told for sure. Objects
     * that are made on the way there are each a NEW and a constructor call.
     */
    private AbstractInsnNode callOfSuper() {
        AbstractInsnNode found = null;
        int made = 0;
        for (AbstractInsnNode each = method.instructions.getFirst(); each != null; each = each.getNext()) {
            if (each.getOpcode() == Opcodes.NEW) {
                made++;
            } else if (each.getOpcode() == Opcodes.INVOKESPECIAL && ((MethodInsnNode) each).name.equals("<init>")) {
                if (made > 0) {
                    made--;
                } else if (found != null) {
                    return null;
                } else {
                    found = each;
                }
            }
        }
        return found;
    }

    /** Every stack map frame gets the new local, behind as many unused ones as it takes. */
    private void widenFrames() {
        for (AbstractInsnNode each = method.instructions.getFirst(); each != null; each = each.getNext()) {
            if (each instanceof FrameNode) {
                FrameNode frame = (FrameNode) each;
                List<Object> locals = new ArrayList<>(frame.local);
                int slots = 0;
                for (Object type : locals) {
                    slots += type == Opcodes.LONG || type == Opcodes.DOUBLE ? 2 : 1;
                }
                while (slots < local) {
                    locals.add(Opcodes.TOP);
                    slots++;
                }
                locals.add(FRAME);
                frame.local = locals;
            }
        }
    }

    /** Where the method catches exceptions, calls that did not end properly are ended. */
    private void tellExceptions() {
        Set<LabelNode> told = new HashSet<>();
        for (TryCatchBlockNode block : method.tryCatchBlocks) {
            if (!told.add(block.handler)) {
                continue;
            }
            AbstractInsnNode last = block.handler;
            AbstractInsnNode next = last.getNext();
            while (next != null && next.getOpcode() < 0) {
                last = next;
                next = next.getNext();
            }
            // A stack map can refer to the label before a NEW, so nothing may come between.
            if (next != null && next.getOpcode() != Opcodes.NEW) {
                InsnList caught = new InsnList();
                caught.add(new VarInsnNode(Opcodes.ALOAD, local));
                caught.add(call("caught"));
                method.instructions.insert(last, caught);
            }
        }
    }

    private void tellSitesAndReturns(AbstractInsnNode callOfSuper) {
        int line = 0;
        int call = 0;
        AbstractInsnNode next;
        for (AbstractInsnNode each = method.instructions.getFirst(); each != null; each = next) {
            next = each.getNext();
            int opcode = each.getOpcode();
            if (each instanceof LineNumberNode) {
                line = ((LineNumberNode) each).line;
            } else if (opcode >= Opcodes.INVOKEVIRTUAL && opcode <= Opcodes.INVOKEDYNAMIC) {
                if (each instanceof MethodInsnNode && ((MethodInsnNode) each).owner.equals(CALLS)) {
                    continue;
                }
                int offset = offsets.get(call);
                call++;
                if (canCallBack(each)) {
                    // Plus one, as 0 is unknown.
                    int site = sitesAreLines ? line : offset + 1;
                    method.instructions.insertBefore(each, tellSite(each == callOfSuper ? site | Frame.FROM_SUPER : site));
                }
            } else if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
                method.instructions.insertBefore(each, new VarInsnNode(Opcodes.ALOAD, local));
                method.instructions.insertBefore(each, call("exit"));
            }
        }
    }

    private static boolean canCallBack(AbstractInsnNode call) {
        if (!(call instanceof MethodInsnNode) || !VALUES.contains(((MethodInsnNode) call).owner)) {
            return true;
        }
        String descriptor = ((MethodInsnNode) call).desc;
        String arguments = descriptor.substring(0, descriptor.indexOf(')')).replace("Ljava/lang/String;", "");
        return arguments.indexOf('L') >= 0;
    }

    private InsnList tellSite(int site) {
        InsnList code = new InsnList();
        code.add(new VarInsnNode(Opcodes.ALOAD, local));
        code.add(push(site));
        code.add(new FieldInsnNode(Opcodes.PUTFIELD, FRAME, "site", "I"));
        return code;
    }

    private static MethodInsnNode call(String name) {
        return new MethodInsnNode(Opcodes.INVOKESTATIC, CALLS, name, "(L" + FRAME + ";)V", false);
    }

    /** A handler behind all others for what leaves the method between two labels. */
    private void rethrow(LabelNode from, LabelNode to, LabelNode handler, Integer self) {
        if (hasFrames) {
            List<Object> locals = new ArrayList<>();
            for (int slot = 0; slot < local; slot++) {
                locals.add(slot == 0 ? self : Opcodes.TOP);
            }
            locals.add(FRAME);
            method.instructions.add(new FrameNode(Opcodes.F_NEW, locals.size(), locals.toArray(), 1,
                    new Object[] {"java/lang/Throwable"}));
        }
        method.instructions.add(new VarInsnNode(Opcodes.ALOAD, local));
        method.instructions.add(call(method.name.equals("<init>") ? "exitFailed" : "exit"));
        method.instructions.add(new InsnNode(Opcodes.ATHROW));
        method.tryCatchBlocks.add(new TryCatchBlockNode(from, to, handler, null));
    }

    private static AbstractInsnNode push(int number) {
        if (number <= 5) {
            return new InsnNode(Opcodes.ICONST_0 + number);
        } else if (number <= Byte.MAX_VALUE) {
            return new IntInsnNode(Opcodes.BIPUSH, number);
        } else if (number <= Short.MAX_VALUE) {
            return new IntInsnNode(Opcodes.SIPUSH, number);
        }
        return new LdcInsnNode(number);
    }
}
