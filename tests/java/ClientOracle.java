import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Utils;

/**
 * What Apache Kafka's Java clients compute by themselves, on request: one question as a JSON object a line on standard
 * input, its answer (or the exception) a line on standard output. Questions: the assignment of a group, the partition of
 * a key, the user data of a member with the sticky assignor.
 */
public class ClientOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode group = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                if (group.has("key")) {
                    byte[] key = HexFormat.of().parseHex(group.get("key").asText());
                    answer.put("hash", Utils.murmur2(key));
                    answer.put("partition", BuiltInPartitioner.partitionForKey(key, group.get("partitions").asInt()));
                } else if (group.has("previous")) {
                    answer.put("userData", stickyUserData(group));
                } else {
                    assign(group, answer);
                }
            } catch (RuntimeException error) {
                answer.removeAll();
                answer.put("error", error.toString());
            }
            output.println(JSON.writeValueAsString(answer));
        }
    }

    private static void assign(JsonNode group, ObjectNode answer) {
        Map<String, Subscription> members = new HashMap<>();
        for (JsonNode member : group.get("members")) {
            members.put(member.get("id").asText(), subscription(member));
        }
        ConsumerPartitionAssignor assignor = assignor(group.get("assignor").asText());
        assignor.assign(cluster(group.get("topics")), new GroupSubscription(members)).groupAssignment().forEach((id, assigned) -> {
            ArrayNode partitions = answer.putArray(id);
            for (TopicPartition partition : assigned.partitions()) {
                partitions.addArray().add(partition.topic()).add(partition.partition());
            }
        });
    }

    private static String stickyUserData(JsonNode member) {
        List<TopicPartition> previous = new ArrayList<>();
        member.get("previous").forEach(one -> previous.add(new TopicPartition(one.get(0).asText(), one.get(1).asInt())));
        StickyAssignor assignor = new StickyAssignor();
        int generation = member.get("generation").asInt();
        assignor.onAssignment(new Assignment(previous), new ConsumerGroupMetadata("g", generation, "m", Optional.empty()));
        ByteBuffer data = assignor.subscriptionUserData(Set.of());
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        List<ConsumerPartitionAssignor> all =
            List.of(new RangeAssignor(), new RoundRobinAssignor(), new StickyAssignor(), new CooperativeStickyAssignor());
        return all.stream().filter(assignor -> assignor.name().equals(name)).findFirst().orElseThrow();
    }

    private static Subscription subscription(JsonNode member) {
        List<String> topics = new ArrayList<>();
        member.get("topics").forEach(topic -> topics.add(topic.asText()));
        List<TopicPartition> owned = new ArrayList<>();
        member.get("owned").forEach(one -> owned.add(new TopicPartition(one.get(0).asText(), one.get(1).asInt())));
        ByteBuffer userData = member.get("userData").isNull()
            ? null : ByteBuffer.wrap(HexFormat.of().parseHex(member.get("userData").asText()));
        Optional<String> rack = Optional.ofNullable(member.get("rack").textValue());
        Subscription subscription = new Subscription(topics, userData, owned, member.get("generation").asInt(), rack);
        subscription.setGroupInstanceId(Optional.ofNullable(member.get("instance").textValue()));
        return subscription;
    }

    private static Cluster cluster(JsonNode topics) {
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.fields().forEachRemaining(topic -> {
            int number = 0;
            for (JsonNode racks : topic.getValue()) {
                List<Node> replicas = new ArrayList<>();
                for (JsonNode rack : racks) {
                    replicas.add(nodes.computeIfAbsent(rack.asText(), name -> new Node(nodes.size(), "h", 1, name)));
                }
                Node[] array = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic.getKey(), number++, null, array, array));
            }
        });
        return new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
    }
}
