import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde;
import org.apache.kafka.coordinator.transaction.TransactionCoordinatorRecordSerde;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.serialization.AbstractApiMessageSerde;
import org.apache.kafka.server.log.remote.metadata.storage.generated.MetadataRecordType;

/**
 * Reads "topic key value" a line, key and value in hex ("-" for none), with the serde that Kafka itself loads the topic
 * with. Answers each with "key value" as that serde writes what it has read, or with "error: ..." if it refuses it.
 */
public final class InternalRecords {
    private static final HexFormat HEX = HexFormat.of();
    private static final Map<String, CoordinatorRecordSerde> COORDINATORS = Map.of(
        "groups", new GroupCoordinatorRecordSerde(),
        "transactions", new TransactionCoordinatorRecordSerde(),
        "share", new ShareCoordinatorRecordSerde());
    private static final Map<String, AbstractApiMessageSerde> METADATA = Map.of(
        "metadata", MetadataRecordSerde.INSTANCE,
        "remote log", new AbstractApiMessageSerde() {
            @Override
            public ApiMessage apiMessageFor(short apiKey) {
                return MetadataRecordType.fromId(apiKey).newMetadataRecord();
            }
        });

    private InternalRecords() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t");
            String answer;
            try {
                answer = METADATA.containsKey(parts[0])
                    ? "- " + HEX.formatHex(metadata(METADATA.get(parts[0]), HEX.parseHex(parts[2])))
                    : coordinator(COORDINATORS.get(parts[0]), parts[1], parts[2]);
            } catch (Exception refusal) {
                answer = "error: " + refusal.toString().replace('\n', ' ');
            }
            System.out.println(answer);
        }
    }

    private static String coordinator(CoordinatorRecordSerde serde, String key, String value) {
        ByteBuffer given = value.equals("-") ? null : ByteBuffer.wrap(HEX.parseHex(value));
        CoordinatorRecord read = serde.deserialize(ByteBuffer.wrap(HEX.parseHex(key)), given);
        String written = read.value() == null ? "-" : HEX.formatHex(serde.serializeValue(read));
        return HEX.formatHex(serde.serializeKey(read)) + " " + written;
    }

    private static byte[] metadata(AbstractApiMessageSerde serde, byte[] value) {
        ApiMessageAndVersion read = serde.read(new ByteBufferAccessor(ByteBuffer.wrap(value)), value.length);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer written = ByteBuffer.allocate(serde.recordSize(read, cache));
        serde.write(read, cache, new ByteBufferAccessor(written));
        return written.array();
    }
}
