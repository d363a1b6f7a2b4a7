import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Kafka's server-side assignors: one group specification in JSON a line, its assignment in JSON a line (member id to
 * topic to partitions), or {"error": class}. Members, topics and partitions are inserted in the order of the line.
 */
public final class ServerAssignors {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, ConsumerGroupPartitionAssignor> ASSIGNORS =
        Map.of("uniform", new UniformAssignor(), "range", new RangeAssignor());

    private ServerAssignors() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static ObjectNode answer(JsonNode question) {
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (JsonNode member : question.get("members")) {
            Set<Uuid> subscribed = new LinkedHashSet<>();
            member.get("topics").forEach(topic -> subscribed.add(Uuid.fromString(topic.asText())));
            Map<Uuid, Set<Integer>> assignment = new HashMap<>();
            member.get("assignment").fields().forEachRemaining(entry -> {
                Uuid topic = Uuid.fromString(entry.getKey());
                List<Integer> partitions = new ArrayList<>();
                for (JsonNode partition : entry.getValue()) {
                    partitions.add(partition.asInt());
                    owners.computeIfAbsent(topic, __ -> new HashMap<>()).put(partition.asInt(), member.get("id").asText());
                }
                assignment.put(topic, new HashSet<>(partitions));
            });
            JsonNode instance = member.get("instance");
            members.put(
                member.get("id").asText(),
                new MemberSubscriptionAndAssignmentImpl(
                    Optional.empty(),
                    instance.isNull() ? Optional.empty() : Optional.of(instance.asText()),
                    subscribed,
                    new Assignment(assignment)));
        }
        Map<Uuid, Integer> counts = new HashMap<>();
        question.get("topics").fields().forEachRemaining(
            topic -> counts.put(Uuid.fromString(topic.getKey()), topic.getValue().asInt()));
        SubscriptionType type = question.get("homogeneous").asBoolean()
            ? SubscriptionType.HOMOGENEOUS
            : SubscriptionType.HETEROGENEOUS;
        GroupSpecImpl spec = new GroupSpecImpl(Collections.unmodifiableMap(members), type, owners);
        ObjectNode answer = JSON.createObjectNode();
        try {
            ConsumerGroupPartitionAssignor assignor = ASSIGNORS.get(question.get("assignor").asText());
            GroupAssignment assigned = assignor.assign(spec, describer(counts));
            assigned.members().forEach((member, assignment) -> {
                ObjectNode topics = answer.putObject(member);
                assignment.partitions().forEach((topic, partitions) ->
                    new TreeSet<>(partitions).forEach(topics.withArray(topic.toString())::add));
            });
        } catch (PartitionAssignorException refused) {
            answer.put("error", "PartitionAssignorException");
        }
        return answer;
    }

    private static SubscribedTopicDescriber describer(Map<Uuid, Integer> counts) {
        return new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topic) {
                return counts.getOrDefault(topic, -1);
            }

            @Override
            public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
    }
}
