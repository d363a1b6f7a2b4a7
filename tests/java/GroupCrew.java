import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * One Java consumer in each of several groups (tests/support/groups/crew.py), each with a journal
 * (tests/support/groups/journal.py).
 *
 * Arguments: bootstrap servers, seats as a JSON array of [topic, group, journal, settings]. A topic that begins with "^"
 * is a regular expression for the broker.
 */
public final class GroupCrew {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static volatile boolean leave;

    public static void main(String[] arguments) throws Exception {
        List<Thread> members = new ArrayList<>();
        boolean[] failed = new boolean[1];
        for (JsonNode seat : JSON.readTree(arguments[1])) {
            Thread member = new Thread(() -> {
                try {
                    new Member(arguments[0], seat).run();
                } catch (Exception error) {
                    error.printStackTrace();
                    failed[0] = true;
                }
            });
            members.add(member);
            member.start();
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            leave = true;
            try {
                for (Thread member : members) {
                    member.join();
                }
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            Runtime.getRuntime().halt(failed[0] ? 1 : 0);
        }));
        for (Thread member : members) {
            member.join();
        }
    }

    private static final class Member implements ConsumerRebalanceListener {
        private final String topic;
        private final PrintWriter journal;
        private final KafkaConsumer<byte[], byte[]> consumer;

        Member(String servers, JsonNode seat) throws Exception {
            topic = seat.get(0).asText();
            journal = new PrintWriter(new FileWriter(seat.get(2).asText(), true), true);
            Properties settings = new Properties();
            settings.put("bootstrap.servers", servers);
            settings.put("group.id", seat.get(1).asText());
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            seat.get(3).properties().forEach(entry -> settings.put(entry.getKey(), entry.getValue().asText()));
            consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        }

        void run() throws Exception {
            if (topic.startsWith("^")) {
                consumer.subscribe(new SubscriptionPattern(topic), this);
            } else {
                consumer.subscribe(List.of(topic), this);
            }
            while (!leave) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
                Map<Integer, Long> ends = new TreeMap<>();
                for (TopicPartition partition : records.partitions()) {
                    List<List<Long>> received = new ArrayList<>();
                    for (ConsumerRecord<byte[], byte[]> record : records.records(partition)) {
                        String number = new String(record.value(), 0, 9, StandardCharsets.US_ASCII);
                        received.add(List.of(record.offset(), Long.valueOf(number)));
                        ends.put(partition.partition(), record.offset() + 1);
                    }
                    write("received", List.of(partition.partition(), received));
                }
                if (!ends.isEmpty()) {
                    commit(ends);
                }
            }
            consumer.close();
        }

        private void commit(Map<Integer, Long> ends) throws Exception {
            try {
                consumer.commitSync();
            } catch (CommitFailedException | RebalanceInProgressException error) {
                write("commit failed", error.getClass().getSimpleName());
                return;
            }
            List<List<Long>> committed = new ArrayList<>();
            ends.forEach((partition, end) -> committed.add(List.of((long) partition, end)));
            write("committed", committed);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            write("assigned", List.of(consumer.groupMetadata().generationId(), numbers(partitions)));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            write("revoked", numbers(partitions));
        }

        private static List<Integer> numbers(Collection<TopicPartition> partitions) {
            return partitions.stream().map(TopicPartition::partition).sorted().collect(Collectors.toList());
        }

        private void write(String event, Object facts) {
            try {
                journal.println(JSON.writeValueAsString(List.of(System.nanoTime(), event, facts)));
            } catch (com.fasterxml.jackson.core.JsonProcessingException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
