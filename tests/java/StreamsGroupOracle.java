import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.StreamsGroupDescribeResponseData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.CurrentAssignmentBuilder;
import org.apache.kafka.coordinator.group.streams.MemberState;
import org.apache.kafka.coordinator.group.streams.StreamsGroup;
import org.apache.kafka.coordinator.group.streams.StreamsGroupMember;
import org.apache.kafka.coordinator.group.streams.StreamsTopology;
import org.apache.kafka.coordinator.group.streams.TasksTuple;
import org.apache.kafka.coordinator.group.streams.TasksTupleWithEpochs;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.apache.kafka.coordinator.group.streams.topics.ConfiguredTopology;
import org.apache.kafka.coordinator.group.streams.topics.EndpointToPartitionsManager;
import org.apache.kafka.coordinator.group.streams.topics.InternalTopicManager;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;
import org.slf4j.Logger;
import org.slf4j.helpers.NOPLogger;

/**
 * The pure parts of Kafka's streams groups: one question in JSON a line, its answer in JSON a line. The field "ask" is
 * configure (a topology), assign (tasks), reconcile (a member) or order (of a timeline map).
 */
public final class StreamsGroupOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Logger QUIET = NOPLogger.NOP_LOGGER;

    private StreamsGroupOracle() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer(JSON.readTree(line), answer);
            } catch (RuntimeException refused) {
                answer.removeAll();
                Errors error = Errors.forException(refused);
                answer.put("error", error.code());
                answer.put("message", error == Errors.UNKNOWN_SERVER_ERROR ? error.message() : refused.getMessage());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static void answer(JsonNode question, ObjectNode answer) {
        switch (question.get("ask").asText()) {
            case "configure" -> configure(question, answer);
            case "assign" -> assign(question, answer);
            case "reconcile" -> reconcile(question, answer);
            case "order" -> order(question, answer);
            default -> throw new AssertionError(question);
        }
    }

    private static void configure(JsonNode question, ObjectNode answer) {
        byte[] request = Base64.getDecoder().decode(question.get("request").asText());
        StreamsTopology topology = StreamsTopology.fromHeartbeatRequest(
            new StreamsGroupHeartbeatRequestData(new ByteBufferAccessor(ByteBuffer.wrap(request)), (short) 1).topology());
        CoordinatorMetadataImage image = new Topics(question.get("topics"));
        ConfiguredTopology configured =
            InternalTopicManager.configureTopics(QUIET, "g", "m", 7L, topology, image, Time.SYSTEM);
        answer.put("ready", configured.isReady());
        configured.topicConfigurationException().ifPresent(problem -> {
            answer.put("status", problem.status().code());
            answer.put("detail", problem.getMessage());
        });
        ArrayNode create = answer.putArray("create");
        configured.internalTopicsToBeCreated().values().forEach(topic -> {
            ArrayNode one = create.addArray();
            one.add(topic.name()).add(topic.numPartitions()).add(topic.replicationFactor());
            ArrayNode configs = one.addArray();
            topic.configs().forEach(config -> configs.addArray().add(config.name()).add(config.value()));
        });
        configured.subtopologies().ifPresent(subtopologies -> {
            ObjectNode tasks = answer.putObject("tasks");
            subtopologies.forEach((id, each) -> tasks.putArray(id)
                .add(each.numberOfTasks())
                .add(!each.stateChangelogTopics().isEmpty()));
        });
        ArrayNode required = answer.putArray("required");
        topology.requiredTopics().forEach(required::add);
        StreamsGroupDescribeResponseData described = new StreamsGroupDescribeResponseData();
        described.groups().add(new StreamsGroupDescribeResponseData.DescribedGroup()
            .setTopology(topology.asStreamsGroupDescribeTopology()));
        described.groups().add(new StreamsGroupDescribeResponseData.DescribedGroup()
            .setTopology(configured.asStreamsGroupDescribeTopology()));
        answer.put("described", Base64.getEncoder().encodeToString(
            MessageUtil.toByteBufferAccessor(described, (short) 1).buffer().array()));
        if (configured.isReady()) {
            endpoints(question.get("member"), configured, image, answer);
        }
    }

    private static void endpoints(
        JsonNode member, ConfiguredTopology configured, CoordinatorMetadataImage image, ObjectNode answer) {
        StreamsGroup group = new StreamsGroup(new LogContext(), new SnapshotRegistry(new LogContext()), "g");
        group.setConfiguredTopology(configured);
        StreamsGroupHeartbeatResponseData.EndpointToPartitions found = EndpointToPartitionsManager.endpointToPartitions(
            member(member), new StreamsGroupHeartbeatResponseData.Endpoint(), group, image);
        partitions(found.activePartitions(), answer.putArray("active"));
        partitions(found.standbyPartitions(), answer.putArray("standby"));
    }

    private static void partitions(List<StreamsGroupHeartbeatResponseData.TopicPartition> found, ArrayNode answer) {
        found.forEach(each -> {
            ArrayNode one = answer.addArray().add(each.topic());
            each.partitions().forEach(one::add);
        });
    }

    private static void assign(JsonNode question, ObjectNode answer) {
        Map<String, MemberMetadataAndStateImpl> members = new HashMap<>();
        for (JsonNode member : question.get("members")) {
            Map<String, Map<Integer, Long>> offsets = new HashMap<>();
            member.get("offsets").fields().forEachRemaining(entry -> entry.getValue().fields().forEachRemaining(
                each -> offsets.computeIfAbsent(entry.getKey(), __ -> new HashMap<>())
                    .put(Integer.valueOf(each.getKey()), each.getValue().asLong())));
            members.put(member.get("id").asText(), new MemberMetadataAndStateImpl(
                Optional.empty(), Optional.empty(), member.get("process").asText(), Map.of(),
                tasks(member.get("active")), tasks(member.get("standby")), Map.of(), offsets, Map.of()));
        }
        JsonNode topology = question.get("topology");
        List<String> subtopologies = new ArrayList<>();
        topology.fieldNames().forEachRemaining(subtopologies::add);
        GroupAssignment assigned = new StickyTaskAssignor().assign(
            new GroupSpecImpl(members, new AssignmentConfigsImpl(question.get("standbys").asInt(), List.of())),
            new TopologyDescriber() {
                @Override
                public List<String> subtopologies() {
                    return subtopologies;
                }

                @Override
                public int maxNumInputPartitions(String id) {
                    return topology.get(id).get(0).asInt();
                }

                @Override
                public boolean isStateful(String id) {
                    return topology.get(id).get(1).asBoolean();
                }
            });
        assigned.members().forEach((id, member) -> {
            ObjectNode one = answer.putObject(id);
            tasks(member.activeTasks(), one.putObject("active"));
            tasks(member.standbyTasks(), one.putObject("standby"));
        });
    }

    private static void reconcile(JsonNode question, ObjectNode answer) {
        Map<String, String> active = new HashMap<>();
        question.get("active").fields().forEachRemaining(each -> active.put(each.getKey(), each.getValue().asText()));
        Map<String, Set<String>> standby = processes(question.get("standby"));
        Map<String, Set<String>> warmup = processes(question.get("warmup"));
        JsonNode owned = question.get("owned");
        StreamsGroupMember next = new CurrentAssignmentBuilder(member(question.get("member")))
            .withTargetAssignment(question.get("epoch").asInt(), tuple(question.get("target")))
            .withCurrentActiveTaskProcessId((id, partition) -> active.get(id + "/" + partition))
            .withCurrentStandbyTaskProcessIds((id, partition) -> standby.getOrDefault(id + "/" + partition, Set.of()))
            .withCurrentWarmupTaskProcessIds((id, partition) -> warmup.getOrDefault(id + "/" + partition, Set.of()))
            .withOwnedAssignment(owned.isNull() ? null : tuple(owned))
            .build();
        answer.put("epoch", next.memberEpoch());
        answer.put("previous", next.previousMemberEpoch());
        answer.put("state", next.state().value());
        held(next.assignedTasks(), answer.putObject("assigned"));
        held(next.tasksPendingRevocation(), answer.putObject("pending"));
    }

    private static void order(JsonNode question, ObjectNode answer) {
        Map<String, Integer> map = new TimelineHashMap<>(new SnapshotRegistry(new LogContext()), 0);
        for (int round = 0; round < 2; round++) {
            for (JsonNode name : question.get("names")) {
                map.put(name.asText(), round);
            }
        }
        map.keySet().forEach(answer.putArray("names")::add);
    }

    private static StreamsGroupMember member(JsonNode member) {
        return StreamsGroupMember.Builder.withDefaults("m")
            .setProcessId(member.get("process").asText())
            .setMemberEpoch(member.get("epoch").asInt())
            .setPreviousMemberEpoch(member.get("previous").asInt())
            .setState(MemberState.fromValue((byte) member.get("state").asInt()))
            .setAssignedTasks(held(member.get("assigned")))
            .setTasksPendingRevocation(held(member.get("pending")))
            .build();
    }

    private static Map<String, Set<String>> processes(JsonNode given) {
        Map<String, Set<String>> found = new HashMap<>();
        given.fields().forEachRemaining(entry -> entry.getValue().forEach(
            each -> found.computeIfAbsent(entry.getKey(), __ -> new HashSet<>()).add(each.asText())));
        return found;
    }

    private static TasksTuple tuple(JsonNode given) {
        return new TasksTuple(tasks(given.get("active")), tasks(given.get("standby")), tasks(given.get("warmup")));
    }

    private static TasksTupleWithEpochs held(JsonNode given) {
        Map<String, Map<Integer, Integer>> active = new HashMap<>();
        given.get("active").fields().forEachRemaining(entry -> entry.getValue().fields().forEachRemaining(
            each -> active.computeIfAbsent(entry.getKey(), __ -> new HashMap<>())
                .put(Integer.valueOf(each.getKey()), each.getValue().asInt())));
        return new TasksTupleWithEpochs(active, tasks(given.get("standby")), tasks(given.get("warmup")));
    }

    private static void held(TasksTupleWithEpochs held, ObjectNode answer) {
        ObjectNode active = answer.putObject("active");
        held.activeTasksWithEpochs().forEach((id, epochs) -> {
            ObjectNode one = active.putObject(id);
            epochs.forEach((partition, epoch) -> one.put(partition.toString(), epoch));
        });
        tasks(held.standbyTasks(), answer.putObject("standby"));
        tasks(held.warmupTasks(), answer.putObject("warmup"));
    }

    private static Map<String, Set<Integer>> tasks(JsonNode given) {
        Map<String, Set<Integer>> found = new HashMap<>();
        given.fields().forEachRemaining(entry -> {
            Set<Integer> partitions = found.computeIfAbsent(entry.getKey(), __ -> new HashSet<>());
            entry.getValue().forEach(each -> partitions.add(each.asInt()));
        });
        return found;
    }

    private static void tasks(Map<String, Set<Integer>> tasks, ObjectNode answer) {
        tasks.forEach((id, partitions) -> {
            ArrayNode one = answer.putArray(id);
            new TreeSet<>(partitions).forEach(one::add);
        });
    }

    private record Topic(String name, int partitionCount) implements CoordinatorMetadataImage.TopicMetadata {
        @Override
        public Uuid id() {
            return Uuid.ONE_UUID;
        }

        @Override
        public List<String> partitionRacks(int partition) {
            return List.of();
        }
    }

    private record Topics(JsonNode counts) implements CoordinatorMetadataImage {
        @Override
        public Set<Uuid> topicIds() {
            return Set.of();
        }

        @Override
        public Set<String> topicNames() {
            return Set.of();
        }

        @Override
        public Optional<TopicMetadata> topicMetadata(String name) {
            return counts.has(name) ? Optional.of(new Topic(name, counts.get(name).asInt())) : Optional.empty();
        }

        @Override
        public Optional<TopicMetadata> topicMetadata(Uuid id) {
            return Optional.empty();
        }

        @Override
        public CoordinatorMetadataDelta emptyDelta() {
            throw new UnsupportedOperationException();
        }

        @Override
        public long version() {
            return 0;
        }

        @Override
        public boolean isEmpty() {
            return false;
        }
    }
}
