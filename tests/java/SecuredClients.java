import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.security.token.delegation.DelegationToken;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Apache Kafka's Java clients with any security settings, many rounds in one JVM. A line in:
 * {"properties": {...}, "token": true} creates a delegation token, and {"properties": {...}, "topic": name, "values":
 * [...]} creates the topic, writes the values in a transaction, and reads them in a group. A line out: {"id": ..., "hmac":
 * ...} or {"values": [...], "partitions": number}, or {"error": text}.
 */
public final class SecuredClients {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] ignored) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode order = MAPPER.readTree(line);
            ObjectNode answer = MAPPER.createObjectNode();
            try {
                Map<String, Object> settings = new HashMap<>();
                order.get("properties").properties().forEach(one -> settings.put(one.getKey(), one.getValue().asText()));
                allowTokensOf(settings);
                if (order.has("token")) {
                    create(settings, answer);
                } else {
                    List<String> values = new ArrayList<>();
                    order.get("values").forEach(value -> values.add(value.asText()));
                    round(settings, order.get("topic").asText(), values, answer);
                }
            } catch (Exception error) {
                answer.put("error", error + ", cause: " + error.getCause());
            }
            answers.println(answer);
        }
    }

    /** The file of a token must be allowed by system properties (CVE-2025-27817). */
    private static void allowTokensOf(Map<String, Object> settings) {
        String url = (String) settings.getOrDefault("sasl.oauthbearer.token.endpoint.url", "");
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", url);
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.files", url.replace("file://", ""));
    }

    private static void create(Map<String, Object> settings, ObjectNode answer) throws Exception {
        try (Admin admin = Admin.create(settings)) {
            DelegationToken token = admin.createDelegationToken().delegationToken().get();
            answer.put("id", token.tokenInfo().tokenId());
            answer.put("hmac", token.hmacAsBase64String());
        }
    }

    private static void round(Map<String, Object> settings, String topic, List<String> values, ObjectNode answer)
        throws Exception {
        try (Admin admin = Admin.create(settings)) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
            write(settings, topic, values);
            read(settings, topic, values.size(), answer);
            answer.put("partitions", admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
        }
    }

    private static void write(Map<String, Object> settings, String topic, List<String> values) {
        Map<String, Object> own = new HashMap<>(settings);
        own.put("transactional.id", topic);
        try (KafkaProducer<String, String> producer =
            new KafkaProducer<>(own, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            values.forEach(value -> producer.send(new ProducerRecord<>(topic, value)));
            producer.commitTransaction();
        }
    }

    private static void read(Map<String, Object> settings, String topic, int count, ObjectNode answer) {
        Map<String, Object> own = new HashMap<>(settings);
        own.putAll(Map.of("group.id", topic, "auto.offset.reset", "earliest", "isolation.level", "read_committed"));
        List<String> received = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer =
            new KafkaConsumer<>(own, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (received.size() < count) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    received.add(record.value());
                }
            }
            consumer.commitSync();
        }
        answer.set("values", MAPPER.valueToTree(received));
    }
}
