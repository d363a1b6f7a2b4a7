import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.internals.AppInfoParser;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.DynamicConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Writes the facts of Apache Kafka's configuration keys (name, type, default, validator, importance, update mode,
 * synonyms; no prose) as JSON into the folder given. Run by `make config-keys` with a release's jars on the class path.
 */
public class ExtractConfigKeys {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        File folder = new File(arguments[0]);
        write(folder, "server-keys.json", server());
        write(folder, "topic-keys.json", topic());
        write(folder, "group-keys.json", group());
        write(folder, "client-metrics-keys.json", table(ClientMetricsConfigs.configDef().configKeys()));
    }

    /** One key a line: small differences between releases show as small differences of the file. */
    static void write(File folder, String name, Map<String, Object> sections) throws Exception {
        List<String> parts = new ArrayList<>();
        sections.put("kafka", AppInfoParser.getVersion());
        for (var section : new TreeMap<>(sections).entrySet()) {
            String body = JSON.writeValueAsString(section.getValue());
            if (section.getKey().equals("keys")) {
                List<String> lines = new ArrayList<>();
                for (var key : ((Map<?, ?>) section.getValue()).entrySet())
                    lines.add(" " + JSON.writeValueAsString(key.getKey()) + ": " + JSON.writeValueAsString(key.getValue()));
                body = "{\n" + String.join(",\n", lines) + "\n}";
            }
            parts.add(JSON.writeValueAsString(section.getKey()) + ": " + body);
        }
        java.nio.file.Files.writeString(new File(folder, name).toPath(), "{\n" + String.join(",\n", parts) + "\n}\n");
    }

    static Map<String, Object> server() throws Exception {
        Map<String, ConfigDef.ConfigKey> keys = new TreeMap<>(AbstractKafkaConfig.CONFIG_DEF.configKeys());
        Map<String, Object> sections = table(keys);
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        Map<String, Object> facts = entries(sections);
        for (String name : keys.keySet()) {
            Map<String, Object> entry = fact(facts, name);
            if (modes.containsKey(name)) entry.put("update_mode", modes.get(name));
            List<String> synonyms = DynamicBrokerConfig.brokerConfigSynonyms(name, true);
            if (!synonyms.equals(List.of(name))) entry.put("synonyms", synonyms);
        }
        // Keys that exist only as dynamic configs of brokers: the throttles of reassignment.
        Map<String, Object> dynamicOnly = new TreeMap<>();
        for (var key : DynamicConfig.Broker.configKeys().values())
            if (!keys.containsKey(key.name)) dynamicOnly.put(key.name, describe(key));
        sections.put("dynamic_only", dynamicOnly);
        for (String set : List.of("DYNAMIC_SECURITY_CONFIGS", "PER_BROKER_CONFIGS", "CLUSTER_LEVEL_LISTENER_CONFIGS", "LISTENER_MECHANISM_CONFIGS"))
            sections.put(set.toLowerCase(), new TreeSet<>((Collection<?>) read(DynamicBrokerConfig.class, null, set)));
        return sections;
    }

    static Map<String, Object> topic() throws Exception {
        Map<String, Object> sections = table(LogConfig.configKeys());
        Map<String, Object> facts = entries(sections);
        ServerTopicConfigSynonyms.TOPIC_CONFIG_SYNONYMS.forEach((name, server) -> fact(facts, name).put("server_key", server));
        ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.forEach((name, synonyms) -> {
            List<Object> list = new ArrayList<>();
            for (ConfigSynonym synonym : synonyms) {
                String one = synonym.converter().apply("1");
                String unit = one.equals("1") ? "same" : one.equals("60000") ? "minutes" : one.equals("3600000") ? "hours" : null;
                if (unit == null) throw new IllegalStateException("unknown converter of " + synonym.name());
                list.add(List.of(synonym.name(), unit));
            }
            fact(facts, name).put("server_synonyms", list);
        });
        return sections;
    }

    static Map<String, Object> group() throws Exception {
        Map<String, Object> sections = table(GroupConfig.CONFIG_DEF.configKeys());
        Map<String, Object> facts = entries(sections);
        GroupConfig.ALL_GROUP_CONFIG_SYNONYMS.forEach((name, server) ->
            server.ifPresent(key -> fact(facts, name).put("server_key", key)));
        return sections;
    }

    static Map<String, Object> table(Map<String, ConfigDef.ConfigKey> keys) throws Exception {
        Map<String, Object> facts = new TreeMap<>();
        for (ConfigDef.ConfigKey key : keys.values()) facts.put(key.name, describe(key));
        return new TreeMap<>(Map.of("keys", facts));
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> entries(Map<String, Object> sections) {
        return (Map<String, Object>) sections.get("keys");
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> fact(Map<String, Object> facts, String name) {
        return (Map<String, Object>) facts.computeIfAbsent(name, missing -> {
            throw new IllegalStateException("no key " + missing);
        });
    }

    static Map<String, Object> describe(ConfigDef.ConfigKey key) throws Exception {
        Map<String, Object> entry = new LinkedHashMap<>();
        entry.put("type", key.type.name());
        if (key.hasDefault()) entry.put("default", ConfigDef.convertToString(key.defaultValue, key.type));
        if (key.validator != null) entry.put("validator", describe(key.validator));
        entry.put("importance", key.importance.name());
        if (key.internalConfig) entry.put("internal", true);
        return entry;
    }

    static Map<String, Object> describe(ConfigDef.Validator validator) throws Exception {
        Map<String, Object> entry = new LinkedHashMap<>();
        switch (validator.getClass().getSimpleName()) {
            case "Range" -> {
                entry.put("kind", "range");
                put(entry, "min", read(validator.getClass(), validator, "min"));
                put(entry, "max", read(validator.getClass(), validator, "max"));
            }
            case "ValidString" -> {
                entry.put("kind", "one_of");
                entry.put("values", read(validator.getClass(), validator, "validStrings"));
            }
            case "CaseInsensitiveValidString" -> {
                entry.put("kind", "one_of_ignoring_case");
                entry.put("values", read(validator.getClass(), validator, "validStrings"));
            }
            case "ValidList" -> {
                entry.put("kind", "list");
                Object strings = read(validator.getClass(), validator, "validString");
                Collection<?> values = (Collection<?>) read(strings.getClass(), strings, "validStrings");
                if (!values.isEmpty()) entry.put("values", values);
                entry.put("may_be_empty", read(validator.getClass(), validator, "isEmptyAllowed"));
                entry.put("may_be_null", read(validator.getClass(), validator, "isNullAllowed"));
            }
            case "NonEmptyString" -> entry.put("kind", "non_empty_string");
            case "NonNullValidator" -> entry.put("kind", "non_null");
            case "LambdaValidator" -> probe(entry, validator);
            case "ControllerQuorumVotersValidator" -> entry.put("kind", "quorum_voters");
            case "ControllerQuorumBootstrapServersValidator" -> entry.put("kind", "quorum_bootstrap_servers");
            case "ThrottledReplicaListValidator" -> entry.put("kind", "throttled_replicas");
            case "CompositeValidator" -> {
                entry.put("kind", "all");
                List<Object> parts = new ArrayList<>();
                for (Object part : (List<?>) read(validator.getClass(), validator, "validators"))
                    parts.add(describe((ConfigDef.Validator) part));
                entry.put("of", parts);
            }
            default -> {
                // A lambda or an anonymous class of the key's own: its rule is written by hand in validators.py.
                entry.put("kind", "custom");
                entry.put("says", validator.toString().replaceAll("(Lambda)?[/@].*", ""));
            }
        }
        return entry;
    }

    /** A rule in code: which of the whole numbers around zero it accepts. */
    static void probe(Map<String, Object> entry, ConfigDef.Validator validator) {
        List<Integer> accepted = new ArrayList<>();
        for (int number = -1000; number <= 1000; number++) {
            try {
                validator.ensureValid("probe", number);
                accepted.add(number);
            } catch (ConfigException refused) {
                continue;
            }
        }
        entry.put("kind", "one_of_numbers");
        entry.put("values", accepted);
        entry.put("says", validator.toString());
    }

    static void put(Map<String, Object> entry, String name, Object value) {
        if (value != null) entry.put(name, value);
    }

    static Object read(Class<?> owner, Object instance, String name) throws Exception {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(instance);
    }
}
