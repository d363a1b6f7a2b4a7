import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What a Java consumer reads of a partition, from its start to its end: an order (servers, topic, partition, isolation)
 * a line on standard input, its records a line on standard output, each as a list of offset, timestamp, timestamp type,
 * leader epoch, key, value, headers. Bytes are hexadecimal.
 */
public class ConsumerOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            output.println(JSON.writeValueAsString(read(JSON.readTree(line))));
        }
    }

    private static ArrayNode read(JsonNode order) {
        ArrayNode answer = JSON.createArrayNode();
        Map<String, Object> configs = Map.of(
            "bootstrap.servers", order.get("servers").asText(),
            "isolation.level", order.get("isolation").asText(),
            "enable.auto.commit", false);
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(configs, bytes, bytes)) {
            TopicPartition partition = new TopicPartition(order.get("topic").asText(), order.get("partition").asInt());
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            while (consumer.position(partition) < end) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    add(answer.addArray(), record);
                }
            }
        }
        return answer;
    }

    private static void add(ArrayNode row, ConsumerRecord<byte[], byte[]> record) {
        row.add(record.offset()).add(record.timestamp()).add(record.timestampType().id);
        row.add(record.leaderEpoch().orElse(-1)).add(hex(record.key())).add(hex(record.value()));
        ArrayNode headers = row.addArray();
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(hex(header.value()));
        }
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? null : HexFormat.of().formatHex(bytes);
    }
}
