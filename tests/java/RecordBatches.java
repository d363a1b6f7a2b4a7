import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;
import org.apache.kafka.common.utils.internals.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;

/**
 * Apache Kafka's own record batches on request: one JSON object a line on standard input, one answer a line on standard
 * output. Operations: build, empty, marker, kraft, read, decompress, compress, produce, validate. Bytes are hexadecimal.
 * An exception is answered as {"error": class, "code": name of Kafka's error code, "message": text}.
 */
public class RecordBatches {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer(JSON.readTree(line), answer);
            } catch (Throwable error) {
                Throwable cause = error instanceof RecordValidationException refused ? refused.invalidException() : error;
                answer.removeAll();
                answer.put("error", cause.getClass().getSimpleName());
                answer.put("code", Errors.forException(cause).name());
                answer.put("message", String.valueOf(cause.getMessage()));
            }
            output.println(JSON.writeValueAsString(answer));
        }
    }

    private static void answer(JsonNode request, ObjectNode answer) throws Exception {
        switch (request.get("op").asText()) {
            case "build" -> answer.put("bytes", hex(build(request).buffer()));
            case "empty" -> answer.put("bytes", hex(empty(request)));
            case "marker" -> answer.put("bytes", hex(marker(request).buffer()));
            case "kraft" -> answer.put("bytes", hex(kraft(request).buffer()));
            case "read" -> read(request, answer);
            case "decompress" -> answer.put("bytes", HEX.formatHex(decompress(request)));
            case "compress" -> answer.put("bytes", HEX.formatHex(compress(request)));
            case "produce" -> {
                ProduceRequest.validateRecords((short) request.get("version").asInt(), records(request));
                answer.put("ok", true);
            }
            case "validate" -> validate(request, answer);
            default -> throw new IllegalArgumentException("no such operation: " + request);
        }
    }

    private static MemoryRecords build(JsonNode request) {
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            new ByteBufferOutputStream(512),
            RecordBatch.CURRENT_MAGIC_VALUE,
            Compression.of(request.get("compression").asText()).build(),
            TimestampType.forName(request.get("timestampType").asText()),
            request.get("baseOffset").asLong(),
            request.get("logAppendTime").asLong(),
            request.get("producerId").asLong(),
            (short) request.get("producerEpoch").asInt(),
            request.get("baseSequence").asInt(),
            request.get("transactional").asBoolean(),
            request.get("control").asBoolean(),
            request.get("leaderEpoch").asInt(),
            Integer.MAX_VALUE,
            request.get("deleteHorizon").asLong());
        for (JsonNode record : request.get("records")) {
            SimpleRecord simple = new SimpleRecord(
                record.get("timestamp").asLong(), bytes(record.get("key")), bytes(record.get("value")), headers(record.get("headers")));
            if (request.get("control").asBoolean())
                builder.appendControlRecordWithOffset(record.get("offset").asLong(), simple);
            else
                builder.appendWithOffset(record.get("offset").asLong(), simple);
        }
        if (request.has("lastOffset"))
            builder.overrideLastOffset(request.get("lastOffset").asLong());
        return builder.build();
    }

    private static ByteBuffer empty(JsonNode request) {
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(
            buffer,
            RecordBatch.CURRENT_MAGIC_VALUE,
            request.get("producerId").asLong(),
            (short) request.get("producerEpoch").asInt(),
            request.get("baseSequence").asInt(),
            request.get("baseOffset").asLong(),
            request.get("lastOffset").asLong(),
            request.get("leaderEpoch").asInt(),
            TimestampType.forName(request.get("timestampType").asText()),
            request.get("timestamp").asLong(),
            request.get("transactional").asBoolean(),
            request.get("control").asBoolean());
        buffer.flip();
        return buffer;
    }

    private static MemoryRecords marker(JsonNode request) {
        ControlRecordType type = request.get("commit").asBoolean() ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
        return MemoryRecords.withEndTransactionMarker(
            request.get("baseOffset").asLong(),
            request.get("timestamp").asLong(),
            request.get("leaderEpoch").asInt(),
            request.get("producerId").asLong(),
            (short) request.get("producerEpoch").asInt(),
            new EndTransactionMarker(type, request.get("coordinatorEpoch").asInt()));
    }

    private static MemoryRecords kraft(JsonNode request) {
        long offset = request.get("baseOffset").asLong();
        long timestamp = request.get("timestamp").asLong();
        int epoch = request.get("leaderEpoch").asInt();
        ByteBuffer buffer = ByteBuffer.allocate(512);
        return switch (request.get("type").asText()) {
            case "LEADER_CHANGE" -> MemoryRecords.withLeaderChangeMessage(
                offset, timestamp, epoch, buffer, new LeaderChangeMessage().setLeaderId(3));
            case "SNAPSHOT_HEADER" -> MemoryRecords.withSnapshotHeaderRecord(
                offset, timestamp, epoch, buffer, new SnapshotHeaderRecord().setLastContainedLogTimestamp(77));
            case "SNAPSHOT_FOOTER" -> MemoryRecords.withSnapshotFooterRecord(
                offset, timestamp, epoch, buffer, new SnapshotFooterRecord());
            case "KRAFT_VERSION" -> MemoryRecords.withKRaftVersionRecord(
                offset, timestamp, epoch, buffer, new KRaftVersionRecord().setKRaftVersion((short) 1));
            case "KRAFT_VOTERS" -> MemoryRecords.withVotersRecord(offset, timestamp, epoch, buffer, new VotersRecord());
            default -> throw new IllegalArgumentException("no such type: " + request);
        };
    }

    private static void read(JsonNode request, ObjectNode answer) {
        ArrayNode batches = answer.putArray("batches");
        for (MutableRecordBatch batch : records(request).batches()) {
            batch.ensureValid();
            ObjectNode out = batches.addObject();
            out.put("baseOffset", batch.baseOffset());
            out.put("lastOffset", batch.lastOffset());
            out.put("nextOffset", batch.nextOffset());
            out.put("size", batch.sizeInBytes());
            out.put("leaderEpoch", batch.partitionLeaderEpoch());
            out.put("crc", ((DefaultRecordBatch) batch).checksum());
            out.put("compression", batch.compressionType().name);
            out.put("timestampType", batch.timestampType().name);
            out.put("baseTimestamp", ((DefaultRecordBatch) batch).baseTimestamp());
            out.put("maxTimestamp", batch.maxTimestamp());
            out.put("deleteHorizon", batch.deleteHorizonMs().orElse(-1));
            out.put("producerId", batch.producerId());
            out.put("producerEpoch", batch.producerEpoch());
            out.put("baseSequence", batch.baseSequence());
            out.put("lastSequence", batch.lastSequence());
            out.put("transactional", batch.isTransactional());
            out.put("control", batch.isControlBatch());
            out.put("count", batch.countOrNull());
            ArrayNode read = out.putArray("records");
            for (Record record : batch) {
                ObjectNode one = read.addObject();
                one.put("offset", record.offset());
                one.put("timestamp", record.timestamp());
                one.put("key", record.hasKey() ? hex(record.key()) : null);
                one.put("value", record.hasValue() ? hex(record.value()) : null);
                ArrayNode headers = one.putArray("headers");
                for (Header header : record.headers())
                    headers.addArray().add(header.key()).add(header.value() == null ? null : HEX.formatHex(header.value()));
            }
        }
    }

    private static byte[] decompress(JsonNode request) throws Exception {
        Compression compression = Compression.of(request.get("compression").asText()).build();
        ByteBuffer data = ByteBuffer.wrap(bytes(request.get("bytes")));
        try (InputStream stream = compression.wrapForInput(data, RecordBatch.CURRENT_MAGIC_VALUE, BufferSupplier.NO_CACHING)) {
            return stream.readAllBytes();
        }
    }

    private static byte[] compress(JsonNode request) throws Exception {
        Compression compression = Compression.of(request.get("compression").asText()).build();
        ByteBufferOutputStream buffer = new ByteBufferOutputStream(512);
        try (var stream = compression.wrapForOutput(buffer, RecordBatch.CURRENT_MAGIC_VALUE)) {
            stream.write(bytes(request.get("bytes")));
        }
        ByteBuffer written = buffer.buffer();
        written.flip();
        return bytes(JSON.getNodeFactory().textNode(hex(written)));
    }

    private static void validate(JsonNode request, ObjectNode answer) {
        MemoryRecords records = records(request);
        MutableRecordBatch first = records.batches().iterator().next();
        first.ensureValid();
        CompressionType source = first.compressionType();
        TimestampType timestampType = TimestampType.forName(request.get("timestampType").asText());
        Time time = new FixedTime(request.get("now").asLong());
        LogValidator validator = new LogValidator(
            records,
            new TopicPartition("t", 0),
            time,
            source,
            Compression.of(source).build(),
            request.get("compacted").asBoolean(),
            RecordBatch.CURRENT_MAGIC_VALUE,
            timestampType,
            request.get("before").asLong(),
            request.get("after").asLong(),
            request.get("leaderEpoch").asInt(),
            AppendOrigin.CLIENT);
        LogValidator.ValidationResult result = validator.validateMessagesAndAssignOffsets(
            PrimitiveRef.ofLong(request.get("offset").asLong()), new NoMetrics(), BufferSupplier.NO_CACHING);
        answer.put("bytes", hex(result.validatedRecords().buffer()));
        answer.put("maxTimestamp", result.maxTimestampMs());
    }

    private static MemoryRecords records(JsonNode request) {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(request.get("bytes"))));
    }

    private static byte[] bytes(JsonNode hex) {
        return hex.isNull() ? null : HEX.parseHex(hex.asText());
    }

    private static String hex(ByteBuffer buffer) {
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return HEX.formatHex(copy);
    }

    private static Header[] headers(JsonNode pairs) {
        List<Header> headers = new ArrayList<>();
        for (JsonNode pair : pairs)
            headers.add(new RecordHeader(pair.get(0).asText(), bytes(pair.get(1))));
        return headers.toArray(new Header[0]);
    }

    private record FixedTime(long milliseconds) implements Time {
        public long nanoseconds() {
            return 0;
        }

        public void sleep(long ms) {
            throw new UnsupportedOperationException();
        }

        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }

    private static final class NoMetrics implements LogValidator.MetricsRecorder {
        public void recordInvalidMagic() { }

        public void recordInvalidOffset() { }

        public void recordInvalidSequence() { }

        public void recordInvalidChecksums() { }

        public void recordNoKeyCompactedTopic() { }
    }
}
