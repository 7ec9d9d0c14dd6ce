package perfblame.agent;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.perfblame.Recorder;

/** One JVM under the agent, from its start to its last profile. */
public final class Session {
    private static Session current;

    private final Options options;
    private final Methods methods = new Methods();
    private final Instrumenter instrumenter;
    private final long started = System.currentTimeMillis();
    private final long clock = System.nanoTime();

    private Session(Options options) {
        this.options = options;
        instrumenter = new Instrumenter(options, methods);
    }

    /** The JVM starts. Public, as the caller may be of another loader. */
    public static void start(String text, Instrumentation instrumentation) {
        if (current != null) {
            System.err.println("perfblame: the agent is loaded twice; the first one continues");
            return;
        }
        Options options;
        try {
            options = Options.parse(text);
        } catch (IllegalArgumentException wrong) {
            System.err.println("perfblame: " + wrong.getMessage());
            Runtime.getRuntime().halt(2);
            return;
        }
        Recorder.limit(options.depth, options.nodes, options.threadNodes);
        Session session = new Session(options);
        current = session;
        session.warmUp();
        Runtime.getRuntime().addShutdownHook(new Thread(null, null, "perfblame-write") {
            @Override
            public void run() {
                session.write();
            }
        });
        if (options.trigger != null) {
            Trigger.watch(new File(options.trigger), session);
        }
        instrumentation.addTransformer(session.instrumenter, false);
    }

    /** Somebody asks for something in the middle. */
    public static void attached(String command) {
        if (current == null) {
            System.err.println("perfblame: start the program with -javaagent to profile it");
        } else if (command == null || command.isEmpty() || command.equals("dump")) {
            current.write();
        } else {
            System.err.println("perfblame: `" + command + "` is not a command; the command is dump");
        }
    }

    /** Loads what rewriting needs before it is needed in the middle of loading something else. */
    private void warmUp() {
        try (java.io.InputStream own = Session.class.getResourceAsStream("Session.class")) {
            if (own != null) {
                java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream();
                byte[] buffer = new byte[8192];
                for (int got = own.read(buffer); got > 0; got = own.read(buffer)) {
                    bytes.write(buffer, 0, got);
                }
                new Instrumenter(options, new Methods()).instrument(bytes.toByteArray());
            }
        } catch (IOException none) {
            // Then it is loaded later.
        }
    }

    /** Writes the profile as it is now, in place of the one before. */
    synchronized void write() {
        long now = System.nanoTime();
        File out = new File(options.out);
        try {
            Profile profile = new Profile(methods.all(), options);
            try {
                profile.collect(Recorder.all(), now);
            } finally {
                Recorder.written();
            }
            ProfileFile.write(profile, about(profile, now), out);
        } catch (IOException | RuntimeException | OutOfMemoryError error) {
            System.err.println("perfblame: cannot write " + out + ": " + error);
        }
    }

    private About about(Profile profile, long now) {
        About about = new About();
        about.started = started * 1_000_000;
        about.duration = now - clock;
        about.label("java", System.getProperty("java.version"));
        about.label("vm", System.getProperty("java.vm.name"));
        about.label("packages", String.join(",", options.packages));
        about.label("exclude", String.join(",", options.exclude));
        about.label("sites", options.sitesAreLines ? "line" : "bytecode");
        about.label("tiny", options.timeTiny ? "time" : "count");
        if (profile.overhead != null) {
            double perCall = profile.overhead.inCallee + profile.overhead.inCaller;
            about.label("overhead", Math.round(perCall) + " ns per call were subtracted");
        }
        about.warn("contexts-too-deep", profile.tooDeep,
                "calls below more than " + options.depth + " others are kept only as `" + Profile.NOT_KEPT
                        + "` of the context above; depth= keeps more");
        about.warn("contexts-too-many", profile.tooMany,
                "calls in contexts beyond the first " + options.nodes + " are kept only as `" + Profile.NOT_KEPT
                        + "` of the context above; nodes= keeps more, packages= needs fewer");
        about.warn("contexts-too-rare", profile.tooRare,
                "contexts with fewer than " + options.minCalls + " calls or " + options.minTime
                        + " ns are kept only as `" + Profile.NOT_KEPT + "`; min-calls= and min-time= say so");
        about.warn("methods-too-large", instrumenter.tooLarge(),
                "methods would exceed Java's size limit and were not instrumented; their time counts for their callers");
        about.warn("classes-left-alone", instrumenter.refused(),
                "classes could not be instrumented; the first is " + instrumenter.firstRefused());
        return about;
    }
}
