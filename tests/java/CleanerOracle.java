import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Kafka's own cleaner at a given clock. Each line is an order in JSON: directory of the partition, nowMs, configs (the
 * topic's, as text), cleanedUpTo (the checkpoint, or null), logStartOffset, highWatermark (null: the log's end),
 * mapSlots, bufferBytes, onlyOpens (the log is opened and closed, no more). The range is that of Kafka's
 * LogCleanerManager. One round is done in place. The answer: cleanedUpTo, recordsRead, recordsKept; or error. Where
 * nothing is dirty Kafka does nothing, but the FakeOffsetMap of its own tests makes it go on and look for horizons that
 * have passed: here the clean part is then cleaned again.
 */
public final class CleanerOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int BYTES_OF_A_SLOT = 24;
    private static final int MANY_SLOTS = 1 << 17;
    private static final double LOAD_FACTOR = 0.9;

    private CleanerOracle() {}

    public static void main(String[] arguments) throws Exception {
        Scheduler scheduler = new AtOnce();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer;
            try {
                answer = clean(JSON.readTree(line), scheduler);
            } catch (Exception | Error e) {
                answer = JSON.createObjectNode().put("error", e.toString());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static ObjectNode clean(JsonNode order, Scheduler scheduler) throws Exception {
        Properties properties = new Properties();
        properties.put("cleanup.policy", "compact");
        order.get("configs").fields().forEachRemaining(one -> properties.put(one.getKey(), one.getValue().asText()));
        Object expiration = properties.remove("producer.id.expiration.ms");
        int expirationMs = expiration == null ? 86_400_000 : Integer.parseInt((String) expiration);
        Time time = new FixedTime(order.get("nowMs").asLong());
        UnifiedLog log = UnifiedLog.create(new File(order.get("directory").asText()), new LogConfig(properties),
            order.get("logStartOffset").asLong(), 0L, scheduler, new BrokerTopicStats(), time, 300_000,
            new ProducerStateManagerConfig(expirationMs, false), 600_000, new LogDirFailureChannel(10), true, Optional.empty());
        try {
            if (order.get("onlyOpens").asBoolean()) {
                return JSON.createObjectNode().put("end", log.logEndOffset());
            }
            JsonNode highWatermark = order.get("highWatermark");
            log.updateHighWatermark(highWatermark.isNull() ? log.logEndOffset() : highWatermark.asLong());
            JsonNode cleanedUpTo = order.get("cleanedUpTo");
            LogToClean what = toClean(log, cleanedUpTo.isNull() ? null : cleanedUpTo.asLong(), time.milliseconds());
            boolean isDirty = what.firstDirtyOffset() < what.firstUncleanableOffset();
            long cleanEnd = what.firstDirtyOffset();
            if (!isDirty) {
                what = new LogToClean(log, log.logStartOffset(), what.firstUncleanableOffset(), false);
            }
            int slots = isDirty ? order.get("mapSlots").asInt() : MANY_SLOTS;
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(slots * BYTES_OF_A_SLOT, "MD5"),
                order.get("bufferBytes").asInt(), 1 << 24, LOAD_FACTOR,
                new Throttler(Double.MAX_VALUE, 300, "cleaner", "bytes", Time.SYSTEM), time, partition -> { });
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            long beginNs = threads.getCurrentThreadCpuTime();
            Map.Entry<Long, CleanerStats> result = cleaner.clean(what);
            return JSON.createObjectNode()
                .put("cleanedUpTo", isDirty ? result.getKey() : cleanEnd)
                .put("cpuSeconds", (threads.getCurrentThreadCpuTime() - beginNs) / 1e9)
                .put("recordsRead", result.getValue().messagesRead())
                .put("recordsKept", result.getValue().messagesWritten());
        } finally {
            log.activeSegment().onBecomeInactiveSegment();  // Kafka before 4.4 trimmed its indexes in close(), as ours does
            log.close();
        }
    }

    /** The range as LogCleanerManager takes it: its method is package-private, and so is the record it returns. */
    private static LogToClean toClean(UnifiedLog log, Long cleanedUpTo, long nowMs) throws Exception {
        Method method = LogCleanerManager.class
            .getDeclaredMethod("cleanableOffsets", UnifiedLog.class, Optional.class, long.class);
        method.setAccessible(true);
        Object offsets = method.invoke(null, log, Optional.ofNullable(cleanedUpTo), nowMs);
        return new LogToClean(log, part(offsets, "firstDirtyOffset"), part(offsets, "firstUncleanableDirtyOffset"), false);
    }

    private static long part(Object offsets, String name) throws Exception {
        Method method = offsets.getClass().getDeclaredMethod(name);
        method.setAccessible(true);
        return (long) method.invoke(offsets);
    }

    /** What would be done later, such as removing the old segments, is done when the answer is there. */
    private static final class AtOnce implements Scheduler {
        private final ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });

        public void startup() {}

        public void shutdown() {}

        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (periodMs < 0) {
                task.run();
            }
            return executor.schedule(() -> { }, 0, TimeUnit.MILLISECONDS);  // whoever asked may cancel it
        }

        public void resizeThreadPool(int newSize) {}
    }

    /** The clock stands still, but for what measures durations. */
    private record FixedTime(long nowMs) implements Time {
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
