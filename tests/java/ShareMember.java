import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Share consumers of Kafka's own client. Reads orders, one JSON object on each line, and answers each with one line:
 * {"do": "start", "name": N, "config": {...}, "topics": [...]} begins one; {"do": "poll", "name": N, "ms": M} returns its
 * records; {"do": "acknowledge", "name": N, "types": [...]} acknowledges those of the last poll, in order;
 * {"do": "commit", "name": N} commits and returns the errors by partition; {"do": "close", "name": N} ends it.
 */
public final class ShareMember {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Map<String, KafkaShareConsumer<String, String>> consumers = new HashMap<>();
    private final Map<String, List<ConsumerRecord<String, String>>> polled = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        ShareMember members = new ShareMember();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                members.carryOut(JSON.readTree(line), answer);
            } catch (KafkaException | IllegalStateException error) {
                answer.put("error", error.getClass().getSimpleName() + ": " + error.getMessage());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
        members.consumers.values().forEach(consumer -> consumer.close(Duration.ofSeconds(10)));
    }

    private void carryOut(JsonNode order, ObjectNode answer) {
        String name = order.get("name").asText();
        switch (order.get("do").asText()) {
            case "start" -> start(name, order);
            case "poll" -> poll(name, order.get("ms").asLong(), answer.putArray("records"));
            case "acknowledge" -> acknowledge(name, order.get("types"));
            case "commit" -> commit(name, answer.putObject("errors"));
            case "close" -> consumers.remove(name).close(Duration.ofSeconds(30));
            default -> throw new IllegalStateException("unknown order: " + order);
        }
    }

    private void start(String name, JsonNode order) {
        Properties config = new Properties();
        order.get("config").fields().forEachRemaining(one -> config.put(one.getKey(), one.getValue().asText()));
        var consumer = new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        List<String> topics = new ArrayList<>();
        order.get("topics").forEach(topic -> topics.add(topic.asText()));
        consumer.subscribe(topics);
        consumers.put(name, consumer);
    }

    private void poll(String name, long milliseconds, ArrayNode records) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        consumers.get(name).poll(Duration.ofMillis(milliseconds)).forEach(found::add);
        polled.put(name, found);
        for (ConsumerRecord<String, String> record : found) {
            ArrayNode one = records.addArray();
            one.add(record.partition()).add(record.offset()).add(record.deliveryCount().orElse((short) 0));
            one.add(record.value());
        }
    }

    private void acknowledge(String name, JsonNode types) {
        List<ConsumerRecord<String, String>> records = polled.get(name);
        for (int index = 0; index < types.size(); index++) {
            consumers.get(name).acknowledge(records.get(index), AcknowledgeType.valueOf(types.get(index).asText()));
        }
    }

    private void commit(String name, ObjectNode errors) {
        Map<TopicIdPartition, Optional<KafkaException>> results = consumers.get(name).commitSync();
        results.forEach((partition, error) -> error.ifPresent(
            problem -> errors.put(partition.topic() + "-" + partition.partition(), problem.getClass().getSimpleName())));
    }
}
