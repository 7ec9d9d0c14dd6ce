package perfblame.agent;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.jar.JarFile;

/**
 * Where the JVM comes in. Does no more than to make sure that the rest is loaded by the bootstrap loader, where
 * instrumented classes of every loader find it.
 */
public final class Agent {
    private Agent() {}

    /** {@code -javaagent:perfblame-agent.jar=OPTIONS}. */
    public static void premain(String options, Instrumentation instrumentation) throws Exception {
        reachFromEverywhere(instrumentation);
        Session.start(options, instrumentation);
    }

    /** Attached to a JVM that was started with the agent: {@code dump} writes the profile as it is now. */
    public static void agentmain(String options, Instrumentation instrumentation) throws Exception {
        reachFromEverywhere(instrumentation);
        Session.attached(options);
    }

    /** The manifest does it already, unless somebody has given the jar another name. */
    private static void reachFromEverywhere(Instrumentation instrumentation) throws Exception {
        try {
            Class.forName("java.perfblame.Calls", false, null);
        } catch (ClassNotFoundException renamed) {
            String jar = Agent.class.getProtectionDomain().getCodeSource().getLocation().toURI().getPath();
            instrumentation.appendToBootstrapClassLoaderSearch(new JarFile(new File(jar)));
        }
    }
}
