package perfblame.agent;

import java.util.ArrayList;
import java.util.List;

/** What a profile says about itself. */
final class About {
    long started;
    long duration;
    final List<String> labelKeys = new ArrayList<>();
    final List<String> labelValues = new ArrayList<>();
    final List<String> warningCodes = new ArrayList<>();
    final List<String> warningMessages = new ArrayList<>();
    final List<Long> warningCounts = new ArrayList<>();

    /** Nothing is said where there is nothing to say. */
    void label(String key, String value) {
        if (value != null && !value.isEmpty()) {
            labelKeys.add(key);
            labelValues.add(value);
        }
    }

    /** What never happened is no warning. */
    void warn(String code, long count, String message) {
        if (count > 0) {
            warningCodes.add(code);
            warningMessages.add(message);
            warningCounts.add(count);
        }
    }
}
