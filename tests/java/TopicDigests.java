import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads partition 0 of topics with Kafka's own consumer. Arguments: bootstrap servers, topics. A line for each topic: its
 * name, the number of records, and the SHA-256 of offset, timestamp, timestamp type, key and value of all of them.
 */
public final class TopicDigests {
    private TopicDigests() {}

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("enable.auto.commit", "false");
        properties.put("key.deserializer", ByteArrayDeserializer.class.getName());
        properties.put("value.deserializer", ByteArrayDeserializer.class.getName());
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            for (int index = 1; index < arguments.length; index++) {
                System.out.println(digest(consumer, new TopicPartition(arguments[index], 0)));
            }
        }
    }

    private static String digest(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition) throws Exception {
        consumer.assign(List.of(partition));
        consumer.seekToBeginning(List.of(partition));
        Map<TopicPartition, Long> ends = consumer.endOffsets(List.of(partition));
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        int count = 0;
        while (consumer.position(partition) < ends.get(partition)) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(30))) {
                digest.update(ByteBuffer.allocate(20).putLong(record.offset()).putLong(record.timestamp())
                    .putInt(record.timestampType().id).flip());
                add(digest, record.key());
                add(digest, record.value());
                count++;
            }
        }
        return partition.topic() + " " + count + " " + HexFormat.of().formatHex(digest.digest());
    }

    private static void add(MessageDigest digest, byte[] bytes) {
        digest.update(ByteBuffer.allocate(4).putInt(bytes == null ? -1 : bytes.length).flip());
        if (bytes != null) {
            digest.update(bytes);
        }
    }
}
