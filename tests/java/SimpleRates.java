import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.stats.SimpleRate;

/**
 * Rates as Kafka's replication quotas measure them. A line in: {"samples": number, "windowMs": ms, "events": [[time,
 * bytes or null], …]}; a line out: the rates at the events without bytes.
 */
public final class SimpleRates {
    private static final ObjectMapper JSON = new ObjectMapper();

    private SimpleRates() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode history = JSON.readTree(line);
            MetricConfig config = new MetricConfig()
                    .samples(history.get("samples").asInt())
                    .timeWindow(history.get("windowMs").asLong(), TimeUnit.MILLISECONDS);
            SimpleRate rate = new SimpleRate();
            ArrayNode answer = JSON.createArrayNode();
            for (JsonNode event : history.get("events")) {
                long time = event.get(0).asLong();
                if (event.get(1).isNull()) {
                    answer.add(rate.measure(config, time));
                } else {
                    rate.record(config, event.get(1).asDouble(), time);
                }
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }
}
