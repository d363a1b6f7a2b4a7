import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * Kafka Streams' word count, exactly once: lines of the topic "lines" become counts of words in the topic "counts".
 *
 * Arguments: bootstrap servers, directory of its state, a file to make when it runs, the group protocol (classic or
 * streams), the replicas of its internal topics. Its state is in memory and in its changelog: what another instance takes over is read from there.
 */
public final class WordCount {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "word-count");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[1]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 50);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, Integer.parseInt(arguments[4]));
        settings.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, arguments[3]);
        if (arguments[3].equals("classic")) {
            settings.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 6000);
            settings.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), 1000);
        }
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");

        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("lines", org.apache.kafka.streams.kstream.Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.toLowerCase(Locale.ROOT).split(" ")))
            .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("store"))
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to("counts", Produced.with(Serdes.String(), Serdes.String()));

        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        CountDownLatch failed = new CountDownLatch(1);
        streams.setStateListener((now, before) -> {
            try {
                if (now == KafkaStreams.State.RUNNING) {
                    Files.write(Path.of(arguments[2]), new byte[0]);
                } else if (now == KafkaStreams.State.ERROR) {
                    failed.countDown();
                }
            } catch (java.io.IOException error) {
                failed.countDown();
            }
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            boolean closed = streams.close(Duration.ofSeconds(60));
            Runtime.getRuntime().halt(closed && failed.getCount() == 1 ? 0 : 1);
        }));
        streams.start();
        failed.await();
        System.exit(1);
    }
}
