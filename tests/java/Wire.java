import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Queue;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/**
 * Speaks every message and version through Apache Kafka's own classes, for questions put to two brokers.
 *
 * <p>Reads one JSON object a line and answers with one. {"do": "ask" | "send" | "receive" | "raw" | "close", "port": N,
 * "connection": "name", "api": "JoinGroup", "version": 9, "client": "id", "body": {...}, "hex": "...", "wait": ms}.
 * "ask" is "send" and then "receive". The answer has "body", or "closed": true, "timeout": true, or "problem": text.
 */
public final class Wire {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Connection> CONNECTIONS = new HashMap<>();

    private record Sent(ApiMessageType type, short version) {}

    private static final class Connection {
        final Socket socket;
        final DataInputStream in;
        final Queue<Sent> unanswered = new ArrayDeque<>();
        int correlation;

        Connection(int port) throws IOException {
            socket = new Socket("127.0.0.1", port);
            socket.setTcpNoDelay(true);
            in = new DataInputStream(socket.getInputStream());
        }
    }

    private Wire() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                step(JSON.readTree(line), answer);
            } catch (SocketTimeoutException e) {
                answer.put("timeout", true);
            } catch (EOFException | java.net.SocketException e) {
                answer.put("closed", true);
            } catch (ReflectiveOperationException | RuntimeException e) {
                answer.put("problem", String.valueOf(e.getCause() == null ? e : e.getCause()));
            }
            System.out.println(JSON.writeValueAsString(answer));
            System.out.flush();
        }
    }

    private static void step(JsonNode order, ObjectNode answer) throws Exception {
        String name = order.get("port").asInt() + "/" + order.path("connection").asText("main");
        String what = order.get("do").asText();
        Connection connection = CONNECTIONS.get(name);
        if (what.equals("close")) {
            if (connection != null) {
                connection.socket.close();
                CONNECTIONS.remove(name);
            }
            return;
        }
        if (connection == null) {
            connection = new Connection(order.get("port").asInt());
            CONNECTIONS.put(name, connection);
        }
        try {
            if (what.equals("raw")) {
                connection.socket.getOutputStream().write(HexFormat.of().parseHex(order.get("hex").asText()));
            } else if (!what.equals("receive")) {
                send(connection, order);
            }
            if (what.equals("ask") || what.equals("receive")) {
                receive(connection, order.path("wait").asInt(10_000), answer);
            }
        } catch (EOFException | java.net.SocketException e) {
            connection.socket.close();
            CONNECTIONS.remove(name);
            throw e;
        }
    }

    private static Class<?> message(String name) throws ClassNotFoundException {
        return Class.forName("org.apache.kafka.common.message." + name);
    }

    private static ApiMessageType type(String name) {
        for (ApiMessageType type : ApiMessageType.values()) {
            if (type.name.equals(name)) {
                return type;
            }
        }
        throw new IllegalArgumentException("no API " + name);
    }

    private static void send(Connection connection, JsonNode order) throws Exception {
        ApiMessageType type = type(order.get("api").asText());
        short version = (short) order.get("version").asInt();
        Message body = (Message) message(type.name + "RequestDataJsonConverter")
            .getMethod("read", JsonNode.class, short.class)
            .invoke(null, order.get("body"), version);
        RequestHeaderData header = new RequestHeaderData()
            .setRequestApiKey(type.apiKey())
            .setRequestApiVersion(version)
            .setCorrelationId(++connection.correlation)
            .setClientId(order.path("client").asText("wire"));
        ObjectSerializationCache cache = new ObjectSerializationCache();
        short headerVersion = type.requestHeaderVersion(version);
        int size = header.size(cache, headerVersion) + body.size(cache, version);
        ByteBuffer frame = ByteBuffer.allocate(4 + size);
        frame.putInt(size);
        ByteBufferAccessor writer = new ByteBufferAccessor(frame);
        header.write(writer, cache, headerVersion);
        body.write(writer, cache, version);
        connection.unanswered.add(new Sent(type, version));
        connection.socket.getOutputStream().write(frame.array());
    }

    private static void receive(Connection connection, int waitMs, ObjectNode answer) throws Exception {
        connection.socket.setSoTimeout(waitMs);
        byte[] frame = new byte[connection.in.readInt()];
        connection.socket.setSoTimeout(10_000); // the rest of an answer that has begun
        connection.in.readFully(frame);
        Sent sent = connection.unanswered.remove();
        ByteBufferAccessor reader = new ByteBufferAccessor(ByteBuffer.wrap(frame));
        ResponseHeaderData header = new ResponseHeaderData(reader, sent.type.responseHeaderVersion(sent.version));
        ApiMessage body = (ApiMessage) message(sent.type.name + "ResponseData")
            .getConstructor(Readable.class, short.class)
            .newInstance(reader, sent.version);
        answer.set("body", (JsonNode) message(sent.type.name + "ResponseDataJsonConverter")
            .getMethod("write", body.getClass(), short.class)
            .invoke(null, body, sent.version));
        answer.put("left", reader.remaining());
        answer.put("unanswered", connection.correlation - header.correlationId());
    }
}
