import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;

/**
 * Kafka's reader of sasl.jaas.config: a text in JSON a line, the module with its options, or null if it is refused.
 */
public final class JaasOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private JaasOracle() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static ObjectNode answer(JsonNode order) {
        ObjectNode answers = JSON.createObjectNode();
        for (int number = 0; number < order.size(); number++) {
            answers.set(Integer.toString(number), module(order.get(number).asText()));
        }
        return answers;
    }

    private static JsonNode module(String text) {
        try {
            JaasContext context = JaasContext.loadClientContext(Map.of(SaslConfigs.SASL_JAAS_CONFIG, new Password(text)));
            AppConfigurationEntry entry = context.configurationEntries().get(0);
            ObjectNode found = JSON.createObjectNode();
            found.put("name", entry.getLoginModuleName());
            found.put("flag", entry.getControlFlag().toString());
            ObjectNode options = found.putObject("options");
            new TreeMap<String, Object>(entry.getOptions()).forEach((key, value) -> options.put(key, (String) value));
            return found;
        } catch (IllegalArgumentException | NullPointerException refused) {
            return JSON.nullNode();
        }
    }
}
