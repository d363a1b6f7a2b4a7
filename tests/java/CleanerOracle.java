import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Kafka's own cleaner at a given clock. Each line of standard input is
 * "directory firstDirtyOffset nowMs key=value...": the partition directory is cleaned in place up to its active segment
 * or last stable offset; the answer is a line "ok endOffset" or "error reason".
 */
public class CleanerOracle {
    static final int PRODUCER_ID_EXPIRATION_MS = 86_400_000;

    public static void main(String[] args) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = "ok " + clean(line.split(" "), scheduler);
            } catch (Exception e) {
                answer = "error " + e;
            }
            System.out.println(answer);
            System.out.flush();
        }
        scheduler.shutdown();
        System.exit(0);
    }

    static long clean(String[] words, KafkaScheduler scheduler) throws Exception {
        Properties properties = new Properties();
        properties.put("cleanup.policy", "compact");
        for (int i = 3; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        Time time = new FixedTime(Long.parseLong(words[2]));
        UnifiedLog log = UnifiedLog.create(new File(words[0]), new LogConfig(properties), 0L, 0L, scheduler,
            new BrokerTopicStats(), time, 300_000, new ProducerStateManagerConfig(PRODUCER_ID_EXPIRATION_MS, false),
            600_000, new LogDirFailureChannel(10), true, Optional.empty());
        try {
            log.updateHighWatermark(log.logEndOffset());
            long uncleanable = Math.min(log.activeSegment().baseOffset(), log.lastStableOffset());
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(8 << 20, "MD5"), 1 << 18, 4 << 20, 0.9,
                new Throttler(Double.MAX_VALUE, 300, "cleaner", "bytes", Time.SYSTEM), time, partition -> { });
            Map.Entry<Long, CleanerStats> result =
                cleaner.clean(new LogToClean(log, Long.parseLong(words[1]), uncleanable, false));
            return result.getKey();
        } finally {
            log.close();
        }
    }

    /** The clock stands still, but for what measures durations. */
    record FixedTime(long nowMs) implements Time {
        public long milliseconds() {
            return nowMs;
        }

        public long nanoseconds() {
            return System.nanoTime();
        }

        public void sleep(long ms) {
            Time.SYSTEM.sleep(ms);
        }

        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) throws InterruptedException {
            Time.SYSTEM.waitObject(object, condition, deadlineMs);
        }

        public org.apache.kafka.common.utils.Timer timer(long timeoutMs) {
            return Time.SYSTEM.timer(timeoutMs);
        }
    }
}
