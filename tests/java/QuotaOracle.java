import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Supplier;
import kafka.network.ConnectionQuotas;
import org.apache.kafka.server.quota.ClientRequestQuotaManager;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.errors.ThrottlingQuotaExceededException;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.internals.Sanitizer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.network.ConnectionThrottledException;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaEntity;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.ControllerMutationQuota;
import org.apache.kafka.server.quota.ControllerMutationQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/**
 * Kafka's quota managers: a history of events in JSON a line, what each answered in JSON a line. Time is the events'.
 * Events: ["set", ms, user, client, limit], ["use", ms, user, client, value], ["strict", ..], ["undo", ..],
 * ["most", ms, user, client]. An entity's name is null if it has none, and "&lt;default&gt;" for the default.
 */
public final class QuotaOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String DEFAULT = "<default>";
    private static final ListenerName LISTENER = new ListenerName("PLAINTEXT");

    private QuotaOracle() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode history = JSON.readTree(line);
            System.out.println(JSON.writeValueAsString(switch (history.get("kind").asText()) {
                case "connections" -> connections(history);
                case "listeners" -> listeners(history);
                default -> clients(history);
            }));
        }
    }

    /** The time of the event that is served. */
    private static final class EventTime implements Time {
        private long nowMs;

        @Override
        public long milliseconds() {
            return nowMs;
        }

        @Override
        public long nanoseconds() {
            return nowMs * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            nowMs += ms;
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }

    private static ArrayNode clients(JsonNode history) throws Exception {
        ClientQuotaManagerConfig config =
            new ClientQuotaManagerConfig(history.get("samples").asInt(), history.get("windowS").asInt());
        EventTime time = new EventTime();
        ArrayNode answers = JSON.createArrayNode();
        try (Metrics metrics = new Metrics(time)) {
            ClientQuotaManager manager = switch (history.get("kind").asText()) {
                case "request" -> new ClientRequestQuotaManager(config, metrics, time, "", Optional.empty());
                case "mutation" -> new ControllerMutationQuotaManager(config, metrics, time, "", Optional.empty());
                default -> new ClientQuotaManager(config, metrics, QuotaType.PRODUCE, time, "");
            };
            for (JsonNode event : history.get("events")) {
                time.nowMs = event.get(1).asLong();
                answers.add(answer(manager, time, event));
            }
            manager.shutdown();
        }
        return answers;
    }

    private static double answer(ClientQuotaManager manager, EventTime time, JsonNode event) throws Exception {
        if (event.get(0).asText().equals("set")) {
            set(manager, event);
            return 0;
        }
        KafkaPrincipal principal = new KafkaPrincipal(KafkaPrincipal.USER_TYPE, event.get(2).asText());
        Session session = new Session(principal, InetAddress.getLoopbackAddress());
        String client = event.get(3).asText();
        switch (event.get(0).asText()) {
            case "most":
                return manager.maxValueInQuotaWindow(session, client);
            case "undo":
                if (manager.quotasEnabled()) {
                    manager.unrecordQuotaSensor(session, client, event.get(4).asDouble(), time.nowMs);
                }
                return 0;
            case "strict":
                return change(((ControllerMutationQuotaManager) manager).newStrictQuotaFor(session, client), event);
            default:
                if (manager instanceof ControllerMutationQuotaManager mutations) {
                    return change(mutations.newPermissiveQuotaFor(session, client), event);
                }
                return manager.maybeRecordAndGetThrottleTimeMs(session, client, event.get(4).asDouble(), time.nowMs);
        }
    }

    private static double change(ControllerMutationQuota quota, JsonNode event) {
        try {
            quota.record(event.get(4).asDouble());
        } catch (ThrottlingQuotaExceededException refused) {
            return -quota.throttleTime();
        }
        return quota.throttleTime();
    }

    private static void set(ClientQuotaManager manager, JsonNode event) {
        Optional<ClientQuotaEntity.ConfigEntity> user = Optional.empty();
        Optional<ClientQuotaEntity.ConfigEntity> client = Optional.empty();
        if (!event.get(2).isNull()) {
            String name = event.get(2).asText();
            user = Optional.of(name.equals(DEFAULT) ? ClientQuotaManager.DEFAULT_USER_ENTITY
                : new ClientQuotaManager.UserEntity(Sanitizer.sanitize(name)));
        }
        if (!event.get(3).isNull()) {
            String name = event.get(3).asText();
            client = Optional.of(name.equals(DEFAULT) ? ClientQuotaManager.DEFAULT_USER_CLIENT_ID
                : new ClientQuotaManager.ClientIdEntity(name));
        }
        JsonNode limit = event.get(4);
        manager.updateQuota(user, client,
            limit.isNull() ? Optional.empty() : Optional.of(Quota.upperBound(limit.asDouble())));
    }

    private static ArrayNode connections(JsonNode history) throws Exception {
        KafkaConfig config = config(history, "PLAINTEXT://localhost:9092");
        EventTime time = new EventTime();
        ArrayNode answers = JSON.createArrayNode();
        try (Metrics metrics = new Metrics(time); ConnectionQuotas quotas = new ConnectionQuotas(config, time, metrics)) {
            quotas.addListener(config, LISTENER);
            for (JsonNode event : history.get("events")) {
                time.nowMs = event.get(1).asLong();
                answers.add(connect(quotas, event));
            }
        }
        return answers;
    }

    private static KafkaConfig config(JsonNode history, String listeners) {
        Properties properties = new Properties();
        properties.put("process.roles", "broker,controller");
        properties.put("node.id", "1");
        properties.put("controller.quorum.voters", "1@localhost:9093");
        properties.put("controller.listener.names", "CONTROLLER");
        properties.put("listeners", listeners + ",CONTROLLER://localhost:9093");
        properties.put("quota.window.num", history.get("samples").asText());
        properties.put("quota.window.size.seconds", history.get("windowS").asText());
        if (history.has("interBroker")) {
            properties.put("inter.broker.listener.name", history.get("interBroker").asText());
            properties.put("listener.security.protocol.map",
                "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,OTHER:PLAINTEXT,CONTROLLER:PLAINTEXT");
        }
        return KafkaConfig.fromProps(properties);
    }

    /**
     * Connections to several listeners: for each event how long its listener waits and for how long its address is
     * refused, at last all metrics. Events: ["limit", ms, listener or null, null, rate], ["set", ..] of an address,
     * ["use", ms, listener, address]. The clock stands still while a listener waits, so {@code inc} would wait for ever:
     * its two steps are called one after the other.
     */
    private static ArrayNode listeners(JsonNode history) throws Exception {
        KafkaConfig config = config(history, "INSIDE://localhost:9092,OUTSIDE://localhost:9094,OTHER://localhost:9095");
        EventTime time = new EventTime();
        ArrayNode answers = JSON.createArrayNode();
        Method wait = step("recordConnectionAndGetThrottleTimeMs", ListenerName.class, long.class);
        Method refuse = step("recordIpConnectionMaybeThrottle", ListenerName.class, InetAddress.class);
        try (Metrics metrics = new Metrics(time); ConnectionQuotas quotas = new ConnectionQuotas(config, time, metrics)) {
            for (String name : new String[] {"INSIDE", "OUTSIDE", "OTHER"}) {
                quotas.addListener(config, new ListenerName(name));
            }
            for (JsonNode event : history.get("events")) {
                time.nowMs = event.get(1).asLong();
                ArrayNode answer = answers.addArray();
                switch (event.get(0).asText()) {
                    case "set" -> connect(quotas, event);
                    case "limit" -> limit(quotas, event);
                    default -> {
                        ListenerName listener = new ListenerName(event.get(2).asText());
                        answer.add((long) wait.invoke(quotas, listener, time.nowMs));
                        try {
                            refuse.invoke(quotas, listener, InetAddress.getByName(event.get(3).asText()));
                            answer.add(0);
                        } catch (InvocationTargetException wrapped) {
                            answer.add(((ConnectionThrottledException) wrapped.getCause()).throttleTimeMs);
                        }
                    }
                }
            }
            ObjectNode values = answers.addObject();
            metrics.metrics().forEach((name, metric) -> {
                if (name.group().equals("socket-server-metrics")) {
                    values.put(name.name() + name.tags().values(), String.valueOf(metric.metricValue()));
                }
            });
        }
        return answers;
    }

    private static Method step(String name, Class<?>... types) throws NoSuchMethodException {
        Method method = ConnectionQuotas.class.getDeclaredMethod(name, types);
        method.setAccessible(true);
        return method;
    }

    private static void limit(ConnectionQuotas quotas, JsonNode event) {
        int rate = event.get(4).asInt();
        if (event.get(2).isNull()) {
            quotas.updateBrokerMaxConnectionRate(rate);
            return;
        }
        quotas.maxConnectionsPerListener().apply(new ListenerName(event.get(2).asText()))
            .reconfigure(Map.of("max.connection.creation.rate", String.valueOf(rate)));
    }

    private static long connect(ConnectionQuotas quotas, JsonNode event) throws Exception {
        String host = event.get(2).asText();
        if (event.get(0).asText().equals("set")) {
            scala.Option<InetAddress> address =
                host.equals(DEFAULT) ? scala.Option.empty() : scala.Option.apply(InetAddress.getByName(host));
            JsonNode limit = event.get(4);
            scala.Option<Object> rate = limit.isNull() ? scala.Option.empty() : scala.Option.apply((Object) limit.asInt());
            quotas.updateIpConnectionRateQuota(address, rate);
            return 0;
        }
        InetAddress address = InetAddress.getByName(host);
        try {
            quotas.inc(LISTENER, address, null);
        } catch (ConnectionThrottledException throttled) {
            return throttled.throttleTimeMs;
        }
        quotas.dec(LISTENER, address);
        return 0;
    }
}
