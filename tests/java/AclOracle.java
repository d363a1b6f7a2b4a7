import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Kafka's StandardAuthorizer: ACLs and questions in JSON a line, the answers (true: allowed) in JSON a line. "one" asks
 * for one resource: principal, host, operation, resource type, name. "any" asks for a resource type.
 */
public final class AclOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private AclOracle() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static ObjectNode answer(JsonNode order) throws Exception {
        try (Metrics metrics = new Metrics(); StandardAuthorizer authorizer = new StandardAuthorizer()) {
            authorizer.withPluginMetrics(new PluginMetricsImpl(metrics, Map.of()));
            authorizer.configure(Map.of(
                StandardAuthorizer.SUPER_USERS_CONFIG, order.get("super").asText(),
                StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG, order.get("allow").asText()));
            Map<Uuid, StandardAcl> acls = new HashMap<>();
            for (JsonNode acl : order.get("acls")) {
                acls.put(Uuid.randomUuid(), new StandardAcl(
                    ResourceType.fromCode((byte) acl.get(0).asInt()), acl.get(1).asText(),
                    PatternType.fromCode((byte) acl.get(2).asInt()), acl.get(3).asText(), acl.get(4).asText(),
                    AclOperation.fromCode((byte) acl.get(5).asInt()),
                    AclPermissionType.fromCode((byte) acl.get(6).asInt())));
            }
            authorizer.loadSnapshot(acls);
            authorizer.completeInitialLoad();
            ObjectNode answers = JSON.createObjectNode();
            ArrayNode one = answers.putArray("one");
            for (JsonNode question : order.get("one")) {
                Action action = new Action(
                    AclOperation.fromCode((byte) question.get(2).asInt()),
                    new ResourcePattern(ResourceType.fromCode((byte) question.get(3).asInt()),
                        question.get(4).asText(), PatternType.LITERAL), 1, false, false);
                one.add(authorizer.authorize(new Asking(question), List.of(action)).get(0) == AuthorizationResult.ALLOWED);
            }
            ArrayNode any = answers.putArray("any");
            for (JsonNode question : order.get("any")) {
                any.add(authorizer.authorizeByResourceType(new Asking(question),
                    AclOperation.fromCode((byte) question.get(2).asInt()),
                    ResourceType.fromCode((byte) question.get(3).asInt())) == AuthorizationResult.ALLOWED);
            }
            return answers;
        }
    }

    private static KafkaPrincipal principalOf(String text) {
        int colon = text.indexOf(':');
        return new KafkaPrincipal(text.substring(0, colon), text.substring(colon + 1));
    }

    /** Who asks, and from where. */
    private record Asking(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        Asking(JsonNode question) throws Exception {
            this(principalOf(question.get(0).asText()), InetAddress.getByName(question.get(1).asText()));
        }

        @Override
        public String listenerName() {
            return "PLAINTEXT";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        @Override
        public int requestType() {
            return 0;
        }

        @Override
        public int requestVersion() {
            return 0;
        }

        @Override
        public String clientId() {
            return "";
        }

        @Override
        public int correlationId() {
            return 0;
        }
    }
}
