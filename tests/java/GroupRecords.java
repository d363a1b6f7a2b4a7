import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.transaction.TransactionCoordinatorRecordSerde;
import org.apache.kafka.coordinator.transaction.TransactionLog;
import org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter;
import org.apache.kafka.tools.consumer.OffsetsMessageFormatter;
import org.apache.kafka.tools.consumer.TransactionLogMessageFormatter;

/**
 * Reads records of __consumer_offsets (with the argument "transactions" of __transaction_state), "key value" in hex a
 * line ("-" for no value), with Kafka's formatters and with the serde that its coordinator loads with. Answers each with
 * one line of JSON: what the formatter that takes the record says of it, and the bytes that the serde writes for what it
 * has read.
 */
public final class GroupRecords {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();

    private GroupRecords() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        boolean ofTransactions = arguments.length > 0 && arguments[0].equals("transactions");
        CoordinatorRecordSerde serde =
            ofTransactions ? new TransactionCoordinatorRecordSerde() : new GroupCoordinatorRecordSerde();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ");
            byte[] key = HEX.parseHex(parts[0]);
            byte[] value = parts[1].equals("-") ? null : HEX.parseHex(parts[1]);
            ObjectNode answer = JSON.createObjectNode();
            if (ofTransactions) {
                format(new TransactionLogMessageFormatter(), "transaction", key, value, answer);
                ByteBuffer given = value == null ? null : ByteBuffer.wrap(value);
                answer.put("loaded", TransactionLog.read(ByteBuffer.wrap(key), given).getClass().getSimpleName());
            } else if (!format(new OffsetsMessageFormatter(), "offset", key, value, answer)) {
                format(new GroupMetadataMessageFormatter(), "group", key, value, answer);
            }
            CoordinatorRecord read =
                serde.deserialize(ByteBuffer.wrap(key), value == null ? null : ByteBuffer.wrap(value));
            byte[] written = read.value() == null ? null : serde.serializeValue(read);
            answer.put("keyBytes", HEX.formatHex(serde.serializeKey(read)));
            answer.put("valueBytes", written == null ? null : HEX.formatHex(written));
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static boolean format(
        MessageFormatter formatter, String name, byte[] key, byte[] value, ObjectNode answer) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        formatter.writeTo(new ConsumerRecord<>("__consumer_offsets", 0, 0, key, value), new PrintStream(out));
        if (out.size() == 0) {
            return false;
        }
        JsonNode shown = JSON.readTree(out.toByteArray());
        answer.put("formatter", name);
        answer.set("key", shown.get("key"));
        answer.set("value", shown.get("value"));
        return true;
    }
}
