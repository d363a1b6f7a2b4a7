import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.TransactionNamingStrategy;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.execution.CheckpointingMode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.kafka.common.TopicPartition;

/**
 * A Flink job in this JVM that copies the topic "numbers" to the topic "copies", exactly once, and fails once.
 *
 * Arguments: bootstrap servers, how the sink names its transactions, partitions of "numbers", the offset at which it ends
 * in each of them, and the record at which the first attempt fails.
 */
public final class FlinkCopy {
    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        settings.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        settings.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, 1);
        StreamExecutionEnvironment job = StreamExecutionEnvironment.createLocalEnvironment(2, settings);
        job.enableCheckpointing(200, CheckpointingMode.EXACTLY_ONCE);
        Map<TopicPartition, Long> ends = new HashMap<>();
        for (int partition = 0; partition < Integer.parseInt(arguments[2]); partition++) {
            ends.put(new TopicPartition("numbers", partition), Long.parseLong(arguments[3]));
        }
        KafkaSource<String> source = KafkaSource.<String>builder()
            .setBootstrapServers(arguments[0])
            .setTopics("numbers")
            .setGroupId("flink")
            .setStartingOffsets(OffsetsInitializer.earliest())
            .setBounded(OffsetsInitializer.offsets(ends))
            .setValueOnlyDeserializer(new SimpleStringSchema())
            .build();
        KafkaSink<String> sink = KafkaSink.<String>builder()
            .setBootstrapServers(arguments[0])
            .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .setTransactionalIdPrefix("copy")
            .setTransactionNamingStrategy(TransactionNamingStrategy.valueOf(arguments[1]))
            .setProperty("transaction.timeout.ms", "600000") // the sink's default is more than a broker allows
            .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder()
                .setTopic("copies")
                .setValueSerializationSchema(new SimpleStringSchema())
                .build())
            .build();
        job.fromSource(source, WatermarkStrategy.noWatermarks(), "numbers")
            .map(new FailingOnce(arguments[4]))
            .sinkTo(sink);
        job.execute("copy");
    }

    /** Passes every record on; the first attempt fails at one of them. */
    public static final class FailingOnce extends RichMapFunction<String, String> {
        private final String failsAt;

        FailingOnce(String failsAt) {
            this.failsAt = failsAt;
        }

        @Override
        public String map(String value) {
            if (value.equals(failsAt) && getRuntimeContext().getTaskInfo().getAttemptNumber() == 0) {
                System.out.println("fails at " + value);
                throw new IllegalStateException("the first attempt fails here");
            }
            return value;
        }
    }
}
