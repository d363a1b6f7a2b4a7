import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Answers questions about configuration with Kafka's own classes: one JSON object a line in, one a line out.
 *   {"ask": "value", "table": "server", "key": K, "text": T}   type and validator of one key -> value or error
 *   {"ask": "keys", "table": "clients"}                        the names of a table's keys
 *   {"ask": "properties", "text": T}                           java.util.Properties -> entries
 *   {"ask": "server", "configs": {...}}                        a whole server configuration -> error or none
 *   {"ask": "topic", "configs": {...}}                         a topic's settings under a default server
 *   {"ask": "group", "configs": {...}}, {"ask": "client-metrics", "configs": {...}}
 *   {"ask": "dynamic", "configs": {...}, "per_broker": true}   dynamic configs of a broker
 * and of a running broker, through its admin client ("bootstrap": HOST:PORT):
 *   {"ask": "create-topic", "name": N, "configs": {...}}
 *   {"ask": "alter", "type": "BROKER", "name": N, "configs": {...}}
 *   {"ask": "describe", "type": "TOPIC", "name": N}            every entry with source, type, flags and synonyms
 */
public class ConfigOracle {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Map<String, String> NODE = Map.of("node.id", "1", "process.roles", "broker,controller",
        "controller.listener.names", "CONTROLLER", "controller.quorum.bootstrap.servers", "localhost:9093",
        "listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093");

    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                ask(JSON.readTree(line), answer);
            } catch (Exception refused) {
                Throwable cause = refused;
                while (cause.getMessage() == null && cause.getCause() != null) cause = cause.getCause();
                answer.put("error", String.valueOf(cause.getMessage()));
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    static void ask(JsonNode question, ObjectNode answer) throws Exception {
        String text = question.path("text").isTextual() ? question.get("text").asText() : null;
        switch (question.get("ask").asText()) {
            case "value" -> {
                ConfigDef.ConfigKey key = table(question.get("table").asText()).get(question.get("key").asText());
                Object value = ConfigDef.parseType(key.name, text, key.type);
                if (key.validator != null) key.validator.ensureValid(key.name, value);
                answer.put("value", ConfigDef.convertToString(value, key.type));
            }
            case "keys" -> {
                ArrayNode names = answer.putArray("keys");
                table(question.get("table").asText()).keySet().forEach(names::add);
            }
            case "properties" -> {
                Properties properties = new Properties();
                properties.load(new StringReader(text));
                ObjectNode entries = answer.putObject("entries");
                new TreeMap<>(properties).forEach((key, value) -> entries.put((String) key, (String) value));
            }
            case "server" -> {
                Map<String, String> configs = new LinkedHashMap<>(NODE);
                configs.putAll(configs(question));
                KafkaConfig.apply(configs, false);
            }
            case "topic" -> LogConfig.validate(Map.of(), configs(question), KafkaConfig.apply(NODE, false).extractLogConfigMap(), false);
            case "group" -> {
                KafkaConfig server = KafkaConfig.apply(NODE, false);
                GroupConfig.validate(configs(question), server.groupCoordinatorConfig(), server.shareGroupConfig());
            }
            case "client-metrics" -> ClientMetricsConfigs.validate("subscription", configs(question));
            case "dynamic" -> {
                Properties properties = new Properties();
                properties.putAll(configs(question));
                DynamicBrokerConfig.validateConfigs(properties, properties, question.get("per_broker").asBoolean());
            }
            case "create-topic", "alter", "describe" -> {
                try (Admin admin = Admin.create(Map.of("bootstrap.servers", question.get("bootstrap").asText()))) {
                    administer(admin, question, answer);
                }
            }
            default -> throw new IllegalArgumentException("unknown question");
        }
    }

    static void administer(Admin admin, JsonNode question, ObjectNode answer) throws Exception {
        String name = question.get("name").asText();
        if (question.get("ask").asText().equals("create-topic")) {
            admin.createTopics(List.of(new NewTopic(name, 1, (short) 1).configs(configs(question)))).all().get();
            return;
        }
        var resource = new ConfigResource(ConfigResource.Type.valueOf(question.get("type").asText()), name);
        if (question.get("ask").asText().equals("alter")) {
            List<AlterConfigOp> changes = new ArrayList<>();
            configs(question).forEach((key, value) ->
                changes.add(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET)));
            admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
            return;
        }
        var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        ArrayNode entries = answer.putArray("entries");
        for (ConfigEntry entry : admin.describeConfigs(List.of(resource), options).all().get().get(resource).entries()) {
            ObjectNode one = entries.addObject().put("name", entry.name()).put("value", entry.value())
                .put("source", entry.source().name()).put("type", entry.type().name())
                .put("read_only", entry.isReadOnly()).put("sensitive", entry.isSensitive());
            ArrayNode synonyms = one.putArray("synonyms");
            for (var synonym : entry.synonyms())
                synonyms.addArray().add(synonym.name()).add(synonym.value()).add(synonym.source().name());
        }
    }

    static Map<String, ConfigDef.ConfigKey> table(String name) {
        return switch (name) {
            case "server" -> AbstractKafkaConfig.CONFIG_DEF.configKeys();
            case "topic" -> LogConfig.configKeys();
            case "group" -> GroupConfig.CONFIG_DEF.configKeys();
            case "clients" -> clientKeys();
            default -> ClientMetricsConfigs.configDef().configKeys();
        };
    }

    static Map<String, ConfigDef.ConfigKey> clientKeys() {
        Map<String, ConfigDef.ConfigKey> keys = new TreeMap<>(ProducerConfig.configDef().configKeys());
        keys.putAll(ConsumerConfig.configDef().configKeys());
        keys.putAll(AdminClientConfig.configDef().configKeys());
        return keys;
    }

    static Map<String, String> configs(JsonNode question) {
        Map<String, String> configs = new LinkedHashMap<>();
        question.get("configs").fields().forEachRemaining(entry -> configs.put(entry.getKey(), entry.getValue().asText()));
        return configs;
    }
}
