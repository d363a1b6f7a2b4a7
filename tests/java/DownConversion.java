import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.utils.Time;

/**
 * Apache Kafka 3.9's conversion of record batches down to message formats 0 and 1, and its readers of these, on request:
 * one JSON object a line on standard input, one answer a line on standard output. Operations: convert, read. Bytes are
 * hexadecimal; an exception is answered as {"error": class}.
 */
public class DownConversion {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                JsonNode request = JSON.readTree(line);
                MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HEX.parseHex(request.get("bytes").asText())));
                if (request.get("op").asText().equals("convert")) {
                    byte magic = (byte) request.get("magic").asInt();
                    ByteBuffer converted = records.downConvert(magic, request.get("first").asLong(), Time.SYSTEM).records().buffer();
                    answer.put("bytes", hex(converted));
                } else {
                    read(records, answer);
                }
            } catch (Exception error) {
                answer.removeAll();
                answer.put("error", error.getClass().getSimpleName());
            }
            output.println(JSON.writeValueAsString(answer));
        }
    }

    private static void read(MemoryRecords records, ObjectNode answer) {
        ArrayNode batches = answer.putArray("batches");
        for (MutableRecordBatch batch : records.batches()) {
            batch.ensureValid();
            ObjectNode out = batches.addObject();
            out.put("magic", batch.magic());
            out.put("compression", batch.compressionType().name);
            out.put("timestampType", batch.timestampType().name);
            out.put("maxTimestamp", batch.maxTimestamp());
            out.put("lastOffset", batch.lastOffset());
            ArrayNode read = out.putArray("records");
            for (Record record : batch) {
                record.ensureValid();
                ArrayNode one = read.addArray();
                one.add(record.offset());
                one.add(record.timestamp());
                one.add(record.hasKey() ? hex(record.key()) : null);
                one.add(record.hasValue() ? hex(record.value()) : null);
            }
        }
    }

    private static String hex(ByteBuffer buffer) {
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return HEX.formatHex(copy);
    }
}
