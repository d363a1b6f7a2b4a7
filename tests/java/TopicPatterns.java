import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * Regular expressions of topics as Kafka's coordinator takes them: {"pattern": …, "names": […]} a line; the answer is
 * {"matches": [names that match as a whole]} or {"error": description}.
 */
public final class TopicPatterns {
    private static final ObjectMapper JSON = new ObjectMapper();

    private TopicPatterns() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode question = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                Pattern pattern = Pattern.compile(question.get("pattern").asText());
                answer.putArray("matches");
                for (JsonNode name : question.get("names")) {
                    if (pattern.matcher(name.asText()).matches()) {
                        answer.withArray("matches").add(name.asText());
                    }
                }
            } catch (PatternSyntaxException refused) {
                answer.put("error", refused.getDescription());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }
}
