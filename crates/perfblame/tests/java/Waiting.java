import java.io.File;

/** Asks for its own profile in the middle of a call, and goes on when it is there. */
public class Waiting {
    static void ask(File trigger) throws Exception {
        if (!trigger.createNewFile()) {
            throw new IllegalStateException("somebody else asks");
        }
        while (trigger.exists()) {
            Thread.sleep(10);
        }
    }

    static void after() {
        System.out.println("after");
    }

    public static void main(String[] arguments) throws Exception {
        ask(new File(arguments[0]));
        new File(arguments[1]).renameTo(new File(arguments[2]));
        after();
        Runtime.getRuntime().halt(0);
    }
}
