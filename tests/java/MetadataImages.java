import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * A line of JSON: "records" (hex of each record's value, a history) and "snapshot" (hex of a snapshot file of the same).
 * Answers with the parts of Kafka's image that differ between the two, and with the records that Kafka's image of the
 * history writes, which is Kafka's own snapshot of it.
 */
public final class MetadataImages {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();
    private static final MetadataRecordSerde SERDE = MetadataRecordSerde.INSTANCE;

    private MetadataImages() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode question = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer(question, answer);
            } catch (Exception problem) {
                answer.put("error", problem.toString());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static void answer(JsonNode question, ObjectNode answer) throws Exception {
        MetadataImage expected = MetadataImage.EMPTY;
        for (JsonNode value : question.get("records")) {
            MetadataDelta change = new MetadataDelta.Builder().setImage(expected).build();
            change.replay(read(ByteBuffer.wrap(HEX.parseHex(value.asText()))).message());
            expected = change.apply(MetadataProvenance.EMPTY);
        }
        MetadataDelta snapshot = new MetadataDelta.Builder().build();
        MemoryRecords file = MemoryRecords.readableRecords(ByteBuffer.wrap(HEX.parseHex(question.get("snapshot").asText())));
        for (RecordBatch batch : file.batches()) {
            batch.ensureValid();
            for (Record record : batch) {
                if (!batch.isControlBatch()) {
                    snapshot.replay(read(record.value()).message());
                }
            }
        }
        snapshot.finishSnapshot();
        compare(expected, snapshot.apply(MetadataProvenance.EMPTY), answer.putArray("different"));
        RecordListWriter writer = new RecordListWriter();
        expected.write(writer, new ImageWriterOptions.Builder(expected).build());
        ArrayNode written = answer.putArray("written");
        for (ApiMessageAndVersion record : writer.records()) {
            written.add(HEX.formatHex(bytes(record)));
        }
    }

    private static ApiMessageAndVersion read(ByteBuffer value) {
        return SERDE.read(new ByteBufferAccessor(value), value.remaining());
    }

    private static byte[] bytes(ApiMessageAndVersion record) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(SERDE.recordSize(record, cache));
        SERDE.write(record, cache, new ByteBufferAccessor(buffer));
        return buffer.array();
    }

    private static void compare(MetadataImage expected, MetadataImage actual, ArrayNode different) {
        part("features", expected.features(), actual.features(), different);
        part("cluster", expected.cluster(), actual.cluster(), different);
        part("topics", expected.topics(), actual.topics(), different);
        part("configs", expected.configs(), actual.configs(), different);
        part("clientQuotas", expected.clientQuotas(), actual.clientQuotas(), different);
        part("producerIds", expected.producerIds(), actual.producerIds(), different);
        part("acls", expected.acls(), actual.acls(), different);
        part("scram", expected.scram(), actual.scram(), different);
        part("delegationTokens", expected.delegationTokens(), actual.delegationTokens(), different);
    }

    private static void part(String name, Object expected, Object actual, ArrayNode different) {
        if (!expected.equals(actual)) {
            different.add(name + ": " + expected + " became " + actual);
        }
    }
}
