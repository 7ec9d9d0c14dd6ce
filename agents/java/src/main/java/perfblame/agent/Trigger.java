package perfblame.agent;

import java.io.File;

/** Writes the profile whenever a certain file appears, and takes the file away when that is done. */
final class Trigger {
    private static final long LOOK_EVERY_MILLIS = 100;

    private Trigger() {}

    static void watch(File file, Session session) {
        // Not in the program's group of threads: it could count them.
        ThreadGroup system = Thread.currentThread().getThreadGroup();
        while (system.getParent() != null) {
            system = system.getParent();
        }
        Thread watcher = new Thread(system, null, "perfblame-trigger") {
            @Override
            public void run() {
                try {
                    while (true) {
                        Thread.sleep(LOOK_EVERY_MILLIS);
                        if (file.exists()) {
                            session.write();
                            if (!file.delete()) {
                                System.err.println("perfblame: cannot remove " + file + "; the agent no longer watches it");
                                return;
                            }
                        }
                    }
                } catch (InterruptedException stop) {
                    // Nobody else has this thread.
                }
            }
        };
        watcher.setDaemon(true);
        watcher.start();
    }
}
