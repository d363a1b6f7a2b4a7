import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.Optional;
import java.util.Properties;
import java.util.StringJoiner;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Opens partition directories as Kafka does at a start. Each line of standard input is "directory true|false" (whether
 * the last stop was clean); the answer is "ok start end base[first-last first-last] base[...]" or "error reason".
 */
public class OpenLog {
    public static void main(String[] args) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = "ok " + open(line.split(" "), scheduler);
            } catch (Exception e) {
                answer = "error " + e;
            }
            System.out.println(answer);
            System.out.flush();
        }
        scheduler.shutdown();
        System.exit(0);
    }

    static String open(String[] words, KafkaScheduler scheduler) throws Exception {
        UnifiedLog log = UnifiedLog.create(new File(words[0]), new LogConfig(new Properties()), 0L, 0L, scheduler,
            new BrokerTopicStats(), Time.SYSTEM, 300_000, new ProducerStateManagerConfig(86_400_000, false),
            600_000, new LogDirFailureChannel(10), Boolean.parseBoolean(words[1]), Optional.empty());
        try {
            StringJoiner answer = new StringJoiner(" ");
            answer.add(Long.toString(log.logStartOffset())).add(Long.toString(log.logEndOffset()));
            for (LogSegment segment : log.logSegments()) {
                StringJoiner batches = new StringJoiner(" ", segment.baseOffset() + "[", "]");
                for (RecordBatch batch : segment.log().batches()) {
                    batches.add(batch.baseOffset() + "-" + batch.lastOffset());
                }
                answer.add(batches.toString());
            }
            return answer.toString();
        } finally {
            log.close();
        }
    }
}
