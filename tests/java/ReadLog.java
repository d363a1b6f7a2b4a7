import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Opens partition directories as Kafka does at a start, and reads them as its broker and its consumer of committed
 * records do. Each line of standard input is "directory is-clean log-start recovery-point"; the answer is
 * "refused reason", or "start end count digest stop", where stop is "-" or why the consumer got no further. Fetches
 * are small, so that each looks into the index.
 */
public class ReadLog {
    static final int FETCH_BYTES = 2048;

    public static void main(String[] args) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = read(line.split(" "), scheduler);
            } catch (Throwable e) {
                answer = "refused " + e;
            }
            System.out.println(answer.replace('\n', ' '));
            System.out.flush();
        }
        System.exit(0);
    }

    static String read(String[] words, KafkaScheduler scheduler) throws Exception {
        UnifiedLog log = UnifiedLog.create(new File(words[0]), new LogConfig(new Properties()),
            Long.parseLong(words[2]), Long.parseLong(words[3]), scheduler, new BrokerTopicStats(), Time.SYSTEM, 300_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(10),
            Boolean.parseBoolean(words[1]), Optional.empty());
        try {
            log.updateHighWatermark(log.logEndOffset());
            Reading reading = new Reading();
            String stop = "-";
            long next = log.logStartOffset();
            try {
                while (next < log.lastStableOffset()) {
                    long after = reading.fetch(log, next);
                    if (after <= next) {
                        stop = "stuck-at-" + next;
                        break;
                    }
                    next = after;
                }
            } catch (Exception e) {
                stop = "stopped-at-" + next + "-by-" + e.getClass().getSimpleName();
            }
            return log.logStartOffset() + " " + log.logEndOffset() + " " + reading.count + " " + reading.digest() + " " + stop;
        } finally {
            log.close();
        }
    }

    /** What a consumer has got. */
    static class Reading {
        final MessageDigest sha;
        long count = 0;

        Reading() throws Exception {
            sha = MessageDigest.getInstance("SHA-256");
        }

        /** One fetch; returns the offset of the next one. Follows CompletedFetch. */
        long fetch(UnifiedLog log, long from) throws Exception {
            FetchDataInfo info = log.read(from, FETCH_BYTES, FetchIsolation.TXN_COMMITTED, true);
            PriorityQueue<FetchResponseData.AbortedTransaction> aborted =
                new PriorityQueue<>((a, b) -> Long.compare(a.firstOffset(), b.firstOffset()));
            info.abortedTransactions.ifPresent(aborted::addAll);
            Set<Long> producers = new HashSet<>();
            long next = from;
            for (RecordBatch batch : info.records.batches()) {
                batch.ensureValid();
                while (!aborted.isEmpty() && aborted.peek().firstOffset() <= batch.lastOffset()) {
                    producers.add(aborted.poll().producerId());
                }
                if (isAbortMarker(batch)) {
                    producers.remove(batch.producerId());
                } else if (batch.isTransactional() && producers.contains(batch.producerId())) {
                    next = batch.nextOffset();
                    continue;
                }
                for (Record record : batch) {
                    if (record.offset() >= from && !batch.isControlBatch()) {
                        add(record);
                    }
                }
                next = batch.nextOffset();
            }
            return next;
        }

        static boolean isAbortMarker(RecordBatch batch) {
            if (!batch.isControlBatch()) {
                return false;
            }
            var records = batch.iterator();
            return records.hasNext() && ControlRecordType.parse(records.next().key()) == ControlRecordType.ABORT;
        }

        void add(Record record) {
            count++;
            ByteBuffer numbers = ByteBuffer.allocate(16).putLong(record.offset()).putLong(record.timestamp());
            sha.update(numbers.array());
            for (ByteBuffer part : new ByteBuffer[] {record.key(), record.value()}) {
                sha.update((byte) (part == null ? 0 : 1));
                if (part != null) {
                    sha.update(part);
                }
            }
        }

        String digest() {
            StringBuilder text = new StringBuilder();
            for (byte one : List.of(sha.digest()).get(0)) {
                text.append(String.format("%02x", one));
            }
            return text.substring(0, 16);
        }
    }
}
